"""What workflows look like in JSON, and how requests about them are read (contract-rest-api 2.1 to 2.3).

Owns the keys; secrets that an old save holds in the open go out masked. Refuses bodies that are no objects.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from rest_framework.exceptions import ParseError
from rest_framework.request import Request

from canvas.models import Draft
from canvas.problems import report_of
from workflows import secrets
from workflows.api.requests import NO_OBJECT, id_in_path, not_found
from workflows.api.timestamps import rfc3339
from workflows.models import Customer, Workflow, WorkflowStatus, WorkflowVersion

# What a 404 names.
WORKFLOW, VERSION = "Workflow", "Version"


def workflow_body(workflow: Workflow) -> dict[str, Any]:
    """Return a workflow with the newest canvas; every key is always there."""
    return {
        "id": str(workflow.pk),
        "name": workflow.name,
        "description": workflow.description,
        "status": str(workflow.status),
        "version": workflow.version,
        "nodes": secrets.mask(workflow.nodes),
        "edges": secrets.mask(workflow.edges),
        "createdAt": rfc3339(workflow.created_at),
        "updatedAt": rfc3339(workflow.updated_at),
        "createdBy": workflow.created_by,
    }


def workflow_with_validation(workflow: Workflow, version: WorkflowVersion | None) -> dict[str, Any]:
    """As :func:`workflow_body`, with ``validation``: what is right or wrong with the newest version."""
    return workflow_body(workflow) | {"validation": report_of(version.problems if version else [], workflow.status)}


def version_body(version: WorkflowVersion, *, with_canvas: bool) -> dict[str, Any]:
    """Return one save of a workflow; ``runnable`` says whether it compiled, ``validation`` why not if so."""
    body: dict[str, Any] = {
        "workflowId": str(version.workflow_id),
        "version": version.version,
        "name": version.name,
        "checksum": version.checksum,
        "description": version.description,
        "status": str(version.status),
        "reason": version.reason,
        "changes": secrets.mask(version.changes),
        "runnable": version.spec_id is not None,
        "createdAt": rfc3339(version.created_at),
        "createdBy": version.created_by,
        "validation": report_of(version.problems, WorkflowStatus.ACTIVE),
    }
    if with_canvas:
        spec = version.spec.document if version.spec is not None else None
        body |= secrets.mask({"nodes": version.nodes, "edges": version.edges, "spec": spec})
    return body


def draft_body(draft: Draft, *, with_canvas: bool) -> dict[str, Any]:
    """Return a draft, or only where it stands."""
    body: dict[str, Any] = {
        "workflowId": str(draft.workflow_id),
        "revision": str(draft.revision),
        "baseVersion": draft.base_version,
        "updatedAt": rfc3339(draft.updated_at),
    }
    if with_canvas:
        body |= {"name": draft.name, "description": draft.description, "status": draft.status}
        body |= secrets.mask({"nodes": draft.nodes, "edges": draft.edges})
    return body


def object_of(request: Request) -> Mapping[str, Any]:
    """Return the body as an object, empty if there is no body; raises ``ParseError`` (400) for anything else."""
    data: object = request.data
    if data is None:
        return {}
    if not isinstance(data, Mapping):
        raise ParseError(NO_OBJECT)
    return data


def workflow_id_in(text: str) -> UUID:
    """Return the id in a path; raises 404 ``Workflow not found`` for text that is none."""
    return id_in_path(text, WORKFLOW)


def own_workflow_in(text: str, customer: Customer) -> UUID:
    """As :func:`workflow_id_in`, and 404 unless the customer has that workflow (one query)."""
    pk = workflow_id_in(text)
    if not Workflow.objects.filter(pk=pk, customer=customer).exists():
        raise not_found(WORKFLOW)
    return pk
