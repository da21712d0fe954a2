"""A workflow that starts by the calendar, and what became of every instant at which it was due."""

from datetime import timedelta

from django.db import models

from workflows.identifiers import new_id
from workflows.models.execution import Execution, SpecDocument
from workflows.models.tenancy import Customer
from workflows.models.workflow import Workflow


class Overlap(models.TextChoices):
    """What happens to a run that is due while the one before still runs."""

    SKIP = "skip"
    QUEUE = "queue"
    CANCEL_OTHER = "cancel-other"
    ALLOW = "allow"


class Schedule(models.Model):
    """When which workflow starts with which inputs, under which rules.

    It starts either a workflow (the newest version, or ``workflow_version``) or a spec of its own. ``due_at`` is the
    next instant by the cron text, ``fires_at`` that and the jitter; both are empty when none comes any more.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    customer = models.ForeignKey(Customer, on_delete=models.PROTECT, related_name="schedules")
    name = models.CharField(max_length=128)
    description = models.TextField(blank=True)
    workflow = models.ForeignKey(Workflow, null=True, blank=True, on_delete=models.SET_NULL, related_name="schedules")
    workflow_version = models.PositiveIntegerField(null=True, blank=True, help_text="Empty: the newest at each start")
    spec = models.ForeignKey(SpecDocument, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    inputs = models.JSONField(default=dict)
    priority = models.SmallIntegerField(default=0, help_text="Higher runs first")

    cron = models.CharField(max_length=256)
    zone = models.CharField(max_length=64, default="UTC")
    anchor = models.DateTimeField(help_text="What intervals (@every) are counted from")
    overlap = models.CharField(max_length=16, choices=Overlap.choices, default=Overlap.SKIP)
    catch_up = models.DurationField(default=timedelta(), help_text="How far back missed runs are made up for")
    jitter = models.DurationField(default=timedelta(), help_text="Each run starts up to this much later")
    max_runs = models.PositiveIntegerField(null=True, blank=True)
    starts_at = models.DateTimeField(null=True, blank=True)
    ends_at = models.DateTimeField(null=True, blank=True)

    paused_at = models.DateTimeField(null=True, blank=True)
    paused_by = models.CharField(max_length=254, blank=True)
    pause_reason = models.TextField(blank=True)

    runs = models.PositiveIntegerField(default=0, help_text="How many counted towards max_runs")
    due_at = models.DateTimeField(null=True)
    fires_at = models.DateTimeField(null=True)
    decided_at = models.DateTimeField(help_text="When due_at was worked out, by the database's clock")

    version = models.PositiveIntegerField(default=1)
    created_by = models.CharField(max_length=254, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        indexes = [
            models.Index(fields=["customer", "name"], name="schedule_by_name"),
            models.Index(
                fields=["fires_at"],
                name="schedule_due",
                condition=models.Q(paused_at=None, fires_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return self.name


class RunOutcome(models.TextChoices):
    """``queued`` becomes ``started`` once nothing of the schedule runs any more."""

    STARTED = "started"
    QUEUED = "queued"
    SKIPPED = "skipped"
    FAILED = "failed", "Could not start"


class RunTrigger(models.TextChoices):
    """What made it run, or what it would have run for."""

    CLOCK = "clock"
    CATCH_UP = "catch-up"
    BACKFILL = "backfill"
    MANUAL = "manual"


class ScheduleRun(models.Model):
    """What became of one instant at which a schedule was due; one row for each, whoever decided."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    schedule = models.ForeignKey(Schedule, on_delete=models.CASCADE, related_name="history", db_index=False)
    due_at = models.DateTimeField()
    outcome = models.CharField(max_length=16, choices=RunOutcome.choices)
    trigger = models.CharField(max_length=16, choices=RunTrigger.choices, default=RunTrigger.CLOCK)
    reason = models.TextField(blank=True)
    triggered_by = models.CharField(max_length=254, blank=True)
    # No constraint: the execution is written in the same transaction, and goes before this row when it is retired.
    execution = models.ForeignKey(
        Execution, null=True, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    decided_at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(fields=["schedule"], name="schedulerun_queued", condition=models.Q(outcome="queued")),
            models.Index(fields=["decided_at"], name="schedulerun_decided"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["schedule", "due_at"], name="one_row_per_due_instant"),
        ]

    def __str__(self) -> str:
        return f"{self.schedule_id} {self.due_at:%Y-%m-%dT%H:%M:%SZ}"
