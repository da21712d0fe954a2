"""The required parameters that a canvas leaves out: taken from a node before, from the inputs, or reported.

Owns parameter completion (contract-canvas 5.3 rule 8); refuses to choose between two nodes that are equally near.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from canvas.catalogue import ANY, Catalogue, KnownActivity, Types, fits
from canvas.graph import Graph
from canvas.nodes import Node
from canvas.problems import Findings

OVERRIDES = ("_timeout", "_retry")


def complete_parameters(
    nodes: Sequence[Node],
    graph: Graph | None,
    configs: Mapping[str, dict[str, Any]],
    catalogue: Catalogue,
    declared_inputs: Mapping[str, Any],
    findings: Findings,
) -> None:
    """Add to ``configs`` (by node id, changed in place) a reference for each required parameter that is missing.

    The nearest node before it with an output of the same name and a type that fits, if it is the only one and is
    certain to have run; else the execution input of that name. If the canvas does not declare such an input (in the
    config of its start node), that is also reported as ``missing-parameter``: a start that gives the input mends it.
    Without a ``graph`` nothing is known of the order, and only what no node at all could give is reported.
    """
    suppliers: dict[tuple[str, Types], Callable[[str], list[str]]] = {}
    for node in nodes:
        activity = catalogue.find(node.activity) if node.activity else None
        if activity is None:
            continue
        config = configs[node.id]
        for name in activity.required:
            if name in config:
                continue
            key = (name, activity.inputs.get(name, ANY))
            if key not in suppliers:
                suppliers[key] = _suppliers(nodes, graph, catalogue, *key)
            sources = suppliers[key](node.id)
            if graph is None:
                is_reported = not sources
            elif len(sources) == 1 and graph.runs_before(sources[0], node.id):
                config[name] = f"${{{sources[0]}.output.{name}}}"
                continue
            else:
                is_reported = True
            config[name] = f"${{workflow.input.{name}}}"
            if is_reported and name not in declared_inputs:
                _report_missing(node, activity, name, sources, findings)


def _suppliers(
    nodes: Sequence[Node], graph: Graph | None, catalogue: Catalogue, name: str, taken: Types
) -> Callable[[str], list[str]]:
    """Return a function from a node's id to the nodes that could give it ``name``, the nearest of them."""

    def produces(node: Node) -> bool:
        activity = catalogue.find(node.activity) if node.activity else None
        return activity is not None and name in activity.outputs and fits(activity.outputs[name], taken)

    if graph is not None:
        nearest = graph.nearest(produces)
        return lambda node_id: nearest.get(node_id, [])
    anywhere = [node.id for node in nodes if produces(node)]
    return lambda node_id: [other for other in anywhere if other != node_id][:1]


def _report_missing(node: Node, activity: KnownActivity, name: str, sources: list[str], findings: Findings) -> None:
    if len(sources) > 1:
        why = f"; {' and '.join(sources)} are equally near and both have one"
        suggestion = f"set data.config.{name} to ${{{sources[0]}.output.{name}}} or the other"
    elif sources:
        why = f"; {sources[0]} has one, but may be skipped"
        suggestion = f"set data.config.{name} to ${{{sources[0]}.output.{name}:-default}}"
    else:
        why = " and no node before it has an output of that name and type"
        suggestion = f"set data.config.{name}, for example to ${{workflow.input.{name}}}"
    findings.report(
        "missing-parameter",
        f'{node.called} needs "{name}" for {activity.name}{why}',
        node_id=node.id,
        parameter=name,
        suggestion=suggestion,
        others=tuple(sources),
    )
