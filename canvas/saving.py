"""Every save of a workflow: the canvas as drawn, the version it makes, the spec it compiles to and its relations.

Owns writing workflows; each save is one transaction under the workflow's row lock, so versions count without gaps and
no save is lost. Refuses an active workflow that cannot run.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.db import transaction

from canvas.catalogue import current_catalogue, squash
from canvas.changes import NAME_REQUIRED, Changes, InvalidField, read_changes
from canvas.compilation import Compiled, compile_canvas
from canvas.edges import fill_edges
from canvas.history import changes_between
from canvas.nodes import fill_nodes
from canvas.problems import report_of
from canvas.relations import keep_relations
from canvas.sealing import masked_secrets, seal_canvas
from workflows import audit
from workflows.models import Customer, Workflow, WorkflowStatus, WorkflowVersion
from workflows.spec.report import counted
from workflows.submission import checksum_of, store_spec


class WorkflowNotFound(LookupError):
    """The customer has no such workflow."""


class VersionConflict(Exception):
    """The workflow was saved by someone else in between; ``current`` is its version now."""

    def __init__(self, current: int) -> None:
        super().__init__(f"the workflow is at version {current} now; load it and make your change again")
        self.current = current


class NotValid(Exception):
    """The canvas has errors and the workflow was to be active; ``report`` is ``{valid, errors, warnings}``."""

    def __init__(self, report: dict[str, Any]) -> None:
        super().__init__(
            f"an active workflow must be valid, and this one has {counted(len(report['errors']), 'error')}"
        )
        self.report = report


def save_workflow(
    customer: Customer,
    *,
    name: str,
    description: str = "",
    nodes: list[dict[str, Any]] | None = None,
    edges: list[dict[str, Any]] | None = None,
    status: str = WorkflowStatus.DRAFT,
    created_by: str = "",
) -> Workflow:
    """Create a workflow at version 1. A draft may have errors; they are kept with the version.

    Raises :class:`~canvas.changes.InvalidField` or, for an active workflow with errors, :class:`NotValid`.
    """
    fields = {"name": name, "description": description, "status": status, "nodes": nodes, "edges": edges}
    return create_workflow(customer, read_changes(fields), by=created_by).workflow


def create_workflow(customer: Customer, changes: Changes, *, by: str = "") -> WorkflowVersion:
    """As :func:`save_workflow`, from fields that were read already; returns the first version."""
    if changes.name is None:
        raise InvalidField("name", NAME_REQUIRED)
    workflow = Workflow(customer=customer, name=changes.name, created_by=by, version=0)
    with transaction.atomic():
        return _write(workflow, customer, changes, by)


def update_workflow(
    workflow_id: UUID,
    customer: Customer,
    changes: Changes | Mapping[str, Any],
    *,
    expected_version: int | None = None,
    by: str = "",
) -> WorkflowVersion:
    """Save ``changes`` as the next version and return that, with its ``workflow`` and what is wrong with it.

    Raises :class:`WorkflowNotFound`, :class:`VersionConflict` if ``expected_version`` is not the current one,
    :class:`~canvas.changes.InvalidField`, and :class:`NotValid` if the workflow is, or becomes, active with errors.
    """
    wanted = changes if isinstance(changes, Changes) else read_changes(changes)
    with transaction.atomic():
        workflow = Workflow.objects.select_for_update().filter(pk=workflow_id, customer=customer).first()
        if workflow is None:
            raise WorkflowNotFound(str(workflow_id))
        if expected_version is not None and workflow.version != expected_version:
            raise VersionConflict(workflow.version)
        return _write(workflow, customer, wanted, by)


def delete_workflow(
    workflow_id: UUID, customer: Customer, *, expected_version: int | None = None, by: str | None = None
) -> None:
    """Delete the workflow with its versions and relations; executions stay, without it.

    Raises :class:`WorkflowNotFound`, and :class:`VersionConflict` if ``expected_version`` is not the current one.
    """
    with transaction.atomic():
        workflow = Workflow.objects.select_for_update().filter(pk=workflow_id, customer=customer).first()
        if workflow is None:
            raise WorkflowNotFound(str(workflow_id))
        if expected_version is not None and workflow.version != expected_version:
            raise VersionConflict(workflow.version)
        workflow.delete()
        _audit("deleted", workflow_id, workflow, by)


def compile_for(customer: Customer, name: str, nodes: object, edges: object) -> Compiled:
    """Compile a canvas with the activities there are now and the workflows of ``customer``; never raises for either."""
    names = _workflow_names(customer) if _starts_workflows(nodes) else None
    compiled = compile_canvas(name, nodes, edges, current_catalogue(), names)
    masked = masked_secrets(nodes, edges)
    return replace(compiled, problems=(*compiled.problems, *masked), document=None) if masked else compiled


def _write(workflow: Workflow, customer: Customer, changes: Changes, by: str) -> WorkflowVersion:
    """Write ``workflow`` with ``changes`` as its next version; the caller holds the row lock."""
    catalogue = current_catalogue()
    before = _head_and_canvas(workflow)
    if changes.name is not None:
        workflow.name = changes.name
    if changes.description is not None:
        workflow.description = changes.description
    if changes.status is not None:
        workflow.status = changes.status
    if changes.nodes is not None:
        workflow.nodes = fill_nodes(changes.nodes, catalogue)
    if changes.edges is not None:
        workflow.edges = fill_edges(changes.edges)
    workflow.nodes, workflow.edges, sealed = seal_canvas(workflow.nodes, workflow.edges, customer)
    compiled = compile_for(customer, workflow.name, workflow.nodes, workflow.edges)
    rows = compiled.rows() + [problem.as_row() for problem in sealed]
    report = report_of(rows, workflow.status)
    if workflow.status == WorkflowStatus.ACTIVE and not report["valid"]:
        raise NotValid(report)
    workflow.version += 1
    workflow.save()
    version = WorkflowVersion.objects.create(
        workflow=workflow,
        version=workflow.version,
        name=workflow.name,
        nodes=workflow.nodes,
        edges=workflow.edges,
        spec=store_spec(compiled.document) if compiled.document is not None else None,
        problems=rows,
        checksum=checksum_of({"nodes": workflow.nodes, "edges": workflow.edges}),
        description=workflow.description,
        status=workflow.status,
        reason=changes.reason,
        changes=changes_between(before, _head_and_canvas(workflow)) if workflow.version > 1 else None,
        created_by=by,
    )
    keep_relations(workflow, compiled.canvas.edges, reason=changes.reason, by=by)
    _audit("created" if workflow.version == 1 else "saved", workflow.pk, workflow, by, checksum=version.checksum)
    return version


def _head_and_canvas(workflow: Workflow) -> dict[str, Any]:
    return {key: getattr(workflow, key) for key in ("name", "description", "status", "nodes", "edges")}


def _audit(what: str, pk: UUID, workflow: Workflow, by: str | None, **details: Any) -> None:
    """Record a save or deletion, the last thing in its transaction; ``by`` None: whoever sent the request."""
    audit.record(
        workflow.customer_id,
        f"workflow.{what}",
        target=("workflow", pk),
        actor=by,
        workflow=pk,
        details={"name": workflow.name, "version": workflow.version, "status": workflow.status, **details},
    )


def _starts_workflows(nodes: object) -> bool:
    """Whether a node starts another workflow: only then is the list of names worth a query."""

    def is_one(node: object) -> bool:
        if not isinstance(node, dict):
            return False
        data = node.get("data")
        drawn = (node.get("type"), data.get("stateType") if isinstance(data, dict) else None)
        return any(isinstance(kind, str) and squash(kind) == "workflow" for kind in drawn)

    return isinstance(nodes, list) and any(map(is_one, nodes))


def _workflow_names(customer: Customer) -> Collection[str]:
    rows = Workflow.objects.filter(customer=customer).exclude(status=WorkflowStatus.ARCHIVED).values_list("name", "pk")
    return {text for name, pk in rows for text in (name, str(pk))}
