"""Parallel, Map and child workflows: how children are made, and joined once all have ended.

The parent waits as a row, not as a thread. What the end of one child means for the others is in ``siblings``.
"""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

from workflows import control
from workflows.engine import artifacts, hints, outcomes, waits
from workflows.engine.json_text import dumps
from workflows.engine.line import Line, LineScope
from workflows.engine.outcomes import Outcome
from workflows.engine.program import branch_name, join_body
from workflows.engine.siblings import tolerated
from workflows.errors import ActivityTimeout, InvalidInput, LimitExceeded, PermanentError, WorkflowError
from workflows.identifiers import new_id
from workflows.spec import limits, schema
from workflows.spec.durations import format_duration

if TYPE_CHECKING:
    from workflows.engine.driver import Host

_INSERT_BRANCHES = """
INSERT INTO workflows_branch (id, execution_id, customer_id, parent_id, parent_visit, parent_attempt, body, name,
    index, ancestors, item, depends_on, depth, status, stop, state, visit, attempt, failures, interruptions, activity,
    variables, waiting_for, wait_signal, open_children, priority, ready_at, epoch, seq, created_at)
SELECT c.id, %(execution)s, %(customer)s, %(parent)s, %(visit)s, %(attempt)s, c.body, c.name, c.index,
    %(ancestors)s, c.item, ARRAY(SELECT jsonb_array_elements_text(c.depends_on)), %(depth)s, c.status, '', c.state,
    1, 1, 0, 0, c.activity, %(variables)s::jsonb, '', '', 0, %(priority)s, now(), 0, 0, now()
FROM jsonb_to_recordset(%(children)s::jsonb) AS c(id uuid, body text, name text, index int, item jsonb,
    depends_on jsonb, status text, state text, activity text)
"""


def enter_children(host: "Host", line: Line, started: datetime) -> Outcome | bool:
    """A Parallel or Map state: make the children and wait, or join them if they are done."""
    state = line.step.state
    assert isinstance(state, schema.ParallelState | schema.MapState)
    if line.waiting_for == "children":
        return _join(host, line, state)
    children = _branches(line, state) if isinstance(state, schema.ParallelState) else _items(line, state)
    if not children:
        return outcomes.succeeded(line, [], started=started)
    most = state.max_concurrency or limits.DEFAULT_MAX_CONCURRENCY
    slots = most
    for child in children:
        if child["status"] == "ready":
            child["status"] = "ready" if slots > 0 else "queued"
            slots -= 1
    parameters = {
        "execution": line.execution.id, "customer": line.execution.customer, "parent": line.id, "visit": line.visit,
        "attempt": line.attempt, "ancestors": [*line.ancestors, line.id], "depth": len(line.ancestors) + 1,
        "variables": dumps(line.variables), "priority": line.execution.priority, "children": dumps(children),
    }  # fmt: skip

    def make(cursor: Any) -> None:
        cursor.execute(_INSERT_BRANCHES, parameters)
        hints.notify_ready(cursor)

    what = "branches" if isinstance(state, schema.ParallelState) else "items"
    line.log("info", "state.started", f"{line.state} runs {len(children)} {what}")
    host.store.advance(
        line,
        status="waiting",
        waiting_for="children",
        open_children=len(children),
        also=make,
        locking=True,
    )
    host.wake()
    return False


def _child(line: Line, key: str, name: str, index: int, **more: Any) -> dict[str, Any]:
    first = line.program.steps[line.program.bodies[key].start]
    return {
        "id": str(new_id()), "body": key, "name": name, "index": index, "item": None, "depends_on": [],
        "status": "ready", "state": first.name, "activity": first.resource, **more,
    }  # fmt: skip


def _branches(line: Line, state: schema.ParallelState) -> list[dict[str, Any]]:
    children = []
    for index, branch in enumerate(state.branches):
        name = branch_name(branch, index)
        status = "blocked" if branch.depends_on else "ready"
        key = join_body(line.body, state.name, name)
        # Inside a Map the item is the same for the branches below it.
        children.append(
            _child(
                line,
                key,
                name,
                index,
                item=line.item,
                depends_on=list(branch.depends_on),
                status=status,
            )
        )
    return children


def _items(line: Line, state: schema.MapState) -> list[dict[str, Any]]:
    items = line.step.templates["items"].resolve(LineScope(line))
    items = artifacts.fetch(items)
    if not isinstance(items, list):
        raise InvalidInput(f"the items of {state.name} must be an array; they are {type(items).__name__}")
    if len(items) > limits.MAX_MAP_ITEMS:
        raise LimitExceeded(
            f"{state.name} has {len(items):,} items and may have {limits.MAX_MAP_ITEMS:,}; map over batches instead"
        )
    key = join_body(line.body, state.name, "*")
    return [
        _child(line, key, str(index), index, item={"item": item, "index": index}) for index, item in enumerate(items)
    ]


def _join(host: "Host", line: Line, state: schema.ParallelState | schema.MapState) -> Outcome | bool:
    rows = host.store.rows(
        "SELECT id, name, status, output, error, ended_at FROM workflows_branch "
        "WHERE parent_id = %s AND parent_visit = %s AND parent_attempt = %s ORDER BY index",
        (line.id, line.visit, line.attempt),
    )
    if any(row[5] is None for row in rows):
        host.store.advance(
            line,
            status="waiting",
            waiting_for="children",
            open_children=sum(row[5] is None for row in rows),
        )
        return False
    line.waiting_for = ""
    failures = sorted((row for row in rows if row[2] == "failed"), key=lambda row: row[5])
    goes_on = line.program.spec.error_handling == "continue"
    if isinstance(state, schema.MapState):
        if len(failures) > tolerated(state, len(rows)):
            return outcomes.failed(line, _failure_of(failures[0], "item"), started=line.entered_at)
        output: Any = [row[3] if row[2] == "success" else {"error": row[4]} for row in rows]
        return outcomes.succeeded(line, output, given={"items": len(rows)}, started=line.entered_at)
    if failures and not goes_on:
        return outcomes.failed(line, _failure_of(failures[0], "branch"), started=line.entered_at)
    results = _step_results(host, line, [row[0] for row in rows])
    output = {
        "branches": [
            {"name": row[1], "status": row[2], "stepResults": results.get(row[0], {})}
            | ({"error": row[4]} if row[4] else {})
            for row in rows
        ]
    }
    return outcomes.succeeded(line, output, started=line.entered_at)


def _step_results(host: "Host", line: Line, branches: list[UUID]) -> dict[UUID, dict[str, Any]]:
    rows = host.store.rows(
        "SELECT DISTINCT ON (branch_id, state) branch_id, state, status, output, error FROM workflows_staterun "
        "WHERE execution_id = %s AND branch_id = ANY(%s) AND status IN ('success', 'failed', 'timed_out') "
        "ORDER BY branch_id, state, id DESC",
        (line.execution.id, branches),
    )
    results: dict[UUID, dict[str, Any]] = {}
    for branch, state, status, output, error in rows:
        results.setdefault(branch, {})[state] = output if status == "success" else {"error": error}
    return results


def _failure_of(row: tuple[Any, ...], what: str) -> WorkflowError:
    error = row[4] or {}
    return WorkflowError(
        f"{what} {row[1]} failed at {error.get('state', '?')}: {error.get('message', 'unknown')}",
        name=error.get("name"), details={"cause": error},
        retryable=True,
    )  # fmt: skip


# -- child executions ------------------------------------------------------------------------------------------------


def enter_child(host: "Host", line: Line, started: datetime) -> Outcome | bool:
    """A Workflow state: start the child execution and wait, or take over its result."""
    if line.waiting_for == "execution":
        return _child_result(host, line)
    from workflows import submission

    state = line.step.state
    assert isinstance(state, schema.WorkflowState)
    scope, facts = LineScope(line), line.execution
    given = line.step.templates["input"].resolve(scope) if "input" in line.step.templates else {}
    if facts.depth + 1 > limits.MAX_CHILD_DEPTH:
        raise LimitExceeded(f"child workflows may be nested {limits.MAX_CHILD_DEPTH} deep")
    target = _target(host, line, state, scope)
    deadline = line.step.timeout

    def start(cursor: Any) -> None:
        submission.insert_execution(
            cursor, customer=facts.customer, spec=target.spec, checksum=target.checksum, inputs=given,
            name=target.spec.name, workflow=target.workflow, version=target.version, priority=facts.priority,
            created_by=facts.created_by, parent=facts.id, parent_branch=line.id, parent_visit=line.visit,
            parent_attempt=line.attempt, depth=facts.depth + 1,
        )  # fmt: skip

    line.log("info", "state.started", f"{line.state} starts {target.spec.name}")
    host.store.advance(
        line,
        status="waiting",
        waiting_for="execution",
        wake_in=deadline,
        also=start,
        locking=True,
    )
    host.wake()
    return False


class _Target:
    def __init__(
        self,
        spec: schema.WorkflowSpec,
        checksum: str,
        workflow: UUID | None,
        version: int | None,
    ) -> None:
        self.spec, self.checksum, self.workflow, self.version = (
            spec,
            checksum,
            workflow,
            version,
        )


def _target(host: "Host", line: Line, state: schema.WorkflowState, scope: LineScope) -> _Target:
    """What to run: the inline spec, or the newest valid version of the customer's workflow of that name or id."""
    from workflows.submission import checksum_of

    facts = line.execution
    if state.spec is not None:
        document = state.spec.model_dump(mode="json", by_alias=True, exclude_unset=True)
        checksum = checksum_of(document)
        host.store.write(
            "INSERT INTO workflows_specdocument (checksum, document, created_at) VALUES (%s, %s::jsonb, now()) "
            "ON CONFLICT DO NOTHING",
            (checksum, dumps(document)),
        )
        return _Target(host.store.claims.program(checksum).spec, checksum, None, None)
    wanted = str(line.step.templates["workflow"].resolve(scope))
    rows = host.store.rows(
        "SELECT w.id, v.id, v.spec_id FROM workflows_workflow w JOIN workflows_workflowversion v "
        "ON v.workflow_id = w.id AND v.version = w.version "
        "WHERE w.customer_id = %s AND w.status <> 'archived' AND (w.id::text = %s OR w.name = %s) "
        "ORDER BY (w.id::text = %s) DESC, w.updated_at DESC LIMIT 1",
        (facts.customer, wanted, wanted, wanted),
    )
    if not rows:
        raise PermanentError(f"there is no workflow called {wanted!r}", name="UnknownWorkflow")
    workflow, version, checksum = rows[0]
    if checksum is None:
        raise PermanentError(f"the workflow {wanted!r} has errors and cannot be run", name="InvalidSpec")
    if workflow in _ancestor_workflows(host, line):
        raise PermanentError(f"{wanted} is already running above this state; a workflow cannot contain itself")
    return _Target(host.store.claims.program(checksum).spec, checksum, workflow, version)


def _ancestor_workflows(host: "Host", line: Line) -> set[UUID]:
    rows = host.store.rows(
        "WITH RECURSIVE up AS (SELECT id, parent_id, workflow_id FROM workflows_execution WHERE id = %s UNION ALL "
        "SELECT e.id, e.parent_id, e.workflow_id FROM workflows_execution e JOIN up ON e.id = up.parent_id) "
        "SELECT workflow_id FROM up WHERE workflow_id IS NOT NULL",
        (line.execution.id,),
    )
    return {row[0] for row in rows}


def _child_result(host: "Host", line: Line) -> Outcome | bool:
    rows = host.store.rows(
        "SELECT id, status, output, error, name FROM workflows_execution "
        "WHERE parent_branch = %s AND parent_visit = %s AND parent_attempt = %s",
        (line.id, line.visit, line.attempt),
    )
    id, status, output, error, name = rows[0]
    given = {"execution": str(id)}
    if status == "success":
        return outcomes.succeeded(
            line,
            {"executionId": str(id), "output": output},
            given=given,
            started=line.entered_at,
        )
    if status in ("failed", "cancelled", "timed_out"):
        failure = WorkflowError(
            f"{name} ended as {status}: {(error or {}).get('message', '')}",
            name="ChildFailed" if status == "failed" else "Canceled" if status == "cancelled" else "Timeout",
            details={"execution": str(id), "cause": error},
            retryable=status != "cancelled",
        )
        return outcomes.failed(line, failure, given=given, started=line.entered_at)
    if line.is_due:
        host.store.transaction(lambda cursor: control.cancel_children(cursor, [line.id]))
        late = ActivityTimeout(f"{name} did not end within {format_duration(line.step.timeout or timedelta())}")
        return outcomes.failed(line, late, given=given, started=line.entered_at)
    return waits.park_again(host.store, line)
