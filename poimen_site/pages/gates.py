"""Approvals as pages show them: the question, the votes there are, and whether the visitor's own would count."""

from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from poimen_site.pages.visitor import Visitor
from workflows.api.gates import gates_of
from workflows.models import ApprovalGate, Role
from workflows.models.approval import GateStatus


@dataclass(frozen=True, slots=True)
class OpenGate:
    """A pending gate for one visitor; ``refusal`` says why they may not approve it, "" if they may."""

    gate: ApprovalGate
    approvals: int
    voters: tuple[str, ...]
    may_approve: bool
    may_reject: bool
    refusal: str
    is_urgent: bool


def open_gates(visitor: Visitor, *, most: int, execution: UUID | None = None) -> list[OpenGate]:
    """Return up to ``most`` pending gates that have not expired, those that close first in front (two queries)."""
    now = datetime.now(UTC)
    rows = gates_of(visitor.customer).filter(status=GateStatus.PENDING, expires_at__gt=now)
    if execution is not None:
        rows = rows.filter(execution=execution)
    rows = rows.select_related("execution").defer("execution__output", "execution__inputs", "execution__error")
    return [_for(visitor, gate, now) for gate in rows.order_by("expires_at")[:most]]


def _for(visitor: Visitor, gate: ApprovalGate, now: datetime) -> OpenGate:
    """The rules of ``workflows.approvals.vote``, told before anybody presses a button."""
    votes = list(gate.votes.all())
    may_vote, refusal = True, ""
    four_eyes = gate.required_approvals > 1 and gate.execution.created_by == visitor.user.get_username()
    if not visitor.may(Role.APPROVER):
        may_vote, refusal = False, f"Deciding needs the role approver; yours is {visitor.role.value}."
    elif any(vote.user_id == visitor.user.pk for vote in votes):
        may_vote, refusal = False, "You have voted; it waits for the others."
    elif four_eyes:
        refusal = "You started this run, so others must approve it; you may reject it."
    return OpenGate(
        gate=gate,
        approvals=sum(vote.approve for vote in votes),
        voters=tuple(vote.user.get_username() for vote in votes),
        may_approve=may_vote and not four_eyes,
        may_reject=may_vote,
        refusal=refusal,
        is_urgent=(gate.expires_at - now).total_seconds() < 600,
    )
