"""Which connections a canvas could have: a model's proposals where there is one, else fields that match.

Owns the join of ``agents.reasoner`` and ``canvas.suggesting``, and the choice between the two ways. Refuses a canvas
without nodes, and one that is too large to be looked at.
"""

import logging
from collections.abc import Sequence
from typing import Any, Final

from agents import llm
from agents.llm import CallContext
from agents.prompts.sandbox import PromptError
from agents.reasoner.asking import MOST_EDGES, MOST_NODES, ask_for_connections
from canvas.catalogue import current_catalogue
from canvas.sealing import seal_canvas
from canvas.suggesting.describing import described
from canvas.suggesting.drawn import Drawn
from canvas.suggesting.matching import match
from canvas.suggesting.reviewing import Proposal, Suggestions, review

log = logging.getLogger(__name__)

MOST_CANVAS_NODES: Final = 1_000
MOST_CANVAS_EDGES: Final = 5_000


class CanvasRefused(ValueError):
    """The canvas is none that connections can be suggested for; ``field`` names what is wrong with it."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def suggest_connections(
    nodes: Sequence[Any],
    edges: Sequence[Any],
    *,
    context: CallContext,
    preserve: bool = True,
    auth_token: str = "",
) -> Suggestions:
    """Return connections that the canvas could have (contract-canvas 7); raises :class:`CanvasRefused`.

    ``preserve`` keeps every edge; without it the whole wiring is proposed anew. ``context`` says for whom a model is
    asked, and who pays. Without a model, and where its answer is of no use, fields are matched by name and type, and
    ``reasoning`` says why.
    """
    if not nodes:
        raise CanvasRefused("nodes", "there are no nodes to connect")
    for field, sent, most in (("nodes", nodes, MOST_CANVAS_NODES), ("edges", edges, MOST_CANVAS_EDGES)):
        if len(sent) > most:
            raise CanvasRefused(field, f"connections are suggested for at most {most:,} of them, not {len(sent):,}")
    # As it would be kept: what a model is shown holds no secret.
    sealed_nodes, sealed_edges, _ = seal_canvas(list(nodes), list(edges), None)
    drawn = Drawn.of_sent(sealed_nodes, sealed_edges, current_catalogue())
    why_not = _why_not_asked(drawn)
    if not why_not:
        try:
            asked = [{"source": e.source, "target": e.target, "condition": e.condition} for e in drawn.edges]
            advice = ask_for_connections(
                described(drawn), asked, preserve=preserve, context=context, auth_token=auth_token
            )
        except llm.LLMError as error:
            why_not = f"The model gave no answer that can be used: {error.message}"
            log.warning("the reasoner falls back: %s", error.message)
        except PromptError as error:
            why_not = f"The prompt for the model cannot be used: {error.message}"
            log.error("the reasoner falls back until the prompt is mended in the admin: %s", error.message)
        else:
            outcome = review(
                drawn,
                [Proposal.read(edge) for edge in advice.edges],
                preserve=preserve,
                method="model",
                reasoning=advice.reasoning,
                confidence=Proposal.read({"confidence": advice.confidence}).confidence,
            )
            for source, target, why in outcome.rejected:
                log.warning("a proposed connection is left out: %s → %s: %s", source, target, why)
            return outcome
    found = match(drawn)
    told = "1 connection was" if len(found) == 1 else f"{len(found)} connections were"
    reasoning = f"{told} found by matching the names and types of fields, without a model. {why_not}"
    # Matching only ever adds: it cannot tell that an edge is of no use.
    return review(drawn, found, preserve=True, method="schema-matching", reasoning=reasoning)


def _why_not_asked(drawn: Drawn) -> str:
    """Return why no model is asked; "" if one should be."""
    if not llm.is_configured():
        return "No model is configured (LOCAL_LLM_BASE_URL)."
    if len(drawn.nodes) > MOST_NODES or len(drawn.edges) > MOST_EDGES:
        return f"A model is shown at most {MOST_NODES} nodes and {MOST_EDGES:,} connections."
    return "" if len(drawn.activities) > 1 else "There are no two steps that could be connected."
