"""What the demo model answers where connections are asked for: a field of the same name leads from one node to another.

Reads the nodes as the prompt writes them. Rules, no model.
"""

import re
from collections.abc import Mapping
from typing import Any

_NODE = re.compile(r"^\d+\. id: (\S+)$", re.MULTILINE)
_FIELD = re.compile(r"^   - (\w+) \(([^)]*)\)(\*?)", re.MULTILINE)
_PAIR = re.compile(r"^\d+\. (\S+) → (\S+)", re.MULTILINE)
_TYPE = re.compile(r"^   type: (\S+)$", re.MULTILINE)


def is_wanted(schema: Any) -> bool:
    """Whether the schema of an answer asks for connections."""
    edges = schema.get("properties", {}).get("edges", {}) if isinstance(schema, Mapping) else {}
    items = edges.get("items", {}) if isinstance(edges, Mapping) else {}
    return isinstance(items, Mapping) and {"source", "target"} <= set(items.get("properties", {}))


def connections_in(text: str) -> dict[str, Any]:
    """Return ``{edges, reasoning, confidence}`` for the nodes that ``text`` tells of."""
    parts = _NODE.split(text)[1:]
    nodes = list(zip(parts[::2], parts[1::2], strict=True))
    drawn = set(_PAIR.findall(text))
    edges = []
    for target, told in nodes:
        needs = [name for name, _, mark in _FIELD.findall(_part(told, "INPUTS")) if mark]
        for name in needs:
            givers = [source for source, other in nodes if source != target and _gives(other, name)]
            if givers and not any((source, target) in drawn for source in givers):
                edges.append(_edge(givers[0], target, name, dict(nodes)))
    return {
        "edges": edges,
        "reasoning": f"The demo model compared the names of fields and found {len(edges)} that lead on.",
        "confidence": 0.8 if edges else 0.3,
    }


def _part(told: str, heading: str) -> str:
    return told.partition(heading)[2].partition("   OUTPUTS" if heading == "INPUTS" else "   CONFIG")[0]


def _gives(told: str, name: str) -> bool:
    return any(field == name for field, _, _ in _FIELD.findall(_part(told, "OUTPUTS")))


def _edge(source: str, target: str, name: str, nodes: Mapping[str, str]) -> dict[str, Any]:
    first, second = (_called(nodes[node]) for node in (source, target))
    return {
        "source": source,
        "target": target,
        "relation_type": "data-flow",
        "relation_label": f"{first} outputs {name} → {second} requires {name}",
        "relation_wording": {
            "verb": "outputs",
            "source_output": name,
            "target_input": f"{name} (required)",
            "connection_type": "direct-map",
            "confidence": 0.8,
            "semantic_match": f"Both speak of {name}.",
        },
    }


def _called(told: str) -> str:
    found = _TYPE.search(told)
    return found[1].removesuffix("Activity") if found else "It"
