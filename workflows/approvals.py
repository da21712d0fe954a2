"""Gates where people decide: opened by a state, decided by quorum, and the waiting branch woken in the same commit.

Refuses votes that are not authorised, late, or cast twice; a decision is final. Source: subsystem-approval.

Who may vote: members of the gate's customer in the role approver or admin, and superusers. Where more than one approval
is asked for, whoever started the execution may not be one of the approvers (four eyes); with a quorum of one they may,
so that an installation of a single person can work. Rejecting is open to every approver: one rejection ends the gate.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal
from uuid import UUID

from django.contrib.auth.models import AnonymousUser, User
from django.db import connection, transaction
from django.db.models import Avg, Count, F, Q

from workflows import access, audit, control
from workflows.activities.context import Identity
from workflows.engine import hints
from workflows.engine.statements import LOCK_EXECUTION
from workflows.errors import Canceled, InvalidInput
from workflows.models import ApprovalGate, ApprovalVote, Branch, Execution, LogEntry, Role
from workflows.models.approval import GateStatus
from workflows.models.execution import TERMINAL

SIGNAL_PREFIX = "approval:"  # see ApprovalGate.signal_name; nobody else may send these
MAX_APPROVALS = 20
MAX_REASON = 4000
_SWEEP = 500

Refusal = Literal["unknown", "not-allowed", "decided", "expired", "voted", "reason"]


class VoteRefused(Exception):
    """A vote that does not count; ``code`` says why in a word, the message in a sentence."""

    def __init__(self, code: Refusal, message: str) -> None:
        super().__init__(message)
        self.code: Refusal = code


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a gate: ``approvers`` are user names in the order of their votes. Undecided: ``decided_at`` None.

    ``approvers`` are told whatever came of it; ``rejected_by`` is the user name of who rejected it, None if nobody did.
    """

    approved: bool
    approvers: list[str]
    rejected_by: str | None
    reason: str
    decided_at: datetime | None


@dataclass(frozen=True, slots=True)
class ApprovalStats:
    """How many gates of a customer stand where, and how long people took to approve or reject."""

    total: int
    pending: int
    approved: int
    rejected: int
    expired: int
    cancelled: int
    average_wait: timedelta | None


def open_gate(
    *, identity: Identity, workflow_id: str, required_approvals: int, expires_in: timedelta, description: str = ""
) -> ApprovalGate:
    """Open the gate of a state visit, or return the one it has already opened.

    ``workflow_id`` is what is to be approved, as the workflow names it. Raises :class:`InvalidInput` for a quorum
    outside 1 to 20 or an expiry that is not ahead, and :class:`Canceled` if the execution is ending.
    """
    known = ApprovalGate.objects.filter(idempotency_key=identity.idempotency_key).first()
    if known is not None:
        return known
    if not 1 <= required_approvals <= MAX_APPROVALS:
        raise InvalidInput(f"requiredApprovals must be 1 to {MAX_APPROVALS}, not {required_approvals}")
    if expires_in <= timedelta(0):
        raise InvalidInput("an approval must be given some time: timeoutMinutes must be more than 0")
    now = datetime.now(UTC)
    with transaction.atomic():
        execution = Execution.objects.select_for_update(no_key=True, of=("self",)).get(pk=identity.execution)
        if execution.status in TERMINAL or execution.cancel_requested_at is not None:
            raise Canceled("the execution is ending; nobody is asked for approval any more")
        gate, _ = ApprovalGate.objects.get_or_create(
            idempotency_key=identity.idempotency_key,
            defaults={
                "customer_id": execution.customer_id,
                "execution": execution,
                "state": identity.state,
                "subject": workflow_id[:255],
                "description": description,
                "required_approvals": required_approvals,
                "expires_at": now + expires_in,
            },
        )
    return gate


def vote(
    gate_id: UUID,
    user: User | AnonymousUser,
    *,
    approve: bool,
    reason: str = "",
    now: datetime | None = None,
) -> ApprovalGate:
    """Count the vote of ``user`` and return the gate as it is then; a decision wakes the waiting branch.

    ``now`` is the moment of the vote (aware; the present if left out): at ``expires_at`` the gate is still open.
    Raises :class:`VoteRefused`. A vote that comes too late expires the gate if nobody has noticed yet.
    """
    moment = now or datetime.now(UTC)
    reason = reason.replace("\0", "").strip()[:MAX_REASON]
    with transaction.atomic():
        gate = _locked(gate_id)
        if gate is None:
            raise VoteRefused("unknown", "there is no such approval")
        if isinstance(user, AnonymousUser) or not access.may_act(user, gate.customer_id, Role.APPROVER):
            raise VoteRefused("not-allowed", f"deciding this needs the role {Role.APPROVER.value}")
        if gate.status == GateStatus.PENDING and moment > gate.expires_at:
            _decide(gate, GateStatus.EXPIRED, moment)
        elif gate.status == GateStatus.PENDING:
            _count(gate, user, approve=approve, reason=reason, moment=moment)
            _audit(gate, "approved" if approve else "rejected", user.get_username(), reason)
            return gate
    # Said only after the commit, which may have expired the gate.
    if gate.status == GateStatus.EXPIRED:
        raise VoteRefused("expired", f"the approval expired at {gate.expires_at:%Y-%m-%d %H:%M:%S} UTC")
    raise VoteRefused("decided", f"the approval has been decided already: {gate.status}")


def gate_outcome(gate_id: UUID, *, now: datetime | None = None) -> Outcome:
    """Return what came of the gate; one past its time expires here if nobody has noticed yet.

    Raises ``ApprovalGate.DoesNotExist`` for an unknown id.
    """
    moment = now or datetime.now(UTC)
    gate = ApprovalGate.objects.get(pk=gate_id)
    if gate.status == GateStatus.PENDING and moment > gate.expires_at:
        with transaction.atomic():
            gate = _locked(gate_id) or gate
            if gate.status == GateStatus.PENDING:
                _decide(gate, GateStatus.EXPIRED, moment)
    return _outcome(gate)


def expire_due_gates(now: datetime | None = None) -> int:
    """Expire every pending gate whose time has passed and wake what waits for it; returns how many."""
    moment = now or datetime.now(UTC)
    due = ApprovalGate.objects.filter(status=GateStatus.PENDING, expires_at__lt=moment).order_by("expires_at")
    expired = 0
    for gate_id in list(due.values_list("pk", flat=True)[:_SWEEP]):
        with transaction.atomic():
            gate = _locked(gate_id)
            if gate is not None and gate.status == GateStatus.PENDING:  # else somebody was faster
                _decide(gate, GateStatus.EXPIRED, moment)
                expired += 1
    return expired


def stats(customer_id: UUID) -> ApprovalStats:
    """Count the customer's gates by status and average the wait of those that people decided (one query)."""
    by_people = Q(status__in=(GateStatus.APPROVED, GateStatus.REJECTED))
    row = ApprovalGate.objects.filter(customer_id=customer_id).aggregate(
        total=Count("pk"),
        average_wait=Avg(F("decided_at") - F("created_at"), filter=by_people),
        **{status.value: Count("pk", filter=Q(status=status)) for status in GateStatus},
    )
    return ApprovalStats(**row)


def _locked(gate_id: UUID) -> ApprovalGate | None:
    """The gate, locked after its execution: whoever ends an execution locks that first and then closes its gates."""
    execution = ApprovalGate.objects.filter(pk=gate_id).values_list("execution_id", flat=True).first()
    if execution is None:
        return None
    with connection.cursor() as cursor:
        cursor.execute(LOCK_EXECUTION, {"id": execution})
    return ApprovalGate.objects.select_for_update(no_key=True, of=("self",)).filter(pk=gate_id).first()


def _count(gate: ApprovalGate, user: User, *, approve: bool, reason: str, moment: datetime) -> None:
    started_by = Execution.objects.values_list("created_by", flat=True).get(pk=gate.execution_id)
    if approve and gate.required_approvals > 1 and user.get_username() == started_by:
        raise VoteRefused(
            "not-allowed", "you started this execution: where several approvals are needed they must be of others"
        )
    if not approve and not reason:
        raise VoteRefused("reason", "say why: a rejection needs a reason")
    if ApprovalVote.objects.filter(gate=gate, user_id=user.pk).exists():
        raise VoteRefused("voted", "you have voted on this already; the others must do the rest")
    ApprovalVote.objects.create(gate=gate, user_id=user.pk, approve=approve, reason=reason)
    given = gate.votes.filter(approve=True).count()
    what = f"{'approved' if approve else 'rejected'} by {user.get_username()}{f': {reason}' if reason else ''}"
    _say(gate, f"{what} ({given} of {gate.required_approvals})" if approve else what, given)
    if not approve:
        _decide(gate, GateStatus.REJECTED, moment, reason=reason, by=user.get_username())
    elif given >= gate.required_approvals:
        _decide(gate, GateStatus.APPROVED, moment, reason=reason, by=user.get_username())


def _decide(gate: ApprovalGate, status: GateStatus, moment: datetime, *, reason: str = "", by: str = "") -> None:
    """Write the decision and wake the branch that waits for it; part of the caller's transaction."""
    if status == GateStatus.EXPIRED:
        votes = gate.votes.filter(approve=True).count()
        reason = f"expired with {votes} of {gate.required_approvals} approvals"
        _say(gate, reason, votes)
    gate.status, gate.reason, gate.decided_at = status, reason, moment
    gate.save(update_fields=["status", "reason", "decided_at"])
    outcome = _outcome(gate)
    try:
        control.send_signal(
            gate.execution_id,
            gate.signal_name,
            {
                "gate": str(gate.pk),
                "status": status.value,
                "approved": outcome.approved,
                "approvers": outcome.approvers,
                "rejectedBy": outcome.rejected_by,
                "reason": outcome.reason,
                "decidedAt": moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            },
            dedupe_key=gate.signal_name,
            by=by,
            is_told=False,
        )
    except control.NotPossible:
        # The execution ended while its gate was still open: nobody waits, and the gate's own row keeps the decision.
        pass
    if status == GateStatus.EXPIRED:
        _audit(gate, "expired", "", reason)


def _say(gate: ApprovalGate, message: str, given: int) -> None:
    """Tell the execution's log of a vote, or that time ran out: at the state and branch that wait."""
    waiting = Branch.objects.filter(execution=gate.execution_id, status="waiting", wait_signal=gate.signal_name)
    LogEntry.objects.create(
        execution_id=gate.execution_id,
        branch_id=waiting.values_list("pk", flat=True).first(),
        node_id=gate.state,
        level="info",
        event="approval",
        message=message,
        fields={
            "gate": str(gate.pk), "subject": gate.subject, "approvals": given, "required": gate.required_approvals
        },
    )  # fmt: skip
    with connection.cursor() as cursor:
        hints.notify_logged(cursor, [gate.execution_id])


def _audit(gate: ApprovalGate, what: str, by: str, reason: str) -> None:
    """Record a vote, or that time ran out, and where the gate stands then; the last thing in its transaction."""
    audit.record(
        gate.customer_id,
        f"approval.{what}",
        target=("approval", gate.pk),
        actor=by,
        execution=gate.execution_id,
        workflow=Execution.objects.values_list("workflow_id", flat=True).get(pk=gate.execution_id),
        details={"subject": gate.subject, "state": gate.state, "gate": gate.status, "reason": reason},
    )


def _outcome(gate: ApprovalGate) -> Outcome:
    votes = list(gate.votes.order_by("voted_at").values_list("approve", "user__username"))
    return Outcome(
        approved=gate.status == GateStatus.APPROVED,
        approvers=[name for is_approval, name in votes if is_approval],
        rejected_by=next((name for is_approval, name in votes if not is_approval), None),
        reason=gate.reason,
        decided_at=gate.decided_at,
    )
