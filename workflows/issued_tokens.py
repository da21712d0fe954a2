"""Tokens that somebody else issued: their signature, issuer, audience and expiry, and whom they stand for.

Refuses ``alg: none``, every algorithm but those of the kind of key that is configured, and to make anybody a superuser.
Source: contract-rest-api 1.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from uuid import UUID

import jwt
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

from workflows.models import Customer, Membership, Role
from workflows.signing_keys import KeysUnavailable, SigningKeys

SHARED = ("HS256", "HS384", "HS512")
PUBLIC = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
LEEWAY_SECONDS = 10
MAX_USER_NAME = 150

__all__ = ["IssuedToken", "KeysUnavailable", "TokenRefused", "is_of_issuer", "memberships_of", "read_token"]


class TokenRefused(Exception):
    """The token lets nobody in; the message says why."""


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """What a good token says: who, for which customer (slug or id), in which role."""

    user: str
    customer: str | None
    role: Role | None


def is_of_issuer(raw: bytes) -> bool:
    """Whether the token claims to be the configured issuer's; nothing of it has been checked then."""
    issuer = settings.POIMEN_TOKEN_ISSUER
    if issuer is None:
        return False
    try:
        claims: Any = jwt.decode(raw, options={"verify_signature": False})
    except jwt.PyJWTError:
        return False
    return bool(claims.get("iss") == issuer["issuer"])


def read_token(raw: bytes) -> IssuedToken:
    """Check the token. Raises :class:`TokenRefused`, and :class:`KeysUnavailable` if it cannot be judged now."""
    issuer = settings.POIMEN_TOKEN_ISSUER
    assert issuer is not None
    try:
        header = jwt.get_unverified_header(raw)
        key, allowed = _key_of(issuer, header)
        claims = jwt.decode(
            raw,
            key=key,
            algorithms=list(allowed),
            audience=issuer["audience"],
            issuer=issuer["issuer"],
            leeway=LEEWAY_SECONDS,
            options={"require": ["exp", "iss", "aud"]},
        )
    except jwt.PyJWTError as error:
        raise TokenRefused(f"Token is invalid: {error}") from None
    return _read_claims(claims, issuer["claims"])


def memberships_of(token: IssuedToken) -> list[Membership]:
    """Return what the token's user may act for: one membership if it names a customer, with user and customer.

    Where the issuer tells roles, user and membership are made, or changed, as the token says. Raises
    :class:`TokenRefused`.
    """
    rows = Membership.objects.select_related("user", "customer").filter(user__username=token.user)
    if token.customer is not None:
        rows = rows.filter(_is_called(token.customer, "customer__"))
    found = list(rows.order_by("pk"))
    if token.role is not None and (not found or any(m.role != token.role for m in found)):
        found = [_enrol(token, token.role)]
    if not found:
        raise TokenRefused("Token is for nobody here: its user belongs to no customer it may be for")
    user = found[0].user
    if user.is_superuser:
        raise TokenRefused("Token is for a superuser; superusers sign in here")
    if not user.is_active:
        raise TokenRefused("User is inactive")
    return found


def _key_of(issuer: dict[str, Any], header: dict[str, Any]) -> tuple[Any, tuple[str, ...]]:
    if issuer["shared_secret"]:
        return issuer["shared_secret"], SHARED
    key_id = header.get("kid")
    key = _signing_keys(issuer["jwks_url"]).find(key_id)
    if key is None:
        raise TokenRefused("Token is invalid: it is signed with a key that its issuer does not list")
    if key.algorithm_name not in PUBLIC:
        raise TokenRefused("Token is invalid: its key is not for signatures we take")
    return key.key, (key.algorithm_name,)


@lru_cache(maxsize=4)
def _signing_keys(url: str) -> SigningKeys:
    return SigningKeys(url)


def _read_claims(claims: dict[str, Any], names: dict[str, str]) -> IssuedToken:
    user, customer = claims.get(names["user"]), claims.get(names["customer"])
    if not isinstance(user, str) or not user.strip() or len(user) > MAX_USER_NAME or not user.isprintable():
        raise TokenRefused(f"Token names no user: expected text in the claim {names['user']}")
    if customer is not None and not (isinstance(customer, str) and customer.isprintable()):
        raise TokenRefused(f"Token is invalid: expected text in the claim {names['customer']}")
    if not names["role"]:
        return IssuedToken(user, customer, None)
    role = claims.get(names["role"])
    if role not in Role.values:
        raise TokenRefused(f"Token tells no role: expected one of {', '.join(Role.values)} in {names['role']}")
    if customer is None:
        raise TokenRefused(f"Token names no customer: expected its slug or id in the claim {names['customer']}")
    return IssuedToken(user, customer, Role(role))


def _is_called(customer: str, path: str = "") -> Q:
    try:
        return Q(**{f"{path}pk": UUID(customer)})
    except ValueError:
        return Q(**{f"{path}slug": customer.lower()})


def _enrol(token: IssuedToken, role: Role) -> Membership:
    """Write the membership that the issuer says there is."""
    assert token.customer is not None
    customer = Customer.objects.filter(_is_called(token.customer)).first()
    if customer is None:
        raise TokenRefused("Token is for a customer that does not exist here")
    with transaction.atomic():
        user, is_new = User.objects.get_or_create(username=token.user)
        if is_new:
            user.set_unusable_password()
            user.save(update_fields=["password"])
        if not user.is_superuser:
            membership, _ = Membership.objects.update_or_create(user=user, customer=customer, defaults={"role": role})
            return membership
    raise TokenRefused("Token is for a superuser; superusers sign in here")
