"""The settings of tokens that somebody else issues, read together: half of them would let nobody in, or anybody.

It refuses an issuer without an audience or without exactly one way to check signatures. Source: contract-rest-api 1.
"""

from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from poimen_site.environment import Environment, SettingError, wrong

LEAST_SECRET_BYTES = 32


def token_issuer(env: Environment) -> dict[str, Any] | None:
    """Return ``{issuer, audience, jwks_url, shared_secret, claims}``, or None if nobody else's tokens are taken.

    Raises :class:`~poimen_site.environment.SettingError` for half a configuration.
    """
    issuer = env.text("POIMEN_JWT_ISSUER", default="")
    audience = env.text("POIMEN_JWT_AUDIENCE", default="")
    jwks_url = env.text("POIMEN_JWT_JWKS_URL", default="")
    shared_secret = env.text("POIMEN_JWT_SHARED_SECRET", default="")
    user = env.text("POIMEN_JWT_USER_CLAIM", default="")
    customer = env.text("POIMEN_JWT_CUSTOMER_CLAIM", default="")
    role = env.text("POIMEN_JWT_ROLE_CLAIM", default="")
    given = any((issuer, audience, jwks_url, shared_secret, user, customer, role))
    if not given:
        return None
    if not issuer or not audience or bool(jwks_url) == bool(shared_secret):
        raise SettingError(
            "Half of the settings POIMEN_JWT_... would not do: tokens of another issuer need POIMEN_JWT_ISSUER, "
            "POIMEN_JWT_AUDIENCE and exactly one of POIMEN_JWT_JWKS_URL and POIMEN_JWT_SHARED_SECRET."
        )
    if jwks_url and not _is_safe(jwks_url):
        raise wrong("POIMEN_JWT_JWKS_URL", jwks_url, "an https:// address (http:// only on loopback)")
    if shared_secret and len(shared_secret.encode()) < LEAST_SECRET_BYTES:
        raise SettingError(f"POIMEN_JWT_SHARED_SECRET is too short; expected at least {LEAST_SECRET_BYTES} bytes.")
    return {
        "issuer": issuer,
        "audience": audience,
        "jwks_url": jwks_url,
        "shared_secret": shared_secret,
        "claims": {"user": user or "sub", "customer": customer or "customer_id", "role": role},
    }


def _is_safe(url: str) -> bool:
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    if parts.scheme == "https":
        return bool(host) and not parts.username and not parts.password
    try:
        return parts.scheme == "http" and (host == "localhost" or ip_address(host).is_loopback)
    except ValueError:
        return False
