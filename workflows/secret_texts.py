"""Secrets in free text, as logs and tracebacks hold it: known there only by the name before them or by their form.

Owns the one masking that every line passes on its way out; refuses to be sure: what has neither name nor form stays.
"""

import re
from typing import Any

from workflows import address_passwords
from workflows.address_passwords import MASK
from workflows.secrets import is_secret_name
from workflows.spec.secret_handles import HANDLE, PREFIX

MOST_TEXT = 100_000  # characters of one text that are looked through and shown

# name=value, "name": "value", name: value; the name decides (workflows.secrets.is_secret_name).
_NAMED = re.compile(
    r"""(?P<name>[A-Za-z][\w.-]{1,63})(?P<between>["']?\s{0,3}[:=](?!=)\s{0,3})"""
    r"""(?P<value>"(?:[^"\\\n]|\\.){1,4096}"|'(?:[^'\\\n]|\\.){1,4096}'|(?:(?:Bearer|Basic|ApiKey|Token)\s+)?[^\s"',;&)\]}]+)"""
)
# Expressions cost more than nearly all texts are worth: each is tried where one of its words, in lower case, stands.
_NAME_WORDS = ("token", "secret", "pass", "pwd", "auth", "key", "cred", "cookie")
_FORMS = (
    (
        ("bearer", "basic", "apikey"),
        re.compile(r"\b(?P<kept>(?:Bearer|Basic|ApiKey)\s+)[A-Za-z0-9._~+/=-]{6,}", re.IGNORECASE),
    ),
    # In what only looks like an address, too.
    (("://",), re.compile(r"(?P<kept>://[^\s/:@]{0,256}:)[^\s/@]{1,1024}(?=@)")),
    (("pk_",), re.compile(r"(?P<kept>\bpk_)[A-Za-z0-9_-]{16,}")),  # our API keys
    # JSON web tokens
    (("eyj",), re.compile(r"(?P<kept>\beyJ)[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*")),
    # Tokens that their issuers gave a form, so that they are found: of GitHub, GitLab, Slack, OpenAI, Anthropic, AWS,
    # Google, npm, PyPI, Stripe, Linear, Atlassian, Hugging Face and SendGrid.
    (
        (
            "gho_", "ghp_", "ghs_", "ghu_", "ghr_", "github_pat_", "glpat-", "xox", "xapp-", "sk-", "akia", "asia",
            "aiza", "npm_", "pypi-", "sk_", "rk_", "lin_", "atatt", "hf_", "sg.",
        ),
        re.compile(
            r"(?<![A-Za-z0-9_-])(?P<kept>gh[opsur]_(?=[A-Za-z0-9]{36})|github_pat_(?=\w{22})|glpat-(?=[\w-]{20})"
            r"|xox[a-z]-(?=[\w-]{10})|xapp-(?=[\w-]{10})|sk-(?=[\w-]{0,40}\d)(?=[\w-]{20})"
            r"|A[KS]IA(?=[A-Z0-9]{16}(?![A-Za-z0-9]))|AIza(?=[\w-]{35})|npm_(?=[A-Za-z0-9]{36})|pypi-(?=[\w-]{50})"
            r"|[rs]k_(?:live|test)_(?=[A-Za-z0-9]{16})|lin_(?:api|oauth)_(?=[A-Za-z0-9]{20})|ATATT(?=[\w=-]{40})"
            r"|hf_(?=[A-Za-z0-9]{30})|SG\.(?=[\w-]{16,40}\.[\w-]{16}))[\w=-]+(?:\.[\w-]{16,})?"
        ),
    ),
    (("hooks.slack.com",), re.compile(r"(?P<kept>\bhooks\.slack\.com/services/)[A-Za-z0-9/]{20,}")),
    (
        ("private key-----",),
        re.compile(r"(?P<kept>-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----)(?:(?!-----END)[\s\S]){1,20000}"),
    ),
)  # fmt: skip


def masked(text: str) -> str:
    """Return ``text`` with ``***`` for every secret that name or form gives away; at most 100,000 characters."""
    text = masked_forms(text)
    return _NAMED.sub(_without_value, text) if _has(text.lower(), _NAME_WORDS) else text


def masked_forms(text: str) -> str:
    """Return ``text`` with ``***`` for every secret that its form gives away, whatever name stands before it.

    For sentences that tell what is wrong with a field by its name: ``token: expected text``. As bounded as
    :func:`masked`.
    """
    if len(text) > MOST_TEXT:
        text = f"{text[:MOST_TEXT]}... ({len(text) - MOST_TEXT} more characters)"
    text = address_passwords.masked(text)
    lower = text.lower()
    for words, form in _FORMS:
        if _has(lower, words):
            text = form.sub(rf"\g<kept>{MASK}", text)
    return text


def _has(text: str, words: tuple[str, ...]) -> bool:
    return any(word in text for word in words)


def masked_all(value: Any, name: str = "") -> Any:
    """Return JSON-like ``value`` with its texts masked, and whole values under secret names; any depth up to 20."""
    return _masked(value, name, 20)


def _masked(value: Any, name: str, depth: int) -> Any:
    if name and not isinstance(value, dict | list | tuple | bool | type(None)) and is_secret_name(name):
        return MASK
    if isinstance(value, str):
        return masked(value)
    if depth == 0:
        return masked(str(value))
    if isinstance(value, dict):
        return {key: _masked(item, str(key), depth - 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_masked(item, name, depth - 1) for item in value]
    return value


def _without_value(found: "re.Match[str]") -> str:
    value = found["value"]
    if not is_secret_name(found["name"]) or value.startswith((PREFIX, MASK)) or HANDLE.fullmatch(found[0]):
        return found[0]  # handles may be seen
    quote = value[0] if value[0] in "\"'" else ""
    return f"{found['name']}{found['between']}{quote}{MASK}{quote}"
