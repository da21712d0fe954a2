"""Who asks, for which customer, in which role: the one place where a request is tied to a tenant.

Refuses anonymous access, customers the user is no member of, and a guess where the user belongs to several.
Source: contract-rest-api 1 (tenancy and authentication).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request
from rest_framework_simplejwt.authentication import JWTAuthentication
from rest_framework_simplejwt.exceptions import AuthenticationFailed
from rest_framework_simplejwt.settings import api_settings
from rest_framework_simplejwt.tokens import Token

from workflows.models import Customer, Membership, Role

CUSTOMER_CLAIM = "customer_id"
CUSTOMER_HEADER = "X-Customer"
DEFAULT_CUSTOMER_SLUG = "default-customer"

# Kept in the request's META, where no header of a client can land (those are all called HTTP_...).
_MEMBERSHIPS = "poimen.memberships"
_ACCESS = "poimen.access"


@dataclass(frozen=True, slots=True)
class Access:
    """What a request may do: it acts as ``actor`` (a user name), for ``customer``, in ``role``."""

    customer: Customer
    role: Role
    actor: str


def default_customer() -> Customer:
    """Return the customer that exists from the first start (slug ``default-customer``), made if need be."""
    customer, _ = Customer.objects.get_or_create(slug=DEFAULT_CUSTOMER_SLUG, defaults={"name": "Default customer"})
    return customer


def access_of(request: Request) -> Access:
    """Return what the request may do; one query at most for members, remembered for the rest of the request.

    The customer is the token's ``customer_id`` claim, else the user's only membership, else the one that the header
    ``X-Customer`` (slug or id) names; a superuser without any membership acts for the default customer. A header that
    disagrees with the claim or the only membership is refused rather than overruled.
    Raises ``PermissionDenied`` (403) with a sentence when no customer can be told.
    """
    known = request.META.get(_ACCESS)
    if isinstance(known, Access):
        return known
    user = request.user
    if isinstance(user, AnonymousUser) or not user.is_authenticated:
        raise PermissionDenied("sign in first: nothing is shown to anonymous visitors")
    memberships = request.META.get(_MEMBERSHIPS)
    if memberships is None:
        memberships = list(Membership.objects.select_related("customer").filter(user_id=user.pk))
    is_superuser = bool(getattr(user, "is_superuser", False))
    if not memberships and is_superuser:
        chosen = Membership(customer=default_customer(), role=Role.ADMIN)
    else:
        chosen = _choose(memberships, request)
    access = Access(
        customer=chosen.customer,
        role=Role.ADMIN if is_superuser else Role(chosen.role),
        actor=user.get_username(),
    )
    request.META[_ACCESS] = access
    return access


def customer_of(request: Request) -> Customer:
    """Return the customer the request acts for; raises as :func:`access_of`."""
    return access_of(request).customer


def actor_of(request: Request) -> str:
    """Return the user name to record as ``created_by``, ``paused_by`` and the like; raises as :func:`access_of`."""
    return access_of(request).actor


def role_required(needed: Role, *, read: Role | None = None) -> type[BasePermission]:
    """Return a DRF permission class that wants ``needed``, or ``read`` for GET, HEAD and OPTIONS where given.

    Anonymous requests get 401, requests without a customer or of a lesser role 403 with the role that is missing.
    """

    class RolePermission(BasePermission):
        def has_permission(self, request: Request, view: Any) -> bool:
            if not request.user.is_authenticated:
                return False
            wanted = read if read is not None and request.method in SAFE_METHODS else needed
            access = access_of(request)
            if not access.role.covers(wanted):
                raise PermissionDenied(
                    f"this needs the role {wanted.value} at {access.customer.slug}; yours is {access.role.value}"
                )
            return True

    return RolePermission


def roles_of(user: AbstractBaseUser | AnonymousUser) -> dict[UUID, Role]:
    """Return the role of ``user`` at each of their customers, by customer id (one query)."""
    if not user.is_authenticated:
        return {}
    rows = Membership.objects.filter(user_id=user.pk).values_list("customer_id", "role")
    return {customer_id: Role(role) for customer_id, role in rows}


def may_act(user: AbstractBaseUser | AnonymousUser, customer_id: UUID, needed: Role) -> bool:
    """Whether ``user`` is active and has at least ``needed`` at the customer; superusers always do."""
    if not user.is_authenticated or not user.is_active:
        return False
    if getattr(user, "is_superuser", False):
        return True
    role = Membership.objects.filter(user_id=user.pk, customer_id=customer_id).values_list("role", flat=True).first()
    return role is not None and Role(role).covers(needed)


class BearerAuthentication(JWTAuthentication):
    """JWT bearer tokens; user, memberships and customers come in one query instead of two."""

    def authenticate(self, request: Request) -> tuple[Any, Token] | None:
        """Return ``(user, token)``, or ``None`` without a bearer token; raises 401 for a bad one."""
        header = self.get_header(request)
        raw_token = self.get_raw_token(header) if header else None
        if not raw_token:
            return None
        token = self.get_validated_token(raw_token)
        memberships = _memberships_of(token)
        request.META[_MEMBERSHIPS] = memberships
        if not memberships:
            return self.get_user(token), token
        user = memberships[0].user
        if not user.is_active:
            raise AuthenticationFailed("User is inactive", code="user_inactive")
        return user, token


def _memberships_of(token: Token) -> list[Membership]:
    try:
        user_id = token[api_settings.USER_ID_CLAIM]
        return list(Membership.objects.select_related("user", "customer").filter(user_id=user_id))
    except (KeyError, TypeError, ValueError) as error:
        raise AuthenticationFailed("Token names no user", code="user_not_found") from error


def _choose(memberships: Sequence[Membership], request: Request) -> Membership:
    token = getattr(request, "auth", None)
    claim = token.get(CUSTOMER_CLAIM) if isinstance(token, Token) else None
    header = request.headers.get(CUSTOMER_HEADER, "").strip()
    if claim is not None:
        chosen = [m for m in memberships if str(m.customer_id) == str(claim)]
        if not chosen:
            raise PermissionDenied("the token is for a customer you do not belong to (any more); get a new one")
    elif len(memberships) == 1:
        chosen = list(memberships)
    elif not memberships:
        raise PermissionDenied("you belong to no customer; an administrator can add you to one")
    elif header:
        chosen = [m for m in memberships if _is_named(m, header)]
    else:
        names = ", ".join(sorted(m.customer.slug for m in memberships))
        raise PermissionDenied(f"you belong to several customers: say which in the header {CUSTOMER_HEADER} ({names})")
    if not chosen or (header and not _is_named(chosen[0], header)):
        raise PermissionDenied(f"{CUSTOMER_HEADER} names a customer that this sign-in is not for")
    return chosen[0]


def _is_named(membership: Membership, name: str) -> bool:
    return name.lower() in (membership.customer.slug.lower(), str(membership.customer_id))
