"""What an execution looks like in JSON (contract-rest-api 2.5), built from its row and its history.

Shows secrets to nobody: inputs, outputs and errors go out masked. The views are in ``execution_views``.
"""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django.db.models import OuterRef, QuerySet, Subquery

from workflows import secrets
from workflows.activities.context import LogLevel
from workflows.api.logs import DEFAULT_LINES, newest_lines
from workflows.api.timestamps import rfc3339
from workflows.models import Branch, BranchStatus, Customer, Execution, ExecutionStatus, RunStatus, StateRun
from workflows.models.execution import TERMINAL

# How an execution ended, in the words of a run's result (contract-workflow-spec 1.4).
RESULT_STATUS = {
    ExecutionStatus.SUCCESS: "COMPLETED",
    ExecutionStatus.FAILED: "FAILED",
    ExecutionStatus.CANCELLED: "CANCELED",
    ExecutionStatus.TIMED_OUT: "TIMED_OUT",
}

# A branch in one of these stands at a state; blocked and queued ones have not entered theirs.
AT_A_STATE = (BranchStatus.READY, BranchStatus.RUNNING, BranchStatus.WAITING, BranchStatus.HELD)


def executions_of(customer: Customer) -> QuerySet[Execution]:
    """Return the customer's executions with all that :func:`execution_body` reads from the row, newest first."""
    follower = Execution.objects.filter(continued_from=OuterRef("pk")).order_by("created_at").values("pk")[:1]
    return (
        Execution.objects.filter(customer=customer)
        .select_related("workflow_version")
        .annotate(continued_as_id=Subquery(follower))
        .order_by("-created_at", "-pk")
    )


def execution_body(
    execution: Execution,
    *,
    outputs: dict[str, Any] | None = None,
    current_states: Sequence[str] = (),
    logs: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:
    """Return the JSON of an execution from what is at hand: no query, if ``workflow_version`` is loaded.

    Without the other arguments this is the body of one that has just been started: ``outputs`` {}, ``logs`` [].
    """
    body: dict[str, Any] = {
        "id": str(execution.pk),
        "workflowId": _text(execution.workflow_id),
        "name": execution.name,
        "version": execution.workflow_version.version if execution.workflow_version else None,
        "status": str(execution.status),
        "priority": execution.priority,
        "createdAt": rfc3339(execution.created_at),
        "createdBy": execution.created_by,
        "startedAt": rfc3339(execution.started_at or execution.created_at),
        "currentStates": list(current_states),
        "inputs": secrets.mask(execution.inputs),
        "outputs": secrets.mask(outputs or {}),
        "logs": list(logs),
    }
    optional = {
        "completedAt": execution.ended_at and rfc3339(execution.ended_at),
        "errors": list(execution.errors),
        "parentId": _text(execution.parent_id),
        "continuedFrom": _text(execution.continued_from_id),
        "continuedAs": _text(getattr(execution, "continued_as_id", None)),
        "rerunOf": _text(execution.rerun_of_id),
    }
    return body | {key: value for key, value in optional.items() if value}


def full_execution_body(
    execution: Execution, *, lines: int = DEFAULT_LINES, level: LogLevel = "info"
) -> dict[str, Any]:
    """Return the JSON of an execution with outputs or current states, and its newest ``lines`` of log (two queries)."""
    ended = execution.status in TERMINAL
    return execution_body(
        execution,
        outputs=outputs_of(execution) if ended else None,
        current_states=() if ended else current_states_of([execution]).get(execution.pk, ()),
        logs=newest_lines(execution.pk, lines, level=level),
    )


def list_bodies(executions: Sequence[Execution]) -> list[dict[str, Any]]:
    """Return the JSON of executions in a list, without outputs and logs (one query for all current states)."""
    states = current_states_of([e for e in executions if e.status not in TERMINAL])
    bodies = []
    for execution in executions:
        body = execution_body(execution, current_states=states.get(execution.pk, ()))
        del body["outputs"]
        bodies.append(body)
    return bodies


def outputs_of(execution: Execution) -> dict[str, Any]:
    """Return ``{status, stepResults, output, error?}`` of an execution that has ended (one query).

    ``stepResults`` holds the output of each state's newest run, or ``{"error": ...}`` if that failed: what references
    to the state read. States of Parallel branches stand beside the others; those inside a Map are represented by the
    Map's own output. Outputs in artifact storage stay references.
    """
    runs = (
        StateRun.objects.filter(execution=execution)
        .exclude(status=RunStatus.INTERRUPTED)
        .exclude(branch__body__contains="*")
        .order_by("state", "-id")
        .distinct("state")
        .values_list("id", "state", "status", "output", "error")
    )
    results = {
        state: output if status == RunStatus.SUCCESS else {"error": error}
        for _, state, status, output, error in sorted(runs, key=lambda run: run[0])
    }
    outputs: dict[str, Any] = {
        "status": RESULT_STATUS[ExecutionStatus(execution.status)],
        "stepResults": results,
        "output": execution.output,
    }
    failure = execution.error["message"] if execution.error else "; ".join(execution.errors)
    if failure:
        outputs["error"] = failure
    return outputs


def current_states_of(executions: Iterable[Execution]) -> dict[UUID, list[str]]:
    """Return the names of the states at which the branches of each execution stand, outermost first (one query)."""
    ids = [execution.pk for execution in executions]
    if not ids:
        return {}
    found: dict[UUID, list[str]] = {}
    rows = (
        Branch.objects.filter(execution__in=ids, status__in=AT_A_STATE)
        .values_list("execution_id", "state", "depth")
        .distinct()
        .order_by("depth", "state")
    )
    for execution_id, state, _ in rows:
        states = found.setdefault(execution_id, [])
        if state not in states:
            states.append(state)
    return found


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
