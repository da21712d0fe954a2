"""A message taken apart: addresses, names, quoted text and branches out of it, what remains are words to understand.

Owns what counts as a value. Sets aside what tries to give the router orders or to carry secrets away.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from workflows.spec.secret_handles import HANDLE

# Each value leaves a mark in the text: its kind and its place in the list of that kind.
MARK = "§"
_CLOSING = ".,;:!?)]}>'\"`»”’"
_URL = re.compile(r"\b(?:https?|ssh|git|file|s3|gs|gcs|ftp)://[^\s<>\"'`»”]+|\bgit@[\w.-]+:[\w./~-]+", re.IGNORECASE)
_BARE_FORGE = re.compile(
    r"(?<![\w./@-])(?:www\.)?(?:github\.com|gitlab\.com|bitbucket\.org|codeberg\.org)/[\w.-]+/[\w.-]+"
)
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_CHANNEL = re.compile(r"(?<![\w&/#])#[a-z][\w-]{1,79}", re.IGNORECASE)
_PATH = re.compile(r"(?<![\w:/.~§-])/(?:[\w.@+-]+/)*[\w.@+-]*\w")
_QUOTED = re.compile(
    r"\"([^\"\n]{1,2000})\"|“([^”\n]{1,2000})”|«\s*([^»\n]{1,2000}?)\s*»|`([^`\n]{1,2000})`|(?<!\w)['‘]([^'’\n]{2,2000})['’](?!\w)"
)
_WHOLE = re.compile(r"^\s*[\"“'`«]([^\"“”'`«»]*)[\"”'`»]\s*$")
_FORGES = ("github.com", "gitlab.com", "bitbucket.org", "codeberg.org", "git.sr.ht", "dev.azure.com")
_STORES = ("s3", "gs", "gcs")

_REF = r"[A-Za-z0-9][A-Za-z0-9._/#+-]*[A-Za-z0-9]|[A-Za-z0-9]"
_NO_REF = frozenset(
    [
        "a",
        "all",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "before",
        "but",
        "by",
        "default",
        "each",
        "every",
        "first",
        "for",
        "from",
        "has",
        "have",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "last",
        "main's",
        "my",
        "new",
        "not",
        "of",
        "on",
        "only",
        "or",
        "our",
        "please",
        "protection",
        "right",
        "same",
        "than",
        "that",
        "the",
        "their",
        "then",
        "there",
        "this",
        "to",
        "und",
        "et",
        "y",
        "which",
        "with",
        "without",
        "you",
        "your",
        "current",
        "other",
        "whole",
        "any",
        "over",
        "after",
        "once",
        "new",
        "feature",
    ]
)
_USUAL = (
    r"main|master|develop|dev|trunk|staging|release/[\w./-]*\w|feature/[\w./-]*\w|hotfix/[\w./-]*\w|bugfix/[\w./-]*\w"
)
_BRANCHES = (
    re.compile(rf"\b(?:branch|zweig|branche|rama)\s*(?:called|named|is|=|:)?\s*['\"`]?(?P<ref>{_REF})", re.IGNORECASE),
    re.compile(rf"\b(?:the|on|from|of|in|le|la|den|dem|its)\s+['\"`]?(?P<ref>{_REF})['\"`]?\s+(?:branch|zweig)\b", re.IGNORECASE),
    re.compile(r"\b(?:tag|release|version)\s+(?P<ref>v?\d+(?:\.\d+)+[\w.-]*)", re.IGNORECASE),
    re.compile(rf"\b(?:on|from|of|in|auf|von|sur|de|en|branch)\s+(?P<ref>{_USUAL})\b(?!\s+(?:server|environment|system|cluster|team))", re.IGNORECASE),
    re.compile(rf"(?<=@|#)(?P<ref>{_USUAL})\b"),
)  # fmt: skip

_ORDERS = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass|violate|break)\s+(?:(?:all|any|each|every|of|your|the|my|our|these|those|"
    r"previous|prior|above|earlier|existing|system|safety|other)\s+){0,5}"
    r"(?:rules?|instructions?|prompts?|guidelines?|guardrails?|restrictions?|constraints?|directives?|policy|policies|"
    r"training|safety)\b"
    r"|\b(?:you\s+are\s+now|pretend\s+(?:to\s+be|that\s+you|you\s+are)|act\s+as\s+(?:if|root|an?\s+admin)|developer\s+mode|"
    r"jail\s?break|new\s+instructions?\s*:|system\s+prompt)"
    r"|<\/?(?:system|assistant|instructions?)>|\[(?:system|inst)\]|(?:^|\n|[.!?]\s)\s*(?:system|assistant)\s*:"
    r"|\b(?:ignoriere|vergiss)\s+(?:\w+\s+){0,3}(?:regeln|anweisungen|vorgaben)"
    r"|\bignore[zr]?\s+(?:\w+\s+){0,3}(?:règles|instructions|consignes)"
    r"|\bignora\s+(?:\w+\s+){0,3}(?:reglas|instrucciones)",
    re.IGNORECASE,
)
_SECRETS = r"(?:secrets?|passwords?|tokens?|credentials?|api[\s-]?keys?|private\s+keys?|ssh\s+keys?|env(?:ironment)?(?:\s+(?:variables|vars))?|\.env|cookies?|database\s+dump)"
_CARRIES_OFF = re.compile(
    rf"\b(?:send|post|upload|e-?mail|mail|forward|leak|exfiltrate|transmit|dump|steal|ship|copy|put)\s+(?:me\s+|us\s+|out\s+)?"
    rf"(?:(?:all|any|every|each|of|the|your|our|its|my|their|stored|server|system|customer|user|admin)\s+){{0,5}}"
    rf"{_SECRETS}\b(?!\s+(?:report|scan|findings?|results?|leaks?|issues?))"
    rf"|\b(?:reveal|print|show|tell|give)\s+(?:me\s+|us\s+)?(?:all\s+)?(?:of\s+)?(?:your|the\s+system'?s?|the\s+server'?s?|poimen'?s?)\s+"
    rf"(?:\w+\s+){{0,2}}(?:{_SECRETS}|prompt|instructions|configuration)\b"
    r"|\bexfiltrat\w+"
    r"|(?:[;|&`]|\$\()\s*(?:curl|wget|bash|sh|nc|rm|cat|python|sudo|eval)\b"
    r"|\brm\s+-rf\b|\bdrop\s+table\b",
    re.IGNORECASE,
)  # fmt: skip
_MARKUP = re.compile(r"</?[a-z][^<>]{0,200}>|\$?\{\{?[^{}]{0,200}\}\}?", re.IGNORECASE)
_END = re.compile(r"[.!?](?=\s|$)|[\n;]|$")


@dataclass(slots=True)
class Sentence:
    """``text`` is the message with a mark such as ``§r0`` for each value of :attr:`values` (``r`` to its list).

    ``r`` repositories, ``u`` other addresses, ``s`` storage addresses, ``p`` paths, ``e`` e-mail addresses, ``c``
    channels, ``q`` quoted texts, ``b`` branches. ``set_aside`` is what was not read as a request.
    """

    text: str
    values: dict[str, list[str]] = field(default_factory=dict)
    set_aside: list[str] = field(default_factory=list)
    has_password: bool = False
    completed: list[str] = field(default_factory=list)

    def all(self, kind: str) -> list[str]:
        """Return the values of a kind that are still marked in the text, each once, in their order."""
        marked = re.findall(rf"{MARK}{kind}(\d+)", self.text)
        return list(dict.fromkeys(self.values[kind][int(place)] for place in marked))

    def mark(self, kind: str, value: str) -> str:
        """Keep ``value`` and return the mark that stands for it."""
        values = self.values.setdefault(kind, [])
        values.append(value)
        return f" {MARK}{kind}{len(values) - 1} "

    def shown(self, text: str) -> str:
        """Return ``text`` with its values instead of the marks."""
        for _ in range(2):  # quoted text may hold marks itself
            text = re.sub(rf"{MARK}([a-z])(\d+)", lambda m: self.values[m.group(1)][int(m.group(2))], text)
        return " ".join(text.split())


def read_sentence(message: str) -> Sentence:
    """Take ``message`` apart; never raises, whatever it is."""
    text = re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", " ", message.replace(MARK, " ").replace("’", "'"))
    sentence = Sentence(_unquoted(text))
    _take(sentence, _URL, _address)
    _take(sentence, _BARE_FORGE, _forge)
    _take(sentence, _EMAIL, lambda s, found: s.mark("e", found))
    _set_hostile_aside(sentence)
    _take(sentence, _QUOTED, _quotation)
    sentence.text = _MARKUP.sub(" ", sentence.text)
    _take(sentence, _CHANNEL, lambda s, found: s.mark("c", found))
    _take(sentence, _PATH, lambda s, found: s.mark("p", found))
    for pattern in _BRANCHES:
        sentence.text = pattern.sub(lambda found: _branch(sentence, found), sentence.text)
    sentence.text = re.sub(r"[ \t]+", " ", sentence.text).strip()
    return sentence


def _unquoted(text: str) -> str:
    whole = _WHOLE.match(text)
    return whole.group(1) if whole else text


def _take(sentence: Sentence, pattern: re.Pattern[str], make: "Callable[[Sentence, str], str]") -> None:
    sentence.text = pattern.sub(lambda found: make(sentence, found.group()), sentence.text)


def _address(sentence: Sentence, text: str) -> str:
    address = text.rstrip(_CLOSING)
    if address.endswith("/") is False and text.count("(") > text.count(")"):
        address = address.rstrip("(")
    rest = text[len(address) :]
    scheme = address.partition("://")[0].lower()
    if scheme in _STORES:
        return sentence.mark("s", address) + rest
    try:
        parts = urlsplit(address)
        host, password = parts.hostname or "", parts.password
    except ValueError:
        return " " + rest
    if password and not HANDLE.fullmatch(password):
        sentence.has_password = True
    return sentence.mark("r" if _is_repository(scheme, host, address) else "u", address) + rest


def _is_repository(scheme: str, host: str, address: str) -> bool:
    if scheme in ("ssh", "git", "file") or address.startswith("git@"):
        return True
    path = urlsplit(address).path.strip("/")
    if path.endswith(".git"):
        return True
    is_forge = host.removeprefix("www.") in _FORGES or host.startswith(("git.", "gitlab.", "gitea.", "github."))
    return is_forge and path.count("/") >= 1 and "/api/" not in f"/{path}/"


def _forge(sentence: Sentence, text: str) -> str:
    address = text.rstrip(_CLOSING)
    sentence.completed.append(address)
    return sentence.mark("r", f"https://{address}") + text[len(address) :]


def _quotation(sentence: Sentence, text: str) -> str:
    inner = text[1:-1].strip()
    if re.fullmatch(rf"{MARK}[a-z]\d+", inner):
        return f" {inner} "
    if re.search(rf"\b{_USUAL}\b", inner) and " " not in inner:
        return f" {inner} "
    return sentence.mark("q", sentence.shown(inner))


def _branch(sentence: Sentence, found: re.Match[str]) -> str:
    ref = found.group("ref").rstrip(_CLOSING)
    if ref.lower() in _NO_REF or ref.startswith(MARK):
        return found.group()
    text, start = found.group(), found.start("ref") - found.start()
    return text[:start] + sentence.mark("b", ref) + text[start + len(ref) :]


def _set_hostile_aside(sentence: Sentence) -> None:
    """Take out orders to the router with all that follows them, and requests for secrets up to their end."""
    orders = _ORDERS.search(sentence.text)
    if orders:
        sentence.set_aside.append(sentence.shown(sentence.text[orders.start() :]))
        sentence.text = sentence.text[: orders.start()]
    while carries := _CARRIES_OFF.search(sentence.text):
        end = _END.search(sentence.text, carries.end())
        stop = end.end() if end else len(sentence.text)
        sentence.set_aside.append(sentence.shown(sentence.text[carries.start() : stop]))
        sentence.text = f"{sentence.text[: carries.start()]} . {sentence.text[stop:]}"
