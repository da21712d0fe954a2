"""How endpoints say in OpenAPI what they take and answer, with the refusals that all of them share.

Owns the schema class of every REST view. An endpoint that does not say what it answers fails the suite.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from drf_spectacular.extensions import OpenApiAuthenticationExtension, OpenApiSerializerFieldExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
Shape = Any  # a serializer class or instance, or a JSON Schema

REFUSALS = {
    400: "A field or query parameter is wrong or unknown; `details` names it",
    401: "Not signed in, or with something that is no longer good; the sentence says why",
    403: "The role, the scope or the customer that is missing",
    404: "There is no such thing for you; the sentence says what",
    406: "The answer cannot have the type that `Accept` asks for",
    409: "Not possible as things stand, with the reason",
    413: "The body is too large",
    415: "The body is not `application/json`",
    422: "What is to run has errors; `details` lists them",
    429: "Too many requests; `Retry-After` says when to try again",
    503: "The database cannot be reached; `Retry-After` says when to try again",
}
ALWAYS = (400, 401, 403, 406, 429, 503)
IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key", str, OpenApiParameter.HEADER, description="Sent again, the request does not start another run"
)
IF_MATCH = OpenApiParameter(
    "If-Match", str, OpenApiParameter.HEADER, description="The ETag of the version that the change was made on"
)
CUSTOMER = OpenApiParameter(
    "X-Customer", str, OpenApiParameter.HEADER, description="Slug or id, where the sign-in is for several customers"
)


class ErrorAnswer(serializers.Serializer[Any]):
    """What every refusal looks like."""

    error = serializers.CharField(help_text="One sentence: what is wrong, and what was expected")
    details = serializers.JSONField(required=False)


def documented(
    operation_id: str,
    answers: Mapping[int, Shape] | Mapping[tuple[int, str], Shape],
    *,
    tag: str,
    body: Shape = None,
    query: Sequence[Any] = (),
    headers: Sequence[OpenApiParameter] = (),
    refusals: Sequence[int] = (),
) -> Callable[[Decorated], Decorated]:
    """Say what a method of a view takes and answers; ``refusals`` are those beyond :data:`ALWAYS`."""
    found: dict[int, Any] = dict(answers)
    codes = {*ALWAYS, *refusals, *((413, 415) if body is not None else ())}
    for code in sorted(codes - set(found)):
        found[code] = OpenApiResponse(ErrorAnswer, description=REFUSALS[code])
    return extend_schema(
        operation_id=operation_id,
        request={"application/json": body} if body is not None else None,
        responses=found,
        parameters=[*query, *headers, CUSTOMER],
        tags=[tag],
    )


class Schema(AutoSchema):
    """As drf-spectacular's own, but what is a list is told by what an endpoint says alone."""

    def _is_list_view(self, serializer: Any = None) -> bool:
        return isinstance(serializer, serializers.ListSerializer)


class ApiKeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """API keys."""

    target_class = "workflows.access.ApiKeyAuthentication"
    name = "apiKey"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        """Return the header."""
        return {
            "type": "apiKey",
            "in": "header",
            "name": "X-API-Key",
            "description": "Or `Authorization: ApiKey pk_...`",
        }


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Tokens."""

    target_class = "workflows.access.BearerAuthentication"
    name = "bearer"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        """Return the scheme."""
        return {"type": "http", "scheme": "bearer", "bearerFormat": "JWT", "description": "From `POST /auth/token`"}


class JsonObjectField(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]
    """Any JSON object."""

    target_class = "workflows.api.requests.JsonObject"

    def map_serializer_field(self, auto_schema: Any, direction: Any) -> dict[str, Any]:
        """Return the schema."""
        nullable = {"nullable": True} if self.target.allow_null else {}
        return {"type": "object", "additionalProperties": {}, **nullable}
