"""``/api-keys``: make, list and revoke the keys of a customer's programs; for its admins (contract-rest-api 1).

Refuses to do any of it for somebody who asks with a key: one that leaks must not make others.
"""

from datetime import UTC, datetime
from typing import Any, ClassVar

from django.contrib.auth.models import User
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from workflows.access import access_of, customer_of, role_required
from workflows.api.answers import ApiKeyAnswer, NewApiKey
from workflows.api.documentation import documented
from workflows.api.requests import Ordering, Page, Query, Strict, Text, checked, id_in_path, not_found, paged, selected
from workflows.api.timestamps import rfc3339
from workflows.api_keys import RoleRefused, create_key, revoke, role_of, with_member_role
from workflows.models import ApiKey, Membership, Role, Scope

API_KEY = "API key"


class KeyBody(Strict):
    """A new key. With ``user`` it acts as that member, and never in a higher role than theirs."""

    name = Text(max_length=128)
    scopes = serializers.ListField(child=serializers.ChoiceField(choices=Scope.choices), min_length=1)
    role = serializers.ChoiceField(choices=Role.choices, default=Role.VIEWER)
    user = Text(required=False, max_length=150, allow_null=True, default=None)
    expiresAt = serializers.DateTimeField(required=False, allow_null=True, default=None)  # noqa: N815

    def validate_expiresAt(self, moment: datetime | None) -> datetime | None:  # noqa: N802 - named after its field
        """Refuse moments that have passed."""
        if moment is not None and moment <= datetime.now(UTC):
            raise serializers.ValidationError("expected a moment to come")
        return moment

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse votes by nobody: a decision is a person's."""
        if Scope.APPROVE in attrs["scopes"] and attrs["user"] is None:
            raise serializers.ValidationError({"user": "the scope approve needs a user: decisions are made by people"})
        return attrs


class KeyQuery(Page):
    """Query of the list: all keys, or only those that work (``active``), were ``revoked`` or have ``expired``."""

    lookups: ClassVar[dict[str, str]] = {}
    status = serializers.ChoiceField(choices=["active", "revoked", "expired"], required=False)
    ordering = Ordering({"createdAt": "created_at", "name": "name", "lastUsedAt": "last_used_at"}, default="-createdAt")


def key_body(key: ApiKey) -> dict[str, Any]:
    """Return a key as JSON, without what would open anything; its user and that one's role must be loaded."""
    return {
        "id": str(key.pk),
        "name": key.name,
        "prefix": key.prefix,
        "user": key.user.get_username() if key.user else None,
        "role": role_of(key).value,
        "scopes": list(key.scopes),
        "status": _status_of(key),
        "createdAt": rfc3339(key.created_at),
        "createdBy": key.created_by,
        "expiresAt": key.expires_at and rfc3339(key.expires_at),
        "lastUsedAt": key.last_used_at and rfc3339(key.last_used_at),
        "revokedAt": key.revoked_at and rfc3339(key.revoked_at),
    }


class ApiKeyList(APIView):
    """``GET`` and ``POST /api-keys``."""

    permission_classes = (role_required(Role.ADMIN, by_key=False),)

    @documented("listApiKeys", {200: ApiKeyAnswer(many=True)}, query=[KeyQuery], tag="API keys")
    def get(self, request: Request) -> Response:
        """Answer a page of keys, the newest first; the total is in ``X-Total-Count``."""
        query = checked(KeyQuery, request.query_params)
        keys = with_member_role(ApiKey.objects.filter(customer=customer_of(request)).select_related("user"))
        rows = selected(KeyQuery, query, keys)
        now = datetime.now(UTC)
        match query.get("status"):
            case "active":
                rows = rows.filter(revoked_at=None).exclude(expires_at__lte=now)
            case "expired":
                rows = rows.filter(revoked_at=None, expires_at__lte=now)
            case "revoked":
                rows = rows.filter(revoked_at__isnull=False)
        found, response = paged(query, rows)
        response.data = [key_body(key) for key in found]
        return response

    @documented("createApiKey", {201: NewApiKey}, body=KeyBody, tag="API keys")
    def post(self, request: Request) -> Response:
        """Make a key with ``{name, scopes, role?, user?, expiresAt?}``; ``key`` in the answer is shown this once."""
        wanted = checked(KeyBody, request.data)
        access = access_of(request)
        user = _member(wanted["user"], access.customer.pk)
        try:
            key, text = create_key(
                access.customer,
                name=wanted["name"],
                scopes=set(map(Scope, wanted["scopes"])),
                role=Role(wanted["role"]),
                user=user,
                expires_at=wanted["expiresAt"],
                by=access.actor,
            )
        except RoleRefused as refused:
            raise serializers.ValidationError({"role": str(refused)}) from None
        return Response(key_body(key) | {"key": text}, status=status.HTTP_201_CREATED)


class ApiKeyDetail(APIView):
    """``GET`` and ``DELETE /api-keys/{id}``."""

    permission_classes = (role_required(Role.ADMIN, by_key=False),)

    @documented("readApiKey", {200: ApiKeyAnswer}, refusals=[404], tag="API keys")
    def get(self, request: Request, key_id: str) -> Response:
        """Answer the key."""
        checked(Query, request.query_params)
        return Response(key_body(_own_key(request, key_id)))

    @documented("revokeApiKey", {204: None}, refusals=[404], tag="API keys")
    def delete(self, request: Request, key_id: str) -> Response:
        """Revoke the key: it works no more from now on, and stays in the list."""
        revoke(_own_key(request, key_id), by=access_of(request).actor)
        return Response(status=status.HTTP_204_NO_CONTENT)


def _own_key(request: Request, key_id: str) -> ApiKey:
    rows = ApiKey.objects.filter(pk=id_in_path(key_id, API_KEY), customer=customer_of(request))
    key: ApiKey | None = with_member_role(rows.select_related("user")).first()
    if key is None:
        raise not_found(API_KEY)
    return key


def _member(name: str | None, customer_id: Any) -> User | None:
    """The member of that user name; raises ``ValidationError`` if there is none."""
    if name is None:
        return None
    membership = Membership.objects.select_related("user").filter(user__username=name, customer=customer_id).first()
    if membership is None:
        raise serializers.ValidationError({"user": "there is no member of that name"})
    user: User = membership.user
    return user


def _status_of(key: ApiKey) -> str:
    if key.revoked_at is not None:
        return "revoked"
    return "expired" if key.expires_at is not None and key.expires_at <= datetime.now(UTC) else "active"
