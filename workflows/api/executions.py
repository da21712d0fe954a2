"""What an execution looks like in JSON (contract-rest-api 2.5), built from its row and its history.

Shows secrets to nobody: inputs, outputs and errors go out masked. Reading one is in ``execution_reading``.
"""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django.db.models import F, OuterRef, QuerySet, Subquery

from workflows import secrets
from workflows.api.requests import EXECUTION, id_in_path, not_found
from workflows.api.timestamps import rfc3339
from workflows.artifact_files import linked
from workflows.models import Branch, BranchStatus, Customer, Execution, ExecutionStatus, RunStatus
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
    """Return the customer's executions with all that a list shows of them, newest first."""
    follower = Execution.objects.filter(continued_from=OuterRef("pk")).order_by("created_at").values("pk")[:1]
    return (
        Execution.objects.filter(customer=customer)
        .annotate(version_number=F("workflow_version__version"), continued_as_id=Subquery(follower))
        .defer("output", "error")
        .order_by("-created_at", "-pk")
    )


def own_execution_in(text: str, customer: Customer) -> UUID:
    """Return the id in a path; raises 404 unless the customer has that execution (one query)."""
    pk = id_in_path(text, EXECUTION)
    if not Execution.objects.filter(pk=pk, customer=customer).exists():
        raise not_found(EXECUTION)
    return pk


def execution_body(
    execution: Execution,
    *,
    outputs: dict[str, Any] | None = None,
    current_states: Sequence[str] = (),
    logs: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:
    """Return the JSON of an execution from what is at hand: no query, if its version is loaded or annotated.

    Without the other arguments this is the body of one that has just been started: ``outputs`` {}, ``logs`` [].
    """
    body: dict[str, Any] = {
        "id": str(execution.pk),
        "workflowId": _text(execution.workflow_id),
        "name": execution.name,
        "version": _version_of(execution),
        "status": str(execution.status),
        "priority": execution.priority,
        "createdAt": rfc3339(execution.created_at),
        "createdBy": execution.created_by,
        "startedAt": rfc3339(execution.started_at or execution.created_at),
        "currentStates": list(current_states),
        "inputs": secrets.mask(execution.inputs),
        "outputs": linked(secrets.mask(outputs or {})),
        "logs": list(logs),
    }
    optional = {
        "completedAt": execution.ended_at and rfc3339(execution.ended_at),
        "errors": list(execution.errors),
        "parentId": _text(execution.parent_id),
        "scheduleId": _text(execution.schedule_id),
        "continuedFrom": _text(execution.continued_from_id),
        "continuedAs": _text(getattr(execution, "continued_as_id", None)),
        "rerunOf": _text(execution.rerun_of_id),
    }
    return body | {key: value for key, value in optional.items() if value}


def list_bodies(executions: Sequence[Execution]) -> list[dict[str, Any]]:
    """Return the JSON of executions in a list, without outputs and logs (one query for all current states)."""
    states = current_states_of([e for e in executions if e.status not in TERMINAL])
    bodies = []
    for execution in executions:
        body = execution_body(execution, current_states=states.get(execution.pk, ()))
        del body["outputs"]
        bodies.append(body)
    return bodies


def outputs_of(execution: Execution, results: Iterable[tuple[str, str, Any, Any]]) -> dict[str, Any]:
    """Return ``{status, stepResults, output, error?}`` of an execution that has ended.

    ``results`` are ``(state, run status, output, error)`` of each state's newest run: ``stepResults`` holds the output,
    or ``{"error": ...}`` if that failed, which is what references to the state read. Outputs in artifact storage stay
    references; bodies say where those can be had.
    """
    outputs: dict[str, Any] = {
        "status": RESULT_STATUS[ExecutionStatus(execution.status)],
        "stepResults": {
            state: output if status == RunStatus.SUCCESS else {"error": error}
            for state, status, output, error in results
        },
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


def _version_of(execution: Execution) -> int | None:
    """The number of the workflow's version, which queries for many executions bring along without its canvas."""
    known: int | None = getattr(execution, "version_number", None)
    if known is None and execution.workflow_version_id is not None:
        assert execution.workflow_version is not None
        known = execution.workflow_version.version
    return known


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
