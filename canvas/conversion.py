"""From a sound canvas to the WorkflowSpec that runs it (contract-canvas 5.3, design section 4).

Owns the shape: one chain becomes states with ``next``, every other canvas one Parallel whose branches are the maximal
chains. Each node is one state under its own id. Refuses nothing: validation has said before what cannot be converted.
"""

from collections.abc import Collection, Mapping
from typing import Any

from canvas.catalogue import Catalogue
from canvas.edges import Edge
from canvas.graph import Graph
from canvas.names import quoted
from canvas.nodes import DRAWN_KEYS, Node
from canvas.parameters import OVERRIDES
from canvas.validation import Canvas
from workflows.spec import limits

_MOST_CONCURRENT = 1_000
_LONGEST_STEM = limits.MAX_NAME_LENGTH - 16


def convert(canvas: Canvas, graph: Graph, name: str, catalogue: Catalogue) -> dict[str, Any]:
    """Return the spec of a canvas without errors as a document; the same canvas always gives the same document.

    ``name`` names the workflow. ``metadata.activities`` keeps the fingerprint of each activity's schemas, so that a
    spec can be told to be out of date. The config of the start node becomes the default inputs; ``errorHandling`` and
    ``timeout`` in its data are those of the workflow.
    """
    chains = [[state_of(node, canvas.configs[node.id]) for node in chain] for chain in graph.chains]
    document: dict[str, Any] = {"name": name, "metadata": _metadata(canvas.nodes, catalogue)}
    if canvas.start is not None and canvas.start.config:
        document["input"] = dict(canvas.start.config)
    if canvas.start is not None and canvas.start.of_document:
        document |= canvas.start.of_document
    heads = [chain[0].id for chain in graph.chains]
    if len(chains) == 1 and not _when(canvas, graph, heads[0]):
        states = _linked(chains[0], _catches(canvas))
    else:
        states = [_parallel(canvas, graph, dict(zip(heads, chains, strict=True)))]
    return document | {"startAt": states[0]["name"], "states": states}


def state_of(node: Node, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state of ``node`` without ``next`` and ``end``; ``config`` has references that name ids.

    ``_timeout`` and ``_retry`` in the config, else ``data.timeout`` and ``data.retry``, override what the activity
    says of itself; a retry that is a number is the most attempts there are.
    """
    given = {key: value for key, value in config.items() if key not in OVERRIDES}
    state: dict[str, Any] = {"name": node.id, "type": node.state_type}
    if node.label != node.id:
        state["comment"] = node.label
    if node.state_type == "Task":
        state |= {"resource": node.activity, "parameters": given}
    else:
        # What these states are told stands beside their type.
        state = {key: value for key, value in given.items() if key not in DRAWN_KEYS} | state
    timeout = config.get("_timeout", node.timeout)
    retry = config.get("_retry", node.retry)
    if timeout is not None:
        state["timeout"] = timeout
    if retry is not None:
        state["retry"] = {"maxAttempts": retry} if isinstance(retry, int) and not isinstance(retry, bool) else retry
    return state


def _metadata(nodes: list[Node], catalogue: Catalogue) -> dict[str, Any]:
    used = sorted({node.activity for node in nodes if node.activity})
    known = {name: catalogue.find(name) for name in used}
    return {"activities": {name: activity.fingerprint for name, activity in known.items() if activity is not None}}


def _catches(canvas: Canvas) -> dict[str, list[dict[str, Any]]]:
    """Return the ``catch`` of each node with edges that are taken on its errors; all lead to one state of its own."""
    taken = {node.id for node in canvas.nodes}
    found: dict[str, list[dict[str, Any]]] = {}
    for edge in canvas.edges:
        if not edge.on_error:
            continue
        if edge.source not in found:
            found[edge.source] = []
            caught = _free(f"{edge.source[:_LONGEST_STEM]}-caught", taken)
            taken.add(caught)
        else:
            caught = found[edge.source][0]["next"]
        found[edge.source].append({"errors": list(edge.on_error), "next": caught})
    return found


def _linked(states: list[dict[str, Any]], catches: Mapping[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return a chain of states in which each leads to the one after it, and the last ends.

    Where edges are taken on errors of the last one, those are caught and the chain ends all the same; which edge is
    taken then is the condition of the branch behind it.
    """
    following = [{"next": after["name"]} for after in states[1:]]
    linked = [state | way for state, way in zip(states, [*following, {"end": True}], strict=True)]
    last = linked[-1]
    if last["type"] == "Fail":
        del last["end"]  # it ends by what it is
    if catch := catches.get(last["name"]):
        last["catch"] = catch
        comment = f"{last.get('comment', last['name'])} failed, and the edges for that are taken"
        linked.append({"name": catch[0]["next"], "type": "Pass", "comment": comment, "end": True})
    return linked


def _free(stem: str, taken: Collection[str]) -> str:
    name, count = stem, 1
    while name in taken:
        count += 1
        name = f"{stem}-{count}"
    return name


def _parallel(canvas: Canvas, graph: Graph, chains: Mapping[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Return the one state of a canvas that is no chain: a branch per chain, named like the chain's first node."""
    branch_of = {state["name"]: head for head, states in chains.items() for state in states}
    catches = _catches(canvas)
    branches = []
    for head, states in chains.items():
        branch: dict[str, Any] = {"name": head}
        if before := _ordered({branch_of[edge.source] for edge in graph.inputs[head]}, graph):
            branch["dependsOn"] = before
        if when := _when(canvas, graph, head):
            branch["when"] = when
        branches.append(branch | {"startAt": head, "states": _linked(states, catches)})
    name = _free("parallel", branch_of)
    # The drawing says what waits for what; nothing in it says that only some of what is ready may run.
    concurrency = max(limits.DEFAULT_MAX_CONCURRENCY, min(len(branches), _MOST_CONCURRENT))
    return {"name": name, "type": "Parallel", "maxConcurrency": concurrency, "branches": branches, "end": True}


def _ordered(node_ids: set[str], graph: Graph) -> list[str]:
    return sorted(node_ids, key=graph.position.__getitem__)


def _when(canvas: Canvas, graph: Graph, head: str) -> str | None:
    """Return the condition under which a branch runs, or None if it runs with anything it depends on."""
    ways = graph.ways_into(head)
    if not any(edge.asks for edge in ways):
        return None
    terms = [_term(canvas, graph, edge) for edge in ways]
    return "{% " + (terms[0] if len(terms) == 1 else " or ".join(f"({term})" for term in terms)) + " %}"


def _term(canvas: Canvas, graph: Graph, edge: Edge) -> str:
    """Return JSONata for "this edge was taken": its source ran, and its condition holds."""
    ran = f"$exists({quoted(edge.source)}.output)"
    if edge.on_error:
        return canvas.conditions[edge.id]
    if not edge.condition:
        return ran
    condition = canvas.conditions[edge.id]
    return f"{ran} and ({condition})" if edge.is_guarded or edge.source in graph.may_be_skipped else condition
