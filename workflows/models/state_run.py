"""What happened: one row per ended attempt of a state visit. Running states are the cursors of the branches."""

from django.db import models

from workflows.models.branch import Branch
from workflows.models.execution import Execution


class RunStatus(models.TextChoices):
    """How an attempt ended; ``interrupted``: its worker died or lost its lease."""

    SUCCESS = "success"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"


class StateRun(models.Model):
    """One attempt. Foreign keys carry no constraint: the engine alone writes here, and checking would lock the
    execution's row for every step (docs/explanation/decisions.md)."""

    id = models.BigAutoField(primary_key=True)
    execution = models.ForeignKey(
        Execution, on_delete=models.CASCADE, related_name="state_runs", db_constraint=False, db_index=False
    )
    branch = models.ForeignKey(
        Branch, on_delete=models.CASCADE, related_name="state_runs", db_constraint=False, db_index=False
    )
    state = models.CharField(max_length=128)
    visit = models.IntegerField()
    attempt = models.IntegerField()
    type = models.CharField(max_length=16)
    activity = models.CharField(max_length=128, blank=True)
    status = models.CharField(max_length=16, choices=RunStatus.choices)
    input = models.JSONField(null=True)
    output = models.JSONField(null=True)
    error = models.JSONField(null=True)
    next_state = models.CharField(max_length=128, blank=True, help_text="Where the branch went from here")
    assigned = models.JSONField(null=True, help_text="Branch variables the state set")
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField()
    worker = models.CharField(max_length=128, blank=True)
    epoch = models.BigIntegerField(default=0)
    reused = models.BooleanField(default=False, help_text="Copied from the execution this one reruns or continues")

    class Meta:
        constraints = [
            # Leads with the execution, so that it also serves as the index for an execution's history.
            models.UniqueConstraint(fields=["execution", "branch", "visit", "attempt"], name="one_run_per_attempt")
        ]

    def __str__(self) -> str:
        return f"{self.state} #{self.visit}.{self.attempt} {self.status}"
