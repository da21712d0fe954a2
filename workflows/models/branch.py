"""One line of control of an execution: the unit that is scheduled, leased and driven."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from workflows.identifiers import new_id
from workflows.models.execution import Execution
from workflows.models.tenancy import Customer


class BranchStatus(models.TextChoices):
    """Where a branch stands. ``ready`` rows are what pumps claim."""

    BLOCKED = "blocked"  # waits for the branches it depends on
    QUEUED = "queued"  # waits for a slot of its parent's maxConcurrency
    READY = "ready"
    RUNNING = "running"  # leased by a pump
    WAITING = "waiting"  # for a timer, a signal, its children
    HELD = "held"  # ready, but its execution is paused
    SUCCESS = "success"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"


class Waiting(models.TextChoices):
    """What a waiting branch waits for."""

    TIMER = "timer"
    RETRY = "retry"
    SIGNAL = "signal"
    ACTIVITY = "activity"  # a suspended activity: its signal or its time
    CHILDREN = "children"
    EXECUTION = "execution"  # a child execution
    CACHE = "cache"  # another branch that makes the same result


class Branch(models.Model):
    """The root of an execution, a branch of a Parallel, or an item of a Map.

    ``epoch`` is the fencing token: it grows with every claim, and what is written under an older one writes nothing.
    ``seq`` counts committed transitions. ``visit`` numbers the states entered, ``attempt`` the runs of this visit.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    execution = models.ForeignKey(Execution, on_delete=models.CASCADE, related_name="branches", db_index=False)
    customer = models.ForeignKey(Customer, on_delete=models.CASCADE, related_name="+", db_index=False)
    parent = models.ForeignKey("self", null=True, on_delete=models.CASCADE, related_name="children", db_index=False)
    parent_visit = models.IntegerField(null=True)
    parent_attempt = models.IntegerField(null=True)
    body = models.CharField(max_length=300, blank=True, help_text="Which list of states: '' root, 'Fan/left', 'Each/*'")
    name = models.CharField(max_length=128, blank=True)
    index = models.IntegerField(default=0)
    ancestors = ArrayField(models.UUIDField(), default=list)
    item = models.JSONField(null=True)
    depends_on = ArrayField(models.CharField(max_length=128), default=list)
    depth = models.SmallIntegerField(default=0)

    status = models.CharField(max_length=16, choices=BranchStatus.choices, default=BranchStatus.READY)
    stop = models.CharField(max_length=16, blank=True, help_text="Why it must end: cancel, sibling, timeout")
    state = models.CharField(max_length=128)
    visit = models.IntegerField(default=1)
    attempt = models.IntegerField(default=1)
    failures = models.IntegerField(default=0, help_text="Failed attempts of this visit")
    interruptions = models.IntegerField(default=0, help_text="Runs of this visit lost with their worker")
    state_entered_at = models.DateTimeField(null=True)
    activity = models.CharField(max_length=128, blank=True)
    previous = models.JSONField(null=True, help_text="What the first state finds as output of the one before")
    variables = models.JSONField(default=dict)
    caught = models.JSONField(null=True, help_text="The error object the last catch caught")

    waiting_for = models.CharField(max_length=16, choices=Waiting.choices, blank=True)
    wait_signal = models.CharField(max_length=255, blank=True)
    wake_at = models.DateTimeField(null=True)
    open_children = models.PositiveIntegerField(default=0)

    priority = models.SmallIntegerField(default=0)
    ready_at = models.DateTimeField(auto_now_add=True)
    lease_owner = models.UUIDField(null=True)
    lease_expires_at = models.DateTimeField(null=True)
    epoch = models.BigIntegerField(default=0)
    seq = models.BigIntegerField(default=0)

    output = models.JSONField(null=True)
    error = models.JSONField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name_plural = "branches"
        # No index on what every transition changes: then PostgreSQL updates in place (HOT).
        indexes = [
            models.Index(fields=["execution", "status"], name="branch_of_execution"),
            models.Index(
                models.F("priority").desc(), models.F("ready_at"), models.F("id"),
                name="branch_ready", condition=models.Q(status="ready"),
            ),
            models.Index(fields=["parent", "index"], name="branch_queued", condition=models.Q(status="queued")),
            # Says more than "running", lest it look like a way to find one running branch by its id.
            models.Index(
                fields=["customer"], name="branch_leased",
                condition=models.Q(status="running", lease_owner__isnull=False),
            ),
            models.Index(fields=["execution"], name="branch_held", condition=models.Q(status="held")),
            models.Index(
                fields=["wake_at"], name="branch_due", condition=models.Q(status="waiting", wake_at__isnull=False)
            ),
            models.Index(
                fields=["execution", "wait_signal"], name="branch_signal",
                condition=models.Q(status="waiting", wait_signal__gt=""),
            ),
        ]  # fmt: skip
        constraints = [
            models.UniqueConstraint(
                fields=["parent", "parent_visit", "parent_attempt", "index"], name="one_branch_per_place"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name or 'root'} at {self.state}"
