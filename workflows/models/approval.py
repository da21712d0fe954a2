"""Gates where a person decides, and who voted how (subsystem-approval)."""

from django.conf import settings
from django.db import models

from workflows.identifiers import new_id
from workflows.models.execution import Execution
from workflows.models.tenancy import Customer
from workflows.terminal_text import plain


class GateStatus(models.TextChoices):
    """All but ``pending`` are final."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


class ApprovalGate(models.Model):
    """A question to people: approved once ``required_approvals`` of them have approved; one rejection ends it."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    customer = models.ForeignKey(Customer, on_delete=models.CASCADE, related_name="approval_gates")
    execution = models.ForeignKey(Execution, on_delete=models.CASCADE, related_name="approval_gates")
    idempotency_key = models.CharField(max_length=255, unique=True)
    state = models.CharField(max_length=128)
    subject = models.CharField(max_length=255, help_text="What is to be approved, as the workflow names it")
    description = models.TextField(blank=True)
    required_approvals = models.PositiveSmallIntegerField(default=1)
    status = models.CharField(max_length=16, choices=GateStatus.choices, default=GateStatus.PENDING)
    reason = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    decided_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["created_at"]
        indexes = [
            models.Index(fields=["expires_at"], name="gate_expiry", condition=models.Q(status="pending")),
            models.Index(fields=["customer", "status"], name="gate_by_status"),
        ]
        constraints = [
            models.CheckConstraint(condition=models.Q(required_approvals__gte=1), name="gate_needs_a_vote"),
        ]

    def __str__(self) -> str:
        return f"{plain(self.subject)} ({self.status})"

    @property
    def signal_name(self) -> str:
        """The signal that wakes the waiting branch once the gate is decided."""
        return f"approval:{self.id}"


class ApprovalVote(models.Model):
    """One person's vote; nobody votes twice on a gate."""

    gate = models.ForeignKey(ApprovalGate, on_delete=models.CASCADE, related_name="votes")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="approval_votes")
    approve = models.BooleanField()
    reason = models.TextField(blank=True)
    voted_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["voted_at"]
        constraints = [models.UniqueConstraint(fields=["gate", "user"], name="one_vote_per_person")]

    def __str__(self) -> str:
        return f"{self.user} {'approves' if self.approve else 'rejects'}"
