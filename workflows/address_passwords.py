"""Secrets within addresses (``https://user:password@host``): where they stand in a text, and putting others there.

Owns the form. Refuses to guess: what is no address, or holds a reference, an expression or a handle, stays as it is.
"""

import re
from collections.abc import Callable
from urllib.parse import unquote

from workflows import service_addresses
from workflows.spec.secret_handles import HANDLE

MASK = "***"
# What ends an address in running text, in JSON and in lists ends it here, though a password might hold it.
_PART = r"""[^\s/?#"'<>\\`,;]"""
_NAME = r"""[^\s/?#"'<>\\`,;@:]"""
_FORMS = (
    re.compile(rf"(?P<before>://{_NAME}{{0,256}}:)(?P<secret>{_PART}{{1,256}})(?=@)"),
    # A token in the place of the user, as git hosts take them: as long as no user's name is.
    re.compile(rf"(?P<before>https?://)(?P<secret>{_NAME}{{20,256}})(?=(?::{_PART}{{0,256}})?@)"),
)
_USER_INFORMATION = re.compile(r"://[^\s/?#@]{0,600}\Z")


def passwords_in(text: str) -> list[str]:
    """Return the passwords in the addresses of ``text``, decoded; of a service's address all after its scheme."""
    found: list[str] = []

    def noted(password: str) -> str:
        found.append(password)
        return password

    rewritten(text, noted)
    return found


def rewritten(text: str, replace: Callable[[str], str]) -> str:
    """Return ``text`` with ``replace(password)`` for each password; the same object when there is none.

    ``replace`` gets it decoded. A text that is the address of a notification service is a secret but for its scheme.
    """
    if "://" not in text:
        return text
    service = service_addresses.rewritten(text, replace, mask=MASK)
    if service is not text or "@" not in text:
        return service

    def put(match: "re.Match[str]") -> str:
        secret = match["secret"]
        if secret == MASK or "${" in secret or "{%" in secret or HANDLE.search(match[0]):
            return match[0]
        return match["before"] + replace(unquote(secret))

    changed = text
    for form in _FORMS:
        changed = form.sub(put, changed)
    return text if changed == text else changed


def masked(text: str) -> str:
    """Return ``text`` with ``***`` for each password, and for the secrets of services wherever they stand in it."""
    return rewritten(service_addresses.masked(text, MASK) if "://" in text else text, lambda _: MASK)


def holds_mask(text: str) -> bool:
    """Whether ``***`` stands in ``text`` where a password does."""
    if service_addresses.is_masked(text, MASK):
        return True
    return f"{MASK}@" in text and any(match["secret"] == MASK for form in _FORMS for match in form.finditer(text))


def is_in_user_information(match: "re.Match[str]") -> bool:
    """Whether what was found in a text stands before the ``@`` of an address."""
    end, text = match.end(), match.string
    return text[end : end + 1] in ("@", ":") and bool(
        _USER_INFORMATION.search(text, max(0, match.start() - 610), match.start())
    )
