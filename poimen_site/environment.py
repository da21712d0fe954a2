"""Reads settings from the environment and checks each: what is wrong is told in one sentence, never in a traceback.

It refuses to guess: a value that is not what the setting takes ends the start. Values of secrets are never repeated.
"""

import math
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

EXIT_CODE = 2  # of a command that was started with a wrong setting
TRUE, FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
DATABASE_SCHEMES = ("postgresql", "postgres")
REDIS_SCHEMES = ("redis", "rediss", "unix")
DATABASE_FORM = "postgresql://user:password@host:port/name, with special characters of the password percent-encoded"
_HOST = re.compile(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]|[0-9A-Fa-f]*:[0-9A-Fa-f:.]+")

Check = Callable[[str], bool]


class SettingError(ImproperlyConfigured):
    """A setting has a value that it cannot have. The message names it, what was given and what was expected."""


def wrong(name: str, given: object, expected: str) -> SettingError:
    """The error of the setting ``name``; ``given`` must not hold a secret."""
    shown = str(given)
    shown = shown if len(shown) <= 200 else f"{shown[:200]}..."
    return SettingError(f"{name} is {shown!r}; expected {expected}.")


class Environment:
    """The settings in ``values`` (by default the process's environment); an empty value counts as none."""

    def __init__(self, values: dict[str, str] | None = None) -> None:
        self._values = os.environ if values is None else values

    def text(self, name: str, *, default: str) -> str:
        """Any text."""
        return self._values.get(name, "").strip() or default

    def choice(self, name: str, choices: tuple[str, ...], *, default: str) -> str:
        """One of ``choices``, in any case."""
        given = self.text(name, default=default)
        if given.lower() not in choices:
            raise wrong(name, given, f"one of {', '.join(choices)}")
        return given.lower()

    def whole_number(self, name: str, *, default: int, least: int, most: int) -> int:
        """A whole number from ``least`` to ``most``."""
        given = self.text(name, default=str(default))
        if not re.fullmatch(r"[+-]?[0-9]{1,9}", given) or not least <= int(given) <= most:
            raise wrong(name, given, f"a whole number from {least} to {most}")
        return int(given)

    def number(self, name: str, *, default: float, least: float, most: float) -> float:
        """A number from ``least`` to ``most``."""
        given = self.text(name, default=str(default))
        try:
            number = float(given)
        except ValueError:
            number = math.nan
        if not least <= number <= most:
            raise wrong(name, given, f"a number from {least:g} to {most:g}")
        return number

    def switch(self, name: str, *, default: bool) -> bool:
        """Yes or no."""
        given = self.text(name, default=TRUE[0] if default else FALSE[0])
        if given.lower() not in TRUE + FALSE:
            raise wrong(name, given, f"one of {', '.join(TRUE)} for yes, {', '.join(FALSE)} for no")
        return given.lower() in TRUE

    def words(self, name: str, *, default: list[str], each: Check, expected: str) -> list[str]:
        """Texts separated by commas, each of which passes ``each``; ``expected`` says in words what that asks for."""
        given = self.text(name, default="")
        items = [item.strip() for item in given.split(",") if item.strip()]
        for item in items:
            if not each(item):
                raise wrong(name, given, f"a list, separated by commas, of {expected}; {item!r} is none")
        return items or default

    def directories(self, name: str, *, default: list[Path]) -> list[Path]:
        """Absolute paths separated by commas; ``~`` is the user's own directory."""
        paths = self.words(name, default=[], each=_is_directory_path, expected="absolute paths of directories")
        return [Path(path).expanduser().resolve() for path in paths] or default

    def home(self, name: str, *, default: Path) -> Path:
        """A directory of our own: made if it is missing, and one that this process can write."""
        path = Path(self.text(name, default=str(default)))
        expected = "a directory that can be made and written"
        try:
            path = path.expanduser().resolve()
            path.mkdir(parents=True, exist_ok=True, mode=0o755)
        except FileExistsError:
            raise wrong(name, path, f"{expected}, and this is a file") from None
        except NotADirectoryError:
            raise wrong(name, path, f"{expected}, and a part of its path is a file") from None
        except (OSError, RuntimeError, ValueError) as error:
            raise wrong(name, path, f"{expected} ({getattr(error, 'strerror', None) or error})") from None
        if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
            raise wrong(name, path, f"{expected}, and this user may not")
        return path

    def database(self, name: str, *, default: Callable[[], str]) -> dict[str, Any]:
        """Django's description of a PostgreSQL database from its address; ``default`` makes one if none is given."""
        given = self.text(name, default="")
        if given:
            _check_database_url(name, given)
        config: dict[str, Any] = environ.Env.db_url_config(given or default())
        config["ENGINE"] = "django.db.backends.postgresql"
        config.setdefault("OPTIONS", {})
        return config

    def redis(self, name: str) -> str:
        """The address of a Redis server, or an empty text."""
        given = self.text(name, default="")
        if given:
            expected = "redis://host:port/number (or rediss://, or unix:///path)"
            if urlsplit(given).scheme not in REDIS_SCHEMES:
                raise wrong(name, without_password(given), expected)
            from redis.connection import parse_url

            try:
                parse_url(given)  # type: ignore[no-untyped-call]
            except ValueError as error:
                raise wrong(name, without_password(given), f"{expected} ({error})") from None
        return given


def without_password(url: str) -> str:
    """``url`` as it may be shown: without password and query, and ``***`` for what cannot be told apart from them."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "***"
    if not parts.scheme or not url.startswith(f"{parts.scheme}://"):
        return "***"
    if "@" in parts.path + parts.query + parts.fragment:  # the password holds a character that ends the host
        return f"{parts.scheme}://***"
    user = f"{parts.username}@" if parts.username else ""
    return f"{parts.scheme}://{user}{parts.netloc.rpartition('@')[2]}{parts.path}"


def is_host_pattern(text: str) -> bool:
    """A host name or address without a port; ``*`` or a leading dot stand for more than one."""
    return text == "*" or bool(_HOST.fullmatch(text))


def is_host(text: str) -> bool:
    """A host name or address, perhaps with a port."""
    name, colon, port = text.rpartition(":")
    if colon and port.isdigit() and (":" not in name or name.startswith("[")):
        return bool(_HOST.fullmatch(name)) and 0 < int(port) < 65536
    return bool(_HOST.fullmatch(text))


def is_origin(text: str) -> bool:
    """``https://host`` or ``https://host:port``, without a path."""
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and text == f"{parts.scheme}://{parts.netloc}"
    except ValueError:
        return False


def is_origin_or_any(text: str) -> bool:
    """An origin, or ``*`` for all of them."""
    return text == "*" or is_origin(text)


def _is_directory_path(text: str) -> bool:
    try:
        path = Path(text).expanduser()
    except RuntimeError:  # ~nobody
        return False
    return path.is_absolute() and not path.is_file()


def _check_database_url(name: str, given: str) -> None:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    shown = without_password(given)
    try:
        parts = urlsplit(given)
        is_complete = parts.scheme in DATABASE_SCHEMES and parts.port != 0 and bool(parts.path.strip("/"))
    except ValueError:
        is_complete = False
    if not is_complete:
        raise wrong(name, shown, DATABASE_FORM)
    try:
        conninfo_to_dict(given)
    except psycopg.Error as error:
        # What the library says may quote the address, password and all.
        quoted = re.search(r'invalid URI query parameter: "\w+"', str(error))
        raise wrong(name, shown, f"{DATABASE_FORM}{f' ({quoted[0]})' if quoted else ''}") from None
