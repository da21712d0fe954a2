"""What workflows may ask about canvases: whether connections fit, and what the edges of a saved one mean.

Owns the two activities and their errors. Refuses canvases of other customers. Source: contract-canvas 3 and 6.3, whose
field names these are.
"""

import asyncio
from typing import Any, Final
from uuid import UUID

from django.db import connection
from pydantic import BaseModel, Field

from canvas.catalogue import current_catalogue
from canvas.compatibility import check_canvas
from canvas.relations import VersionNotFound, canvas_with_relations
from canvas.validation import MAX_EDGES, MAX_NODES
from workflows import secrets
from workflows.activities.context import ActivityContext
from workflows.activities.registry import activity
from workflows.activities.shapes import KEEPS_HANDLES
from workflows.errors import PermanentError
from workflows.models import Customer

ERRORS: Final = {"WorkflowNotFound": "there is no such workflow, or no such version of it; not tried again"}


class CanvasCompatibilityInput(BaseModel):
    """A canvas."""

    nodes: list[Any] = Field(max_length=MAX_NODES, description="Its nodes", json_schema_extra=KEEPS_HANDLES)
    edges: list[Any] = Field(default=[], max_length=MAX_EDGES, description="Its edges", json_schema_extra=KEEPS_HANDLES)


class CanvasCompatibilityOutput(BaseModel):
    """What is odd about its connections."""

    is_valid: bool = Field(description="Whether every connection carries what its target needs")
    incompatibilities: list[dict[str, Any]] = Field(
        description="{source, target, reason, source_needs, target_needs, suggestion} of each that does not"
    )
    disconnected_nodes: list[str] = Field(description="Activities in no connection")
    warnings: list[str] = Field(description="What else is odd, in sentences")


class FetchRelationsInput(BaseModel):
    """Which save of which workflow."""

    workflow_id: UUID = Field(description="Id of the workflow")
    version: int = Field(default=0, ge=0, le=2_147_483_647, description="Which save; 0 is the newest")


class FetchRelationsOutput(BaseModel):
    """The canvas of that save, with what its edges mean."""

    workflow_id: str = Field(description="Id of the workflow")
    version: int = Field(description="Which save it is")
    nodes: list[dict[str, Any]] = Field(description="Its nodes")
    edges: list[dict[str, Any]] = Field(description="Its edges")
    relations: list[dict[str, Any]] = Field(description="Each edge with its wording; empty if none are kept")
    updated_at: str = Field(description="When it was saved (RFC 3339)")


@activity("CanvasCompatibilityActivity", category="workflow", timeout="30s", internal=True)
def check_canvas_compatibility(input: CanvasCompatibilityInput, context: ActivityContext) -> CanvasCompatibilityOutput:
    """Compares, for every connection of a canvas, what its source gives with what its target needs."""
    outcome = check_canvas(input.nodes, input.edges, current_catalogue())
    return CanvasCompatibilityOutput(**outcome.as_json())


@activity("FetchCanvasRelationsActivity", category="workflow", timeout="30s", internal=True)
async def fetch_canvas_relations(input: FetchRelationsInput, context: ActivityContext) -> FetchRelationsOutput:
    """Reads a save of one of the customer's workflows, with the meaning of its edges."""
    try:
        found = await asyncio.to_thread(_read, context.identity.customer, input.workflow_id, input.version)
    except (VersionNotFound, Customer.DoesNotExist):
        which = f"workflow {input.workflow_id}" + (f" in version {input.version}" if input.version else "")
        raise PermanentError(f"there is no {which} here", name="WorkflowNotFound") from None
    if not found["relations"]:
        context.warn("no relations are kept with this save")
    return FetchRelationsOutput(**secrets.mask(found))


def _read(customer: str, workflow_id: UUID, version: int) -> dict[str, Any]:
    """Read in a thread of the loop's pool, whose connection goes back afterwards."""
    try:
        return canvas_with_relations(Customer.objects.get(pk=customer), workflow_id, version)
    finally:
        if not connection.in_atomic_block:  # as in tests
            connection.close()
