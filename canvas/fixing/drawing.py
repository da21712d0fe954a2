"""A canvas as fixes see it: what was sent, where each node and edge stands in it, and the operations on it.

Owns JSON Patch operations and their guards: a ``test`` of the id goes before every change by index, so that a patch
for an older canvas fails as a whole. Refuses ids that several elements have.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from canvas.catalogue import Catalogue
from canvas.edges import Edge, fill_edges
from canvas.nodes import Node
from canvas.suggesting.drawn import Drawn, Ways, free_id
from canvas.suggesting.matching import match
from canvas.validation import Canvas

Change = dict[str, Any]
MOST_MATCHED = 300  # nodes among which connections are looked for
COLUMN, ROW = 260, 110


@dataclass(frozen=True, slots=True)
class Fix:
    """What mends a problem: ``label`` says it on a button, ``changes`` are the operations of a JSON Patch."""

    label: str
    changes: tuple[Change, ...]

    def as_json(self) -> dict[str, Any]:
        """``{label, changes}``."""
        return {"label": self.label, "changes": list(self.changes)}


class Sent:
    """Nodes and edges as they were sent, and the canvas that was read from them."""

    def __init__(self, nodes: Sequence[Any], edges: Sequence[Any], canvas: Canvas, catalogue: Catalogue) -> None:
        self.nodes, self.edges, self.canvas, self.catalogue = nodes, edges, canvas, catalogue
        # Where there are too many nodes or edges, none of them has been read.
        self._was_read = (len(canvas.sent_nodes), len(canvas.sent_edges)) == (len(nodes), len(edges))
        self.filled_edges = [raw for raw, _ in canvas.sent_edges] if self._was_read else fill_edges(list(edges))
        self._ids = {str(raw.get("id")) for raw in nodes if isinstance(raw, Mapping)}
        self._edge_ids = {str(raw.get("id")) for raw in self.filled_edges if isinstance(raw, Mapping)}
        self._taken, self._taken_edges = set(self._ids), set(self._edge_ids)

    def again(self) -> "Sent":
        """Return the same for another fix, for which no id is taken but those that were sent."""
        self._taken, self._taken_edges = set(self._ids), set(self._edge_ids)
        return self

    @cached_property
    def drawn(self) -> Drawn:
        """The nodes with their places, ends included."""
        if not self._was_read:
            return Drawn.of_sent(self.nodes, self.edges, self.catalogue)
        return Drawn(self.canvas.sent_nodes, self.canvas.sent_edges, self.catalogue)

    @cached_property
    def ways(self) -> Ways:
        """The edges that lead somewhere."""
        return Ways(self.drawn.edges)

    @cached_property
    def matches(self) -> list[tuple[str, str]]:
        """The connections that fields suggest; none on large canvases."""
        if len(self.drawn.nodes) > MOST_MATCHED:
            return []
        return [(one.source, one.target) for one in match(self.drawn)]

    @cached_property
    def _node_places(self) -> dict[str, int]:
        return _unique([raw.get("id") if isinstance(raw, Mapping) else None for raw in self.nodes])

    @cached_property
    def _edge_places(self) -> dict[str, int]:
        return _unique([raw.get("id") if isinstance(raw, Mapping) else None for raw in self.filled_edges])

    def node_at(self, node_id: str | None) -> int | None:
        """Return the index of the only node of that id, None if there is not one."""
        return self._node_places.get(node_id) if node_id is not None else None

    def edge_at(self, edge_id: str | None) -> int | None:
        """Return the index of the only edge of that id, None if there is not one."""
        return self._edge_places.get(edge_id) if edge_id is not None else None

    def node(self, node_id: str | None) -> Node | None:
        """Return the node as it was read."""
        return self.drawn.nodes.get(node_id) if node_id is not None else None

    def called(self, node_id: str) -> str:
        """How a label names the node."""
        node = self.node(node_id)
        name = node.label if node is not None else node_id
        return name if len(name) <= 40 else name[:39] + "…"

    # -- operations ---------------------------------------------------------------------------------------------

    def is_node(self, index: int) -> Change:
        """Guard: the node still stands there."""
        return {"op": "test", "path": f"/nodes/{index}/id", "value": self.nodes[index].get("id")}

    def is_edge(self, index: int) -> list[Change]:
        """Guard: the edge still stands there."""
        ends = [end for end in ("source", "target") if end in self.edges[index]]
        if not ends:
            return [{"op": "test", "path": f"/edges/{index}", "value": self.edges[index]}]
        return [{"op": "test", "path": f"/edges/{index}/{end}", "value": self.edges[index][end]} for end in ends]

    def without_edge(self, index: int) -> tuple[Change, ...]:
        """Remove one edge."""
        return (*self.is_edge(index), {"op": "remove", "path": f"/edges/{index}"})

    def with_edges(self, pairs: Iterable[tuple[str, str]], **data: Any) -> tuple[Change, ...]:
        """Add edges; each gets an id that is free."""
        changes = []
        for source, target in pairs:
            edge: dict[str, Any] = {"id": free_id(f"{source}-{target}", self._taken_edges)}
            edge |= {"source": source, "target": target} | ({"data": data} if data else {})
            changes.append({"op": "add", "path": "/edges/-", "value": edge})
        return tuple(changes)

    def free_node_id(self, stem: str) -> str:
        """Return an id that no node has, nor will get here again."""
        return free_id(stem[:100], self._taken)

    def with_config(self, index: int, name: str, value: Any) -> tuple[Change, ...]:
        """Set one parameter of a node, in whichever shape it was sent."""
        raw = self.nodes[index]
        data = raw.get("data")
        is_flat = raw.get("type") not in ("activity", None)
        here = f"/nodes/{index}/data"
        if not isinstance(data, Mapping):
            change = {"op": "add", "path": here, "value": {name: value} if is_flat else {"config": {name: value}}}
        elif isinstance(data.get("config"), Mapping):
            change = {"op": "add", "path": f"{here}/config/{pointer(name)}", "value": value}
        elif is_flat:
            change = {"op": "add", "path": f"{here}/{pointer(name)}", "value": value}
        else:
            change = {"op": "add", "path": f"{here}/config", "value": {name: value}}
        return (self.is_node(index), change)

    def without_config(self, index: int, name: str) -> Change | None:
        """Remove one parameter of a node; None if it is not where parameters are."""
        data = self.nodes[index].get("data")
        if not isinstance(data, Mapping):
            return None
        config = data.get("config")
        if isinstance(config, Mapping):
            where = f"config/{pointer(name)}" if name in config else ""
        else:
            where = pointer(name) if name in data else ""
        return {"op": "remove", "path": f"/nodes/{index}/data/{where}"} if where else None

    def without_edge_keys(self, index: int, *names: str) -> tuple[Change, ...]:
        """Remove keys of what an edge means, from its data and from the edge itself."""
        raw, changes = self.edges[index], []
        data = raw.get("data")
        for name in names:
            if isinstance(data, Mapping) and name in data:
                changes.append({"op": "remove", "path": f"/edges/{index}/data/{name}"})
            if name in raw:
                changes.append({"op": "remove", "path": f"/edges/{index}/{name}"})
        return (*self.is_edge(index), *changes) if changes else ()

    def new_node(self, kind: str, stem: str, place: tuple[float, float], data: Mapping[str, Any]) -> dict[str, Any]:
        """Return a node that does not lie on another one."""
        x, y = place
        taken = {(round(a), round(b)) for a, b in self.drawn.places.values()}
        while (round(x), round(y)) in taken:
            y += ROW
        position = {"x": round(x), "y": round(y)}
        return {"id": self.free_node_id(stem), "type": kind, "position": position, "data": dict(data)}

    def edges_of(self, node_id: str) -> list[Edge]:
        """Return the edges at a node."""
        return [edge for edge in self.drawn.edges if node_id in (edge.source, edge.target)]


def add_node(node: Mapping[str, Any]) -> Change:
    """Append a node."""
    return {"op": "add", "path": "/nodes/-", "value": dict(node)}


def pointer(key: str) -> str:
    """Return a key as one step of a JSON Pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def _unique(ids: Sequence[Any]) -> dict[str, int]:
    counts = Counter(one for one in ids if isinstance(one, str))
    return {one: index for index, one in enumerate(ids) if isinstance(one, str) and counts[one] == 1}
