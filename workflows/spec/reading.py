"""Checks what the values of a spec read: that references and expressions parse, and that what they name is there.

Owns the rules of contract-workflow-spec 3 and 8.6. What control flow makes certain or possible comes from ``flow``.
"""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from workflows.errors import ExpressionError
from workflows.spec import flow
from workflows.spec.activity_rules import ActivityInfo, lacks_output_field
from workflows.spec.document import child_path
from workflows.spec.expressions import Expression
from workflows.spec.flow import Graph
from workflows.spec.outline import Body, Node, Outline
from workflows.spec.references import (
    RESERVED_ROOTS,
    STATE_FIELDS,
    Reference,
    ReferenceSyntaxError,
    is_expression,
    parse_text,
)
from workflows.spec.report import Findings, shown

_MOST_SECONDS_FOR_EXPRESSIONS: Final = 5.0
_READABLE_ROOTS: Final = sorted(RESERVED_ROOTS - {"result", "item", "index", "error"})


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands and when it is resolved: as ``node`` starts, or ``after`` it is done.

    ``branch``: the branch of ``node`` whose condition the value is, resolved before that branch starts.
    """

    path: str
    node: Node
    after: bool = False
    branch: Body | None = None

    @property
    def body(self) -> Body:
        """The list of states the value is resolved in."""
        return self.branch or self.node.body


@dataclass(frozen=True, slots=True)
class _Reading:
    """One thing that a value reads: ``names`` are the steps below ``root``."""

    root: str
    names: tuple[str, ...]
    text: str
    in_expression: bool
    has_default: bool

    @property
    def may_be_missing(self) -> bool:
        """Whether nothing fails if it is not there."""
        return self.in_expression or self.has_default


class Reader:
    """Looks at one value after the other of one spec."""

    def __init__(
        self,
        outline: Outline,
        graphs: dict[Body, Graph],
        activities: Mapping[str, ActivityInfo] | None,
        findings: Findings,
    ) -> None:
        self._outline = outline
        self._graphs = graphs
        self._activities = activities or {}
        self._findings = findings
        self._variables = set(_assigned_variables(outline))
        self._seconds = 0.0
        self._gave_up = False

    def check(self, value: Any, place: Place) -> None:
        """Check every text in ``value``, which stands at ``place``."""
        waiting = [(value, place.path)]
        while waiting:
            part, path = waiting.pop()
            if isinstance(part, str):
                if "${" in part or "{%" in part:
                    for reading in self._readings(part, path):
                        self._check_reading(reading, Place(path, place.node, place.after, place.branch))
            elif isinstance(part, dict):
                waiting.extend((inner, child_path(path, key)) for key, inner in reversed(part.items()))
            elif isinstance(part, list):
                waiting.extend((inner, f"{path}[{index}]") for index, inner in reversed(list(enumerate(part))))

    def check_condition(self, text: Any, place: Place) -> None:
        """Check a ``when``: one expression or one reference."""
        if not isinstance(text, str):
            return
        self.check(text, place)
        if is_expression(text):
            return
        try:
            parsed = parse_text(text)
        except ReferenceSyntaxError:
            return  # told already
        if isinstance(parsed, tuple) and not (len(parsed) == 1 and isinstance(parsed[0], Reference)):
            message = "a condition is an expression like {% State.output.count > 3 %} or one reference"
            self._findings.add(place.path, "bad-condition", message)

    def _readings(self, text: str, path: str) -> list[_Reading]:
        """Return what ``text`` reads, after adding a problem if that cannot be told."""
        if text.lstrip().startswith("{%") and "%}" not in text:
            self._findings.add(path, "bad-expression", "the expression has no closing %}")
            return []
        parsed = self._parse(text, path)
        if isinstance(parsed, Expression):
            return [_Reading(names[0], names[1:], ".".join(names), True, False) for names in parsed.paths]
        references = [part for part in parsed or () if isinstance(part, Reference)]
        return [_Reading(r.root, tuple(map(str, r.path)), r.text, False, r.has_default) for r in references]

    def _parse(self, text: str, path: str) -> Expression | tuple[str | Reference, ...] | None:
        if not is_expression(text):
            try:
                return parse_text(text)
            except ReferenceSyntaxError as error:
                self._findings.add(path, "bad-reference", error.message)
                return None
        if self._seconds > _MOST_SECONDS_FOR_EXPRESSIONS:
            if not self._gave_up:
                self._gave_up = True
                message = f"reading the expressions takes longer than {_MOST_SECONDS_FOR_EXPRESSIONS:g} s"
                self._findings.add(path, "expressions-too-slow", message)
            return None
        started = time.monotonic()
        try:
            return parse_text(text)
        except ExpressionError as error:
            self._findings.add(path, "bad-expression", error.message)
            return None
        finally:
            self._seconds += time.monotonic() - started

    def _check_reading(self, reading: _Reading, place: Place) -> None:
        if reading.root in RESERVED_ROOTS:
            self._check_root(reading, place)
            return
        target = self._outline.by_name.get(reading.root)
        if target is None:
            message = f"{reading.text} names the state {shown(reading.root)}, which does not exist"
            candidates = [*self._outline.by_name, *_READABLE_ROOTS]
            self._findings.add(place.path, "unknown-reference", message, given=reading.root, candidates=candidates)
            return
        names = reading.names
        if names and names[0] not in STATE_FIELDS:
            meant = f"{reading.root}.output.{'.'.join(names)}"
            message = f"{reading.text} must go on with .output or .error of a state; did you mean {meant}?"
            self._findings.add(place.path, "bad-reference", message)
            return
        self._check_known(target, reading, place)
        if len(names) > 1 and names[0] == "output":
            self._check_output_field(target, names[1], reading, place)

    def _check_root(self, reading: _Reading, place: Place) -> None:
        root, names, what = reading.root, reading.names, reading.text
        if root == "vars" and names and names[0] not in self._variables and not reading.has_default:
            message = f"{what} names the variable {shown(names[0])}, which nothing assigns"
            self._findings.add(place.path, "unknown-variable", message, given=names[0], candidates=self._variables)
        elif root == "result" and not place.after:
            self._findings.add(place.path, "root-not-here", f"{what}: result is there in assign and output only")
        elif root in ("item", "index") and not any(body.kind == "map" for body in place.body.enclosing()):
            self._findings.add(place.path, "root-not-here", f"{what}: {root} is there inside a Map only")
        elif root == "error":
            must, may = self._facts(place)
            if not may & flow.CAUGHT:
                message = f"{what}: error is there after a catch only; a branch reads it as ${{State.error.message}}"
                self._findings.add(place.path, "root-not-here", message)
            elif not must & flow.CAUGHT and not reading.may_be_missing:
                self._findings.add(place.path, "reference-uncertain", f"{what} is there only if a catch led here")

    def _facts(self, place: Place) -> tuple[int, int]:
        """Return what must and what may be known at ``place``."""
        node = place.node
        if place.branch is not None:
            inner = self._graphs[place.branch]
            return inner.entry_must, inner.entry_may
        graph = self._graphs[node.body]
        if graph.must[node.index] < 0:
            return -1, -1  # nothing leads here, which is told elsewhere
        must = graph.must[node.index] | graph.entry_must
        may = graph.may[node.index] | graph.entry_may
        if place.after and node.type == "Parallel":
            must_inside, may_inside = flow.gain_of_branches(node, self._graphs)
            must, may = must | must_inside, may | may_inside
        return must, may

    def _check_known(self, target: Node, reading: _Reading, place: Place) -> None:
        is_error = reading.names[:1] == ("error",)
        fact = flow.error_fact(target) if is_error else flow.output_fact(target)
        must, may = self._facts(place)
        if must & fact:
            return
        if not may & fact:
            code, why = self._why_not(target, is_error, place)
            self._findings.add(place.path, code, f"{reading.text} {why}")
        elif not reading.may_be_missing:
            message = (
                f"{reading.text} is there on some of the paths only; a default helps: {_with_default(reading.text)}"
            )
            self._findings.add(place.path, "reference-uncertain", message)

    def _why_not(self, target: Node, is_error: bool, place: Place) -> tuple[str, str]:
        """Return code and the rest of a sentence for a state that cannot have run at ``place``."""
        here = list(place.body.enclosing())
        there = list(target.body.enclosing())
        for outer in there:
            if outer.kind == "map" and outer not in here and outer.owner is not None:
                inside = f"is inside the Map {shown(outer.owner.name)}; from outside read {outer.owner.name}.output"
                return "reference-inside-map", inside
        why = f"cannot be there: no path leads through {shown(target.name)} before this"
        if target is place.node and place.branch is None:
            why = "is the state itself, which is not done; " + (
                "in assign and output read ${result}" if place.after else "read a state before it"
            )
        elif any(outer.owner is target for outer in here):
            why = "is around this and not done while this runs"
        elif is_error and not target.objects("catch"):
            why = f"cannot be there: {shown(target.name)} has no catch to go on with after it fails"
        else:
            owners = {outer.owner for outer in here if outer.kind == "branch"}
            beside = next((outer for outer in there if outer.owner in owners and outer not in here), None)
            if beside is not None and beside.kind == "branch":
                why = f"runs in a branch beside this one; add {shown(beside.name)} to dependsOn of this branch"
        return "reference-before-run", why

    def _check_output_field(self, target: Node, name: str, reading: _Reading, place: Place) -> None:
        activity = self._activities.get(target.text("resource") or "") if target.type == "Task" else None
        if activity is None or "output" in target.raw:
            return
        fields = lacks_output_field(activity, name)
        if fields is not None:
            listed = ", ".join(fields)
            message = f"{reading.text}: the output of {activity.name} has no field {shown(name)}; it has {listed}"
            self._findings.add(place.path, "unknown-output-field", message, given=name, candidates=fields)


def _with_default(what: str) -> str:
    return f"{what[:-1]}:-...}}" if what.endswith("}") else what


def _assigned_variables(outline: Outline) -> Iterable[str]:
    for node in outline.nodes:
        yield from node.object("assign")
        for _, rule in node.objects("choices"):
            assign = rule.get("assign")
            if isinstance(assign, dict):
                yield from assign
        for _, catch in node.objects("catch"):
            if isinstance(catch.get("resultPath"), str):
                yield catch["resultPath"]
