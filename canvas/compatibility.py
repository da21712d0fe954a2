"""Whether what one node gives is what the next one needs, field by field (contract-canvas 6).

Owns the warnings about connections; what keeps a canvas from running is validation's business. Refuses to guess: a
field whose schema names no type fits anything, and a node that runs no activity is not judged.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from canvas.catalogue import ANY, Catalogue, KnownActivity, Types, fits
from canvas.edges import Edge, read_edges
from canvas.models import RelationType
from canvas.nodes import Node, read_nodes
from canvas.problems import Findings

_NAMES_SHOWN = 12
_WHOLE_REFERENCE = re.compile(r"\$\{\s*([^{}]+?)\.output\.([A-Za-z_][A-Za-z0-9_]*)\s*\}")


@dataclass(frozen=True, slots=True)
class Incompatibility:
    """Why a connection does not carry what its target needs; ``input`` is the field, "" where it is about none."""

    source: str
    target: str
    reason: str
    source_needs: str
    target_needs: str
    suggestion: str
    input: str = ""
    needs_transformer: bool = False

    def as_json(self) -> dict[str, str]:
        """``{source, target, reason, source_needs, target_needs, suggestion, input?, connection_type?}``."""
        body = {
            "source": self.source,
            "target": self.target,
            "reason": self.reason,
            "source_needs": self.source_needs,
            "target_needs": self.target_needs,
            "suggestion": self.suggestion,
        }
        if self.input:
            body["input"] = self.input
        return body | ({"connection_type": "requires-transformer"} if self.needs_transformer else {})


@dataclass(slots=True)
class Compatibility:
    """What a whole canvas is told about its connections."""

    incompatibilities: list[Incompatibility] = field(default_factory=list)
    disconnected: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """``{is_valid, incompatibilities, disconnected_nodes, warnings}``; only the first of them decides."""
        return {
            "is_valid": not self.incompatibilities,
            "incompatibilities": [one.as_json() for one in self.incompatibilities],
            "disconnected_nodes": list(self.disconnected),
            "warnings": list(self.warnings),
        }


def check_connection(
    source: Node, target: Node, catalogue: Catalogue, given: Iterable[str] = ()
) -> list[Incompatibility]:
    """Return what keeps ``source`` from giving ``target`` what it needs, in the order of the target's inputs.

    The first of these ends the check: an unknown activity at either end, a source without outputs, a target without
    inputs. Then each required input counts that neither the config of ``target`` nor ``given`` supplies: it needs an
    output of the same name, of a type that fits, without values that it does not take. An input that reads one field
    of ``source`` is held against that field.
    """
    gives, takes = catalogue.find(source.activity), catalogue.find(target.activity)
    if gives is None or takes is None:
        unknown = source if gives is None else target
        return [_unknown(source, target, unknown, gives, takes)]
    if not gives.outputs:
        return [
            _warning(source, target, gives, takes, f"{gives.name} gives nothing that a next step could read",
                     "Make it a dependency, which only orders, or read another step", source_needs="any output")
        ]  # fmt: skip
    if not takes.inputs:
        return [
            _warning(source, target, gives, takes, f"{takes.name} takes nothing",
                     "Check whether it is a terminal or trigger activity; a dependency only orders",
                     target_needs="no input")
        ]  # fmt: skip
    config = target.config or {}
    found = []
    for name, taken in takes.inputs.items():
        if (read := _field_read(config.get(name), source)) is not None and read in gives.outputs:
            if not _may_fit(gives.outputs[read], taken):
                reason = f'"{name}" reads {_said(gives, read, "which ")}, and {takes.name} takes {_types(taken)}'
                found.append(_mismatch(source, target, gives, takes, reason, name))
            continue
        if name not in takes.required or name in config:
            continue
        if name in gives.outputs and fits(gives.outputs[name], taken):
            if foreign := _foreign_values(gives, takes, name):
                found.append(_mismatch(source, target, gives, takes, f'"{name}" of {gives.name} {foreign}', name))
        elif name in given:
            continue
        elif name in gives.outputs:
            reason = f"{_said(gives, name)}, and {takes.name} takes {_types(taken)}"
            found.append(_mismatch(source, target, gives, takes, reason, name))
        else:
            reason = f'{takes.name} requires "{name}" ({_types(taken)}), which {gives.name} does not give'
            found.append(_warning(source, target, gives, takes, reason, _mapping(gives, takes, name), input=name))
    return found


def check_canvas(nodes: Sequence[Any], edges: Sequence[Any], catalogue: Catalogue) -> Compatibility:
    """Judge every connection of a canvas, in drawing order; never raises, whatever the elements are.

    An input that the start declares, or another node before the target gives, is not missed. Edges that only order, of
    type ``dependency`` and taken on errors, are not judged, nor are those at start and end nodes and at states that are
    no activities. What cannot be read, edges from or to nothing and activities without any edge are ``warnings``.
    """
    quiet = Findings()
    by_id: dict[str, Node] = {}
    for _, node in read_nodes(list(nodes), catalogue, quiet):
        if node is not None:
            by_id.setdefault(node.id, node)
    drawn = [edge for _, edge in read_edges(list(edges), quiet) if edge is not None]
    return check_read(list(by_id.values()), drawn, catalogue)


def check_read(nodes: Sequence[Node], edges: Sequence[Edge], catalogue: Catalogue) -> Compatibility:
    """As :func:`check_canvas`, of nodes and edges that were read already; the ids of the nodes are unique."""
    outcome = Compatibility()
    by_id = {node.id: node for node in nodes}
    joined: list[Edge] = []
    for edge in edges:
        if missing := [end for end in (edge.source, edge.target) if end not in by_id]:
            outcome.warnings += [f'{edge.called} names "{end[:200]}", which is no node' for end in missing]
        else:
            joined.append(edge)
    start = next((node for node in nodes if node.kind == "start"), None)
    supply = Supply(nodes, joined, catalogue)
    for edge in joined:
        source, target = by_id[edge.source], by_id[edge.target]
        orders = edge.relation_type == RelationType.DEPENDENCY or bool(edge.on_error)
        if orders or source is target or not _is_judged(source, target):
            continue
        given = {*(start.config or {})} if start is not None else set()
        takes = catalogue.find(target.activity)
        for name in takes.inputs if takes is not None else ():
            if name not in (target.config or {}) and supply.gives(name, target):
                given.add(name)
        outcome.incompatibilities += check_connection(source, target, catalogue, given)
    connected = {end for edge in joined for end in (edge.source, edge.target)}
    alone = [node for node in nodes if node.kind == "activity" and node.id not in connected]
    outcome.disconnected = [node.id for node in alone]
    outcome.warnings += [f"{node.called} is in no connection" for node in alone]
    return outcome


class Supply:
    """Which nodes have somebody before them that gives a field; worked out once for each field and type.

    Walks over circles too: a canvas that is wrong is still told about its connections.
    """

    def __init__(self, nodes: Sequence[Node], edges: Iterable[Edge], catalogue: Catalogue) -> None:
        self._nodes = nodes
        self._catalogue = catalogue
        self._next: dict[str, list[str]] = defaultdict(list)
        for edge in edges:
            # What failed has given nothing.
            if edge.relation_type != RelationType.DEPENDENCY and not edge.on_error:
                self._next[edge.source].append(edge.target)
        self._reached: dict[tuple[str, Types], set[str]] = {}

    def gives(self, name: str, target: Node) -> bool:
        """Whether a node before ``target`` has an output ``name`` whose type fits the input of that name."""
        takes = self._catalogue.find(target.activity)
        if takes is None:
            return False
        key = (name, takes.inputs.get(name, ANY))
        if key not in self._reached:
            self._reached[key] = self._after(*key)
        return target.id in self._reached[key]

    def _after(self, name: str, taken: Types) -> set[str]:
        producers = [node.id for node in self._nodes if self._produces(node, name, taken)]
        reached: set[str] = set()
        waiting = [after for node in producers for after in self._next[node]]
        while waiting:
            node = waiting.pop()
            if node not in reached:
                reached.add(node)
                waiting += self._next[node]
        return reached

    def _produces(self, node: Node, name: str, taken: Types) -> bool:
        activity = self._catalogue.find(node.activity) if node.activity else None
        return activity is not None and name in activity.outputs and fits(activity.outputs[name], taken)


def proposed_transformation(gives: KnownActivity | None, takes: KnownActivity | None) -> str:
    """Return in words what would turn the outputs of one activity into the inputs of another (contract-canvas 6.1)."""
    if gives is None or takes is None:
        return "Nothing is known of the fields of one of them, so no transformation can be proposed"
    return (
        f"Put an LLMInferenceActivity between them that turns {_outputs(gives)} into {_inputs(takes)}, "
        "or write an expression between {% and %} into the field"
    )


def enum_of(schema: Mapping[str, Any], name: str) -> list[Any] | None:
    """Return the values that a field of a schema is limited to; None if it is not."""
    found: Any = schema.get("properties", {})
    found = found.get(name) if isinstance(found, Mapping) else None
    for _ in range(8):
        if not isinstance(found, Mapping):
            return None
        if isinstance(values := found.get("enum"), list):
            return values
        if "const" in found:
            return [found["const"]]
        reference = found.get("$ref")
        options = [part for part in found.get("anyOf", ()) if part != {"type": "null"}]
        if isinstance(reference, str):
            found = schema.get("$defs", {}).get(reference.rpartition("/")[2])
        elif len(options) == 1:
            found = options[0]
        else:
            return None
    return None


def _field_read(value: Any, source: Node) -> str | None:
    """Return the output of ``source`` that a value is and nothing else; None for every other value."""
    found = _WHOLE_REFERENCE.fullmatch(value.strip()) if isinstance(value, str) else None
    return found.group(2) if found is not None and found.group(1) in (source.id, source.label) else None


def _may_fit(produced: Types, taken: Types) -> bool:
    """Whether some value of an output can be given to an input: what was drawn by hand is trusted as far as it can."""
    return not produced or not taken or any(fits(frozenset({kind}), taken) for kind in produced)


def _said(gives: KnownActivity, name: str, which: str = "") -> str:
    return f'"{name}"{"," if which else ""} {which}is {_types(gives.outputs[name])} as {gives.name} gives it'


def _is_judged(source: Node, target: Node) -> bool:
    return all(node.kind == "activity" and node.state_type == "Task" for node in (source, target))


def _foreign_values(gives: KnownActivity, takes: KnownActivity, name: str) -> str:
    """Say which values of an output its namesake input does not take; "" if it takes them all."""
    taken = enum_of(takes.info.input_schema, name)
    if taken is None:
        return ""
    produced = enum_of(gives.info.output_schema, name)
    if produced is None:
        return f"may be any value, and {takes.name} takes only {_listed(taken)}"
    foreign = [value for value in produced if value not in taken]
    return f"may be {_listed(foreign)}, and {takes.name} takes only {_listed(taken)}" if foreign else ""


def _unknown(
    source: Node, target: Node, unknown: Node, gives: KnownActivity | None, takes: KnownActivity | None
) -> Incompatibility:
    reason = f"{unknown.called} runs no activity that is known here"
    return _warning(source, target, gives, takes, reason, "Choose an activity that there is")


def _mismatch(
    source: Node, target: Node, gives: KnownActivity, takes: KnownActivity, reason: str, name: str
) -> Incompatibility:
    suggestion = proposed_transformation(gives, takes)
    return _warning(source, target, gives, takes, reason, suggestion, input=name, needs_transformer=True)


def _mapping(gives: KnownActivity, takes: KnownActivity, name: str) -> str:
    taken = takes.inputs[name]
    alike = [output for output, produced in gives.outputs.items() if taken and fits(produced, taken)]
    if alike:
        return f'Set "{name}" to one of {_listed(sorted(alike))}, which have the type it takes, or to a value'
    return proposed_transformation(gives, takes)


def _warning(
    source: Node,
    target: Node,
    gives: KnownActivity | None,
    takes: KnownActivity | None,
    reason: str,
    suggestion: str,
    **more: Any,
) -> Incompatibility:
    needs = {"source_needs": _outputs(gives), "target_needs": _inputs(takes)}
    return Incompatibility(source.id, target.id, reason, suggestion=suggestion, **{**needs, **more})


def _outputs(activity: KnownActivity | None) -> str:
    return _named(sorted(activity.outputs)) if activity is not None else "unknown"


def _inputs(activity: KnownActivity | None) -> str:
    if activity is None:
        return "unknown"
    return _named([f"{name}*" if name in activity.required else name for name in sorted(activity.inputs)])


def _named(names: Sequence[str]) -> str:
    more = len(names) - _NAMES_SHOWN
    return ", ".join(names[:_NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _types(types: Types) -> str:
    return " or ".join(sorted(types)) if types else "anything"


def _listed(values: Sequence[Any]) -> str:
    return _named([str(value)[:60] for value in values])
