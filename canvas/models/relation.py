"""The meaning of an edge, per workflow version, and the history of each edge's wording (contract-canvas 1.4, 2)."""

from django.db import models

from workflows.identifiers import new_id
from workflows.models import Workflow


class RelationType(models.TextChoices):
    """How the target depends on the source."""

    DATA_FLOW = "data-flow"
    DEPENDENCY = "dependency"
    CONDITIONAL = "conditional"
    PARALLEL = "parallel"


class Relation(models.Model):
    """One edge of one workflow version with its wording."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workflow = models.ForeignKey(Workflow, on_delete=models.CASCADE, related_name="relations", db_index=False)
    version = models.PositiveIntegerField()
    edge_id = models.CharField(max_length=255)
    source_node_id = models.CharField(max_length=128)
    target_node_id = models.CharField(max_length=128)
    relation_type = models.CharField(max_length=16, choices=RelationType.choices, default=RelationType.DATA_FLOW)
    label = models.CharField(max_length=500, blank=True)
    relation_wording = models.JSONField(default=dict)
    confidence = models.FloatField(null=True)
    transformer_needed = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    indexed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workflow", "version", "source_node_id", "target_node_id", "relation_type"],
                name="one_relation_per_edge",
            )
        ]
        indexes = [models.Index(fields=["workflow", "version"], name="relation_of_version")]

    def __str__(self) -> str:
        return self.label or f"{self.source_node_id} → {self.target_node_id}"


class RelationVersion(models.Model):
    """One change of an edge's meaning: numbered from 1 per (workflow, edge)."""

    workflow = models.ForeignKey(Workflow, on_delete=models.CASCADE, related_name="relation_versions", db_index=False)
    edge_id = models.CharField(max_length=255)
    version = models.PositiveIntegerField()
    workflow_version = models.PositiveIntegerField()
    relation_type = models.CharField(max_length=16, choices=RelationType.choices)
    label = models.CharField(max_length=500, blank=True)
    relation_wording = models.JSONField(default=dict)
    change_reason = models.TextField(blank=True)
    changed_by = models.CharField(max_length=254, blank=True)
    changed_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["version"]
        constraints = [
            models.UniqueConstraint(fields=["workflow", "edge_id", "version"], name="one_row_per_relation_version")
        ]

    def __str__(self) -> str:
        return f"{self.edge_id} v{self.version}"
