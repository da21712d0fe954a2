"""What a sentence asks for, drawn, and the draft it is kept as.

Owns the join of ``agents.router`` and ``canvas``. Nothing is run:
what is kept is a draft until somebody says more.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agents.router.routing import Context, Route, route
from canvas.changes import read_changes
from canvas.drawing import Drawing, draw_spec
from canvas.saving import create_workflow
from workflows.models import Customer, WorkflowStatus, WorkflowVersion

MAX_NAME = 128


@dataclass(frozen=True, slots=True)
class Drawn:
    """A route with the drawing of its spec; none where there are questions."""

    route: Route
    drawing: Drawing | None

    def as_json(self) -> dict[str, Any]:
        """The answer of ``POST /route``: the route, and ``canvas: {nodes, edges, leftOut}`` if there is a spec."""
        body = self.route.as_json()
        return body | ({"canvas": self.drawing.as_json()} if self.drawing is not None else {})


def route_and_draw(message: str, customer: Customer, context: Context = None, *, offline: bool = False) -> Drawn:
    """Return what ``message`` asks for; raises ``agents.router.routing.MessageRefused`` for empty and long ones."""
    routed = route(message, context=context, customer=customer, offline=offline)
    return Drawn(routed, None if routed.document is None else draw_spec(routed.document))


def save_draft(drawn: Drawn, message: str, customer: Customer, *, by: str) -> WorkflowVersion:
    """Save the drawing as a new workflow, a draft, with the message as its description; raises as a save does."""
    if drawn.drawing is None:
        raise ValueError("there is nothing to save while questions are open")
    fields: Mapping[str, Any] = {
        "name": drawn.route.name[:MAX_NAME],
        "description": message.strip(),
        "status": WorkflowStatus.DRAFT.value,
        "nodes": drawn.drawing.nodes,
        "edges": drawn.drawing.edges,
    }
    return create_workflow(customer, read_changes(fields), by=by)
