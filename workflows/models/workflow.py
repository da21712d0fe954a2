"""A workflow as people keep it: the newest canvas, and every version there was (contract-canvas 2)."""

from django.db import models

from workflows.identifiers import new_id
from workflows.models.tenancy import Customer


class WorkflowStatus(models.TextChoices):
    """A draft may be incomplete; only an active workflow must be valid; an archived one no longer starts."""

    DRAFT = "draft"
    ACTIVE = "active"
    ARCHIVED = "archived"


class Workflow(models.Model):
    """The newest state of a canvas. ``version`` counts saves from 1; each save also writes a WorkflowVersion."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    customer = models.ForeignKey(Customer, on_delete=models.PROTECT, related_name="workflows")
    name = models.CharField(max_length=128)
    description = models.TextField(blank=True)
    status = models.CharField(max_length=16, choices=WorkflowStatus.choices, default=WorkflowStatus.DRAFT)
    version = models.PositiveIntegerField(default=1)
    nodes = models.JSONField(default=list)
    edges = models.JSONField(default=list)
    created_by = models.CharField(max_length=254, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        indexes = [models.Index(fields=["customer", "-updated_at"], name="workflow_newest")]

    def __str__(self) -> str:
        return self.name


class WorkflowVersion(models.Model):
    """One save: the canvas as drawn, the spec it compiled to (none if it has errors) and what was wrong with it."""

    workflow = models.ForeignKey(Workflow, on_delete=models.CASCADE, related_name="versions")
    version = models.PositiveIntegerField()
    name = models.CharField(max_length=128)
    nodes = models.JSONField(default=list)
    edges = models.JSONField(default=list)
    spec = models.ForeignKey("SpecDocument", null=True, on_delete=models.PROTECT, related_name="+")
    problems = models.JSONField(default=list)
    checksum = models.CharField(max_length=64, help_text="SHA-256 of the canonical JSON of nodes and edges")
    description = models.TextField(null=True, help_text="None in versions that were saved before it was kept")
    status = models.CharField(max_length=16, blank=True, default="", db_default="", choices=WorkflowStatus.choices)
    reason = models.TextField(blank=True, default="", db_default="", help_text="Why it was saved, if somebody said so")
    changes = models.JSONField(null=True, help_text="What is different from the version before (canvas.history)")
    created_by = models.CharField(max_length=254, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-version"]
        constraints = [models.UniqueConstraint(fields=["workflow", "version"], name="one_row_per_version")]

    def __str__(self) -> str:
        return f"{self.name} v{self.version}"
