"""What the end of a child branch means for the others of its Parallel or Map, and for the parent that waits.

They are stopped, skipped, made ready, or their parent woken: whoever ends a child decides, under the execution's lock.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from uuid import UUID

from workflows import control
from workflows.engine import statements, waits
from workflows.engine.json_text import dumps
from workflows.engine.line import Line
from workflows.engine.outcomes import BranchEnd
from workflows.engine.program import Order
from workflows.spec import limits, schema

if TYPE_CHECKING:
    from workflows.engine.driver import Host

Also = Callable[[Any], None] | None

_OVER = {"success", "failed", "cancelled", "skipped"}


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
