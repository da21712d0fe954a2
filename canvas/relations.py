"""What the edges of each version mean, and how that changed over time (contract-canvas 1.4, 1.5, 2, 3).

Owns Relation and RelationVersion rows: written with every save, never changed. Refuses to show another customer's.
"""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from canvas.edges import Edge
from canvas.models import Relation, RelationVersion
from workflows.api.timestamps import rfc3339
from workflows.models import Customer, Workflow, WorkflowVersion


class VersionNotFound(LookupError):
    """The customer has no such workflow, or the workflow no such version."""


def keep_relations(workflow: Workflow, edges: Iterable[Edge], *, reason: str = "", by: str = "") -> None:
    """Write a Relation for each edge of the version just saved, and a RelationVersion where the meaning is new.

    Part of the transaction of the save, under the workflow's row lock.
    """
    relations = [_relation(workflow, edge) for edge in edges]
    Relation.objects.bulk_create(relations)
    newest = {
        edge_id: (version, meaning)
        for edge_id, version, *meaning in RelationVersion.objects.filter(workflow=workflow)
        .order_by("edge_id", "-version")
        .distinct("edge_id")
        .values_list("edge_id", "version", "relation_type", "label", "relation_wording")
    }
    changed = []
    for relation in relations:
        version, meaning = newest.get(relation.edge_id, (0, None))
        if meaning != [relation.relation_type, relation.label, relation.relation_wording]:
            changed.append(
                RelationVersion(
                    workflow=workflow,
                    edge_id=relation.edge_id,
                    version=version + 1,
                    workflow_version=workflow.version,
                    relation_type=relation.relation_type,
                    label=relation.label,
                    relation_wording=relation.relation_wording,
                    change_reason=reason,
                    changed_by=by,
                )
            )
    RelationVersion.objects.bulk_create(changed)


def canvas_with_relations(customer: Customer, workflow_id: UUID, version: int = 0) -> dict[str, Any]:
    """Return ``{workflow_id, version, nodes, edges, relations, updated_at}`` of one version (0: the newest).

    A version without relations has an empty list. Raises :class:`VersionNotFound`.
    """
    versions = WorkflowVersion.objects.filter(workflow=workflow_id, workflow__customer=customer)
    found = (versions.filter(version=version) if version else versions).order_by("-version").first()
    if found is None:
        raise VersionNotFound(f"workflow {workflow_id} has no version {version}" if version else str(workflow_id))
    rows = Relation.objects.filter(workflow=workflow_id, version=found.version).order_by("id")
    return {
        "workflow_id": str(workflow_id),
        "version": found.version,
        "nodes": found.nodes,
        "edges": found.edges,
        "relations": [relation_body(row) for row in rows],
        "updated_at": rfc3339(found.created_at),
    }


def relation_body(relation: Relation) -> dict[str, Any]:
    """Return an edge with its wording (contract-canvas 1.4)."""
    return {
        "id": str(relation.pk),
        "edge_id": relation.edge_id,
        "source": relation.source_node_id,
        "target": relation.target_node_id,
        "relation_type": relation.relation_type,
        "relation_label": relation.label,
        "relation_wording": relation.relation_wording,
        "created_at": rfc3339(relation.created_at),
    }


def history_of(customer: Customer, workflow_id: UUID, edge_id: str) -> list[dict[str, Any]]:
    """Return every change of an edge's meaning, oldest first (contract-rest-api 2.8); unknown ids have none."""
    if "\0" in edge_id:
        return []
    rows = RelationVersion.objects.filter(workflow=workflow_id, workflow__customer=customer, edge_id=edge_id)
    return [
        {
            "version": row.version,
            "workflow_version": row.workflow_version,
            "relation_type": row.relation_type,
            "relation_label": row.label,
            "relation_wording": row.relation_wording,
            "change_reason": row.change_reason,
            "created_at": rfc3339(row.changed_at),
            "created_by": row.changed_by,
        }
        for row in rows.order_by("version")
    ]


def _relation(workflow: Workflow, edge: Edge) -> Relation:
    wording = dict(edge.wording)
    if edge.condition:
        # When the edge is taken is part of what it means, and of its history.
        wording["condition"] = edge.condition
    if edge.on_error:
        wording["on_error"] = list(edge.on_error)
    return Relation(
        workflow=workflow,
        version=workflow.version,
        edge_id=edge.id,
        source_node_id=edge.source,
        target_node_id=edge.target,
        relation_type=edge.relation_type,
        label=edge.label,
        relation_wording=wording,
        confidence=edge.confidence,
        transformer_needed=edge.transformer_needed,
    )
