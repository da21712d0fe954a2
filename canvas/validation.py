"""Whether a canvas makes sense, with everything that is wrong with it at once (contract-canvas 4).

Owns the rules about nodes, edges, paths and parameters. Never raises, whatever it is given; what a state may say in
detail is the spec language's business and checked on what the canvas compiles to (compilation).
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from canvas.catalogue import Catalogue
from canvas.conditions import compile_condition, condition_of_error, is_else
from canvas.edges import Edge, guarded, read_edges
from canvas.graph import Graph, find_cycles
from canvas.names import Names, UnknownName, Use, quoted
from canvas.nodes import REMARKS, Node, read_nodes
from canvas.parameters import complete_parameters
from canvas.problems import Findings
from workflows.spec import limits

MAX_NODES = limits.MAX_STATES
MAX_EDGES = 5 * MAX_NODES
_NAMES_SHOWN = 20


@dataclass(slots=True)
class Canvas:
    """A canvas that was read. ``graph`` is there when the edges are sound; only then it can be converted.

    ``sent_nodes`` and ``sent_edges``: all that was sent, filled in and as it was read; empty where that was too much.
    """

    sent_nodes: list[tuple[Any, Node | None]] = field(default_factory=list)
    sent_edges: list[tuple[Any, Edge | None]] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    start: Node | None = None
    edges: list[Edge] = field(default_factory=list)
    graph: Graph | None = None
    configs: dict[str, dict[str, Any]] = field(default_factory=dict)
    conditions: dict[str, str] = field(default_factory=dict)


def validate_canvas(nodes: object, edges: object, catalogue: Catalogue) -> tuple[Canvas, Findings]:
    """Return the canvas as read and every problem found.

    ``nodes`` and ``edges`` are what was sent, of any type. In ``Canvas.configs`` references name node ids and missing
    required parameters are completed; ``Canvas.conditions`` holds the JSONata of each conditional edge by id.
    """
    findings, canvas = Findings(), Canvas()
    canvas.sent_nodes = _read_nodes(nodes, catalogue, findings)
    read = [node for _, node in canvas.sent_nodes if node is not None]
    remarks = {node.id: node for node in read if node.kind in REMARKS}
    read = [node for node in read if node.kind not in REMARKS]
    by_id: dict[str, Node] = {}
    for node in read:
        by_id.setdefault(node.id, node)
    if read:
        _check_ends(read, findings)
    canvas.nodes = [node for node in read if node.kind == "activity"]
    canvas.start = next((node for node in read if node.kind == "start"), None)
    canvas.sent_edges, all_are_readable = _read_edges(edges, findings)
    drawn = [edge for _, edge in canvas.sent_edges if edge is not None]
    canvas.edges, all_have_ends = _check_edges(drawn, by_id, remarks, findings)
    cycles = find_cycles(list(by_id.values()), canvas.edges)
    for cycle in cycles:
        _report_cycle(cycle, by_id, findings)
    if all_are_readable and all_have_ends and not cycles and len(by_id) == len(read):
        inner = [e for e in canvas.edges if by_id[e.source].kind == by_id[e.target].kind == "activity"]
        entries = [e for e in canvas.edges if by_id[e.source].kind == "start" and by_id[e.target].kind == "activity"]
        canvas.graph = Graph(canvas.nodes, inner, entries)
        _check_entries(canvas.graph, findings)
        _check_connections(canvas, read, drawn, canvas.graph, findings)
    _check_references(canvas, by_id, findings)
    declared = canvas.start.config if canvas.start is not None else None
    complete_parameters(canvas.nodes, canvas.graph, canvas.configs, catalogue, declared or {}, findings)
    return canvas, findings


# -- reading ----------------------------------------------------------------------------------------------------


def _read_nodes(nodes: object, catalogue: Catalogue, findings: Findings) -> list[tuple[Any, Node | None]]:
    if not isinstance(nodes, list):
        findings.report("nodes-not-a-list", "nodes must be an array of objects")
        return []
    if len(nodes) > MAX_NODES:
        findings.report("too-many-nodes", f"there are {len(nodes)} nodes; a canvas may have {MAX_NODES}")
        return []
    sent = read_nodes(nodes, catalogue, findings)
    read = [node for _, node in sent if node is not None]
    for node_id, count in Counter(node.id for node in read).items():
        if count > 1:
            findings.report(
                "duplicate-node-id",
                f'{count} nodes have the id "{node_id}"',
                node_id=node_id,
                suggestion="give each node an id of its own",
            )
    if not any(node.kind == "activity" for node in read):
        findings.report(
            "no-activity", "there is nothing to run on the canvas", suggestion="add at least one activity node"
        )
    return sent


def _check_ends(nodes: Iterable[Node], findings: Findings) -> None:
    starts = [node for node in nodes if node.kind == "start"]
    for extra in starts[1:]:
        findings.report(
            "several-starts",
            f"there are {len(starts)} start nodes; a canvas has one",
            node_id=extra.id,
            suggestion="remove it and draw its edges from the first one",
        )
    if not starts:
        findings.report("no-start", "there is no start node: nodes without an incoming edge start")
    if not any(node.kind == "end" for node in nodes):
        findings.report("no-end", "there is no end node: nodes without an outgoing edge end")


def _read_edges(edges: object, findings: Findings) -> tuple[list[tuple[Any, Edge | None]], bool]:
    if not isinstance(edges, list):
        findings.report("edges-not-a-list", "edges must be an array of objects")
        return [], False
    if len(edges) > MAX_EDGES:
        findings.report("too-many-edges", f"there are {len(edges)} edges; a canvas may have {MAX_EDGES}")
        return [], False
    sent = read_edges(edges, findings)
    return sent, all(edge is not None for _, edge in sent)


# -- edges and paths --------------------------------------------------------------------------------------------


def _check_edges(
    edges: list[Edge], by_id: Mapping[str, Node], remarks: Mapping[str, Node], findings: Findings
) -> tuple[list[Edge], bool]:
    """Return the edges that join two nodes in a legal way, and whether every edge has two known ends."""
    for edge_id, count in Counter(edge.id for edge in edges).items():
        if count > 1:
            findings.report("duplicate-edge-id", f'{count} edges have the id "{edge_id}"', edge_id=edge_id)
    legal: dict[str, Edge] = {}
    pairs: dict[tuple[str, str], str] = {}
    all_have_ends = True
    for edge in edges:
        unknown = [end for end in (edge.source, edge.target) if end not in by_id]
        for name in unknown:
            all_have_ends = False
            if name in remarks:
                findings.report(
                    "edge-to-remark",
                    f'{edge.called} names "{name}", which is a {remarks[name].kind}: nothing runs there',
                    edge_id=edge.id,
                    suggestion="connect the nodes themselves",
                )
                continue
            findings.report(
                "unknown-node",
                f'{edge.called} names "{name[:200]}", which is no node',
                edge_id=edge.id,
                suggestion=findings.did_you_mean(name, by_id),
            )
        if unknown or edge.id in legal:
            continue
        source, target = by_id[edge.source], by_id[edge.target]
        known_pair = pairs.setdefault((edge.source, edge.target), edge.id)
        if source is target:
            findings.report("self-loop", f"{edge.called} leads back to its own node", edge_id=edge.id)
        elif target.kind == "start":
            findings.report("edge-into-start", f"{edge.called} leads into a start node", edge_id=edge.id)
        elif source.kind == "end":
            findings.report("edge-out-of-end", f"{edge.called} leaves an end node", edge_id=edge.id)
        elif source.state_type == "Fail" and target.kind == "activity":
            findings.report(
                "edge-out-of-fail",
                f"{edge.called} leaves {source.called}, which ends the run as failed: nothing comes after it",
                edge_id=edge.id,
                suggestion="remove the edge",
            )
        elif known_pair != edge.id:
            findings.report(
                "duplicate-edge",
                f'{edge.called} is drawn twice; the other one is "{known_pair}"',
                edge_id=edge.id,
                suggestion="remove one of them",
            )
        else:
            legal[edge.id] = edge
            if edge.on_error:
                _check_can_fail(edge, source, legal, findings)
            if edge.condition and target.kind == "end":
                findings.report(
                    "condition-into-end",
                    f"{edge.called} has a condition, but an end node runs nothing that could be left out",
                    edge_id=edge.id,
                    suggestion="remove the condition",
                )
    return guarded(legal.values()), all_have_ends


def _check_can_fail(edge: Edge, source: Node, legal: Mapping[str, Edge], findings: Findings) -> None:
    if source.kind == "start" or source.state_type in ("Wait", "Fail"):
        findings.report(
            "error-of-what-cannot-fail",
            f"{edge.called} is taken on errors, but {source.called} does nothing that could fail",
            edge_id=edge.id,
            suggestion="remove data.on_error",
        )
    before = [other for other in legal.values() if other.source == edge.source and other.on_error and other is not edge]
    if any("*" in other.on_error for other in before):
        findings.report(
            "error-taken-before",
            f"{edge.called} is never taken: {before[0].called}, drawn before it, takes every error of {source.called}",
            edge_id=edge.id,
            suggestion="list the names of errors on the other one, or remove this one",
        )


def _report_cycle(cycle: list[str], by_id: Mapping[str, Node], findings: Findings) -> None:
    shown = [by_id[node].called for node in cycle[:_NAMES_SHOWN]]
    more = [f"{len(cycle) - _NAMES_SHOWN} more"] if len(cycle) > _NAMES_SHOWN else []
    findings.report(
        "cycle",
        f"the edges go in a circle: {' → '.join([*shown, *more, shown[0]])}",
        node_id=cycle[0],
        node_ids=tuple(cycle),
        suggestion="remove one of these edges",
    )


def _check_entries(graph: Graph, findings: Findings) -> None:
    for node in graph.order:
        for edge in graph.entries[node.id] if graph.inputs[node.id] else ():
            if edge.condition:
                findings.report(
                    "condition-on-redundant-edge",
                    f"{edge.called} has a condition, but {node.called} has other incoming edges and waits for those",
                    edge_id=edge.id,
                    suggestion="remove this edge, or put the condition on the others",
                )
            else:
                findings.report(
                    "redundant-start-edge",
                    f"{edge.called} changes nothing: {node.called} waits for its other incoming edges",
                    edge_id=edge.id,
                )


def _check_connections(canvas: Canvas, nodes: list[Node], edges: list[Edge], graph: Graph, findings: Findings) -> None:
    import networkx  # see canvas.graph

    # What an illegal edge joins is not alone: that edge is told of, and once is enough.
    drawn: networkx.Graph[str] = networkx.Graph()
    drawn.add_nodes_from(node.id for node in nodes)
    drawn.add_edges_from((edge.source, edge.target) for edge in edges if edge.source != edge.target)
    by_id = {node.id: node for node in nodes}
    alone = [node for node in nodes if not drawn.degree(node.id)] if len(nodes) > 1 else []
    for node in alone:
        what = "activity" if node.kind == "activity" else f"{node.kind} node"
        findings.report(
            "isolated-node",
            f"the {what} {node.called} has no edges",
            node_id=node.id,
            suggestion="connect it or remove it",
        )
    groups = [sorted(group) for group in networkx.connected_components(drawn) if len(group) > 1]
    if len(groups) > 1:
        firsts = ", ".join(by_id[group[0]].called for group in groups[:_NAMES_SHOWN])
        findings.report(
            "several-parts",
            f"the canvas falls into {len(groups)} parts that are not connected; they hold {firsts}",
            suggestion="connect the parts, for example from a start node",
        )
    isolated = {node.id for node in alone}
    if canvas.start is not None and canvas.start.id not in isolated:
        _check_reachable(graph, isolated, findings)
    if any(node.kind == "end" and node.id not in isolated for node in nodes):
        leaving = {edge.source for edge in canvas.edges}
        for node in canvas.nodes:
            if node.id not in leaving and node.id not in isolated:
                findings.report(
                    "dead-end", f"{node.called} has no edge to an end node; it ends there all the same", node_id=node.id
                )


def _check_reachable(graph: Graph, isolated: set[str], findings: Findings) -> None:
    reached: set[str] = set()
    for node in graph.order:
        if graph.entries[node.id] or any(edge.source in reached for edge in graph.inputs[node.id]):
            reached.add(node.id)
        elif node.id not in isolated:
            findings.report(
                "unreachable",
                f"{node.called} cannot be reached from the start node",
                node_id=node.id,
                suggestion="draw an edge to it, or remove it",
            )


# -- references, conditions, parameters -------------------------------------------------------------------------


def _check_references(canvas: Canvas, by_id: Mapping[str, Node], findings: Findings) -> None:
    """Fill ``canvas.configs`` and ``canvas.conditions`` with references that name ids; report those that cannot."""
    names = Names.of(by_id.values())
    known_names = sorted({*names.ids, *(label for label, node_id in names.labels.items() if node_id)})

    for node in canvas.nodes:

        def used(use: Use, node: Node = node) -> None:
            _check_use(canvas.graph, use, node, findings)

        def unknown(fault: UnknownName, node: Node = node) -> None:
            hint = findings.did_you_mean(fault.name, known_names)
            findings.report(fault.code, f"{node.called}: {fault}", node_id=node.id, suggestion=hint)

        config = dict(node.config or {})
        # A child that is written down in its node has states of its own, which its references name.
        child = {"spec": config["spec"]} if node.state_type == "Workflow" and "spec" in config else {}
        config = names.rewrite(config | dict.fromkeys(child), used, unknown) | child
        # Of two nodes with one id the first counts.
        canvas.configs.setdefault(node.id, config)
    siblings: dict[str, list[Edge]] = {}
    caught: dict[str, list[str]] = {}
    for edge in canvas.edges:
        if edge.on_error:
            canvas.conditions[edge.id] = condition_of_error(edge.source, edge.on_error, caught.get(edge.source, []))
            caught.setdefault(edge.source, []).extend(edge.on_error)
        if edge.condition and not is_else(edge.condition):
            _compile_edge(canvas, edge, by_id, names, findings)
            siblings.setdefault(edge.source, []).append(edge)
    for edge in canvas.edges:
        if is_else(edge.condition):
            _compile_else(canvas, edge, siblings.get(edge.source, []), findings)


def _check_use(graph: Graph | None, use: Use, node: Node, findings: Findings, edge: Edge | None = None) -> None:
    where: dict[str, Any] = {"node_id": node.id} if edge is None else {"edge_id": edge.id}
    reader = node.called if edge is None else edge.called
    if use.node == node.id:
        # The condition of an edge may read the node it leaves: that one has run by then.
        if edge is None:
            findings.report("reference-not-before", f"{reader}: {use.text} reads the node's own output", **where)
    elif graph is None:
        return
    elif not graph.is_before(use.node, node.id):
        findings.report(
            "reference-not-before",
            f"{reader}: {use.text} reads a node that is not certain to run before it",
            suggestion=f"draw a path of edges from {use.node} to {node.id}",
            others=(use.node, node.id),
            **where,
        )
    elif use.is_error and graph.fails_before(use.node, node.id):
        return
    elif not use.has_default and not graph.runs_before(use.node, node.id):
        findings.report(
            "reference-may-be-skipped",
            f"{reader}: {use.text} fails when {use.node} was skipped, or failed and was caught",
            suggestion="give it a default, as in ${Node.output.field:-none}",
            **where,
        )


def _compile_edge(canvas: Canvas, edge: Edge, by_id: Mapping[str, Node], names: Names, findings: Findings) -> None:
    source = by_id[edge.source]
    output = "workflow.input" if source.kind == "start" else f"{quoted(source.id)}.output"

    def used(use: Use) -> None:
        if source.kind == "activity":
            _check_use(canvas.graph, use, source, findings, edge)
        else:
            findings.report(
                "reference-not-before", f"{edge.called}: {use.text} is read before any node has run", edge_id=edge.id
            )

    try:
        canvas.conditions[edge.id] = compile_condition(edge.condition, output, names, used)
    except UnknownName as fault:
        hint = findings.did_you_mean(fault.name, names.ids)
        findings.report(fault.code, f"{edge.called}: {fault}", edge_id=edge.id, suggestion=hint)
    except ValueError as fault:
        findings.report(
            "bad-condition",
            f"the condition of {edge.called} is not understood: {fault}",
            edge_id=edge.id,
            suggestion='write a comparison such as riskLevel == "high", or {% JSONata %}',
        )


def _compile_else(canvas: Canvas, edge: Edge, siblings: list[Edge], findings: Findings) -> None:
    if not siblings:
        findings.report(
            "bad-condition",
            f"{edge.called} is taken when no other condition of its node holds, but there is no other",
            edge_id=edge.id,
            suggestion="give another edge of the node a condition",
        )
    elif all(other.id in canvas.conditions for other in siblings):
        others = " or ".join(f"({canvas.conditions[other.id]})" for other in siblings)
        # "or false" makes a truth value of a comparison with something that is not there.
        canvas.conditions[edge.id] = f"$not({others} or false)"
