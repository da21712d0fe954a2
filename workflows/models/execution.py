"""One run of one spec, from its inputs to its end."""

from django.db import models

from workflows.identifiers import new_id
from workflows.models.tenancy import Customer
from workflows.models.workflow import Workflow, WorkflowVersion


class SpecDocument(models.Model):
    """A spec by the SHA-256 of its canonical JSON: written once, shared by every execution that pins it."""

    checksum = models.CharField(max_length=64, primary_key=True)
    document = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.document.get('name', '')} {self.checksum[:12]}"


class ExecutionStatus(models.TextChoices):
    """``waiting``: every branch waits for a timer, a signal or a person; nothing occupies a worker."""

    PENDING = "pending"
    RUNNING = "running"
    WAITING = "waiting"
    PAUSED = "paused"
    SUCCESS = "success"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"

    @property
    def is_terminal(self) -> bool:
        """Whether the execution has ended."""
        return self in TERMINAL


TERMINAL = frozenset(
    {ExecutionStatus.SUCCESS, ExecutionStatus.FAILED, ExecutionStatus.CANCELLED, ExecutionStatus.TIMED_OUT}
)


class Execution(models.Model):
    """A spec being run for a customer. Its lines of control are its branches; its history is its state runs."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    customer = models.ForeignKey(Customer, on_delete=models.PROTECT, related_name="executions", db_index=False)
    workflow = models.ForeignKey(
        Workflow, null=True, on_delete=models.SET_NULL, related_name="executions", db_index=False
    )
    workflow_version = models.ForeignKey(
        WorkflowVersion, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    spec = models.ForeignKey(SpecDocument, on_delete=models.PROTECT, related_name="executions", db_index=False)
    schedule = models.ForeignKey(
        "Schedule", null=True, on_delete=models.SET_NULL, related_name="executions", db_index=False
    )
    name = models.CharField(max_length=128)
    status = models.CharField(max_length=16, choices=ExecutionStatus.choices, default=ExecutionStatus.PENDING)
    inputs = models.JSONField(default=dict)
    output = models.JSONField(null=True)
    error = models.JSONField(null=True, help_text="{name, message, state} of the failure that ended it")
    errors = models.JSONField(default=list, help_text="One sentence per failure, those survived included")
    priority = models.SmallIntegerField(default=0, help_text="Higher runs first")
    created_by = models.CharField(max_length=254, blank=True)

    parent = models.ForeignKey("self", null=True, on_delete=models.CASCADE, related_name="children", db_index=False)
    parent_branch = models.UUIDField(null=True)
    parent_visit = models.PositiveIntegerField(null=True)
    parent_attempt = models.PositiveIntegerField(null=True)
    depth = models.PositiveSmallIntegerField(default=0)
    continued_from = models.ForeignKey(
        "self", null=True, on_delete=models.SET_NULL, related_name="continued_as", db_index=False
    )
    rerun_of = models.ForeignKey("self", null=True, on_delete=models.SET_NULL, related_name="reruns", db_index=False)
    start_state = models.CharField(max_length=128, blank=True)

    idempotency_key = models.CharField(max_length=255, null=True)
    request_hash = models.CharField(max_length=64, blank=True)

    pause_requested_at = models.DateTimeField(null=True)
    paused_at = models.DateTimeField(null=True)
    resumed_at = models.DateTimeField(null=True)
    pause_reason = models.TextField(blank=True)
    paused_by = models.CharField(max_length=254, blank=True)
    cancel_requested_at = models.DateTimeField(null=True)
    cancel_reason = models.TextField(blank=True)
    cancelled_by = models.CharField(max_length=254, blank=True)

    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    deadline_at = models.DateTimeField(null=True)

    class Meta:
        # Every start and every end of an execution writes into each index that has it: most have few of them.
        indexes = [
            models.Index(fields=["customer", "-created_at"], name="execution_newest"),
            models.Index(fields=["workflow", "-created_at"], name="execution_by_workflow"),
            models.Index(fields=["spec"], name="execution_of_spec"),
            *(
                models.Index(fields=[field], name=name, condition=models.Q((f"{field}__isnull", False)))
                for field, name in (
                    ("workflow_version", "execution_of_version"),
                    ("parent", "execution_child"),
                    ("continued_from", "execution_continued"),
                    ("rerun_of", "execution_rerun"),
                )
            ),
            models.Index(
                fields=["schedule", "-created_at"],
                name="execution_of_schedule",
                condition=models.Q(schedule__isnull=False),
            ),
            models.Index(
                fields=["schedule"],
                name="execution_scheduled_open",
                condition=models.Q(ended_at=None, schedule__isnull=False),
            ),
            models.Index(
                fields=["deadline_at"],
                name="execution_deadline",
                condition=models.Q(ended_at=None, deadline_at__isnull=False),
            ),
            models.Index(
                fields=["pause_requested_at"],
                name="execution_pausing",
                condition=models.Q(ended_at=None, pause_requested_at__isnull=False),
            ),
            # What is open is counted at every scrape; no transition changes these columns.
            models.Index(fields=["customer"], name="execution_open", condition=models.Q(ended_at=None)),
            models.Index(fields=["ended_at"], name="execution_ended", condition=models.Q(ended_at__isnull=False)),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["customer", "idempotency_key"],
                name="one_execution_per_key",
                condition=models.Q(idempotency_key__isnull=False),
            ),
            models.UniqueConstraint(
                fields=["parent_branch", "parent_visit", "parent_attempt"],
                name="one_child_per_attempt",
                condition=models.Q(parent_branch__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.id}"
