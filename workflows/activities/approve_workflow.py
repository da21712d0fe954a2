"""ApproveWorkflowActivity: asks people, and waits for them without holding a worker (contract-activities 8)."""

from datetime import UTC, datetime, timedelta

from django.conf import settings
from pydantic import Field

from workflows import approvals
from workflows.activities.context import ActivityContext, Suspended
from workflows.activities.registry import activity
from workflows.activities.shapes import KEEPS_HANDLES, Fields, counts_at_most

# The knowledge base's timeout bounds the wait, however many minutes the input asks for.
LONGEST_MINUTES = 120
AUTOMATIC_APPROVER = "system-auto"


class ApproveWorkflowInput(Fields):
    """What is to be approved, by how many, until when."""

    workflow_id: str = Field(
        min_length=1,
        max_length=255,
        description="What is to be approved, as people know it",
        json_schema_extra=KEEPS_HANDLES,
    )
    required_approvals: int = Field(default=1, ge=1, le=20, description="How many distinct approvers must agree")
    timeout_minutes: float = Field(
        default=60,
        gt=0,
        description="Minutes until the question expires; more than 120 count as 120",
        json_schema_extra=counts_at_most(LONGEST_MINUTES),
    )
    description: str = Field(
        default="", max_length=4000, description="What the approvers should know", json_schema_extra=KEEPS_HANDLES
    )


class ApproveWorkflowOutput(Fields):
    """What was decided."""

    approved: bool = Field(description="Whether enough people agreed in time")
    approver: str | None = Field(default=None, description="Who approved, separated by commas; only if it was approved")
    rejected_by: str | None = Field(default=None, description="Who rejected it; only if it was rejected")
    timestamp: str = Field(description="When it was decided, RFC 3339")
    reason: str | None = Field(default=None, description="Why it was not approved")


@activity(
    "ApproveWorkflowActivity",
    keywords=("approval", "sign-off", "permission", "go-ahead"),
    category="approval",
    timeout="120m",
    max_attempts=1,
    backoff=1.0,
    isolation="inline",
    notes="Waits for people; cannot be retried.",
)
def approve_workflow(input: ApproveWorkflowInput, context: ActivityContext) -> ApproveWorkflowOutput | Suspended:
    """Opens an approval gate and goes on once it is decided or expired."""
    if settings.POIMEN_AUTO_APPROVE:
        context.warn("approved without asking anyone: POIMEN_AUTO_APPROVE is on")
        return ApproveWorkflowOutput(
            approved=True, approver=AUTOMATIC_APPROVER, timestamp=datetime.now(UTC).isoformat(timespec="seconds")
        )
    minutes = min(input.timeout_minutes, LONGEST_MINUTES)
    gate = approvals.open_gate(
        identity=context.identity,
        workflow_id=input.workflow_id,
        required_approvals=input.required_approvals,
        expires_in=timedelta(minutes=minutes),
        description=input.description,
    )
    outcome = approvals.gate_outcome(gate.pk)
    if outcome.decided_at is None:
        if input.timeout_minutes > minutes:
            asked = f"{input.timeout_minutes:,.10g}"
            context.warn(f"timeoutMinutes is {asked}; {minutes:g} is the most an approval waits, and is taken")
        needed = f"{input.required_approvals} approval{'s' if input.required_approvals > 1 else ''}"
        context.info(f"waiting for {needed} of {input.workflow_id}", gate=str(gate.pk))
        return Suspended(gate.signal_name, until=gate.expires_at)
    return ApproveWorkflowOutput(
        approved=outcome.approved,
        approver=", ".join(outcome.approvers) if outcome.approved else None,
        rejected_by=outcome.rejected_by,
        timestamp=outcome.decided_at.isoformat(timespec="seconds"),
        reason=outcome.reason or None,
    )
