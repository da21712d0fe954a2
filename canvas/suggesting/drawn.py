"""A canvas as suggestions are made for it: nodes and edges that were read, where they stand, and who comes before whom.

Owns the walk along edges. Refuses nothing: what cannot be read is not there.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from canvas.catalogue import Catalogue, KnownActivity
from canvas.edges import MAX_EDGE_ID_LENGTH, Edge, read_edges
from canvas.nodes import Node, read_nodes
from canvas.problems import Findings


class Drawn:
    """The nodes by id (the first of each), the edges between two of them, and the activities of a catalogue."""

    def __init__(
        self, nodes: Sequence[tuple[Any, Node | None]], edges: Sequence[tuple[Any, Edge | None]], catalogue: Catalogue
    ) -> None:
        """Take each node and each edge filled in and as it was read."""
        self.catalogue = catalogue
        self.nodes: dict[str, Node] = {}
        self.places: dict[str, tuple[float, float]] = {}
        for raw, node in nodes:
            if node is not None and node.id not in self.nodes:
                self.nodes[node.id] = node
                self.places[node.id] = _place(raw)
        self.raw_edges = [raw for raw, _ in edges]
        read = [edge for _, edge in edges]
        self.edges: list[Edge] = [
            e for e in read if e is not None and e.source in self.nodes and e.target in self.nodes
        ]
        self.edge_ids = {edge.id for edge in read if edge is not None}
        self.start = next((node for node in self.nodes.values() if node.kind == "start"), None)
        self.end = next((node for node in self.nodes.values() if node.kind == "end"), None)

    @classmethod
    def of_sent(cls, nodes: Sequence[Any], edges: Sequence[Any], catalogue: Catalogue) -> "Drawn":
        """Read nodes and edges as they were sent, and tell nobody what is wrong with them."""
        quiet = Findings()
        return cls(read_nodes(list(nodes), catalogue, quiet), read_edges(list(edges), quiet), catalogue)

    @property
    def activities(self) -> list[Node]:
        """The nodes that run something, in drawing order."""
        return [node for node in self.nodes.values() if node.kind == "activity"]

    def activity_of(self, node: Node) -> KnownActivity | None:
        """Return what a node runs, if that is an activity."""
        return self.catalogue.find(node.activity) if node.activity else None

    def distance(self, source: str, target: str) -> tuple[bool, float]:
        """How far apart two nodes stand; one to the right of its target is further than any to the left."""
        (left, top), (right, bottom) = self.places[source], self.places[target]
        return left > right, math.hypot(right - left, bottom - top)


class Ways:
    """Edges by their ends, to which more are added."""

    def __init__(self, edges: Sequence[Edge] = ()) -> None:
        self.pairs: set[tuple[str, str]] = set()
        self._next: dict[str, list[str]] = defaultdict(list)
        self._before: dict[str, list[str]] = defaultdict(list)
        for edge in edges:
            self.add(edge.source, edge.target)

    def add(self, source: str, target: str) -> None:
        """Join two nodes."""
        if (source, target) not in self.pairs:
            self.pairs.add((source, target))
            self._next[source].append(target)
            self._before[target].append(source)

    def leads(self, source: str, target: str) -> bool:
        """Whether there is a way from ``source`` to ``target``; there is one from a node to itself."""
        return target in _walked(source, self._next)

    def before(self, node: str) -> set[str]:
        """Return every node with a way to this one, and itself."""
        return _walked(node, self._before)

    def has_way_in(self, node: str) -> bool:
        """Whether any edge leads into the node."""
        return bool(self._before.get(node))

    def has_way_out(self, node: str) -> bool:
        """Whether any edge leaves the node."""
        return bool(self._next.get(node))


def free_id(stem: str, taken: set[str]) -> str:
    """Return ``stem``, numbered where it is taken already; what is returned is taken from then on."""
    stem = stem[: MAX_EDGE_ID_LENGTH - 8]
    name, count = stem, 1
    while name in taken:
        count += 1
        name = f"{stem}-{count}"
    taken.add(name)
    return name


def _walked(node: str, following: Mapping[str, list[str]]) -> set[str]:
    seen, waiting = {node}, [node]
    while waiting:
        for other in following.get(waiting.pop(), ()):
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return seen


def _place(raw: Mapping[str, Any]) -> tuple[float, float]:
    position = raw.get("position")
    values = [position.get(axis) for axis in ("x", "y")] if isinstance(position, Mapping) else [0, 0]
    x, y = (float(v) if isinstance(v, int | float) and abs(v) < 1e9 else 0.0 for v in values)
    return x, y
