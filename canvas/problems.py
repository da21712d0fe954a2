"""What can be wrong with a canvas, as items a person can act on (contract-canvas 4).

Owns the shape and the severities of a problem; refuses to decide what is one - that is validation's business.
"""

import difflib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from workflows.models import WorkflowStatus

# unfinished: tolerated in a draft (shown as a warning), an error where the workflow is to be active or to run.
Severity = Literal["error", "unfinished", "warning"]

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

    def as_json(self) -> dict[str, Any]:
        """``{code, message, nodeId?, edgeId?, suggestion?, parameter?, nodeIds?}``, absent keys left out."""
        body: dict[str, Any] = {"code": self.code, "message": self.message}
        optional = {
            "nodeId": self.node_id,
            "edgeId": self.edge_id,
            "suggestion": self.suggestion,
            "parameter": self.parameter,
            "nodeIds": list(self.node_ids),
        }
        return body | {key: value for key, value in optional.items() if value}

    def as_row(self) -> dict[str, Any]:
        """As :meth:`as_json` with the severity: what a WorkflowVersion keeps in ``problems``."""
        return self.as_json() | {"severity": self.severity}


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

    def error(self, code: str, message: str, **where: Any) -> None:
        """Add an error."""
        self.add(Problem(code, message, **where))

    def unfinished(self, code: str, message: str, **where: Any) -> None:
        """Add what a draft may lack."""
        self.add(Problem(code, message, "unfinished", **where))

    def warning(self, code: str, message: str, **where: Any) -> None:
        """Add a warning."""
        self.add(Problem(code, message, "warning", **where))

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
