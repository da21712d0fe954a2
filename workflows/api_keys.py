"""API keys of a customer: made once, recognised by their digest, refused with the reason once they are no longer good.

Refuses to keep the key itself, and to let a key do more than its role, its scopes and the person it acts for may do.
"""

import hashlib
import secrets as random
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction
from django.db.models import OuterRef, Q, QuerySet, Subquery

from workflows import audit
from workflows.models import ApiKey, Customer, Membership, Role, Scope

KEY_START = "pk_"
SHOWN_LENGTH = 11  # of a key's text: enough to tell keys apart, nothing to go by
USE_IS_NOTED_EVERY = timedelta(minutes=1)


class KeyRefused(Exception):
    """The key opens nothing; the message says why."""


class RoleRefused(ValueError):
    """The key would have a role that its user has not; the message says which one the user has."""


class KeyHolder(AnonymousUser):
    """Who asks with a key that acts for no person: known by the key's name, without an account."""

    def __init__(self, key: ApiKey) -> None:
        super().__init__()
        self._name = f"key:{key.name}"

    def get_username(self) -> str:
        """Return what is recorded as having acted."""
        return self._name

    @property
    def is_authenticated(self) -> bool:  # type: ignore[override]  # the stubs know nobody but strangers here
        """The key is good."""
        return True

    @property
    def is_anonymous(self) -> bool:  # type: ignore[override]
        """The key's name is known."""
        return False


def create_key(
    customer: Customer,
    *,
    name: str,
    scopes: Collection[Scope],
    role: Role,
    user: User | None = None,
    expires_at: datetime | None = None,
    by: str = "",
) -> tuple[ApiKey, str]:
    """Make a key; returns its row and its text, which is known at this moment only.

    Raises :class:`RoleRefused` for a role above the one that ``user`` has at the customer.
    """
    if user is not None and not user.is_superuser:
        membership = Membership.objects.filter(user=user, customer=customer).first()
        if membership is None or not Role(membership.role).covers(role):
            has = f"their role is {membership.role}" if membership is not None else "they are no member"
            raise RoleRefused(f"{user.get_username()} may not do as much as {role}: {has}")
    text = KEY_START + random.token_urlsafe(32)
    with transaction.atomic():
        key = ApiKey.objects.create(
            customer=customer,
            user=user,
            name=name,
            prefix=text[:SHOWN_LENGTH],
            digest=digest_of(text),
            scopes=sorted(scopes, key=list(Scope).index),
            role=role,
            expires_at=expires_at,
            created_by=by,
        )
        _audit(key, "created", by, role=str(role), scopes=list(key.scopes), user=user.get_username() if user else None)
    return key, text


def digest_of(text: str) -> str:
    """SHA-256 of a key in hex; keys are random and long, so nothing slower is needed."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def recognise(text: str) -> ApiKey:
    """Return the key of that text with its customer, its user and that one's ``member_role`` (one query).

    Notes the use, at most once a minute. Raises :class:`KeyRefused`.
    """
    keys = with_member_role(ApiKey.objects.select_related("customer", "user"))
    key: ApiKey | None = keys.filter(digest=digest_of(text)).first()
    now = datetime.now(UTC)
    if key is None:
        raise KeyRefused("this API key is unknown")
    if key.revoked_at is not None:
        raise KeyRefused(f"this API key was revoked at {_moment(key.revoked_at)}")
    if key.expires_at is not None and key.expires_at <= now:
        raise KeyRefused(f"this API key expired at {_moment(key.expires_at)}")
    if key.user is not None:
        if not key.user.is_active:
            raise KeyRefused("the user of this API key is inactive")
        if getattr(key, "member_role", None) is None and not key.user.is_superuser:
            raise KeyRefused("the user of this API key is no member of its customer any more")
    if key.last_used_at is None or key.last_used_at <= now - USE_IS_NOTED_EVERY:
        is_due = Q(last_used_at=None) | Q(last_used_at__lte=now - USE_IS_NOTED_EVERY)
        ApiKey.objects.filter(is_due, pk=key.pk).update(last_used_at=now)
    return key


def with_member_role(keys: QuerySet[ApiKey]) -> QuerySet[Any]:
    """Return the keys with their users' roles at their customers (``member_role``), which :func:`role_of` needs."""
    membership = Membership.objects.filter(user=OuterRef("user"), customer=OuterRef("customer"))
    return keys.annotate(member_role=Subquery(membership.values("role")[:1]))


def role_of(key: ApiKey) -> Role:
    """Return the role in which a key of :func:`with_member_role` acts: its own, or its user's if that one's is less."""
    own, persons = Role(key.role), getattr(key, "member_role", None)
    if key.user is None or key.user.is_superuser or persons is None or Role(persons).covers(own):
        return own
    return Role(persons)


def revoke(key: ApiKey, *, by: str) -> ApiKey:
    """End a key for good; what was revoked before stays as it was."""
    with transaction.atomic():
        if ApiKey.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=datetime.now(UTC), revoked_by=by):
            _audit(key, "revoked", by)
    key.refresh_from_db()
    return key


def _audit(key: ApiKey, what: str, by: str, **details: Any) -> None:
    """Record what was done to a key; the last thing in its transaction."""
    named = {"name": key.name, "prefix": key.prefix, **details}
    audit.record(key.customer_id, f"api_key.{what}", target=("api_key", key.pk), actor=by, details=named)


def _moment(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
