"""What one person has drawn and not saved yet: at most one draft per workflow and user."""

from django.conf import settings
from django.db import models

from workflows.identifiers import new_id
from workflows.models import Workflow


class Draft(models.Model):
    """A canvas on its way to a save, sealed as saves are. ``revision`` is new with every write."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workflow = models.ForeignKey(Workflow, on_delete=models.CASCADE, related_name="drafts", db_index=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    revision = models.UUIDField(default=new_id)
    base_version = models.PositiveIntegerField(help_text="The version of the workflow that it was made on")
    name = models.CharField(max_length=128, blank=True)
    description = models.TextField(blank=True)
    status = models.CharField(max_length=16)
    nodes = models.JSONField(default=list)
    edges = models.JSONField(default=list)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workflow", "user"], name="one_draft_per_workflow_and_user")]

    def __str__(self) -> str:
        return f"{self.name} on v{self.base_version}"
