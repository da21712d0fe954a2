"""Counts failed sign-ins by user name and address, in Django's cache, for a minute each.

Refuses further tries with that name from that address until the oldest failure is a minute old: nobody is locked out
for good, nor from elsewhere. Without the cache (a Redis that is away) nothing is counted and everybody may try.
"""

import hashlib
import logging
import unicodedata
from collections.abc import Mapping
from typing import Any

from django.contrib.auth.signals import user_logged_in, user_login_failed
from django.core.cache import cache
from django.dispatch import receiver
from rest_framework.throttling import SimpleRateThrottle

from poimen_site.redis_outage import redis_errors

log = logging.getLogger(__name__)

TOO_MANY = "Too many failed sign-ins with this user name from your address."


class SignInThrottle(SimpleRateThrottle):
    """Refuses sign-ins after too many failures; asking does not count, only :meth:`count_failure` does."""

    scope = "failed-sign-ins"  # its rate is in the settings
    num_requests: int
    duration: int

    def allow_request(self, request: Any, view: Any) -> bool:
        """Whether the sign-in of ``request`` (a form or a JSON object with ``username``) may be tried."""
        try:
            return super().allow_request(request, view)
        except redis_errors() as error:
            log.warning("failed sign-ins are not counted: %s", error)
            return True

    def throttle_success(self) -> bool:
        """Let it be tried, without counting it."""
        return True

    def get_cache_key(self, request: Any, view: Any) -> str | None:
        """Return the key of the user name and address, None without a name."""
        sent = request.data if hasattr(request, "data") else request.POST.dict()
        name = sent.get("username") if isinstance(sent, dict) else None
        return self.key_of(name, request) if isinstance(name, str) else None

    def key_of(self, name: str, request: Any) -> str:
        """Return the key of ``name`` in any spelling that sign-in takes for one, and the address of ``request``."""
        plain = unicodedata.normalize("NFKC", name).strip().casefold()
        digest = hashlib.sha256(f"{plain}\0{self.get_ident(request)}".encode(errors="replace")).hexdigest()
        return f"failed-sign-ins:{digest}"

    def count_failure(self, name: str, request: Any) -> None:
        """Remember a failure; raises one of :func:`redis_errors`."""
        key, now = self.key_of(name, request), self.timer()
        recent = [moment for moment in cache.get(key, []) if moment > now - self.duration]
        cache.set(key, [now, *recent][: self.num_requests], self.duration)


def forget_failures(name: str, request: Any) -> None:
    """Start counting anew: whoever signed in knows the password."""
    try:
        cache.delete(SignInThrottle().key_of(name, request))
    except redis_errors() as error:
        log.warning("failed sign-ins are not forgotten: %s", error)


@receiver(user_login_failed)
def _count(sender: Any, credentials: Mapping[str, Any], request: Any = None, **_: Any) -> None:
    name = credentials.get("username")
    if request is None or not isinstance(name, str):
        return
    try:
        SignInThrottle().count_failure(name, request)
    except redis_errors() as error:
        log.warning("a failed sign-in is not counted: %s", error)


@receiver(user_logged_in)
def _forget(sender: Any, request: Any, user: Any, **_: Any) -> None:
    forget_failures(user.get_username(), request)
