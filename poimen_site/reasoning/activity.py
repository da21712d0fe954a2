"""CanvasReasonerActivity: a workflow that looks for the connections of a canvas, as the editor does.

Source: contract-canvas 7, contract-activities 0 and 13, whose field names these are.
"""

import asyncio
from typing import Any, Literal

from pydantic import BaseModel, Field

from agents.activities.shapes import call_context
from agents.reasoner.asking import PURPOSE
from poimen_site.reasoning.suggesting import CanvasRefused, suggest_connections
from workflows.activities.context import ActivityContext
from workflows.activities.registry import activity
from workflows.activities.shapes import KEEPS_HANDLES, TAKES_SECRETS
from workflows.errors import InvalidInput


class CanvasReasonerInput(BaseModel):
    """A canvas."""

    nodes: list[dict[str, Any]] = Field(description="The nodes of the canvas", json_schema_extra=KEEPS_HANDLES)
    edges: list[dict[str, Any]] = Field(default=[], description="The edges there are", json_schema_extra=KEEPS_HANDLES)
    preserve_existing: bool = Field(default=True, description="Whether every edge stays; else all is proposed anew")
    auth_token: str | None = Field(
        default=None,
        max_length=8192,
        description="Bearer token for the model's server, as a secret:<id> handle; left out, the operator's",
        json_schema_extra=TAKES_SECRETS,
    )


class CanvasReasonerOutput(BaseModel):
    """Connections to accept or not; nothing of them is saved."""

    suggested_edges: list[dict[str, Any]] = Field(description="New edges with their wording")
    removed_edges: list[dict[str, Any]] = Field(description="Edges that would go, where not every edge stays")
    rejected_edges: list[dict[str, Any]] = Field(description="What no canvas can have: {source, target, reason}")
    reasoning: str = Field(description="Why, in words")
    confidence: float = Field(description="How sure the whole is, from 0 to 1")
    incompatible_edges: list[dict[str, Any]] = Field(description="New edges that do not carry what is needed")
    disconnected_nodes: list[str] = Field(description="Activities that would be in no edge")
    user_alerts: list[str] = Field(description="What should be looked at, for people")
    method: Literal["model", "schema-matching"] = Field(description="Who proposed: a model, or the matching of fields")


@activity(
    "CanvasReasonerActivity",
    category="workflow",
    timeout="120s",
    is_flaky=True,
    max_attempts=2,
    backoff=2.0,
    notes="Without a model, and where it gives no answer of use, fields are matched by name and type.",
)
async def reason_about_canvas(input: CanvasReasonerInput, context: ActivityContext) -> CanvasReasonerOutput:
    """Proposes which nodes of a canvas should be connected, with wording and confidence; changes nothing."""
    try:
        outcome = await asyncio.to_thread(
            suggest_connections,
            input.nodes,
            input.edges,
            preserve=input.preserve_existing,
            context=call_context(context, PURPOSE),
            auth_token=input.auth_token or "",
        )
    except CanvasRefused as refused:
        raise InvalidInput(f"{refused.field}: {refused}") from None
    for source, target, why in outcome.rejected:
        context.warn(f"left out: {source} → {target}: {why}")
    context.info(f"{len(outcome.suggested)} connections are suggested", method=outcome.method)
    return CanvasReasonerOutput(**outcome.as_json())
