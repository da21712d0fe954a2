"""From whatever somebody hands in to a plain JSON document of bounded size and depth.

Owns the defence against hostile documents; knows nothing of what a spec is.
"""

import json
import math
import re
from collections.abc import Iterator
from typing import Any, Final

from workflows.spec import limits
from workflows.spec.report import Findings, shown

Step = str | int
# A path is a chain of (chain above, last step), so that walking costs nothing where nothing is wrong.
Chain = tuple[Any, Step] | None

_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")
_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_MAX_INTEGER_BITS: Final = 1024


class _Repeated(dict[str, Any]):
    """An object of a JSON text in which keys occur more than once."""

    repeated: list[str]


def read_document(document: object, findings: Findings) -> dict[str, Any] | None:
    """Return ``document`` (JSON text, UTF-8 bytes or Python data) as a plain object, or None if it cannot be checked.

    Adds a problem for everything that is not plain JSON or is out of bounds. Never raises.
    """
    if isinstance(document, bytes | bytearray | memoryview):
        document = bytes(document)
        if len(document) > limits.MAX_SPEC_BYTES:
            _too_large(findings, len(document))
            return None
        try:
            document = document.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            findings.add("", "not-json", f"the document is not UTF-8 text: byte {error.start} cannot be read")
            return None
    if isinstance(document, str):
        if len(document) > limits.MAX_SPEC_BYTES:
            _too_large(findings, len(document))
            return None
        try:
            document = json.loads(document, object_pairs_hook=_object, parse_constant=float)
        except RecursionError:
            findings.add("", "too-deep", f"the document nests deeper than {limits.MAX_SPEC_DEPTH} levels")
            return None
        except json.JSONDecodeError as error:
            where = f"line {error.lineno}, column {error.colno}"
            findings.add("", "not-json", f"the document is not JSON: {error.msg[:80].lower()} at {where}")
            return None
        except ValueError:
            # Python refuses to read whole numbers of more than 4300 digits.
            findings.add("", "not-json", "the document holds a number with too many digits")
            return None
    if type(document) not in (dict, _Repeated):
        findings.add("", "wrong-type", f"a spec is an object with name and states, not {_kind(document)}")
        return None
    return document if _is_bounded(document, findings) else None  # type: ignore[return-value]


def _too_large(findings: Findings, size: int) -> None:
    megabytes = limits.MAX_SPEC_BYTES / (1 << 20)
    findings.add("", "too-large", f"the document has {size:,} bytes; a spec may have {megabytes:g} MB")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) == len(pairs):
        return made
    repeated = _Repeated(made)
    seen: set[str] = set()
    repeated.repeated = [key for key, _ in pairs if key in seen or seen.add(key)]  # type: ignore[func-returns-value]
    return repeated


def _is_bounded(document: Any, findings: Findings) -> bool:
    """Walk everything once; False if it is too large or deep, or not JSON, to be looked at any further."""
    if _is_sound(document):
        return True
    size, is_plain = 0, True
    waiting: list[tuple[Any, Chain, int]] = [(document, None, 1)]
    while waiting:
        value, chain, depth = waiting.pop()
        kind = type(value)
        size += 2
        if kind is str:
            size += len(value)
            if "\x00" in value or (not value.isascii() and _UNSTORABLE.search(value)):
                findings.add(path_of(chain), "unstorable-text", "the text holds NUL or half a surrogate pair")
                is_plain = False
        elif kind is dict or kind is _Repeated or kind is list:
            if depth > limits.MAX_SPEC_DEPTH:
                findings.add(path_of(chain), "too-deep", f"this nests deeper than {limits.MAX_SPEC_DEPTH} levels")
                return False
            if kind is not list:
                is_plain = _has_plain_keys(value, chain, findings) and is_plain
                size += sum(len(key) + 3 for key in value if isinstance(key, str))
            steps = enumerate(value) if kind is list else value.items()
            waiting.extend((part, (chain, step), depth + 1) for step, part in steps)
        elif kind is float:
            if not math.isfinite(value):
                findings.add(path_of(chain), "not-json", "NaN and infinity are no JSON numbers")
                is_plain = False
        elif kind is int:
            if value.bit_length() > _MAX_INTEGER_BITS:
                findings.add(path_of(chain), "not-json", "the number has too many digits")
                is_plain = False
        elif value is not None and kind is not bool:
            findings.add(path_of(chain), "not-json", f"{_kind(value)} is no JSON value")
            is_plain = False
        if size > limits.MAX_SPEC_BYTES:
            _too_large(findings, size)
            return False
    return is_plain


def _is_sound(document: Any) -> bool:
    """Whether it is certainly plain and within bounds: nearly always so, and told sooner where no place is named."""
    size = 2
    level: list[Any] = [document]
    for _ in range(limits.MAX_SPEC_DEPTH):
        below: list[Any] = []
        for value in level:
            if size > limits.MAX_SPEC_BYTES:
                return False
            kind = type(value)
            if kind is str:
                size += len(value)
                if not value.isascii() or "\x00" in value:
                    return False
            elif kind is dict or kind is list:
                size += 2 * len(value)
                if kind is list:
                    below += value
                    continue
                for key in value:
                    if type(key) is not str or not key.isascii() or "\x00" in key:
                        return False
                    size += len(key) + 3
                below += value.values()
            elif kind is int:
                if value.bit_length() > _MAX_INTEGER_BITS:
                    return False
            elif value is not None and kind is not bool and not (kind is float and math.isfinite(value)):
                return False
        if not below:
            return size <= limits.MAX_SPEC_BYTES
        level = below
    return False


def _has_plain_keys(value: dict[Any, Any], chain: Chain, findings: Findings) -> bool:
    for key in getattr(value, "repeated", ()):
        findings.add(path_of(chain), "duplicate-key", f"the key {shown(key)} occurs more than once")
    for key in value:
        if not isinstance(key, str):
            findings.add(path_of(chain), "not-json", f"a key is {_kind(key)}; keys are text")
            return False
        if _UNSTORABLE.search(key):
            findings.add(path_of(chain), "unstorable-text", f"the key {shown(key)} holds NUL or half a surrogate pair")
            return False
    return True


def _kind(value: object) -> str:
    if value is None or isinstance(value, bool | int | float | str | list | dict):
        kinds = {"str": "text", "list": "a list", "dict": "an object", "NoneType": "null", "bool": "a truth value"}
        return kinds.get(type(value).__name__, "a number")
    return f"a Python {type(value).__name__}"


def path_of(chain: Chain) -> str:
    """Return a chain of steps as text."""
    steps: list[Step] = []
    while chain is not None:
        chain, step = chain
        steps.append(step)
    return join_path(reversed(steps))


def join_path(steps: Iterator[Step] | tuple[Step, ...] | list[Step]) -> str:
    """Return steps as a path: ``states[3].catch[0].next``; keys that are no plain names go into ``["..."]``."""
    text = ""
    for step in steps:
        text = child_path(text, step)
    return text


def child_path(path: str, step: Step) -> str:
    """Return ``path`` with one more step."""
    if isinstance(step, int):
        return f"{path}[{step}]"
    if _PLAIN_KEY.fullmatch(step):
        return f"{path}.{step}" if path else step
    return f"{path}[{json.dumps(step[:60])}]"
