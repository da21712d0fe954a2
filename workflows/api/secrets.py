"""``/secrets``: which secrets a customer has, by name and handle, for those who write workflows.

Owns the list; refuses to say anything about a value. They are made and replaced in the admin.
"""

from typing import Any, ClassVar

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from workflows.access import customer_of, role_required
from workflows.api.answers import Shape, moment, text
from workflows.api.documentation import documented
from workflows.api.requests import Ordering, Page, checked, paged, selected
from workflows.api.timestamps import rfc3339
from workflows.models import Role, Secret
from workflows.secrets import handle_of


class SecretInList(Shape):
    """A secret without its value; ``handle`` is what is written into a workflow."""

    handle = text()
    name = text()
    createdAt = moment()  # noqa: N815 - keys of the API
    expiresAt = moment(allow_null=True)  # noqa: N815


class SecretQuery(Page):
    """Query of the list; ``name`` is a part of it, in any case."""

    lookups: ClassVar = {"name": "name__icontains"}
    name = serializers.CharField(required=False, max_length=128)
    ordering = Ordering({"name": "name", "createdAt": "created_at"}, default="name")


def secret_body(secret: Secret) -> dict[str, Any]:
    """Return a secret as JSON, without its value."""
    return {
        "handle": handle_of(secret),
        "name": secret.name,
        "createdAt": rfc3339(secret.created_at),
        "expiresAt": secret.expires_at and rfc3339(secret.expires_at),
    }


class SecretList(APIView):
    """``GET /secrets``: a bare array; the total is in ``X-Total-Count``."""

    permission_classes = (role_required(Role.EDITOR),)

    @documented("listSecrets", {200: SecretInList(many=True)}, query=[SecretQuery], tag="secrets")
    def get(self, request: Request) -> Response:
        """Answer a page of names and handles, ordered by name; never a value."""
        query = checked(SecretQuery, request.query_params)
        rows = Secret.objects.filter(customer=customer_of(request)).defer("ciphertext", "digest")
        secrets, response = paged(query, selected(SecretQuery, query, rows))
        response.data = [secret_body(secret) for secret in secrets]
        return response
