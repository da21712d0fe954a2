"""What the settings of language models may be: an address, names of models, limits of each.

Refuses addresses with a password in them: the key has a setting of its own, which is shown nowhere.
"""

import re
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from poimen_site.environment import without_password, wrong

DEFAULT_MODELS = ("reasoning", "ornith:35b", "ornith:13b", "qwen2.5:3b")
MOST = 1_000_000
_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,199}")


def base_url(name: str, given: str) -> str:
    """Return the address without a slash or ``/v1`` at its end, or an empty text; raises ``SettingError``."""
    expected = "an address such as http://localhost:11434, without user name, password and query"
    try:
        parts = urlsplit(given)
        is_right = not given or (
            parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and "@" not in given
            and not parts.query and not parts.fragment and given.isprintable() and " " not in given
        )  # fmt: skip
    except ValueError:
        is_right = False
    if not is_right:
        raise wrong(name, without_password(given), expected)
    return given.rstrip("/").removesuffix("/v1").rstrip("/")


def is_model(text: str) -> bool:
    """``name``, or ``name=model`` where the endpoint knows it by another name."""
    return all(_MODEL.fullmatch(part.strip()) for part in text.split("=", 1))


def models_by_alias(words: Sequence[str]) -> dict[str, str]:
    """Return the model behind each name."""
    pairs = [(word.split("=", 1) if "=" in word else (word, word)) for word in words]
    return {alias.strip(): model.strip() for alias, model in pairs}


def is_limit(text: str) -> bool:
    """``number`` for every model, or ``name=number`` for one; 0 is no limit."""
    name, equals, number = text.rpartition("=")
    is_number = number.strip().isascii() and number.strip().isdigit() and int(number) <= MOST
    return is_number and (not equals or bool(_MODEL.fullmatch(name.strip())))


def limits_by_alias(words: Sequence[str], default: int) -> Mapping[str, int]:
    """Return the limit of each name; that of all others is under the empty name."""
    found = {"": default}
    for word in words:
        name, _, number = word.rpartition("=")
        found[name.strip()] = int(number)
    return found
