"""Finding secrets that were written into files, by line; what they are is never repeated.

Uses the detectors of detect-secrets and the six patterns of contract-activities 3.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
from detect_secrets.filters import allowlist, heuristic
from detect_secrets.plugins.base import RegexBasedDetector
from detect_secrets.plugins.keyword import DENYLIST, KeywordDetector
from detect_secrets.util.code_snippet import CodeSnippet

# Guesses by how random a text looks would drown the rest: hashes, ids and test data are random too.
LEFT_OUT = frozenset({"Base64 High Entropy String", "Hex High Entropy String", "Public IP (ipv4)"})
# A line longer than this was not written by a person; the detectors would take seconds for it.
MAX_LINE = 4096
# A private key or a token with a form of its own can be used by whoever reads it; the others need to be understood.
MILDER = {"Secret Keyword": "high", "Basic Auth Credentials": "high", "JSON Web Token": "medium"}

_ASSIGNED = re.compile(r"(?P<name>password|secret|api_key|apikey)=(?P<value>[^\r\n]{0,200})", re.IGNORECASE)
_MENTIONED = re.compile(r"(?P<name>private_key|aws_secret)(?P<value>[^\r\n]{0,200})", re.IGNORECASE)
_LITERAL = re.compile(r"""\w*["'\]]*\s*(?::=|[:=])\s*[rbuf]?["'`](?!["'`])""", re.IGNORECASE)
# What stands to the right when the value comes from elsewhere: nothing, a comparison, a name with a part or a call,
# a template's place, or the same name again (password=password).
_REFERENCE = re.compile(
    r"""(?:=|(?:None|null|nil|undefined|true|false)\b|""(?!")|''(?!')|[{*]|\$[({A-Za-z_]|%[(s]|<|"\$\{|"\{\{|f"\{|"%s"|"""
    r"""(?:await\s+|new\s+)?[A-Za-z_$][\w$]*(?:\.|\(|\[|->|::)|[\w$]*(?:password|secret|api_?key)[\w$]*\s*(?:[,)\]};]|$))""",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Secret:
    """A line that holds a secret, or reads like it; ``what`` names its kind, never its value."""

    line: int
    what: str
    severity: str
    source: str


def search(name: str, text: str) -> Iterator[Secret]:
    """Yield the secrets of a file called ``name``, whose whole text is given."""
    starts = [0, *(match.end() for match in re.finditer(r"\r\n|\r|\n", text))]
    yield from _patterns(text, starts)
    if not (heuristic.is_lock_file(name) or heuristic.is_swagger_file(name)):
        yield from _detectors(name, text, starts)


def _patterns(text: str, starts: list[int]) -> Iterator[Secret]:
    for match in _ASSIGNED.finditer(text):
        line, name = bisect_right(starts, match.start()), match["name"].lower()
        if _REFERENCE.match(match["value"].lstrip()):
            yield Secret(
                line, f"'{name}=' is set from elsewhere; make sure that no secret ends up here", "low", "patterns"
            )
        else:
            yield Secret(line, f"'{name}=' looks like a hardcoded secret", "high", "patterns")
    for match in _MENTIONED.finditer(text):
        line, name = bisect_right(starts, match.start()), match["name"].lower()
        if _LITERAL.match(match["value"]):
            yield Secret(line, f"'{name}' looks like a hardcoded secret", "high", "patterns")
        else:
            yield Secret(
                line, f"'{name}' is mentioned; make sure that its value is not stored here", "medium", "patterns"
            )


def _detectors(name: str, text: str, starts: list[int]) -> Iterator[Secret]:
    """Ask the detectors about the lines that a quick look says may be worth it; for all lines they take minutes."""
    lines = text.splitlines()
    for number, interested in sorted(_worth_asking(text, starts).items()):
        line = lines[number - 1] if number <= len(lines) else ""
        if len(line) > MAX_LINE or allowlist.is_line_allowlisted(name, line, CodeSnippet([line], 0, 0)):
            continue
        for plugin in interested:
            context = CodeSnippet([line], number, 0)
            for secret in plugin.analyze_line(filename=name, line=line, line_number=number, context=context):
                if not _is_unlikely(secret.secret_value, line, plugin):
                    severity = MILDER.get(secret.type, "critical")
                    yield Secret(number, f"{secret.type} in the text", severity, "detect-secrets")


def _worth_asking(text: str, starts: list[int]) -> dict[int, list[Any]]:
    asked: dict[int, list[Any]] = {}
    for plugin, quick in _quick_looks():
        for number in {bisect_right(starts, match.start()) for match in quick.finditer(text)}:
            asked.setdefault(number, []).append(plugin)
    return asked


@lru_cache(maxsize=1)
def _quick_looks() -> list[tuple[Any, re.Pattern[str]]]:
    """Every detector with expressions that match on all lines it could find something in."""
    looks: list[tuple[Any, re.Pattern[str]]] = []
    made: Any
    for kind, made in sorted(get_mapping_from_secret_type_to_class().items()):
        if kind in LEFT_OUT:
            continue
        plugin = made()
        if isinstance(plugin, KeywordDetector):
            looks.append((plugin, re.compile("|".join(DENYLIST), re.IGNORECASE)))
        elif isinstance(plugin, RegexBasedDetector):
            looks += [(plugin, re.compile(each.pattern, each.flags | re.MULTILINE)) for each in plugin.denylist]
    return looks


def _is_unlikely(value: str, line: str, plugin: Any) -> bool:
    checks: tuple[Callable[[], bool], ...] = (
        lambda: heuristic.is_sequential_string(value),
        lambda: heuristic.is_potential_uuid(value),
        lambda: heuristic.is_likely_id_string(value, line, plugin),
        lambda: heuristic.is_templated_secret(value),
        lambda: heuristic.is_prefixed_with_dollar_sign(value),
        lambda: heuristic.is_indirect_reference(line),
        lambda: heuristic.is_not_alphanumeric_string(value),
    )
    return any(check() for check in checks)
