"""``/cached-results``: which results are kept, and forgetting them (subsystem-cache 3 and 5)."""

from typing import Any, ClassVar

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from workflows import kept_results
from workflows.access import access_of, customer_of, role_required
from workflows.api.answers import Shape, moment, text
from workflows.api.documentation import documented
from workflows.api.requests import Ordering, Page, Strict, Text, checked, paged, selected
from workflows.api.schedule_bodies import Id
from workflows.api.timestamps import rfc3339
from workflows.models import CachedResult, CacheStatus, Role


class CachedResultAnswer(Shape):
    """A kept result, without its key and output: what made it, and how it is used."""

    id = serializers.UUIDField()
    activity = text()
    version = text()
    status = serializers.ChoiceField(choices=CacheStatus.choices)
    workflowId = serializers.UUIDField(allow_null=True)  # noqa: N815
    executionId = serializers.UUIDField(allow_null=True)  # noqa: N815
    state = text()
    hits = serializers.IntegerField()
    bytes = serializers.IntegerField()
    madeAt = moment(allow_null=True)  # noqa: N815
    usedAt = moment(allow_null=True)  # noqa: N815
    expiresAt = moment(allow_null=True)  # noqa: N815


class ForgottenAnswer(Shape):
    """How many results were forgotten."""

    forgotten = serializers.IntegerField()


class ListFilter(Page):
    """Query of the list."""

    lookups: ClassVar = {"activity": "activity", "workflowId": "workflow", "executionId": "execution"}
    activity = serializers.CharField(required=False, max_length=128)
    workflowId = serializers.UUIDField(required=False)  # noqa: N815
    executionId = serializers.UUIDField(required=False)  # noqa: N815
    ordering = Ordering({"madeAt": "made_at", "usedAt": "used_at", "hits": "hits", "bytes": "bytes"}, default="-madeAt")


class Yes(serializers.BooleanField):
    """True or false in a body; text and numbers are neither."""

    def to_internal_value(self, data: Any) -> bool:
        """Return ``data``; raises ``ValidationError`` for anything but true and false."""
        if not isinstance(data, bool):
            raise serializers.ValidationError("expected true or false")
        return data


class ForgetBody(Strict):
    """Which results to forget: exactly one of these."""

    activity = Text(required=False, max_length=128)
    workflowId = Id(required=False)  # noqa: N815
    id = Id(required=False)
    all = Yes(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse none and several: an empty body must not forget everything."""
        if len(attrs) != 1 or attrs.get("all") is False:
            raise serializers.ValidationError("give exactly one of activity, workflowId, id, or all: true")
        return attrs


class CachedResultList(APIView):
    """``GET /cached-results``: newest first, a bare array; the total is in the header ``X-Total-Count``."""

    permission_classes = (role_required(Role.VIEWER),)

    @documented("listCachedResults", {200: CachedResultAnswer(many=True)}, query=[ListFilter], tag="cached results")
    def get(self, request: Request) -> Response:
        """Answer a page, filtered and ordered as the query says."""
        wanted = checked(ListFilter, request.query_params)
        rows = CachedResult.objects.filter(customer=customer_of(request)).defer("output", "waiters")
        found, response = paged(wanted, selected(ListFilter, wanted, rows))
        response.data = [_body(row) for row in found]
        return response


class ForgetCachedResults(APIView):
    """``POST /cached-results/forget``: those of an activity or a workflow, one, or all of the customer."""

    permission_classes = (role_required(Role.OPERATOR),)

    @documented("forgetCachedResults", {200: ForgottenAnswer}, body=ForgetBody, tag="cached results")
    def post(self, request: Request) -> Response:
        """Take one of ``{activity}``, ``{workflowId}``, ``{id}`` and ``{all: true}``; answers how many are gone."""
        body = checked(ForgetBody, request.data)
        columns = {"activity": "activity", "workflowId": "workflow", "id": "pk"}
        chosen = {columns[name]: value for name, value in body.items() if name != "all"}
        access = access_of(request)
        return Response({"forgotten": kept_results.forget(access.customer.pk, chosen, by=access.actor)})


def _body(row: CachedResult) -> dict[str, Any]:
    return {
        "id": str(row.pk),
        "activity": row.activity,
        "version": row.version,
        "status": row.status,
        "workflowId": str(row.workflow_id) if row.workflow_id else None,
        "executionId": str(row.execution_id) if row.execution_id else None,
        "state": row.state,
        "hits": row.hits,
        "bytes": row.bytes,
        "madeAt": row.made_at and rfc3339(row.made_at),
        "usedAt": row.used_at and rfc3339(row.used_at),
        "expiresAt": row.expires_at and rfc3339(row.expires_at),
    }
