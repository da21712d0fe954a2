"""What can be wrong with a canvas, as items a person can act on (contract-canvas 4).

Owns the shape and the severities of a problem; refuses to decide what is one - that is validation's business.
"""

import difflib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from workflows.models import WorkflowStatus

# unfinished: tolerated in a draft (shown as a warning), an error where the workflow is to be active or to run.
Severity = Literal["error", "unfinished", "warning"]

# Every code of the canvas's own; what the spec's validator finds in a node keeps the code it has there.
CODES: Final[dict[str, tuple[Severity, str]]] = {
    "nodes-not-a-list": ("error", "nodes is not an array"),
    "edges-not-a-list": ("error", "edges is not an array"),
    "node-not-an-object": ("error", "An element of nodes is not an object"),
    "edge-not-an-object": ("error", "An element of edges is not an object"),
    "too-many-nodes": ("error", "More nodes than a workflow may have states"),
    "too-many-edges": ("error", "More edges than five for each node a canvas may have"),
    "too-many-problems": ("error", "More problems than are listed"),
    "bad-value": ("error", "A NUL character, half a surrogate pair, NaN, or nesting too deep"),
    "bad-data": ("error", "A key of a node or edge with a value of another type"),
    "bad-node-id": ("error", "An id that is no text, or cannot name a state"),
    "reserved-node-id": ("error", "An id that references use for something else"),
    "duplicate-node-id": ("error", "Two nodes with one id"),
    "bad-edge-id": ("error", "An edge id that is no text, or too long"),
    "duplicate-edge-id": ("error", "Two edges with one id"),
    "unknown-node-type": ("error", "A type that is neither activity, start or end nor the name of an activity"),
    "unknown-state-type": ("error", "A data.stateType that canvases do not know"),
    "missing-activity": ("error", "A node that does not say what it runs"),
    "unknown-activity": ("error", "A node that runs an activity that does not exist"),
    "no-activity": ("error", "Nothing to run"),
    "several-starts": ("error", "More than one start node"),
    "no-start": ("warning", "No start node: what has no incoming edge starts"),
    "no-end": ("warning", "No end node: what has no outgoing edge ends"),
    "unknown-node": ("error", "An edge from or to a node that is not there"),
    "edge-to-remark": ("error", "An edge from or to a note or a group, where nothing runs"),
    "self-loop": ("error", "An edge from a node to itself"),
    "duplicate-edge": ("error", "Two edges between the same nodes in the same direction"),
    "edge-into-start": ("error", "An edge into a start node"),
    "edge-out-of-end": ("error", "An edge out of an end node"),
    "edge-out-of-fail": ("error", "An edge from a Fail, which ends the run, to a node that runs"),
    "cycle": ("error", "Edges that go in a circle; nodeIds lists its nodes"),
    "isolated-node": ("unfinished", "A node without edges"),
    "several-parts": ("unfinished", "Parts of the canvas that are not connected"),
    "unreachable": ("error", "A node that no path from the start node leads to"),
    "dead-end": ("warning", "A last node without an edge to the end nodes there are"),
    "redundant-start-edge": ("warning", "An edge from the start node that orders nothing"),
    "condition-on-redundant-edge": ("error", "A condition on an edge from the start node that orders nothing"),
    "unknown-relation-type": ("error", "A relation_type that does not exist"),
    "missing-condition": ("error", "A conditional edge without a condition"),
    "condition-mismatch": ("error", "A condition on an edge that says it is not conditional"),
    "condition-into-end": ("error", "A condition on an edge into an end node"),
    "error-of-what-cannot-fail": ("error", "An edge taken on errors of a start node or a Wait"),
    "error-taken-before": ("warning", "An edge taken on errors that another one takes already"),
    "bad-condition": ("error", "A condition that is not understood"),
    "bad-wording": ("error", "A relation_wording or confidence of the wrong type"),
    "unknown-reference": ("error", "A reference to a node that is not there"),
    "ambiguous-label": ("error", "A reference to a label that several nodes have"),
    "reference-not-before": ("error", "A reference to a node that does not run before"),
    "reference-may-be-skipped": (
        "warning",
        "A reference to a node that a condition may skip, or whose failure was caught",
    ),
    "masked-secret": ("error", "A secret given as ***"),
    "sealed-secret": ("warning", "A secret that was drawn in the open, and is kept encrypted instead"),
    "missing-parameter": (
        "error",
        "A required parameter that nothing gives; an input of that name at the start mends it",
    ),
}

MAX_PROBLEMS = 1_000
MAX_SUGGESTIONS = 50
_LONGEST_COMPARED = 200


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: where, what was expected, and what to do about it."""

    code: str
    message: str
    severity: Severity = "error"
    node_id: str | None = None
    edge_id: str | None = None
    suggestion: str | None = None
    parameter: str | None = None
    node_ids: tuple[str, ...] = ()
    others: tuple[str, ...] = ()  # nodes that would mend it: told to fixes alone

    def as_json(self) -> dict[str, Any]:
        """``{code, message, nodeId?, edgeId?, suggestion?, parameter?, nodeIds?}``, absent keys left out."""
        body: dict[str, Any] = {"code": self.code, "message": _storable(self.message)}
        optional = {
            "nodeId": _storable(self.node_id),
            "edgeId": _storable(self.edge_id),
            "suggestion": _storable(self.suggestion),
            "parameter": _storable(self.parameter),
            "nodeIds": [_storable(node) for node in self.node_ids],
        }
        return body | {key: value for key, value in optional.items() if value}

    def as_row(self) -> dict[str, Any]:
        """As :meth:`as_json` with the severity: what a WorkflowVersion keeps in ``problems``."""
        return self.as_json() | {"severity": self.severity}


def _storable(text: str | None) -> str | None:
    """What a problem quotes of a canvas may be exactly what is wrong with it: NUL and half characters are replaced."""
    if text is None or (text.isascii() and "\0" not in text):
        return text
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


@dataclass(slots=True)
class Findings:
    """Collects problems in the order they are found; past ``MAX_PROBLEMS`` it only counts them."""

    problems: list[Problem] = field(default_factory=list)
    dropped: int = 0
    suggestions: int = 0

    def add(self, problem: Problem) -> None:
        """Keep ``problem``, or count it when there are too many to read."""
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem)
        else:
            self.dropped += 1

    def report(self, code: str, message: str, **where: Any) -> None:
        """Add a problem of the canvas's own; how severe it is, its code says."""
        self.add(Problem(code, message, CODES[code][0], **where))

    def did_you_mean(self, name: str, options: Collection[str]) -> str | None:
        """Return ``did you mean X?`` for the option closest to ``name``, or None.

        Only for the first ``MAX_SUGGESTIONS`` questions: comparing costs time, and nobody reads more of them.
        """
        self.suggestions += 1
        if self.suggestions > MAX_SUGGESTIONS:
            return None
        close = difflib.get_close_matches(name[:_LONGEST_COMPARED], options, n=1)
        return f"did you mean {close[0]}?" if close else None

    @property
    def has_errors(self) -> bool:
        """Whether anything found so far is an error whatever the status."""
        return any(problem.severity == "error" for problem in self.problems)

    def __iter__(self) -> Iterator[Problem]:
        yield from self.problems
        if self.dropped:
            yield Problem("too-many-problems", f"{self.dropped} more problems are not listed; mend these first")


def is_blocking(row: dict[str, Any], status: str) -> bool:
    """Whether a kept problem is an error for a workflow of that status."""
    severity = row.get("severity", "error")
    return severity == "error" or (severity == "unfinished" and status != WorkflowStatus.DRAFT)


def report_of(rows: Iterable[dict[str, Any]], status: str) -> dict[str, Any]:
    """Return ``{valid, errors, warnings}`` of kept problems (:meth:`Problem.as_row`) as seen from ``status``."""
    errors: list[dict[str, Any]] = []
    warnings: list[dict[str, Any]] = []
    for row in rows:
        shown = {key: value for key, value in row.items() if key != "severity"}
        (errors if is_blocking(row, status) else warnings).append(shown)
    return {"valid": not errors, "errors": errors, "warnings": warnings}
