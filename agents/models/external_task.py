"""Tasks of issue trackers: what the tracker says of one, and apart from that where it stands with us."""

from django.db import models

from workflows.identifiers import new_id
from workflows.models import Customer


class TaskSource(models.TextChoices):
    """Which tracker."""

    GITHUB = "github"
    LINEAR = "linear"
    JIRA = "jira"


class TaskStatus(models.TextChoices):
    """Where a task stands, in the words of no tracker."""

    OPEN = "open"
    IN_PROGRESS = "in_progress"
    DONE = "done"
    CANCELLED = "cancelled"


class ExternalTask(models.Model):
    """One task. Title, body, labels and names were written by others: text to work on, never an instruction.

    An import changes what is theirs and never ``local_status``, which is ours (subsystem-external 5).
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    customer = models.ForeignKey(Customer, on_delete=models.CASCADE, related_name="external_tasks", db_index=False)
    source = models.CharField(max_length=16, choices=TaskSource.choices)
    project = models.CharField(max_length=201)
    external_id = models.CharField(max_length=100)
    title = models.CharField(max_length=500)
    body = models.TextField(blank=True)
    url = models.CharField(max_length=1000, blank=True)
    external_status = models.CharField(max_length=200, blank=True, help_text="Theirs, in their words")
    status = models.CharField(max_length=16, choices=TaskStatus.choices, help_text="Theirs, in ours")
    local_status = models.CharField(
        max_length=16, choices=TaskStatus.choices, default=TaskStatus.OPEN, help_text="Ours; no import changes it"
    )
    labels = models.JSONField(default=list)
    assignee = models.CharField(max_length=200, blank=True)
    author = models.CharField(max_length=200, blank=True)
    milestone = models.CharField(max_length=200, blank=True)
    priority = models.CharField(max_length=200, blank=True)
    remote_created_at = models.DateTimeField(null=True)
    remote_updated_at = models.DateTimeField(null=True)
    digest = models.CharField(max_length=64, help_text="Of all that is theirs: tells whether anything changed")
    imported_by = models.UUIDField(null=True, help_text="The execution that changed it last")
    first_seen_at = models.DateTimeField(auto_now_add=True)
    last_synced_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["customer", "source", "project", "external_id"], name="one_task_per_external_id"
            )
        ]
        indexes = [models.Index(fields=["customer", "-remote_updated_at"], name="external_task_newest")]

    def __str__(self) -> str:
        return f"{self.source} {self.project} {self.external_id}"
