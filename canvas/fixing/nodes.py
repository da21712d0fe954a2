"""Fixes about single nodes: what they run, what they are called, and the parameters that they lack.

Owns where a missing parameter comes from: a node before, another node on the canvas, a step that is added for it, or
the person who starts the run, in this order. Refuses to rename what a reference may name.
"""

import json
import re
from typing import Any

from canvas.catalogue import ANY, KnownActivity, fits
from canvas.fixing.drawing import COLUMN, Change, Fix, Sent, add_node
from canvas.nodes import Node
from canvas.problems import Problem

_MEANT = re.compile(r"did you mean (.+)\?$")
_BETTER = re.compile(r"^call it ([A-Za-z0-9_-]+)")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def choose_meant(sent: Sent, problem: Problem) -> Fix | None:
    """Run the activity whose name is closest."""
    index, meant = sent.node_at(problem.node_id), _meant(problem)
    if index is None or meant not in sent.catalogue.activities:
        return None
    raw = sent.nodes[index]
    data = raw.get("data")
    label = f"Use {meant.removesuffix('Activity')}"
    where = "data/activity" if isinstance(data, dict) and data.get("activity") else "type"
    return Fix(label, (sent.is_node(index), {"op": "replace", "path": f"/nodes/{index}/{where}", "value": meant}))


def rename_nodes(sent: Sent, problem: Problem) -> Fix | None:
    """Give every node of the id but the first another one; edges stay with the first."""
    same = [i for i, raw in enumerate(sent.nodes) if isinstance(raw, dict) and raw.get("id") == problem.node_id]
    changes, names = [], []
    for index in same[1:]:
        names.append(sent.free_node_id(str(problem.node_id)))
        changes += [sent.is_node(index), {"op": "replace", "path": f"/nodes/{index}/id", "value": names[-1]}]
    return (
        Fix(f"Call the other one {names[0]}" if len(names) == 1 else "Number them", tuple(changes)) if names else None
    )


def rename_badly_named(sent: Sent, problem: Problem) -> Fix | None:
    """Call a node by an id that it may have, and lead its edges to that."""
    found = _BETTER.match(problem.suggestion or "")
    index = sent.node_at(problem.node_id)
    if found is None or index is None:
        return None
    old = problem.node_id
    text = json.dumps([sent.nodes, sent.edges], ensure_ascii=False, default=str)
    if any(f"{mark}{old}{rest}" in text for mark, rest in (("${", "."), ("`", "`"), ("", ".output"))):
        return None
    new = sent.free_node_id(found.group(1))
    changes: list[Change] = [sent.is_node(index), {"op": "replace", "path": f"/nodes/{index}/id", "value": new}]
    for place, raw in enumerate(sent.edges):
        for end in ("source", "target"):
            if isinstance(raw, dict) and raw.get(end) == old:
                path = f"/edges/{place}/{end}"
                changes += [{"op": "test", "path": path, "value": old}, {"op": "replace", "path": path, "value": new}]
    return Fix(f"Call it {new}", tuple(changes))


def give_parameter(sent: Sent, problem: Problem) -> Fix | None:
    """Let something give a parameter that is missing."""
    node, index, name = sent.node(problem.node_id), sent.node_at(problem.node_id), problem.parameter
    activity = sent.drawn.activity_of(node) if node is not None else None
    if node is None or index is None or not name or activity is None:
        return None
    if problem.others:
        source = problem.others[0]
        value = f"${{{source}.output.{name}}}"
        return Fix(f"Map `{name}` from {sent.called(source)}", sent.with_config(index, name, value))
    taken = activity.inputs.get(name, ANY)

    def gives(known: KnownActivity | None) -> bool:
        return known is not None and name in known.outputs and fits(known.outputs[name], taken)

    if connected := _connect_giver(sent, node, gives, f"it gives `{name}`"):
        return connected
    for needed in activity.info.dependencies:
        known = sent.catalogue.find(needed)
        if known is not None and gives(known):
            return _add_before(sent, node, known)
    return Fix(f"Ask for `{name}` when it starts", sent.with_config(index, name, f"${{workflow.input.{name}}}"))


def add_dependency(sent: Sent, problem: Problem) -> Fix | None:
    """Let one of those a node builds on run before it; a step is added only where a parameter is missing without."""
    node = sent.node(problem.node_id)
    activity = sent.drawn.activity_of(node) if node is not None else None
    if node is None or activity is None:
        return None
    needed = [known for name in activity.info.dependencies if (known := sent.catalogue.find(name)) is not None]
    if connected := _connect_giver(sent, node, lambda other: other in needed, ""):
        return connected
    missing = [name for name in activity.required if name not in (node.config or {})]
    giver = next((known for known in needed if any(name in known.outputs for name in missing)), None)
    return _add_before(sent, node, giver) if giver is not None else None


def mend_parameter_name(sent: Sent, problem: Problem) -> Fix | None:
    """Call a parameter what was meant, else take it away."""
    index, name, meant = sent.node_at(problem.node_id), problem.parameter, _meant(problem)
    node = sent.node(problem.node_id)
    removal = sent.without_config(index, name) if index is not None and name else None
    if node is None or index is None or not name or removal is None or name not in (node.config or {}):
        return None
    if not meant or meant in (node.config or {}):
        return Fix(f"Remove `{name}`", (sent.is_node(index), removal))
    return Fix(f"Call it `{meant}`", (*sent.with_config(index, meant, (node.config or {})[name]), removal))


def mend_parameter_value(sent: Sent, problem: Problem) -> Fix | None:
    """Set a parameter to the value that was meant."""
    index, name, meant = sent.node_at(problem.node_id), problem.parameter, _meant(problem)
    node = sent.node(problem.node_id)
    if node is None or index is None or not name or not meant or not isinstance((node.config or {}).get(name), str):
        return None
    return Fix(f"Set `{name}` to {meant}", sent.with_config(index, name, meant))


def _connect_giver(sent: Sent, node: Node, gives: Any, why: str) -> Fix | None:
    """Connect the nearest node that gives what is missing and does not come after ``node``."""
    others = [
        other.id
        for other in sent.drawn.activities
        if other.id != node.id
        and gives(sent.drawn.activity_of(other))
        and (other.id, node.id) not in sent.ways.pairs
        and not sent.ways.leads(node.id, other.id)
    ]
    if not others:
        return None
    source = min(others, key=lambda other: sent.drawn.distance(other, node.id))
    label = f"Connect {sent.called(source)} → {sent.called(node.id)}" + (f": {why}" if why else "")
    pairs = [(source, node.id)]
    start = sent.drawn.start
    gone: tuple[Change, ...] = ()
    if start is not None:
        pairs += [] if sent.ways.leads(start.id, source) else [(start.id, source)]
        gone = _without_start_edge(sent, start, node)
    return Fix(label, (*gone, *sent.with_edges(pairs)))


def _add_before(sent: Sent, node: Node, known: KnownActivity) -> Fix:
    """Draw a step in front of ``node``; what it needs itself is asked for when the run starts."""
    x, y = sent.drawn.places[node.id]
    words = " ".join(_WORD.findall(known.name.removesuffix("Activity"))) or known.name
    config = {name: f"${{workflow.input.{name}}}" for name in known.required}
    data = {"label": words[0] + words[1:].lower(), "activity": known.name, "config": config}
    made = sent.new_node("activity", words.lower().replace(" ", "-"), (x - COLUMN, y), data)
    pairs = [(made["id"], node.id)]
    start = sent.drawn.start
    gone: tuple[Change, ...] = ()
    if start is not None:
        pairs.append((start.id, made["id"]))
        gone = _without_start_edge(sent, start, node)
    return Fix(f"Add the missing {data['label']}", (*gone, add_node(made), *sent.with_edges(pairs)))


def _without_start_edge(sent: Sent, start: Node, node: Node) -> tuple[Change, ...]:
    """Take away an edge from the start that orders nothing any more once another one leads to ``node``."""
    found = [edge for edge in sent.drawn.edges if (edge.source, edge.target) == (start.id, node.id)]
    return sent.without_edge(found[0].index) if len(found) == 1 and not found[0].condition else ()


def _meant(problem: Problem) -> str:
    found = _MEANT.search(problem.suggestion or "")
    return found.group(1) if found else ""
