"""The skeleton of a document that may be wrong in places: its lists of states, who owns them, where each jumps to.

Lets rules look at all of a spec even if parts of it do not fit their shapes. Judges nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(eq=False, slots=True)
class Node:
    """One state as it stands in the document; ``name`` and ``type`` are empty if they are no text."""

    path: str
    raw: dict[str, Any]
    name: str
    type: str
    index: int
    body: "Body"
    bodies: list["Body"] = field(default_factory=list)
    number: int = 0
    _jumps: list[tuple[str, str, bool]] | None = None

    @property
    def next(self) -> str | None:
        """The state's own ``next``."""
        return self.text("next")

    @property
    def end(self) -> bool:
        """Whether the state says that it ends its list."""
        return self.raw.get("end") is True

    def text(self, key: str) -> str | None:
        """Return the value of ``key`` if it is text."""
        value = self.raw.get(key)
        return value if isinstance(value, str) else None

    def object(self, key: str) -> dict[str, Any]:
        """Return the value of ``key`` if it is an object, else an empty one."""
        value = self.raw.get(key)
        return value if isinstance(value, dict) else {}

    def objects(self, key: str) -> list[tuple[str, dict[str, Any]]]:
        """Return path and value of every object in the list at ``key``."""
        value = self.raw.get(key)
        return objects_in(value, f"{self.path}.{key}") if value else []

    def jumps(self) -> list[tuple[str, str, bool]]:
        """Return path, target and whether it is taken after a failure, for everything this state can jump to."""
        if self._jumps is None:
            self._jumps = list(self._find_jumps())
        return self._jumps

    def _find_jumps(self) -> Iterator[tuple[str, str, bool]]:
        following = self.next
        if following is not None and self.type not in ("Choice", "Fail", "Succeed"):
            yield f"{self.path}.next", following, False
        if self.type == "Choice":
            for path, rule in self.objects("choices"):
                if isinstance(rule.get("next"), str):
                    yield f"{path}.next", rule["next"], False
            if (default := self.text("default")) is not None:
                yield f"{self.path}.default", default, False
        for path, catch in self.objects("catch"):
            if isinstance(catch.get("next"), str):
                yield f"{path}.next", catch["next"], True


@dataclass(eq=False, slots=True)
class Body:
    """A list of states that one line of control walks: the spec itself, a branch, or what a Map does per item."""

    path: str
    kind: Literal["spec", "branch", "map"]
    raw: dict[str, Any]
    owner: Node | None
    name: str = ""
    nodes: list[Node] = field(default_factory=list)

    @property
    def start_at(self) -> str | None:
        """The name of the state to start with, if it is given."""
        value = self.raw.get("startAt")
        return value if isinstance(value, str) else None

    @property
    def depends_on(self) -> list[str]:
        """The names of the branches this one waits for."""
        value = self.raw.get("dependsOn")
        return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []

    def enclosing(self) -> Iterator["Body"]:
        """Yield this list and all that it lies in, inner first."""
        body: Body | None = self
        while body is not None:
            yield body
            body = body.owner.body if body.owner is not None else None


@dataclass(eq=False, slots=True)
class Outline:
    """All lists of states of one spec, outer before inner, and all states by number."""

    bodies: list[Body]
    nodes: list[Node]
    by_name: dict[str, Node]


def outline(document: dict[str, Any], path: str) -> Outline:
    """Return the skeleton of the spec ``document`` that stands at ``path`` (empty for the whole document)."""
    made = Outline([], [], {})
    _add_body(Body(path, "spec", document, None), made)
    return made


def _add_body(body: Body, made: Outline) -> None:
    made.bodies.append(body)
    states_path = f"{body.path}.states" if body.path else "states"
    for path, raw, index in _enumerated(body.raw.get("states"), states_path):
        name, kind = raw.get("name"), raw.get("type")
        node = Node(
            path=path,
            raw=raw,
            name=name if isinstance(name, str) else "",
            type=kind if isinstance(kind, str) else "",
            index=index,
            body=body,
            number=len(made.nodes),
        )
        body.nodes.append(node)
        made.nodes.append(node)
        if node.name:
            made.by_name.setdefault(node.name, node)
        if node.type == "Parallel":
            for position, (branch_path, branch) in enumerate(node.objects("branches")):
                label = branch.get("name")
                label = label if isinstance(label, str) and label else str(position)
                inner = Body(branch_path, "branch", branch, node, label)
                node.bodies.append(inner)
                _add_body(inner, made)
        elif node.type == "Map":
            inner = Body(path, "map", raw, node)
            node.bodies.append(inner)
            _add_body(inner, made)


def _enumerated(value: Any, path: str) -> Iterator[tuple[str, dict[str, Any], int]]:
    for index, (item_path, item) in enumerate(objects_in(value, path)):
        yield item_path, item, index


def objects_in(value: Any, path: str) -> list[tuple[str, dict[str, Any]]]:
    """Return path and value of every object in ``value``, if that is a list."""
    if not isinstance(value, list):
        return []
    return [(f"{path}[{index}]", item) for index, item in enumerate(value) if isinstance(item, dict)]
