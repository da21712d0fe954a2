"""``/approvals``: which gates wait for people, and their votes (subsystem-approval 3 and 6)."""

from collections.abc import Callable
from typing import ClassVar

from drf_spectacular.utils import extend_schema_view
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from workflows import approvals
from workflows.access import access_of, customer_of, role_required
from workflows.api import acts
from workflows.api.answers import GateAnswer, GateStatistics
from workflows.api.documentation import documented
from workflows.api.gates import gate_body, gates_of, own_gate_body
from workflows.api.requests import APPROVAL, Ordering, Page, Query, Reason, checked, id_in_path, paged, selected
from workflows.models import Role
from workflows.models.approval import GateStatus


class ListFilter(Page):
    """Query of the list."""

    lookups: ClassVar = {"status": "status", "executionId": "execution"}
    status = serializers.ChoiceField(choices=GateStatus.choices, required=False)
    executionId = serializers.UUIDField(required=False)  # noqa: N815 - a key of the API
    ordering = Ordering({"createdAt": "created_at", "expiresAt": "expires_at"}, default="createdAt")


class ApprovalList(APIView):
    """``GET /approvals``: a bare array, oldest first; the total is in the header ``X-Total-Count``."""

    permission_classes = (role_required(Role.VIEWER),)

    @documented("listApprovals", {200: GateAnswer(many=True)}, query=[ListFilter], tag="approvals")
    def get(self, request: Request) -> Response:
        """Answer a page, filtered and ordered as the query says."""
        wanted = checked(ListFilter, request.query_params)
        rows = selected(ListFilter, wanted, gates_of(customer_of(request)))
        gates, response = paged(wanted, rows)
        response.data = [gate_body(gate) for gate in gates]
        return response


class ApprovalStatistics(APIView):
    """``GET /approvals/stats``: how many gates stand where, and how long people take."""

    permission_classes = (role_required(Role.VIEWER),)

    @documented("readApprovalStatistics", {200: GateStatistics}, tag="approvals")
    def get(self, request: Request) -> Response:
        """Answer counts by status and ``averageWaitSeconds`` (null before the first decision)."""
        checked(Query, request.query_params)
        found = approvals.stats(customer_of(request).pk)
        counts = {key: getattr(found, key) for key in ("total", *GateStatus.values)}
        wait = None if found.average_wait is None else round(found.average_wait.total_seconds(), 3)
        return Response(counts | {"averageWaitSeconds": wait})


class ApprovalDetail(APIView):
    """``GET /approvals/{id}``."""

    permission_classes = (role_required(Role.VIEWER),)

    @documented("readApproval", {200: GateAnswer}, refusals=[404], tag="approvals")
    def get(self, request: Request, gate_id: str) -> Response:
        """Answer the gate with its votes."""
        checked(Query, request.query_params)
        return Response(own_gate_body(customer_of(request), id_in_path(gate_id, APPROVAL)))


def votes(operation_id: str) -> Callable[[type[APIView]], type[APIView]]:
    """Say what an endpoint takes that votes."""
    said = documented(operation_id, {200: GateAnswer}, body=Reason, refusals=[404, 409], tag="approvals")
    return extend_schema_view(post=said)


class _Vote(APIView):
    permission_classes = (role_required(Role.APPROVER),)
    approve: bool

    def post(self, request: Request, gate_id: str) -> Response:
        """Take ``{reason?}`` and count the vote; answers the gate as it is then."""
        body = acts.vote(access_of(request), request.user, gate_id, request.data, approve=self.approve)
        return Response(body)


@votes("approve")
class Approve(_Vote):
    """``POST /approvals/{id}/approve``."""

    approve = True


@votes("reject")
class Reject(_Vote):
    """``POST /approvals/{id}/reject``; needs a reason."""

    approve = False
