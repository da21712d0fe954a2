"""The hash chain: what of a record is hashed, and with which key.

HMAC-SHA-256 over canonical JSON of every field, so that no two records read the same and nobody without the
installation's key can make one. Refuses keys that are not configured. Source: subsystem-audit 5.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from workflows.engine.json_text import loggable

FIELDS = (
    "customer_id", "seq", "at", "actor", "actor_kind", "action", "target_kind", "target_id", "execution_id",
    "workflow_id", "details", "request_id", "key_id", "previous_hash",
)  # fmt: skip


class UnknownKey(LookupError):
    """A record was made with a key that is neither the current one nor among the former ones."""


@lru_cache(maxsize=16)
def _derived(key: str) -> tuple[str, bytes]:
    """``(key id, 32 bytes)`` for the trail, out of the installation's key (HKDF-SHA256, RFC 5869)."""
    material = HKDF(algorithm=hashes.SHA256(), length=48, salt=None, info=b"poimen audit: chain").derive(key.encode())
    return material[32:40].hex(), material[:32]


def current_key_id() -> str:
    """The id of the key that new records are made with; it tells nothing about the key."""
    return _derived(settings.SECRET_KEY)[0]


def hash_of(values: Mapping[str, Any]) -> str:
    """Return the hash of a record, in hex, from its fields of :data:`FIELDS`; raises :class:`UnknownKey`."""
    return _mac(str(values["key_id"]), canonical([values[name] for name in FIELDS]))


def sign(document: Any) -> dict[str, str]:
    """Return ``{keyId, mac}`` over any JSON ``document``, under the current key."""
    key_id = current_key_id()
    return {"keyId": key_id, "mac": _mac(key_id, b"document:" + canonical(document))}


def is_signed(document: Any, signature: Mapping[str, str]) -> bool:
    """Whether ``signature`` is one that :func:`sign` gave for ``document``; raises :class:`UnknownKey`."""
    expected = _mac(str(signature.get("keyId")), b"document:" + canonical(document))
    return hmac.compare_digest(expected, str(signature.get("mac")))


def canonical(value: Any) -> bytes:
    """Return the one text that stands for ``value``: sorted keys, no spaces, ASCII, moments in UTC."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=_plain).encode()


def details_text(details: Mapping[str, Any]) -> str:
    """Return ``details`` as the JSON text that is kept; what PostgreSQL cannot store is replaced."""
    return json.dumps(json.loads(loggable(dict(details))), sort_keys=True, separators=(",", ":"))


def _mac(key_id: str, message: bytes) -> str:
    for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
        known_id, material = _derived(key)
        if known_id == key_id:
            return hmac.new(material, message, hashlib.sha256).hexdigest()
    raise UnknownKey(key_id)


def _plain(value: Any) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds")
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no canonical text")
