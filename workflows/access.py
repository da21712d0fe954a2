"""Who asks, for which customer, in which role: the one place where a request is tied to a tenant.

Refuses anonymous access and customers the user is no member of. Who belongs to several and names none acts for the
one they have belonged to longest, so that being added to another changes nothing for them.
Source: contract-rest-api 1 (tenancy and authentication).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.db import DataError
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import APIException, PermissionDenied
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request
from rest_framework_simplejwt.authentication import JWTAuthentication
from rest_framework_simplejwt.exceptions import AuthenticationFailed, TokenError
from rest_framework_simplejwt.settings import api_settings
from rest_framework_simplejwt.tokens import AccessToken, Token

from workflows import api_keys, issued_tokens
from workflows.models import ApiKey, Customer, Membership, Role, Scope
from workflows.prepared_queries import Selected, expanded, fetch
from workflows.token_problems import problem_of

CUSTOMER_CLAIM = "customer_id"
CUSTOMER_HEADER = "X-Customer"
KEY_HEADER = "X-API-Key"
KEY_SCHEME = "apikey"
DEFAULT_CUSTOMER_SLUG = "default-customer"

# Kept in the request's META, where no header of a client can land (those are all called HTTP_...).
_MEMBERSHIPS = "poimen.memberships"
_ACCESS = "poimen.access"

_MEMBERSHIP = Selected(Membership, "m")
_USER = Selected(User, "u", "id", "username", "email", "is_active", "is_staff", "is_superuser")
_CUSTOMER = Selected(Customer, "c")
_SIGN_IN = expanded(
    """
SELECT m.*, u.*, c.*
FROM workflows_membership m JOIN auth_user u ON u.id = m.user_id JOIN workflows_customer c ON c.id = m.customer_id
WHERE m.user_id = %(user)s ORDER BY m.id
""",
    _MEMBERSHIP,
    _USER,
    _CUSTOMER,
)

# What a key's scopes must hold for something that needs this role and changes something.
_SCOPE_FOR = {
    Role.VIEWER: Scope.READ,
    Role.EDITOR: Scope.WRITE,
    Role.OPERATOR: Scope.RUN,
    Role.APPROVER: Scope.APPROVE,
    Role.ADMIN: Scope.WRITE,
}


class IssuerUnavailable(APIException):
    """503: a token cannot be judged, because the keys of its issuer cannot be fetched."""

    status_code = 503
    default_detail = "The keys of the token's issuer cannot be fetched right now; try again shortly."
    wait = 30  # seconds, for Retry-After


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

    The customer is the token's ``customer_id`` claim, else the one that the header ``X-Customer`` (slug or id) names,
    else that of the user's oldest membership; a superuser without any acts for the default customer. A header that
    disagrees with the claim, or names no customer of the user, is refused rather than overruled.
    Raises ``PermissionDenied`` (403) with a sentence when no customer can be told.
    """
    known = request.META.get(_ACCESS)
    if isinstance(known, Access):
        return known
    user = request.user
    if not user.is_authenticated:
        raise PermissionDenied("sign in first: nothing is shown to anonymous visitors")
    if isinstance(key := getattr(request, "auth", None), ApiKey):
        access = _access_of_key(key, user.get_username(), request)
        request.META[_ACCESS] = access
        return access
    memberships = request.META.get(_MEMBERSHIPS)
    if memberships is None:
        memberships = list(Membership.objects.select_related("customer").filter(user_id=user.pk).order_by("pk"))
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


def role_required(needed: Role, *, read: Role | None = None, by_key: bool = True) -> type[BasePermission]:
    """Return a DRF permission class that wants ``needed``, or ``read`` for GET, HEAD and OPTIONS where given.

    Anonymous requests get 401, requests without a customer or of a lesser role 403 with the role that is missing.
    An API key must have the scope as well: read to look, and to change something that of the role; with
    ``by_key=False`` none will do.
    """

    class RolePermission(BasePermission):
        least, least_to_read = needed, read or needed

        def has_permission(self, request: Request, view: Any) -> bool:
            if not request.user.is_authenticated:
                return False
            is_reading = request.method in SAFE_METHODS
            require_role(request, (read or needed) if is_reading else needed, is_reading=is_reading, by_key=by_key)
            return True

    return RolePermission


def require_role(request: Request, needed: Role, *, is_reading: bool = False, by_key: bool = True) -> Access:
    """Return what the request may do; raises ``PermissionDenied`` (403) unless its role and its key's scopes do."""
    access = access_of(request)
    refuse_lesser(access, needed)
    if isinstance(request.auth, ApiKey):
        if not by_key:
            raise PermissionDenied("this cannot be done with an API key; sign in as a person")
        scope, has = Scope.READ if is_reading else _SCOPE_FOR[needed], request.auth.scopes
        if scope not in has:
            raise PermissionDenied(f"this needs a key with the scope {scope.value}; yours has {', '.join(has)}")
    return access


def refuse_lesser(access: Access, needed: Role) -> None:
    """Raise ``PermissionDenied`` (403), naming the role that is missing, unless ``access`` covers ``needed``."""
    if not access.role.covers(needed):
        raise PermissionDenied(
            f"this needs the role {needed.value} at {access.customer.slug}; yours is {access.role.value}"
        )


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


def may_add_member(adder: User, user: User) -> bool:
    """Whether ``adder`` may make ``user`` a member of a customer that ``adder`` administers.

    Superusers may add anybody. Others may add who belongs to no customer yet, or only to customers that they administer
    too: nobody is drawn into another's customer without a word of their own.
    """
    if adder.is_superuser:
        return True
    if user.is_superuser:
        return False
    mine = {customer for customer, role in roles_of(adder).items() if role.covers(Role.ADMIN)}
    return set(roles_of(user)) <= mine


class ApiKeyAuthentication(BaseAuthentication):
    """``Authorization: ApiKey pk_...`` or ``X-API-Key: pk_...``; one query, as for bearer tokens."""

    def authenticate(self, request: Request) -> tuple[Any, ApiKey] | None:
        """Return ``(user or key holder, key)``, or ``None`` without a key; raises 401 with the reason."""
        scheme, _, rest = request.headers.get("Authorization", "").partition(" ")
        is_in_authorization = scheme.lower() == KEY_SCHEME
        in_header = request.headers.get(KEY_HEADER, "").strip()
        text = rest.strip() if is_in_authorization else in_header
        if not text:
            if is_in_authorization:
                raise AuthenticationFailed("Authorization: expected ApiKey and a key", code="no_key")
            return None
        if (scheme and not is_in_authorization) or (is_in_authorization and in_header not in ("", text)):
            raise AuthenticationFailed("send one API key or one bearer token, not both", code="two_credentials")
        try:
            key = api_keys.recognise(text)
        except api_keys.KeyRefused as refused:
            raise AuthenticationFailed(str(refused), code="key_refused") from None
        return key.user or api_keys.KeyHolder(key), key

    def authenticate_header(self, request: Request) -> str:
        """Return what 401 answers say a client may send."""
        return 'Bearer realm="api", ApiKey realm="api"'


class BearerAuthentication(JWTAuthentication):
    """JWT bearer tokens; user, memberships and customers come in one query instead of two.

    The name of the scheme counts in any case (RFC 9110, 11.1).
    """

    def authenticate(self, request: Request) -> tuple[Any, Any] | None:
        """Return ``(user, token)``, or ``None`` without a bearer token; raises 401 for a bad one."""
        header = self.get_header(request)
        raw_token = self.get_raw_token(header) if header else None
        if not raw_token:
            return None
        if issued_tokens.is_of_issuer(raw_token):
            return _with_issued(raw_token, request)
        token = self.get_validated_token(raw_token)
        memberships = _memberships_of(token)
        request.META[_MEMBERSHIPS] = memberships
        if not memberships:
            return self.get_user(token), token
        user = memberships[0].user
        if not user.is_active:
            raise AuthenticationFailed("User is inactive", code="user_inactive")
        return user, token

    def get_raw_token(self, header: bytes) -> bytes | None:
        """Return the token of an ``Authorization``; None where that is of another scheme."""
        scheme, _, rest = header.strip().partition(b" ")
        return super().get_raw_token(b"Bearer " + rest) if scheme.lower() == b"bearer" else None

    def get_validated_token(self, raw_token: bytes) -> AccessToken:
        """Return the token; raises ``AuthenticationFailed`` (401) that says what is wrong with it."""
        try:
            return AccessToken(cast("Any", raw_token))  # the stubs know no encoded tokens
        except TokenError as error:
            raise AuthenticationFailed(problem_of(error, AccessToken), code="token_not_valid") from None


def _with_issued(raw_token: bytes, request: Request) -> tuple[Any, issued_tokens.IssuedToken]:
    try:
        token = issued_tokens.read_token(raw_token)
        memberships = issued_tokens.memberships_of(token)
    except issued_tokens.TokenRefused as refused:
        raise AuthenticationFailed(str(refused), code="token_not_valid") from None
    except issued_tokens.KeysUnavailable:
        raise IssuerUnavailable from None
    request.META[_MEMBERSHIPS] = memberships
    return memberships[0].user, token


def _memberships_of(token: Token) -> list[Membership]:
    try:
        user_id = token[api_settings.USER_ID_CLAIM]
        rows = fetch(_SIGN_IN, {"user": int(user_id)})
    except (KeyError, TypeError, ValueError, DataError) as error:
        raise AuthenticationFailed("Token names no user", code="user_not_found") from error
    memberships = []
    for row in rows:
        membership = _MEMBERSHIP.make(row)
        membership.user = _USER.make(row[_MEMBERSHIP.count :])
        membership.customer = _CUSTOMER.make(row[_MEMBERSHIP.count + _USER.count :])
        memberships.append(membership)
    return memberships


def _access_of_key(key: ApiKey, actor: str, request: Request) -> Access:
    header = request.headers.get(CUSTOMER_HEADER, "").strip()
    if header and header.lower() not in (key.customer.slug.lower(), str(key.customer_id)):
        raise PermissionDenied(f"{CUSTOMER_HEADER} names a customer that this API key is not for")
    return Access(customer=key.customer, role=api_keys.role_of(key), actor=actor)


def _choose(memberships: Sequence[Membership], request: Request) -> Membership:
    token = getattr(request, "auth", None)
    claim = token.get(CUSTOMER_CLAIM) if isinstance(token, Token) else None
    header = request.headers.get(CUSTOMER_HEADER, "").strip()
    if claim is not None:
        chosen = [m for m in memberships if str(m.customer_id) == str(claim)]
        if not chosen:
            raise PermissionDenied("the token is for a customer you do not belong to (any more); get a new one")
    elif not memberships:
        raise PermissionDenied("you belong to no customer; an administrator can add you to one")
    elif header:
        chosen = [m for m in memberships if _is_named(m, header)]
    else:
        chosen = [memberships[0]]  # the oldest: they come in the order in which they were made
    if not chosen or (header and not _is_named(chosen[0], header)):
        raise PermissionDenied(f"{CUSTOMER_HEADER} names a customer that this sign-in is not for")
    return chosen[0]


def _is_named(membership: Membership, name: str) -> bool:
    return name.lower() in (membership.customer.slug.lower(), str(membership.customer_id))
