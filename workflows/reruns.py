"""Ended executions run again, from the start or from a state: what may be asked, and what is reused of what ran.

One transaction writes the new execution with all it takes over. A state inside a Map or a child cannot be started from.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db import connection, transaction

from workflows.engine.json_text import dumps
from workflows.engine.program import ITEM, ROOT, Program, walk_bodies
from workflows.forks import Fork, Former, FormerBranches, moment_of
from workflows.models import Execution
from workflows.spec import schema
from workflows.spec.report import Findings
from workflows.submission import (
    audit_start,
    checksum_of,
    copy_history,
    insert_execution,
    known_execution,
    parsed_spec,
    program_of,
    readable_states,
)

_LISTED: Final = 20
_EVERYTHING: Final = 2**62  # above every run id


class NotRerunnable(Exception):
    """The execution has not ended, or cannot be run again from that state; the message says what can be done."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """Where ``execution`` entered the state for the last time."""

    execution: UUID
    branches: FormerBranches
    branch: Former
    visit: int


def rerun_execution(execution_id: UUID, *, from_state: str | None = None, by: str = "") -> Execution:
    """Run an ended execution again, from the start or from ``from_state``, as a new execution.

    What ran before ``from_state`` is not run again: its outputs and variables are reused. Of a Parallel around it, the
    branches that went well and do not depend on its branch are reused too; the others run again. Raises
    :class:`NotRerunnable`.
    """
    return rerun_once(execution_id, from_state=from_state, by=by)[0]


def rerun_once(
    execution_id: UUID, *, from_state: str | None = None, idempotency_key: str | None = None, by: str = ""
) -> tuple[Execution, bool]:
    """As :func:`rerun_execution`; returns the execution and whether it is new.

    With an ``idempotency_key`` a repeated call returns the execution of the first; raises ``IdempotencyConflict`` of
    :mod:`workflows.submission` if that one asked for something else.
    """
    request_hash = checksum_of(["rerun", str(execution_id), from_state]) if idempotency_key else ""
    source = Execution.objects.select_related("spec").get(pk=execution_id)
    if source.ended_at is None:
        raise NotRerunnable("the execution is still running; cancel it first or wait for its end")
    given: dict[str, Any] = {
        "customer": source.customer_id, "spec": parsed_spec(source.spec), "checksum": source.spec_id,
        "inputs": source.inputs, "name": source.name, "workflow": source.workflow_id,
        "version": source.workflow_version_id, "priority": source.priority, "created_by": by, "rerun_of": source.pk,
        "idempotency_key": idempotency_key, "request_hash": request_hash,
    }  # fmt: skip
    with transaction.atomic(), connection.cursor() as cursor:
        if from_state is None:
            made = insert_execution(cursor, **given)
        else:
            made = _insert_from(cursor, source, from_state, given)
        if made is None:
            return known_execution(source.customer_id, idempotency_key, request_hash), False
        audit_start(
            "rerun", source.customer_id, made[0], source.workflow_id, by, name=source.name, rerunOf=str(source.pk),
            fromState=from_state,
        )  # fmt: skip
    return Execution.objects.get(pk=made[0]), True


def states_to_rerun_from(execution: Execution) -> list[str]:
    """The states that :func:`rerun_execution` takes, in the order of the spec; none before the end.

    One query, more only for what the execution had itself taken over. Its spec must be loaded.
    """
    if execution.ended_at is None:
        return []
    spec = parsed_spec(execution.spec)
    bodies = {state.name: key for key, _, states in walk_bodies(spec) for state in states if not _is_in_map(key)}
    at: Execution | None = execution
    found: set[str] = set()
    wanted = set(bodies)
    while at is not None and wanted:
        taken_over: set[str] = set()
        for state, body in _stood_in(at.pk):
            if state in wanted:
                (found if body == bodies[state] else taken_over).add(state)
        wanted = taken_over - found
        at = _before(at) if wanted else None
    return [state for state in bodies if state in found]


_STOOD_IN: Final = """
SELECT DISTINCT r.state, b.body FROM workflows_staterun r JOIN workflows_branch b ON b.id = r.branch_id
WHERE r.execution_id = %(execution)s
UNION
SELECT state, body FROM workflows_branch WHERE execution_id = %(execution)s AND status = 'cancelled' AND seq > 0
"""


def _stood_in(execution: UUID) -> list[tuple[str, str]]:
    """Every state that ran or was waited in, with the list of states of the branch that holds it."""
    with connection.cursor() as cursor:
        cursor.execute(_STOOD_IN, {"execution": execution})
        return list(cursor.fetchall())


def _before(execution: Execution) -> Execution | None:
    """The execution that this one took its history over from, if it is still kept."""
    pk = execution.rerun_of_id or execution.continued_from_id
    return None if pk is None else Execution.objects.filter(pk=pk).first()


def _is_in_map(body: str) -> bool:
    return ITEM in body.split("/")


def _insert_from(cursor: Any, source: Execution, state: str, given: dict[str, Any]) -> tuple[UUID, UUID, Any] | None:
    """Write the execution that begins at ``state``; None if the idempotency key is taken."""
    program = program_of(source.spec)
    if state not in program.steps or _is_in_map(program.body_of(state)):
        raise NotRerunnable(_why_not(source, program, state))
    entry = _entry_of(cursor, source, program, state)
    outermost, visit = _at_the_root(entry, state)
    root = next(one for one in entry.branches.by_id.values() if one.parent is None)
    moment = moment_of(cursor, program, root, visit, entry.execution)
    first_visit = len(readable_states(program.spec)) + 1
    made = insert_execution(
        cursor, **given, start_state=state, root_state=outermost, variables=moment.variables,
        previous=moment.previous, first_visit=first_visit,
        message=f"{source.name} started again at {state}; what ran before it is reused",
    )  # fmt: skip
    if made is None:
        return None
    copy_history(
        cursor, program.spec, source=entry.execution, before=_first_run(cursor, entry, root, visit),
        execution=made[0], branch=made[1],
    )  # fmt: skip
    if moment.caught is not None:
        cursor.execute("UPDATE workflows_branch SET caught = %s WHERE id = %s", (dumps(moment.caught), made[1]))
    if entry.branch is not root:
        fork = Fork(
            cursor, program, entry.branches, at=entry.branch, state=state, visit=entry.visit, root=made[1],
            root_visit=first_visit,
        )  # fmt: skip
        fork.write(cursor, execution=made[0], customer=source.customer_id, priority=source.priority)
    return made


def _entry_of(cursor: Any, source: Execution, program: Program, state: str) -> _Entry:
    """Find where the state was entered last: here, or where this execution took it over from."""
    at: Execution | None = source
    while at is not None:
        branches = FormerBranches(cursor, at.pk)
        cursor.execute(
            "SELECT branch_id, visit FROM workflows_staterun WHERE execution_id = %s AND state = %s "
            "ORDER BY id + 0 DESC LIMIT 1",
            (at.pk, state),
        )
        row = cursor.fetchone() or next(_waited(branches, state), None)
        if row is None:
            raise NotRerunnable(
                f"{state} did not run, so there is nothing before it to reuse; rerun from the state that failed, or "
                "from the start"
            )
        branch = branches.by_id[row[0]]
        if branch.body == program.body_of(state):
            return _Entry(at.pk, branches, branch, row[1])
        at = _before(at)
    outermost = program.body_of(state).split("/")[0]
    raise NotRerunnable(
        f"what {state} did was taken over from an execution that is not kept any more; rerun from {outermost}"
    )


def _waited(branches: FormerBranches, state: str) -> Iterator[tuple[UUID, int]]:
    """Where a branch stood when it was cancelled: what waits leaves no run."""
    for one in branches.by_id.values():
        if one.state == state and one.status == "cancelled" and one.seq > 0:
            yield one.id, one.visit


def _at_the_root(entry: _Entry, state: str) -> tuple[str, int]:
    """The state at which the root branch stood then, and its visit."""
    if entry.branch.body == ROOT:
        return state, entry.visit
    ancestors = entry.branch.ancestors
    child = entry.branches.by_id[ancestors[1]] if len(ancestors) > 1 else entry.branch
    return child.body.split("/")[0], child.parent_visit


def _first_run(cursor: Any, entry: _Entry, root: Former, visit: int) -> int:
    """The id of the first run of a visit of the root branch, those of branches below it included."""
    cursor.execute(
        "SELECT min(id) FROM workflows_staterun WHERE execution_id = %s "
        "AND (branch_id = %s AND visit >= %s OR branch_id = ANY(%s))",
        (entry.execution, root.id, visit, entry.branches.inside(root.id, visit)),
    )
    found = cursor.fetchone()[0]
    return _EVERYTHING if found is None else int(found)


def _why_not(source: Execution, program: Program, state: str) -> str:
    """Why no rerun begins at a state that is none of the spec, or lies inside a Map; and what can be done."""
    if state in program.steps:
        around = program.body_of(state).split("/")
        outermost = around[around.index(ITEM) - 1]
        return (
            f"{state} is inside the Map {outermost}, whose items are not run again one by one; rerun from {outermost}"
        )
    for child in Execution.objects.filter(parent=source.pk).select_related("spec").order_by("created_at")[:_LISTED]:
        if any(one.name == state for _, _, states in walk_bodies(parsed_spec(child.spec)) for one in states):
            return (
                f"{state} is a state of the child {child.name}, an execution of its own; rerun {child.pk} from it, or "
                "this one from the state that started the child"
            )
    for name, step in program.steps.items():
        spec = step.state.spec if isinstance(step.state, schema.WorkflowState) else None
        if spec is not None and any(one.name == state for _, _, states in walk_bodies(spec) for one in states):
            return f"{state} is a state of the child workflow that {name} starts; rerun from {name}"
    names = [name for name, step in program.steps.items() if not _is_in_map(step.body)]
    meant = Findings().closest(state, names)
    hint = f' (did you mean "{meant}"?)' if meant is not None else ""
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"there is no state {state!r}{hint}; there are {', '.join(names[:_LISTED])}{more}"
