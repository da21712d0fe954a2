"""Parallel, Map and child workflows: how children are made, limited, skipped, stopped and joined.

The parent waits as a row. Whoever ends a child decides, under the execution's lock, what that means for the others.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

from workflows import control
from workflows.engine import artifacts, hints, outcomes, statements, waits
from workflows.engine.json_text import dumps
from workflows.engine.line import Line, LineScope
from workflows.engine.outcomes import BranchEnd, Outcome
from workflows.engine.program import Order, branch_name, join_body
from workflows.errors import ActivityTimeout, InvalidInput, LimitExceeded, PermanentError, WorkflowError
from workflows.identifiers import new_id
from workflows.spec import limits, schema
from workflows.spec.durations import format_duration

if TYPE_CHECKING:
    from workflows.engine.driver import Host

Also = Callable[[Any], None] | None

_OVER = {"success", "failed", "cancelled", "skipped"}

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


def tolerated(state: schema.MapState, items: int) -> int:
    """How many items of a Map may fail: a number, or a share of the items like ``10%``, rounded down."""
    text = state.tolerated_failures
    if text is None:
        return 0
    if isinstance(text, str) and text.strip().endswith("%"):
        return int(items * float(text.strip()[:-1]) / 100)
    return int(text)


def end_child(host: "Host", line: Line, outcome: BranchEnd, also: Also) -> None:
    """End a branch that has a parent, and do for the parent what follows from it, in one transaction."""
    parameters = {
        "status": outcome.status,
        "output": None if outcome.output is None else dumps(outcome.output),
        "error": None if outcome.error is None else dumps(outcome.error),
    }

    def follow(cursor: Any) -> None:
        if also is not None:
            also(cursor)
        _after_child(cursor, line, outcome)

    if also is None and outcome.status == "success" and _is_item(line):
        _end_item(host, line, parameters)
        return
    host.store.end(line, statements.END_BRANCH, parameters, follow, locking=True)
    host.wake()


def _is_item(line: Line) -> bool:
    return line.body.endswith("/*") and not line.stop


def _end_item(host: "Host", line: Line, parameters: dict[str, Any]) -> None:
    """End a Map item that succeeded; the next one takes over this worker, if nothing else waits for it."""
    first = line.program.steps[line.program.bodies[line.body].start]
    is_limited = bool(first.resource) and first.activity.max_concurrency is not None
    parameters |= {
        "takes_over": not (is_limited or host.is_stopping()),
        **host.store.claims.lease,
    }
    row = host.store.end(line, statements.END_ITEM, parameters)
    if row is not None and row[0] < 0:
        # The parent does not wait any more: the execution was stopped while this item came to its end.
        host.store.transaction(lambda cursor: _finish(cursor, line.execution.id))
    left, id, epoch, seq, status, *rest = row if row is not None else (-1, None, 0, 0, "")
    if status == "held" or left == 0:
        waits.settle(host.store, line)  # a pause may have waited for this item only
    if status == "running":
        host.adopt(line.successor(id, epoch, seq, *rest))
    elif id is not None or left == 0:
        host.wake()


def _finish(cursor: Any, execution: UUID) -> None:
    cursor.execute(statements.LOCK_EXECUTION, {"id": execution})
    control.finish_if_stopped(cursor, execution)


def _after_child(cursor: Any, line: Line, outcome: BranchEnd) -> None:
    execution = line.execution.id
    cursor.execute(
        "SELECT state, body, open_children, status FROM workflows_branch WHERE id = %s AND visit = %s "
        "AND attempt = %s AND waiting_for = 'children' AND status IN ('waiting', 'held') FOR NO KEY UPDATE",
        (line.parent, line.parent_visit, line.parent_attempt),
    )
    row = cursor.fetchone()
    if row is None:
        control.finish_if_stopped(cursor, execution)
        return
    ended = 1
    step = line.program.steps[row[0]]
    state = step.state
    if outcome.status == "failed" and _ends_siblings(cursor, line, state):
        ended += control.stop_branches(cursor, execution, "sibling", under=line.parent)
    elif step.order is not None:
        ended += _unblock(cursor, line, step.order)
    left = row[2] - ended
    cursor.execute(
        "UPDATE workflows_branch SET open_children = %s WHERE id = %s",
        (max(left, 0), line.parent),
    )
    if left <= 0:
        control.wake_branches(cursor, [line.parent])  # type: ignore[list-item]
    else:
        _fill_slots(cursor, line, state)
    cursor.execute("SELECT 1 FROM workflows_execution WHERE id = %s AND pause_requested_at IS NOT NULL", (execution,))
    if cursor.fetchone() is not None:
        control.settle_status(cursor, execution)  # it may have waited for this branch only


def _ends_siblings(cursor: Any, line: Line, state: schema.AnyState) -> bool:
    if isinstance(state, schema.ParallelState):
        return line.program.spec.error_handling != "continue"
    assert isinstance(state, schema.MapState)
    if state.tolerated_failures is None:
        return True
    cursor.execute(
        "SELECT count(*), count(*) FILTER (WHERE status = 'failed') FROM workflows_branch "
        "WHERE parent_id = %s AND parent_visit = %s AND parent_attempt = %s",
        (line.parent, line.parent_visit, line.parent_attempt),
    )
    items, failures = cursor.fetchone()
    return bool(failures > tolerated(state, items))


def _unblock(cursor: Any, line: Line, order: Order) -> int:
    """Queue the branches whose dependencies are all done, skip those all of whose were skipped; returns the skipped.

    Looks only at branches that wait for what has ended, and at what those wait for: there may be thousands of others.
    """
    statuses: dict[int, str] = {}
    skipped: list[UUID] = []
    free: list[UUID] = []
    ended = {line.index}
    while affected := frozenset().union(*(order.dependents[index] for index in ended)):
        wanted = affected.union(*(order.depends_on[index] for index in affected))
        cursor.execute(
            "SELECT index, id, status FROM workflows_branch WHERE parent_id = %s AND parent_visit = %s "
            "AND parent_attempt = %s AND index = ANY(%s)",
            (line.parent, line.parent_visit, line.parent_attempt, list(wanted)),
        )
        rows = cursor.fetchall()
        statuses = {index: status for index, _, status in rows} | statuses
        ended = set()
        for index, id, _ in rows:
            if index not in affected or statuses[index] != "blocked":
                continue
            needed = {statuses[other] for other in order.depends_on[index]}
            if not needed <= _OVER:
                continue
            if needed == {"skipped"}:
                skipped.append(id)
                ended.add(index)
                statuses[index] = "skipped"
            else:
                free.append(id)
                statuses[index] = "queued"
    if skipped:
        cursor.execute(
            "UPDATE workflows_branch SET status = 'skipped', ended_at = now() WHERE id = ANY(%s)",
            (skipped,),
        )
    if free:
        cursor.execute("UPDATE workflows_branch SET status = 'queued' WHERE id = ANY(%s)", (free,))
    return len(skipped)


# What is counted is found by execution and status, however many siblings there are: not by their parent.
_FILL_SLOTS = """
WITH room AS (
    SELECT %(most)s - count(*) AS n FROM workflows_branch
    WHERE execution_id = %(execution)s AND status IN ('ready', 'running', 'waiting', 'held')
        AND (parent_id = %(parent)s AND parent_visit = %(visit)s AND parent_attempt = %(attempt)s) IS TRUE
), next AS (
    SELECT id FROM workflows_branch
    WHERE parent_id = %(parent)s AND status = 'queued' AND parent_visit = %(visit)s AND parent_attempt = %(attempt)s
    ORDER BY index LIMIT GREATEST((SELECT n FROM room), 0)
)
UPDATE workflows_branch b SET ready_at = now(),
    status = CASE WHEN e.pause_requested_at IS NULL THEN 'ready' ELSE 'held' END
FROM next, workflows_execution e WHERE b.id = next.id AND e.id = b.execution_id
"""


def _fill_slots(cursor: Any, line: Line, state: schema.AnyState) -> None:
    """Make queued siblings ready, as many as maxConcurrency leaves room for."""
    assert isinstance(state, schema.ParallelState | schema.MapState)
    cursor.execute(
        _FILL_SLOTS,
        {
            "execution": line.execution.id,
            "parent": line.parent,
            "visit": line.parent_visit,
            "attempt": line.parent_attempt,
            "most": state.max_concurrency or limits.DEFAULT_MAX_CONCURRENCY,
        },
    )


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
