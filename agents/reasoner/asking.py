"""Asks a model which nodes should be connected: the prompt, the schema of the answer, and what the answer holds.

Owns nothing of canvases: nodes and edges come as plain data. Refuses to judge the answer beyond its shape.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from agents import llm
from agents.llm import CallContext, ChatRequest
from agents.prompts import rendering

MODEL: Final = "reasoning"
PURPOSE: Final = "reasoner"
SECONDS: Final = 60.0
MOST_NODES: Final = 200
MOST_EDGES: Final = 1_000
MOST_REASONING: Final = 4_000
_TEXT: Final = {"type": "string"}
_NUMBER: Final = {"type": ["number", "string", "null"]}

SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "edges": {
            "type": "array",
            "maxItems": 500,
            "items": {
                "type": "object",
                "properties": {
                    "source": {"type": "string", "description": "id of the node that gives"},
                    "target": {"type": "string", "description": "id of the node that takes"},
                    "relation_type": {"type": "string", "description": "data-flow, dependency or parallel"},
                    "relation_label": _TEXT,
                    "relation_wording": {
                        "type": "object",
                        "properties": {
                            "verb": _TEXT,
                            "source_output": _TEXT,
                            "target_input": _TEXT,
                            "connection_type": {"type": "string", "description": "direct-map or requires-transformer"},
                            "confidence": _NUMBER,
                            "semantic_match": _TEXT,
                            "transformer_needed": _TEXT,
                        },
                    },
                },
                "required": ["source", "target"],
            },
        },
        "reasoning": _TEXT,
        "confidence": _NUMBER,
    },
    "required": ["edges", "reasoning"],
}


@dataclass(frozen=True, slots=True)
class Advice:
    """What a model answered: edges as it wrote them, why, and how sure it is (None: it did not say)."""

    edges: list[Mapping[str, Any]]
    reasoning: str
    confidence: Any


def ask_for_connections(
    nodes: Sequence[Mapping[str, Any]],
    edges: Sequence[Mapping[str, str]],
    *,
    preserve: bool,
    context: CallContext,
    auth_token: str = "",
) -> Advice:
    """Return the connections that a model proposes.

    A node is ``{id, label, type, inputs, outputs, config}``, its fields ``{name, type, required, description}``; an
    edge is ``{source, target, condition}``. With ``preserve`` only new edges are asked for, else all that there should
    be. An answer that is no such JSON is asked for once more by the client. Raises ``agents.llm.LLMError`` and
    ``PromptError``.
    """
    system = rendering.render("reasoner/system.j2", preserve=preserve)
    request = rendering.render("reasoner/request.j2", nodes=list(nodes), edges=list(edges), preserve=preserve)
    question = ChatRequest(
        model=MODEL,
        messages=[{"role": "user", "content": request.text}],
        system=system.text,
        temperature=0.0,
        schema=SCHEMA,
        timeout=SECONDS,
        attempts=2,
        auth_token=auth_token,
        context=replace(context, purpose=PURPOSE, prompt_name=request.name, prompt_version=request.version),
    )
    answer = llm.complete_now(question).parsed
    return Advice(list(answer["edges"]), answer["reasoning"].strip()[:MOST_REASONING], answer.get("confidence"))
