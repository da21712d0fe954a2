"""The public keys of a token issuer, fetched from its JWKS address within bounds and kept for a while.

Refuses symmetric keys, redirects and long answers; asks again for a key it does not know, but not at every request.
"""

import json
import logging
import threading
import time
from typing import Any

import httpx
import jwt

log = logging.getLogger(__name__)

KEPT_SECONDS = 600.0
STALE_SECONDS = 86_400.0  # how long known keys do while the issuer cannot be reached
PAUSE_SECONDS = 30.0  # between two questions, whatever tokens come
TIMEOUT_SECONDS = 3.0
MAX_BYTES = 256 * 1024
MAX_KEYS = 100


class KeysUnavailable(Exception):
    """The issuer's keys cannot be fetched, and none are known."""


class SigningKeys:
    """The keys behind ``url``, by key id."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = threading.Lock()
        self._keys: dict[str | None, jwt.PyJWK] = {}
        self._fetched_at = self._asked_at = float("-inf")

    def find(self, key_id: str | None) -> jwt.PyJWK | None:
        """Return the key of that id, or the only key there is for None. Raises :class:`KeysUnavailable`."""
        now = time.monotonic()
        with self._lock:
            is_known = self._pick(key_id) is not None
            if (not is_known or now - self._fetched_at > KEPT_SECONDS) and now - self._asked_at > PAUSE_SECONDS:
                self._asked_at = now
                try:
                    self._keys = fetch_keys(self._url)
                    self._fetched_at = now
                except (httpx.HTTPError, ValueError) as error:
                    log.warning("the keys at %s cannot be fetched: %s", self._url, error)
            if now - self._fetched_at > STALE_SECONDS:
                raise KeysUnavailable
            return self._pick(key_id)

    def _pick(self, key_id: str | None) -> jwt.PyJWK | None:
        if key_id is None:
            return next(iter(self._keys.values())) if len(self._keys) == 1 else None
        return self._keys.get(key_id)


def fetch_keys(url: str) -> dict[str | None, jwt.PyJWK]:
    """Return the asymmetric signing keys of the document at ``url``, by id.

    Raises ``httpx.HTTPError``, and ``ValueError`` for what is no key set or too long.
    """
    deadline = time.monotonic() + TIMEOUT_SECONDS
    content = b""
    with (
        httpx.Client(timeout=TIMEOUT_SECONDS, follow_redirects=False, trust_env=False) as client,
        client.stream("GET", url, headers={"Accept": "application/json"}) as response,
    ):
        if response.status_code != 200:
            raise ValueError(f"it answered {response.status_code}")
        for chunk in response.iter_bytes():
            content += chunk
            if len(content) > MAX_BYTES or time.monotonic() > deadline:
                raise ValueError(f"more than {MAX_BYTES} bytes or {TIMEOUT_SECONDS:g} s")
    document: Any = json.loads(content)
    listed = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(listed, list):
        raise ValueError("it is no JSON Web Key Set")
    found: dict[str | None, jwt.PyJWK] = {}
    for entry in listed[:MAX_KEYS]:
        if not isinstance(entry, dict) or entry.get("kty") == "oct" or entry.get("use", "sig") != "sig":
            continue
        try:
            key = jwt.PyJWK(entry)
        except (jwt.PyJWTError, ValueError, TypeError):  # of a kind we cannot use; the others may do
            continue
        found[key.key_id] = key
    return found
