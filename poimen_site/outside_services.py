"""The settings of what activities talk to: mail, notifications, archives, authorization servers, memory.

It refuses addresses that are none and half a pair of credentials. Sources: contract-activities 6, 7, 9.
"""

import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from poimen_site.environment import Environment, SettingError, without_password, wrong

MAIL_SCHEMES = {"smtp": 25, "smtp+tls": 587, "smtps": 587, "smtp+ssl": 465}
MAIL_FORM = "smtp://user:password@host:port, smtp+tls:// (STARTTLS) or smtp+ssl://"
_BUCKET = re.compile(r"(?:s3|gs)://[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]")
_MAIL_ADDRESS = re.compile(r"[^\x00-\x1f\x7f]*[^\s@<>]+@[^\s@<>]+>?")


def mail_server(env: Environment) -> dict[str, Any]:
    """Return ``{host, port, user, password, starttls, tls, sender}``; ``host`` is empty without a mail server.

    Raises :class:`~poimen_site.environment.SettingError` for an address that is none.
    """
    url = env.text("EMAIL_URL", default="")
    sender = env.text("DEFAULT_FROM_EMAIL", default="poimen@localhost")
    if not _MAIL_ADDRESS.fullmatch(sender):
        raise wrong(
            "DEFAULT_FROM_EMAIL", sender, "a mail address like poimen@example.org or Poimen <poimen@example.org>"
        )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise wrong("EMAIL_URL", without_password(url), MAIL_FORM) from None
    is_one = parts.scheme in MAIL_SCHEMES and parts.hostname and port != 0 and not parts.path.strip("/")
    if url and (not is_one or parts.query or parts.fragment):
        raise wrong("EMAIL_URL", without_password(url), MAIL_FORM)
    return {
        "host": parts.hostname or "",
        "port": port or MAIL_SCHEMES.get(parts.scheme, 25),
        "user": unquote(parts.username or ""),
        "password": unquote(parts.password or ""),
        "starttls": parts.scheme in ("smtp+tls", "smtps"),
        "tls": parts.scheme == "smtp+ssl",
        "sender": sender,
    }


def notification_webhooks(env: Environment) -> dict[str, str]:
    """Return the addresses of the channels ``slack`` and ``webhook``, empty where they are not set."""
    return {
        "slack": _address("SLACK_WEBHOOK_URL", env.text("SLACK_WEBHOOK_URL", default="")),
        "webhook": _address("NOTIFICATION_WEBHOOK_URL", env.text("NOTIFICATION_WEBHOOK_URL", default="")),
    }


def archives(env: Environment, *, home: Path) -> dict[str, Any]:
    """Return where results may be archived (``root``, ``buckets``) and how ``s3`` and ``gcs`` are reached.

    ``root`` is a directory, made when it is first needed. Without buckets nothing is uploaded. Raises
    :class:`~poimen_site.environment.SettingError` for half a pair of credentials.
    """
    roots = env.directories("POIMEN_ARCHIVE_ROOT", default=[home / "archive"])
    if len(roots) > 1:
        raise SettingError("POIMEN_ARCHIVE_ROOT names more than one directory; archives have one root.")
    key, secret = env.text("AWS_ACCESS_KEY_ID", default=""), env.text("AWS_SECRET_ACCESS_KEY", default="")
    if bool(key) != bool(secret):
        raise SettingError("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY belong together; set both or none.")
    credentials = env.text("POIMEN_GCS_CREDENTIALS_FILE", default="")
    if credentials and not Path(credentials).is_absolute():
        raise wrong("POIMEN_GCS_CREDENTIALS_FILE", credentials, "the absolute path of a service account's JSON file")
    return {
        "root": roots[0],
        "buckets": env.words(
            "POIMEN_ARCHIVE_BUCKETS",
            default=[],
            each=lambda text: bool(_BUCKET.fullmatch(text)),
            expected="buckets as s3://name or gs://name",
        ),
        "s3": {
            "endpoint": _address("POIMEN_S3_ENDPOINT_URL", env.text("POIMEN_S3_ENDPOINT_URL", default="")),
            "region": env.text("POIMEN_S3_REGION", default="us-east-1"),
            "access_key_id": key,
            "secret_access_key": secret,
        },
        "gcs": {
            "endpoint": _address("POIMEN_GCS_ENDPOINT_URL", env.text("POIMEN_GCS_ENDPOINT_URL", default="")),
            "credentials_file": credentials,
        },
    }


def authorization_servers(env: Environment) -> dict[str, Any]:
    """Return the authorization server, the ``others`` that workflows may name, and the client that asks the first."""
    return {
        "server": _address("AUTH_SERVER_URL", env.text("AUTH_SERVER_URL", default="")).rstrip("/"),
        "others": [
            server.rstrip("/")
            for server in env.words(
                "POIMEN_AUTH_SERVERS", default=[], each=_is_address, expected="addresses like https://auth.example.org"
            )
        ],
        "client_id": env.text("OAUTH_CLIENT_ID", default=""),
        "client_secret": env.text("OAUTH_CLIENT_SECRET", default=""),
    }


def memory_service(env: Environment) -> tuple[str, str]:
    """Return address and token of the knowledge service; both may be empty."""
    url = _address("POIMEN_MEMORY_URL", env.text("POIMEN_MEMORY_URL", default=""))
    if urlsplit(url).query or "@" in urlsplit(url).netloc:
        raise wrong("POIMEN_MEMORY_URL", without_password(url), "an address without user name, password and query")
    return url.rstrip("/"), env.text("POIMEN_MEMORY_TOKEN", default="")


def _address(name: str, given: str) -> str:
    if given and not _is_address(given):
        shown = urlsplit(given).scheme if "://" in given else "no address"
        raise wrong(name, f"{shown}...", "an address that starts with https:// or http://")
    return given


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and text.isprintable()
    except ValueError:
        return False
