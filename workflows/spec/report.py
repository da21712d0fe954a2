"""What is wrong with a spec: problems with a path, a code and a sentence, and the report that collects them.

Owns the table of codes. Decides nothing about specs itself.
"""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from workflows.spec.schema import WorkflowSpec

Severity = Literal["error", "warning"]

CODES: Final[dict[str, tuple[Severity, str]]] = {
    "not-json": ("error", "The document is not JSON: it does not parse, or holds NaN, a key that is no text, a date"),
    "too-large": ("error", "The document has more bytes than a spec may have"),
    "too-deep": ("error", "The document nests deeper than a spec may"),
    "too-many-states": ("error", "The spec has more states than a spec may have"),
    "duplicate-key": ("error", "An object has the same key twice"),
    "unstorable-text": ("error", "A text holds NUL or half a surrogate pair, which the database cannot keep"),
    "missing-key": ("error", "A required key is missing"),
    "unknown-key": ("error", "A key that this object does not have"),
    "wrong-type": ("error", "A value of another type than the key takes"),
    "wrong-value": ("error", "A value that is none of those allowed"),
    "out-of-range": ("error", "A number, text or list that is too small or too large"),
    "bad-name": ("error", "A name with characters that names cannot have"),
    "unknown-type": ("error", "A state type that does not exist"),
    "bad-duration": ("error", "A duration that does not parse"),
    "duration-out-of-range": ("error", "A duration that is zero or longer than allowed"),
    "bad-time": ("error", "A moment that is not RFC 3339"),
    "duplicate-name": ("error", "Two states of the spec have one name"),
    "reserved-name": ("error", "A state is called like a root of references"),
    "unknown-state": ("error", "A jump to a state that does not exist"),
    "outside-list": ("error", "A jump out of, or into, a branch or a Map"),
    "next-and-end": ("error", "A state has both next and end"),
    "exactly-one": ("error", "Exactly one of two keys must be there"),
    "unreachable-state": ("error", "No path leads to the state"),
    "no-terminal-state": ("error", "No path leads to an end"),
    "busy-loop": ("error", "A cycle in which nothing works or waits"),
    "duplicate-branch": ("error", "Two branches of a Parallel have one name"),
    "unknown-branch": ("error", "dependsOn names a branch that does not exist"),
    "branch-cycle": ("error", "Branches wait for each other"),
    "child-too-deep": ("error", "Inline specs nest deeper than child executions may"),
    "bad-variable-name": ("error", "A variable name that references cannot name"),
    "bad-share": ("error", "toleratedFailures is neither a number of items nor a share like 10%"),
    "bad-reference": ("error", "A ${...} that does not follow the grammar"),
    "unknown-reference": ("error", "A reference to a state that does not exist"),
    "reference-before-run": ("error", "A reference to a state that cannot have run by then"),
    "reference-inside-map": ("error", "A reference from outside to a state inside a Map"),
    "root-not-here": ("error", "item, index, result or error where there is none"),
    "unknown-variable": ("error", "A reference to a variable that nothing assigns"),
    "bad-expression": ("error", "A JSONata expression that does not parse"),
    "expressions-too-slow": ("error", "Reading the expressions of the spec took too long"),
    "bad-condition": ("error", "A when that is neither an expression nor a reference"),
    "unknown-activity": ("error", "A Task names an activity that does not exist"),
    "plugin-unavailable": ("error", "A Task names a plugin that is not installed, broken or disabled"),
    "not-cacheable": ("error", "A cache on an activity whose results cannot be kept"),
    "parameter-type": ("error", "A literal parameter of another type than the activity takes"),
    "parameter-value": ("error", "A literal parameter that the activity does not allow"),
    "secret-not-allowed": ("error", "A secret: handle in a parameter that takes no secrets"),
    "unknown-workflow": ("error", "A Workflow state names a workflow that does not exist"),
    "bad-cron": ("error", "A schedule that is no cron text"),
    "never-runs": ("error", "A schedule without a run in the next five years, or before endAt"),
    "unknown-zone": ("error", "A time zone that is not in the IANA database"),
    "more-problems": ("error", "There are more problems than the report lists"),
    "reference-uncertain": ("warning", "A reference to a state that runs only on some of the paths"),
    "implicit-end": ("warning", "A state amid a list that uses next has neither next nor end: it ends the list"),
    "unreachable-catch": ("warning", "A catch behind one that takes every error"),
    "interval-order": ("warning", "A duration that another one makes pointless"),
    "parameter-capped": ("warning", "A literal parameter above the most that counts"),
    "unknown-parameter": ("warning", "A parameter that the activity does not have"),
    "missing-parameter": ("warning", "A parameter that the activity requires is not given"),
    "missing-dependency": ("warning", "An activity without the one it builds on before it"),
    "unknown-output-field": ("warning", "A field that the activity's output does not have"),
}

MAX_PROBLEMS: Final = 1000
_MOST_CANDIDATES: Final = 2000
_MOST_SUGGESTIONS: Final = 50


def counted(number: int, noun: str) -> str:
    """Return ``1 error``, ``2 errors``: for nouns whose plural ends in s."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: where (``states[3].catch[0].next``), its code, and a sentence."""

    path: str
    code: str
    message: str
    severity: Severity = "error"
    suggestion: str | None = None

    def __str__(self) -> str:
        hint = f' (did you mean "{self.suggestion}"?)' if self.suggestion is not None else ""
        return f"{self.path or 'spec'}: {self.message}{hint}"

    def as_json(self) -> dict[str, Any]:
        """The problem as the API shows it; ``suggestion`` only if there is one."""
        body = {"path": self.path, "code": self.code, "message": self.message, "severity": self.severity}
        return body if self.suggestion is None else {**body, "suggestion": self.suggestion}


@dataclass(frozen=True, slots=True)
class SpecReport:
    """The outcome of a validation; ``spec`` is there if and only if the document is valid."""

    problems: list[Problem]
    spec: WorkflowSpec | None

    @property
    def valid(self) -> bool:
        """Whether the spec may be saved as active and run: there are no errors, though there may be warnings."""
        return self.spec is not None

    @property
    def errors(self) -> list[Problem]:
        """The problems that keep the spec from running."""
        return [problem for problem in self.problems if problem.severity == "error"]

    @property
    def warnings(self) -> list[Problem]:
        """The problems that do not."""
        return [problem for problem in self.problems if problem.severity == "warning"]

    def as_json(self) -> dict[str, Any]:
        """``{valid, errors: [text], warnings: [text], problems: [{path, code, message, severity, suggestion?}]}``."""
        return {
            "valid": self.valid,
            "errors": [str(problem) for problem in self.errors],
            "warnings": [str(problem) for problem in self.warnings],
            "problems": [problem.as_json() for problem in self.problems],
        }

    def as_text(self) -> str:
        """The report for a terminal: a verdict, then a line per problem."""
        verdict = "valid" if self.valid else "not valid"
        counts = f"{counted(len(self.errors), 'error')}, {counted(len(self.warnings), 'warning')}"
        lines = [f"  {problem.severity}: {problem} [{problem.code}]" for problem in self.problems]
        return "\n".join([f"{verdict}: {counts}", *lines])


@dataclass
class Findings:
    """Collects problems while a document is checked; keeps hostile ones from making the report endless."""

    problems: list[Problem] = field(default_factory=list)
    _suggested: int = 0
    _left_out: int = 0

    def add(self, path: str, code: str, message: str, *, given: str = "", candidates: Iterable[str] = ()) -> None:
        """Add a problem; ``candidates`` are what ``given`` might have been meant to be."""
        if len(self.problems) >= MAX_PROBLEMS:
            self._left_out += 1
            return
        suggestion = self.closest(given, candidates) if given else None
        self.problems.append(Problem(path, code, message, CODES[code][0], suggestion))

    def closest(self, given: str, candidates: Iterable[str]) -> str | None:
        """Return the candidate that looks most like ``given``, if any does."""
        names = {name.casefold(): name for name in list(candidates)[:_MOST_CANDIDATES] if name != given}
        exact = names.get(given.casefold())
        if exact is not None or not names or self._suggested >= _MOST_SUGGESTIONS or len(given) > 256:
            return exact
        self._suggested += 1
        matches = difflib.get_close_matches(given.casefold(), list(names), n=1, cutoff=0.6)
        return names[matches[0]] if matches else None

    def report(self, spec: WorkflowSpec | None) -> SpecReport:
        """Return everything found, by severity; ``spec`` is kept only if there is no error."""
        if self._left_out:
            message = f"{self._left_out} more problems are not listed; mend these first"
            self.problems.append(Problem("", "more-problems", message))
        self.problems.sort(key=lambda problem: problem.severity)  # stable: errors first, each in order of discovery
        has_errors = any(problem.severity == "error" for problem in self.problems)
        return SpecReport(self.problems, None if has_errors else spec)


def shown(value: Any, limit: int = 40) -> str:
    """Return ``value`` as it appears in a sentence: short text in quotes, a number as it is, others by kind."""
    if isinstance(value, str):
        visible = "".join(letter if letter.isprintable() else "?" for letter in value[:limit])
        return f'"{visible}..."' if len(value) > limit else f'"{visible}"'
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return _number(value)
    return "a list" if isinstance(value, list) else "an object"


def _number(value: float) -> str:
    if isinstance(value, int) and value.bit_length() > 128:
        return "a huge number"
    return str(value)
