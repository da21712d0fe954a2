"""``/approvals``: which gates wait for people, and their votes (subsystem-approval 3 and 6)."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar
from uuid import UUID

from django.db.models import Prefetch, QuerySet
from drf_spectacular.utils import extend_schema_view
from rest_framework import serializers, status
from rest_framework.exceptions import APIException, PermissionDenied, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from workflows import approvals
from workflows.access import customer_of, role_required
from workflows.api.answers import GateAnswer, GateStatistics
from workflows.api.documentation import documented
from workflows.api.requests import (
    APPROVAL,
    Conflict,
    Ordering,
    Page,
    Query,
    Reason,
    checked,
    id_in_path,
    not_found,
    paged,
    selected,
)
from workflows.api.timestamps import rfc3339
from workflows.models import ApprovalGate, ApprovalVote, Customer, Role
from workflows.models.approval import GateStatus
from workflows.spec.durations import format_duration


def gates_of(customer: Customer) -> QuerySet[ApprovalGate]:
    """Return the customer's gates, oldest first, with votes and voters (two queries for any number)."""
    votes = ApprovalVote.objects.select_related("user").order_by("voted_at")
    return ApprovalGate.objects.filter(customer=customer).prefetch_related(Prefetch("votes", votes))


def gate_body(gate: ApprovalGate) -> dict[str, Any]:
    """Return a gate as JSON with its votes; a pending one says how long it is still open (``expiresIn``)."""
    votes = list(gate.votes.all())
    body: dict[str, Any] = {
        "id": str(gate.pk),
        "executionId": str(gate.execution_id),
        "state": gate.state,
        "subject": gate.subject,
        "description": gate.description,
        "status": gate.status,
        "requiredApprovals": gate.required_approvals,
        "approvals": sum(vote.approve for vote in votes),
        "votes": [
            {
                "user": vote.user.get_username(),
                "approve": vote.approve,
                "reason": vote.reason,
                "votedAt": rfc3339(vote.voted_at),
            }
            for vote in votes
        ],
        "createdAt": rfc3339(gate.created_at),
        "expiresAt": rfc3339(gate.expires_at),
    }
    if gate.status == GateStatus.PENDING:
        left = max(gate.expires_at - datetime.now(UTC), timedelta(0))
        body["expiresIn"] = format_duration(timedelta(seconds=int(left.total_seconds())))
    if gate.decided_at is not None:
        body |= {"decidedAt": rfc3339(gate.decided_at), "reason": gate.reason}
    return body


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
        return Response(_body_of(request, id_in_path(gate_id, APPROVAL)))


def votes(operation_id: str) -> Callable[[type[APIView]], type[APIView]]:
    """Say what an endpoint takes that votes."""
    said = documented(operation_id, {200: GateAnswer}, body=Reason, refusals=[404, 409], tag="approvals")
    return extend_schema_view(post=said)


class _Vote(APIView):
    permission_classes = (role_required(Role.APPROVER),)
    approve: bool

    def post(self, request: Request, gate_id: str) -> Response:
        """Take ``{reason?}`` and count the vote; answers the gate as it is then."""
        pk = id_in_path(gate_id, APPROVAL)
        if not ApprovalGate.objects.filter(pk=pk, customer=customer_of(request)).exists():
            raise not_found(APPROVAL)
        reason = checked(Reason, request.data)["reason"]
        try:
            approvals.vote(pk, request.user, approve=self.approve, reason=reason)
        except approvals.VoteRefused as refused:
            raise _as_api_error(refused) from refused
        return Response(_body_of(request, pk), status=status.HTTP_200_OK)


@votes("approve")
class Approve(_Vote):
    """``POST /approvals/{id}/approve``."""

    approve = True


@votes("reject")
class Reject(_Vote):
    """``POST /approvals/{id}/reject``; needs a reason."""

    approve = False


def _body_of(request: Request, pk: UUID) -> dict[str, Any]:
    gate = gates_of(customer_of(request)).filter(pk=pk).first()
    if gate is None:
        raise not_found(APPROVAL)
    return gate_body(gate)


def _as_api_error(refused: approvals.VoteRefused) -> APIException:
    match refused.code:
        case "unknown":
            return not_found(APPROVAL)
        case "not-allowed":
            return PermissionDenied(str(refused))
        case "reason":
            return ValidationError({"reason": [str(refused)]})
        case "decided" | "expired" | "voted":
            return Conflict(str(refused))
