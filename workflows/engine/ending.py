"""How a branch ends, and what that ends with it: the execution, or the parent's wait for its children.

Locks are taken in one order everywhere: executions from the root of the family down, then branches.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from workflows import control
from workflows.engine import siblings, statements
from workflows.engine.json_text import dumps
from workflows.engine.line import Line
from workflows.engine.outcomes import BranchEnd
from workflows.engine.program import ROOT
from workflows.engine.store import END_EXECUTION_AND_TAKE

if TYPE_CHECKING:
    from workflows.engine.driver import Host

Also = Callable[[Any], None] | None


@dataclass(frozen=True, slots=True)
class ContinueAsNew:
    """The branch ends, and a new execution of the same spec starts with ``input``."""

    end: BranchEnd
    input: dict[str, Any]


def end_branch(host: "Host", line: Line, outcome: BranchEnd | ContinueAsNew, also: Also = None) -> None:
    """End the line's branch; the execution ends with its root branch."""
    if isinstance(outcome, ContinueAsNew):
        _continue(host, line, outcome.end, inputs=outcome.input, also=also)
    elif line.body == ROOT:
        _end_execution(host, line, outcome, also)
    else:
        siblings.end_child(host, line, outcome, also)


def must_continue(line: Line) -> bool:
    """Whether the history is long enough to go on in a new execution; only the root branch can."""
    history = line.program.spec.continue_as_new
    return history is not None and line.body == ROOT and line.seq + line.others_transitions >= history.limit


def continue_as_new(host: "Host", line: Line, also: Also = None) -> None:
    """End the execution at this boundary and go on from the cursor in a new one, with variables and outputs."""
    _continue(host, line, BranchEnd("success"), inputs=None, also=also)


_STATUS = {"success": "success", "failed": "failed", "skipped": "success"}
_STOPPED = {"cancel": "cancelled", "timeout": "timed_out"}


def _end_execution(host: "Host", line: Line, outcome: BranchEnd, also: Also) -> None:
    facts = line.execution
    status = _STATUS.get(outcome.status) or _STOPPED.get(line.stop, "cancelled")
    errors = _failures(host, line)
    error = outcome.error
    if status == "timed_out" and error is not None:
        error = {**error, "name": "Timeout"}
    line.state, state = "", line.state
    line.log(
        "info" if status == "success" else "error", "run.finished",
        f"{facts.name} finished: {status}" + (f": {error['message']}" if error else ""),
    )  # fmt: skip
    line.state = state
    parameters = {
        "status": outcome.status,
        "execution_status": status,
        "output": None if outcome.output is None else dumps(outcome.output),
        "error": None if error is None else dumps(error),
        "errors": dumps(errors),
    }
    afterwards: Also = also
    if facts.parent_branch is not None or status != "success":

        def afterwards(cursor: Any) -> None:
            if also is not None:
                also(cursor)
            if status != "success":
                control.cancel_gates(cursor, facts.id)
            if facts.parent_branch is not None:
                control.wake_parent(
                    cursor,
                    facts.parent_branch,
                    facts.parent_visit or 0,
                    facts.parent_attempt or 0,
                )

    if afterwards is None and not host.is_stopping() and not host.store.claims.are_limited():
        _hand_over(host, line, parameters)
    else:
        locking = facts.parent_branch is not None
        host.store.end(line, statements.END_EXECUTION, parameters, afterwards, locking=locking)


def _hand_over(host: "Host", line: Line, parameters: dict[str, Any]) -> None:
    """End the execution; the next ready branch takes over this worker in the same commit."""
    claims = host.store.claims
    row = host.store.end(line, END_EXECUTION_AND_TAKE, parameters | claims.lease)
    if row is not None and row[0] is not None and (taken := claims.line(row)) is not None:
        host.adopt(taken)


def _failures(host: "Host", line: Line) -> list[str]:
    """One sentence per failure that no catch took; under ``continue`` an execution can survive several."""
    runs = [(r["state"], r["error"], r["next_state"]) for r in line.runs if r["status"] in ("failed", "timed_out")]
    if line.program.spec.error_handling == "continue" and line.seq:
        runs = (
            host.store.rows(
                "SELECT state, error, next_state FROM workflows_staterun WHERE execution_id = %s "
                "AND status IN ('failed', 'timed_out') ORDER BY id",
                (line.execution.id,),
            )
            + runs
        )
    return [
        f"{state}: {error['message']}" for state, error, following in runs if not _was_handled(line, state, following)
    ]


def _was_handled(line: Line, state: str, following: str) -> bool:
    """Whether a failed run was tried again or caught."""
    step = line.program.steps[state]
    return following == state or following in {clause.next for clause in getattr(step.state, "catch", [])}


def _continue(
    host: "Host",
    line: Line,
    end: BranchEnd,
    *,
    inputs: dict[str, Any] | None,
    also: Also,
) -> None:
    from workflows import submission

    facts = line.execution
    made: list[UUID] = []

    def start(cursor: Any) -> None:
        if also is not None:
            also(cursor)
        # The waiting parent, if there is one, waits for the new execution from now on.
        cursor.execute(
            "UPDATE workflows_execution SET parent_branch = NULL WHERE id = %s",
            (facts.id,),
        )
        spec = line.program.spec
        new = submission.insert_execution(
            cursor, customer=facts.customer, spec=spec, checksum=line.program.checksum,
            inputs=facts.inputs if inputs is None else inputs, name=facts.name, workflow=facts.workflow,
            version=facts.version, priority=facts.priority, created_by=facts.created_by,
            parent=None, parent_branch=facts.parent_branch, parent_visit=facts.parent_visit,
            parent_attempt=facts.parent_attempt, depth=facts.depth, continued_from=facts.id,
            start_state=line.state if inputs is None else None,
            variables=line.variables if inputs is None else None,
            previous=line.previous if inputs is None else None,
            first_visit=len(submission.readable_states(spec)) + 1 if inputs is None else 1,
        )  # fmt: skip
        assert new is not None
        made.append(new[0])
        cursor.execute(
            "UPDATE workflows_execution SET parent_id = (SELECT parent_id FROM workflows_execution WHERE id = %s) "
            "WHERE id = %s",
            (facts.id, new[0]),
        )
        if inputs is None:
            submission.copy_history(
                cursor, spec, source=facts.id, before=2**62, execution=new[0], branch=new[1]
            )  # fmt: skip

    line.log("info", "run.continued", f"{facts.name} continues as a new execution")
    parameters = {
        "status": "success",
        "execution_status": "success",
        "output": None if end.output is None else dumps(end.output),
        "error": None,
        "errors": "[]",
    }
    host.store.end(line, statements.END_EXECUTION, parameters, start, locking=True)
    host.wake()
