"""What a model is told of the nodes of a canvas: their fields and their config (contract-canvas 7, step 2).

Owns the choice of what is told. Refuses secrets: their handles and values are masked.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from canvas.catalogue import Types
from canvas.suggesting.drawn import Drawn
from workflows import secrets


def described(drawn: Drawn) -> list[dict[str, Any]]:
    """Return each node as a prompt tells of it: ``{id, label, type, inputs, outputs, config}``.

    ``inputs`` and ``outputs`` are ``{name, type, required, description}``; of start, end and other states none.
    """
    nodes = []
    for node in drawn.nodes.values():
        if node.kind not in ("activity", "start", "end"):
            continue
        activity = drawn.activity_of(node)
        kind = (activity.name if activity else node.state_type) if node.kind == "activity" else node.kind
        nodes.append(
            {
                "id": node.id,
                "label": node.label,
                "type": kind,
                "inputs": _fields(activity.info.input_schema, activity.inputs, activity.required) if activity else [],
                "outputs": _fields(activity.info.output_schema, activity.outputs, ()) if activity else [],
                "config": secrets.mask(dict(node.config or {})),
            }
        )
    return nodes


def _fields(schema: Mapping[str, Any], types: Mapping[str, Types], required: Sequence[str]) -> list[dict[str, Any]]:
    properties = schema.get("properties", {})
    return [
        {
            "name": name,
            "type": " or ".join(sorted(kinds)) or "any",
            "required": name in required,
            "description": str(properties[name].get("description", ""))[:200] if name in properties else "",
        }
        for name, kinds in types.items()
    ]
