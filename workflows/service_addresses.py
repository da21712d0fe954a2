"""Addresses of notification services in apprise's form (``tgram://token/chat``): every part of them may be a token.

Owns which services there are and how their addresses look. Refuses services that read local files or run programs.
"""

import re
from collections.abc import Callable
from typing import Final

from workflows.spec.secret_handles import HANDLE

# Services reached over HTTP(S) only. Mail has its own way, and what runs or reads locally (syslog, dbus) has none.
SCHEMES: Final = frozenset(
    {
        "dingtalk", "discord", "feishu", "form", "forms", "gchat", "gotify", "gotifys", "hassio", "hassios",
        "json", "jsons", "lark", "mailgun", "matrix", "matrixs", "mmost", "mmosts", "ntfy", "ntfys", "opsgenie",
        "pagerduty", "pbul", "pover", "pushy", "rocket", "rockets", "sendgrid", "signl4", "simplepush", "slack",
        "splunk", "tgram", "twilio", "victorops", "webex", "workflows", "wxteams", "xml", "xmls", "zulip",
    }
)  # fmt: skip
_NAMES = "|".join(sorted(SCHEMES))
_WHOLE = re.compile(rf"(?P<before>\s*(?:{_NAMES})://)(?P<secret>\S.{{0,2047}})\s*", re.IGNORECASE)
_REFERENCE = re.compile(r"(\$\{[^{}]*\})")
_WITHIN = re.compile(rf"\b(?P<before>(?:{_NAMES})://)(?P<secret>[^\s\"'<>\\`]{{1,2048}})", re.IGNORECASE)


def rewritten(text: str, replace: Callable[[str], str], *, mask: str) -> str:
    """Return ``text`` with ``replace(rest)`` for what follows the scheme, if all of it is a service's address.

    References in it stay, and what is between them is replaced piece by piece. An address with an expression or a
    handle, with nothing but references, or with ``mask`` for its rest, is returned as the same object.
    """
    found = _WHOLE.fullmatch(text)
    if found is None or not _is_open(found["secret"], mask):
        return text
    pieces = _REFERENCE.split(found["secret"])  # every second one is a reference
    rest = "".join(
        replace(piece) if place % 2 == 0 and any(map(str.isalnum, piece)) else piece
        for place, piece in enumerate(pieces)
    )
    return text if rest == found["secret"] else found["before"] + rest + text[found.end("secret") :]


def masked(text: str, mask: str) -> str:
    """Return ``text`` with ``mask`` for what follows the scheme of each service's address in it."""
    return _WITHIN.sub(lambda found: found["before"] + mask if _is_open(found["secret"], mask) else found[0], text)


def is_masked(text: str, mask: str) -> bool:
    """Whether ``text`` is a service's address with ``mask`` in place of its rest."""
    found = _WHOLE.fullmatch(text)
    return found is not None and found["secret"].strip() == mask


def _is_open(secret: str, mask: str) -> bool:
    return (
        secret.strip() != mask
        and "{%" not in secret
        and HANDLE.search(secret) is None
        and any(map(str.isalnum, _REFERENCE.sub("", secret)))
    )
