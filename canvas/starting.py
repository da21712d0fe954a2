"""Starting a workflow that was drawn: the newest version, under the activities there are now (contract-rest-api 2.4).

Owns the way from a workflow to an execution; the spec is on the version already, so a start costs few queries.
Refuses a version with errors, saying which.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import connection

from canvas.catalogue import current_catalogue
from canvas.compilation import missing_inputs
from canvas.problems import report_of
from canvas.saving import NotValid, WorkflowNotFound, compile_for
from workflows.models import Customer, Execution, SpecDocument, Workflow, WorkflowStatus, WorkflowVersion
from workflows.prepared_queries import Selected, expanded, fetch
from workflows.submission import parsed_spec, start_execution, store_spec


def start_workflow(
    workflow_id: UUID,
    customer: Customer,
    *,
    inputs: Mapping[str, Any],
    priority: int = 0,
    idempotency_key: str | None = None,
    by: str = "",
) -> tuple[Execution, bool]:
    """Start the newest version of the workflow; returns the execution and whether it is new.

    Raises :class:`~canvas.saving.WorkflowNotFound` (archived ones count as gone), :class:`~canvas.saving.NotValid`,
    ``workflows.submission.IdempotencyConflict`` and ``workflows.errors.LimitExceeded`` for too large inputs.
    """
    version = _newest(workflow_id, customer)
    if version is None:
        raise WorkflowNotFound(str(workflow_id))
    spec = version.spec
    if spec is None or not _is_current(spec):
        spec = _recompile(customer, version)
    if blocking := missing_inputs(version.problems, inputs):
        raise NotValid(report_of(blocking, WorkflowStatus.ACTIVE))
    if spec is None:
        raise NotValid(report_of(version.problems, WorkflowStatus.ACTIVE))
    return start_execution(
        customer=customer,
        spec=spec,
        inputs=inputs,
        name=version.name,
        workflow=version.workflow,
        version=version,
        priority=priority,
        idempotency_key=idempotency_key,
        created_by=by,
    )


_VERSION = Selected(WorkflowVersion, "v", "id", "workflow_id", "version", "name", "spec_id", "problems")
_NEWEST = expanded(
    """
SELECT v.*
FROM workflows_workflow w JOIN workflows_workflowversion v ON v.workflow_id = w.id AND v.version = w.version
WHERE w.id = %(id)s AND w.customer_id = %(customer)s AND w.status <> %(archived)s
""",
    _VERSION,
)


def _newest(workflow_id: UUID, customer: Customer) -> WorkflowVersion | None:
    """Return the newest version of a workflow that is not archived; canvases and specs are loaded when first read."""
    rows = fetch(_NEWEST, {"id": workflow_id, "customer": customer.pk, "archived": WorkflowStatus.ARCHIVED.value})
    if not rows:
        return None
    version = _VERSION.make(rows[0])
    using = connection.alias
    version.workflow = Workflow.from_db(using, ("id",), (workflow_id,))
    if version.spec_id is not None:
        version.spec = SpecDocument.from_db(using, ("checksum",), (version.spec_id,))
    return version


def _is_current(spec: SpecDocument) -> bool:
    """Whether the activities the spec uses have the schemas it was compiled under."""
    catalogue = current_catalogue()
    used = parsed_spec(spec).metadata.get("activities", {})
    for name, fingerprint in used.items():
        activity = catalogue.find(name)
        if activity is None or activity.fingerprint != fingerprint:
            return False
    return True


def _recompile(customer: Customer, version: WorkflowVersion) -> SpecDocument | None:
    """Compile the version again and keep the outcome with it: what it is drawn like stays, what runs it is new."""
    compiled = compile_for(customer, version.name, version.nodes, version.edges)
    spec = None if compiled.document is None else store_spec(compiled.document)
    rows = compiled.rows()
    if rows != version.problems or spec != version.spec:
        version.problems, version.spec = rows, spec
        version.save(update_fields=["problems", "spec"])
    return spec
