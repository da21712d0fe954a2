"""``GET /audit``: who did what, the newest first, for the customer's admins. Nothing here changes anything."""

import json
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from workflows.access import customer_of, role_required
from workflows.api.answers import AuditPage
from workflows.api.documentation import documented
from workflows.api.requests import MAX_LIMIT, Limit, Query, Text, checked
from workflows.api.timestamps import rfc3339
from workflows.models import AuditRecord, Role

FILTERS = {
    "executionId": "execution_id",
    "workflowId": "workflow_id",
    "actor": "actor",
    "action": "action",
    "targetKind": "target_kind",
    "targetId": "target_id",
    "from": "at__gte",
    "to": "at__lt",
    "after": "seq__lt",
}


class AuditQuery(Query):
    """Query of the trail: ``from`` counts in, ``to`` does not; ``after`` is the ``next`` of an earlier answer."""

    executionId = serializers.UUIDField(required=False)  # noqa: N815 - a key of the API
    workflowId = serializers.UUIDField(required=False)  # noqa: N815
    actor = Text(required=False, max_length=300)
    action = Text(required=False, max_length=64)
    targetKind = Text(required=False, max_length=32)  # noqa: N815
    targetId = Text(required=False, max_length=300)  # noqa: N815
    to = serializers.DateTimeField(required=False)
    after = serializers.IntegerField(required=False, min_value=1, max_value=2**62)
    limit = Limit(most=MAX_LIMIT, default=50)

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Add ``from``, which is no name in Python."""
        return {**super().get_fields(), "from": serializers.DateTimeField(required=False)}


def audit_body(row: AuditRecord) -> dict[str, Any]:
    """Return a record as JSON; ``details`` were masked when they were written."""
    return {
        "seq": row.seq,
        "at": rfc3339(row.at),
        "actor": row.actor,
        "actorKind": row.actor_kind,
        "action": row.action,
        "target": {"kind": row.target_kind, "id": row.target_id},
        "executionId": row.execution_id and str(row.execution_id),
        "workflowId": row.workflow_id and str(row.workflow_id),
        "details": json.loads(row.details),
        "requestId": row.request_id,
        "previousHash": row.previous_hash,
        "hash": row.hash,
    }


class AuditTrail(APIView):
    """``GET /audit``."""

    permission_classes = (role_required(Role.ADMIN),)

    @documented("readAudit", {200: AuditPage}, query=[AuditQuery], tag="audit")
    def get(self, request: Request) -> Response:
        """Answer ``{records, next}``: ``next`` is what to send as ``after`` for older ones, null at the end."""
        query = checked(AuditQuery, request.query_params)
        limit = query.pop("limit")
        rows = AuditRecord.objects.filter(customer_id=customer_of(request).pk)
        rows = rows.filter(**{FILTERS[name]: value for name, value in query.items()})
        found = list(rows.order_by("-seq")[: limit + 1])
        following = found[limit - 1].seq if len(found) > limit else None
        return Response({"records": [audit_body(row) for row in found[:limit]], "next": following})
