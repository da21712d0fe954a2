"""The order that the edges of a canvas put its nodes in, and which nodes are certain to have run before which.

Owns the questions about paths; knows no activities. Works on canvases without cycles only: ``find_cycles`` says first.
"""

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from graphlib import CycleError, TopologicalSorter

from canvas.edges import Edge
from canvas.models import RelationType
from canvas.nodes import Node


def find_cycles(nodes: Sequence[Node], edges: Iterable[Edge]) -> list[list[str]]:
    """Return one shortest cycle (ids in order, lowest node first) of each knot of cycles, in the order of the nodes."""
    joined = [(edge.source, edge.target) for edge in edges if edge.source != edge.target]
    if not _is_knotted(joined):
        return []
    import networkx  # takes as long as half the start of a process, and is for judging alone

    graph: networkx.DiGraph[str] = networkx.DiGraph()
    graph.add_nodes_from(node.id for node in nodes)
    graph.add_edges_from(joined)
    position = {node.id: i for i, node in enumerate(nodes)}
    knots = [knot for knot in networkx.strongly_connected_components(graph) if len(knot) > 1]
    cycles = []
    for knot in sorted(knots, key=lambda k: min(position[n] for n in k)):
        first = min(knot, key=position.__getitem__)
        inside = graph.subgraph(knot)
        far = networkx.single_source_shortest_path_length(inside, first)
        last = min(inside.predecessors(first), key=lambda node: (far[node], position[node]))
        cycles.append(list(networkx.shortest_path(inside, first, last)))
    return cycles


def _is_knotted(joined: Iterable[tuple[str, str]]) -> bool:
    """Whether there is any cycle; most canvases have none, and are told so without looking for the shortest."""
    order: TopologicalSorter[str] = TopologicalSorter()
    for source, target in joined:
        order.add(target, source)
    try:
        order.prepare()
    except CycleError:
        return True
    return False


class Graph:
    """The activity nodes of an acyclic canvas, by position in topological order (ties by drawing order).

    Sets of nodes are integers with one bit per position: unions of thousands of them stay cheap.
    """

    def __init__(self, nodes: Sequence[Node], edges: Iterable[Edge], entries: Iterable[Edge]) -> None:
        """Order ``nodes``; ``edges`` join two of them, ``entries`` come from a start node."""
        self.inputs: dict[str, list[Edge]] = defaultdict(list)
        self.outputs: dict[str, list[Edge]] = defaultdict(list)
        self.entries: dict[str, list[Edge]] = defaultdict(list)
        for edge in edges:
            self.inputs[edge.target].append(edge)
            self.outputs[edge.source].append(edge)
        for edge in entries:
            self.entries[edge.target].append(edge)
        self.order = self._sorted(nodes)
        self.position = {node.id: i for i, node in enumerate(self.order)}

    def _sorted(self, nodes: Sequence[Node]) -> list[Node]:
        drawn = {node.id: i for i, node in enumerate(nodes)}
        missing = {node.id: len(self.inputs[node.id]) for node in nodes}
        ready = [i for i, node in enumerate(nodes) if not missing[node.id]]
        order: list[Node] = []
        while ready:
            node = nodes[heapq.heappop(ready)]
            order.append(node)
            for edge in self.outputs[node.id]:
                missing[edge.target] -= 1
                if not missing[edge.target]:
                    heapq.heappush(ready, drawn[edge.target])
        if len(order) < len(nodes):
            raise ValueError("the canvas has a cycle")
        return order

    @cached_property
    def ancestors(self) -> dict[str, int]:
        """For each node the set of nodes with a path to it."""
        found: dict[str, int] = {}
        for node in self.order:
            union = 0
            for edge in self.inputs[node.id]:
                union |= found[edge.source] | 1 << self.position[edge.source]
            found[node.id] = union
        return found

    def is_before(self, earlier: str, later: str) -> bool:
        """Whether there is a path from ``earlier`` to ``later``."""
        return bool(self.ancestors[later] >> self.position[earlier] & 1)

    @cached_property
    def may_be_skipped(self) -> frozenset[str]:
        """The nodes that a condition, their own or one upstream, can keep from running."""
        found: set[str] = set()
        for node in self.order:
            ways = self.inputs[node.id] or self.entries[node.id]
            if any(edge.asks for edge in ways) or (ways and all(edge.source in found for edge in ways)):
                found.add(node.id)
        return frozenset(found)

    def ways_into(self, node_id: str) -> list[Edge]:
        """Return the edges of which one must be taken for the node to run, in drawing order.

        An edge is taken when its source ran and its condition, if it has one, holds. Without conditional edges every
        edge is a way; an edge from a start node counts where there is no other. Beside a conditional edge a plain one
        is a way only if its source can be skipped and does not lie upstream of the condition: a plain edge from what
        runs anyway orders, it does not override the condition.
        """
        edges = self.inputs[node_id] or self.entries[node_id]
        asking = [edge for edge in edges if edge.asks]
        if not asking:
            return edges

        def is_way(edge: Edge) -> bool:
            if edge.asks:
                return True
            return edge.source in self.may_be_skipped and not any(
                edge.source == other.source or self.is_before(edge.source, other.source) for other in asking
            )

        return [edge for edge in edges if is_way(edge)]

    @cached_property
    def certain_before(self) -> dict[str, int]:
        """For each node the set of nodes that have run, and succeeded, whenever it runs."""
        always = 0
        for node in self.order:
            if node.id not in self.may_be_skipped and not self._is_caught(node.id):
                always |= 1 << self.position[node.id]
        found: dict[str, int] = {}
        for node in self.order:
            certain = self.ancestors[node.id] & always
            shared: int | None = None
            for edge in self.ways_into(node.id):
                source = self.position.get(edge.source)
                behind = 0 if source is None else found[edge.source]
                if source is not None and not edge.on_error:
                    behind |= 1 << source
                shared = behind if shared is None else shared & behind
            found[node.id] = certain | (shared or 0)
        return found

    def _is_caught(self, node_id: str) -> bool:
        return any(edge.is_guarded or edge.on_error for edge in self.outputs[node_id])

    @cached_property
    def certain_failures(self) -> dict[str, int]:
        """For each node the set of nodes that have failed, and were caught, whenever it runs."""
        found: dict[str, int] = {}
        for node in self.order:
            shared: int | None = None
            for edge in self.ways_into(node.id):
                behind = found.get(edge.source, 0)
                if edge.on_error and edge.source in self.position:
                    behind |= 1 << self.position[edge.source]
                shared = behind if shared is None else shared & behind
            found[node.id] = shared or 0
        return found

    def fails_before(self, earlier: str, later: str) -> bool:
        """Whether ``earlier`` has failed whenever ``later`` runs."""
        return bool(self.certain_failures[later] >> self.position[earlier] & 1)

    def runs_before(self, earlier: str, later: str) -> bool:
        """Whether ``earlier`` has run and succeeded whenever ``later`` runs."""
        return bool(self.certain_before[later] >> self.position[earlier] & 1)

    def nearest(self, produces: Callable[[Node], bool]) -> dict[str, list[str]]:
        """For each node the ancestors nearest to it that ``produces`` accepts, in drawing order.

        Near is counted in edges that carry data: an edge of type dependency only orders (contract-canvas 5.3 rule 7).
        More than one means that they are equally near.
        """
        accepted = {node.id for node in self.order if produces(node)}
        best: dict[str, tuple[int, tuple[str, ...]]] = {}
        for node in self.order:
            distance, sources = 0, dict[str, None]()
            found: tuple[str, ...]
            for edge in self.inputs[node.id]:
                if edge.relation_type == RelationType.DEPENDENCY:
                    continue
                if edge.source in accepted:
                    far, found = 1, (edge.source,)
                elif edge.source in best:
                    far, found = best[edge.source][0] + 1, best[edge.source][1]
                else:
                    continue
                if not sources or far < distance:
                    distance, sources = far, dict.fromkeys(found)
                elif far == distance:
                    sources |= dict.fromkeys(found)
            if sources:
                best[node.id] = (distance, tuple(sources)[:5])
        return {node_id: sorted(found, key=self.position.__getitem__) for node_id, (_, found) in best.items()}

    @cached_property
    def chains(self) -> list[list[Node]]:
        """The maximal chains, in topological order of their heads; every other edge joins a tail to a head.

        A chain goes on over an edge that is the only one out of its source and the only one into its target, and that
        has nothing that decides whether it is taken.
        """
        follower: dict[str, str] = {}
        for node in self.order:
            out = self.outputs[node.id]
            if len(out) == 1 and not out[0].asks and len(self.inputs[out[0].target]) == 1:
                follower[node.id] = out[0].target
        inner = set(follower.values())
        chains: list[list[Node]] = []
        for node in self.order:
            if node.id in inner:
                continue
            chain = [node]
            while (target := follower.get(chain[-1].id)) is not None:
                chain.append(self.order[self.position[target]])
            chains.append(chain)
        return chains
