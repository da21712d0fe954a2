"""A canvas checked and compiled in one go: what saving, the validate endpoint and a start of an old spec call.

Owns the join of the canvas's own rules with those of the spec language. Touches no database.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from canvas.catalogue import Catalogue
from canvas.conversion import convert, state_of
from canvas.problems import Findings, Problem, is_blocking
from canvas.validation import Canvas, validate_canvas
from workflows.models import WorkflowStatus
from workflows.spec.report import Problem as SpecProblem
from workflows.spec.validator import validate_spec

MENDED_BY_INPUTS = "missing-parameter"

_STATE = re.compile(r"^states\[(\d+)\](?:\.branches\[(\d+)\](?:\.states\[(\d+)\])?)?\.?(.*)$")
# What the canvas has said in its own words already.
_SAID_BEFORE = frozenset(
    {"reference-uncertain", "unknown-reference", "reference-before-run", "missing-parameter", "unreachable-catch"}
)
# What depends on where a node stands, which is unknown while the edges are wrong.
_OF_THE_PLACE = frozenset({"missing-dependency", "duplicate-name", "bad-name", "reserved-name"})


@dataclass(frozen=True, slots=True)
class Compiled:
    """The outcome: the canvas as read, every problem, and the spec.

    ``document`` is there if nothing keeps the canvas from running, or nothing but required parameters that the inputs
    of a start can give.
    """

    canvas: Canvas
    problems: tuple[Problem, ...]
    document: dict[str, Any] | None

    def rows(self) -> list[dict[str, Any]]:
        """The problems as a WorkflowVersion keeps them."""
        return [problem.as_row() for problem in self.problems]


def compile_canvas(
    name: str,
    nodes: object,
    edges: object,
    catalogue: Catalogue,
    workflow_names: Collection[str] | None = None,
) -> Compiled:
    """Check the canvas and compile it; never raises, whatever ``nodes`` and ``edges`` are.

    ``workflow_names`` are the names and ids that a Workflow node may start; None checks none.
    """
    canvas, findings = validate_canvas(nodes, edges, catalogue)
    has_structure = not any(p.severity == "error" and p.code != MENDED_BY_INPUTS for p in findings)
    if not has_structure or canvas.graph is None:
        _check_nodes_alone(canvas, catalogue, workflow_names, findings)
        return Compiled(canvas, tuple(findings), None)
    document = convert(canvas, canvas.graph, name, catalogue)
    report = validate_spec(document, activities=catalogue.activities, workflow_names=workflow_names)
    for problem in report.problems:
        _report(problem, document, findings, only_nodes=False)
    problems = tuple(findings)
    is_runnable = report.valid and not any(
        is_blocking(problem.as_row(), WorkflowStatus.ACTIVE) for problem in problems if problem.code != MENDED_BY_INPUTS
    )
    return Compiled(canvas, problems, document if is_runnable else None)


def missing_inputs(rows: list[dict[str, Any]], inputs: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return which kept problems still block a start with ``inputs`` (contract-canvas 5.3 rule 8)."""
    return [
        row
        for row in rows
        if is_blocking(row, WorkflowStatus.ACTIVE)
        and not (row["code"] == MENDED_BY_INPUTS and row.get("parameter") in inputs)
    ]


def _check_nodes_alone(
    canvas: Canvas, catalogue: Catalogue, workflow_names: Collection[str] | None, findings: Findings
) -> None:
    """Report what is wrong inside single nodes of a canvas whose edges cannot be converted."""
    nodes = {node.id: node for node in reversed(canvas.nodes)}
    states = [
        state_of(node, canvas.configs[node.id]) | ({} if node.state_type == "Fail" else {"end": True})
        for node in nodes.values()
        if node.state_type != "Task" or node.activity
    ]
    if not states:
        return
    branches = [{"name": state["name"], "states": [state]} for state in states]
    document = {"name": "canvas", "states": [{"name": "canvas", "type": "Parallel", "end": True, "branches": branches}]}
    for problem in validate_spec(document, activities=catalogue.activities, workflow_names=workflow_names).problems:
        _report(problem, document, findings, only_nodes=True)


def _report(problem: SpecProblem, document: dict[str, Any], findings: Findings, *, only_nodes: bool) -> None:
    """Add a problem of the spec to ``findings``, at the node it belongs to."""
    node_id, rest = _node_at(problem.path, document)
    if problem.code in _SAID_BEFORE and not rest.startswith("spec."):  # nobody has read an inline child before
        return
    if only_nodes and (node_id is None or problem.code in _OF_THE_PLACE):
        return
    where = rest.replace("parameters", "data.config", 1) if rest.startswith("parameters") else rest
    place = f'"{node_id}"' if node_id is not None else "the canvas"
    parameter = re.match(r"parameters\.([^.\[]+)", rest)
    findings.add(
        Problem(
            problem.code,
            f"{place}{f', {where}' if where else ''}: {problem.message}",
            problem.severity,
            node_id=node_id,
            suggestion=f"did you mean {problem.suggestion}?" if problem.suggestion else None,
            parameter=parameter.group(1) if parameter else None,
        )
    )


def _node_at(path: str, document: dict[str, Any]) -> tuple[str | None, str]:
    """Return the node that a path in the spec belongs to (None for the whole), and the path within it."""
    found = _STATE.match(path)
    if found is None:
        return None, path
    outer, branch, inner, rest = found.groups()
    state = document["states"][int(outer)]
    if branch is None:
        return (None if state["type"] == "Parallel" else str(state["name"])), rest
    states = state["branches"][int(branch)]["states"]
    return str(states[int(inner or 0)]["name"]), rest
