"""What an approval gate looks like in JSON, built from its row and its votes (subsystem-approval 3).

Refuses to show the gates of other customers. Deciding them is in ``acts``.
"""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Prefetch, QuerySet

from workflows.api.requests import APPROVAL, id_in_path, not_found
from workflows.api.timestamps import rfc3339
from workflows.models import ApprovalGate, ApprovalVote, Customer
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


def own_gate_in(text: str, customer: Customer) -> UUID:
    """Return the id in a path; raises 404 unless the customer has that gate (one query)."""
    pk = id_in_path(text, APPROVAL)
    if not ApprovalGate.objects.filter(pk=pk, customer=customer).exists():
        raise not_found(APPROVAL)
    return pk


def own_gate_body(customer: Customer, pk: UUID) -> dict[str, Any]:
    """Return a gate of the customer as JSON; raises 404 if it has no such gate."""
    gate = gates_of(customer).filter(pk=pk).first()
    if gate is None:
        raise not_found(APPROVAL)
    return gate_body(gate)
