"""How executions come into being: started, as a child, or as the continuation of another; ``reruns`` builds on it.

One statement writes the execution, its root branch and the hint; there is no moment at which only half of it exists.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any
from uuid import UUID

from django.db import transaction

from workflows import audit, secrets
from workflows.engine import hints
from workflows.engine.json_text import dumps
from workflows.engine.program import Program, compile_program, walk_bodies
from workflows.errors import LimitExceeded
from workflows.identifiers import new_id
from workflows.models import (
    Customer,
    Execution,
    SpecDocument,
    Workflow,
    WorkflowVersion,
)
from workflows.prepared_queries import prepared_cursor
from workflows.spec import limits, schema
from workflows.spec.durations import parse_duration
from workflows.spec.flow import start_of

MAX_INPUT_BYTES = 1024 * 1024


class IdempotencyConflict(Exception):
    """The idempotency key was used before for another request."""


def checksum_of(document: Any) -> str:
    """SHA-256 of the canonical JSON of ``document``, in hex."""
    text = json.dumps(document, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def store_spec(document: Mapping[str, Any]) -> SpecDocument:
    """Return the row of a validated spec, made if it is new; two writers of one spec get one row."""
    checksum = checksum_of(document)
    SpecDocument.objects.bulk_create([SpecDocument(checksum=checksum, document=document)], ignore_conflicts=True)
    return SpecDocument.objects.get(pk=checksum)


_INSERT = """
WITH execution AS (
    INSERT INTO workflows_execution (id, customer_id, workflow_id, workflow_version_id, spec_id, schedule_id, name,
        status, inputs,
        errors, priority, created_by, parent_id, parent_branch, parent_visit, parent_attempt, depth,
        continued_from_id, rerun_of_id, start_state, idempotency_key, request_hash, pause_reason, paused_by,
        cancel_reason, cancelled_by, created_at, deadline_at)
    VALUES (%(id)s, %(customer)s, %(workflow)s, %(version)s, %(spec)s,
        COALESCE(%(schedule)s, (SELECT schedule_id FROM workflows_execution WHERE id = %(continued_from)s)),
        %(name)s, 'pending', %(inputs)s::jsonb,
        '[]'::jsonb, %(priority)s, %(created_by)s, %(parent)s, %(parent_branch)s, %(parent_visit)s,
        %(parent_attempt)s, %(depth)s, %(continued_from)s, %(rerun_of)s, %(start_state)s, %(key)s, %(hash)s, '', '',
        '', '', now(), now() + %(timeout)s::interval)
    ON CONFLICT (customer_id, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
    RETURNING id, customer_id, priority, created_at
), branch AS (
    INSERT INTO workflows_branch (id, execution_id, customer_id, body, name, index, ancestors, depends_on, depth,
        status, stop, state, visit, attempt, failures, interruptions, activity, variables, previous, waiting_for,
        wait_signal, open_children, priority, ready_at, epoch, seq, created_at)
    SELECT %(branch)s, id, customer_id, '', '', 0, '{}', '{}', 0, 'ready', '', %(state)s, %(visit)s, 1, 0, 0,
        %(activity)s, %(variables)s::jsonb, %(previous)s::jsonb, '', '', 0, priority, now(), 0, 0, now()
    FROM execution
), log AS (
    INSERT INTO workflows_logentry (execution_id, branch_id, node_id, level, event, message)
    SELECT id, %(branch)s, '', 'info', 'run.started', %(message)s FROM execution
), hint AS (
    SELECT pg_notify(%(channel)s, '') FROM execution
)
SELECT created_at FROM execution LEFT JOIN hint ON true
"""


def execution_values(
    *,
    customer: UUID,
    spec: schema.WorkflowSpec,
    checksum: str,
    inputs: Mapping[str, Any],
    name: str,
    id: UUID | None = None,
    workflow: UUID | None = None,
    version: int | None = None,
    schedule: UUID | None = None,
    priority: int = 0,
    created_by: str = "",
    parent: UUID | None = None,
    parent_branch: UUID | None = None,
    parent_visit: int | None = None,
    parent_attempt: int | None = None,
    depth: int = 0,
    continued_from: UUID | None = None,
    rerun_of: UUID | None = None,
    start_state: str | None = None,
    root_state: str | None = None,
    variables: Mapping[str, Any] | None = None,
    previous: Any = None,
    first_visit: int = 1,
    idempotency_key: str | None = None,
    request_hash: str = "",
    message: str | None = None,
) -> dict[str, Any]:
    """Return what the insertion of an execution that starts at once binds; it will have this ``id`` and ``branch``.

    A continuation belongs to the schedule of what it continues. ``root_state`` is where the root branch stands if
    ``start_state`` lies inside it; ``message`` is what the log says first. Raises :class:`LimitExceeded` for inputs
    over 1 MiB or too deep a chain of children.
    """
    if depth > limits.MAX_CHILD_DEPTH:
        raise LimitExceeded(f"child workflows may be nested {limits.MAX_CHILD_DEPTH} deep, and this is one deeper")
    text = dumps({**(spec.input or {}), **inputs})
    if len(text.encode()) > MAX_INPUT_BYTES:
        raise LimitExceeded(
            f"inputs may hold {MAX_INPUT_BYTES // 1024} KiB; put larger data where activities can read it"
        )
    state = root_state or start_state or start_of(spec.states, spec.start_at)
    first = next(s for s in spec.states if s.name == state)
    return {
        "id": id or new_id(), "customer": customer, "workflow": workflow, "version": version, "spec": checksum,
        "schedule": schedule, "name": name, "inputs": text, "priority": priority, "created_by": created_by,
        "parent": parent, "parent_branch": parent_branch, "parent_visit": parent_visit,
        "parent_attempt": parent_attempt, "depth": depth, "continued_from": continued_from, "rerun_of": rerun_of,
        "start_state": start_state or "", "key": idempotency_key, "hash": request_hash,
        "timeout": parse_duration(spec.timeout) if spec.timeout else None, "branch": new_id(), "state": state,
        "visit": first_visit, "activity": first.resource if isinstance(first, schema.TaskState) else "",
        "variables": dumps(dict(variables or {})), "previous": None if previous is None else dumps(previous),
        "message": message or f"{name} started", "channel": hints.READY_CHANNEL,
    }  # fmt: skip


def insert_execution(cursor: Any, **values: Any) -> tuple[UUID, UUID, Any] | None:
    """Write an execution that starts at once; returns ``(execution id, root branch id, created_at)``.

    Takes what :func:`execution_values` takes, and raises what that raises. None if the idempotency key is taken. Part
    of the caller's transaction, if there is one.
    """
    bound = execution_values(**values)
    cursor.execute(_INSERT, bound)
    row = cursor.fetchone()
    return None if row is None else (bound["id"], bound["branch"], row[0])


def insert_executions(cursor: Any, executions: Sequence[Mapping[str, Any]]) -> None:
    """Write executions, each as :func:`execution_values` gave it, in one round trip; in the caller's transaction."""
    cursor.executemany(_INSERT, executions)


def start_execution(
    *,
    customer: Customer,
    spec: SpecDocument,
    inputs: Mapping[str, Any],
    name: str,
    workflow: Workflow | None = None,
    version: WorkflowVersion | None = None,
    priority: int = 0,
    idempotency_key: str | None = None,
    created_by: str = "",
) -> tuple[Execution, bool]:
    """Start an execution of a stored, valid spec; returns it and whether it is new.

    With an ``idempotency_key`` a repeated call returns the execution of the first one; raises
    :class:`IdempotencyConflict` if that one had another spec or other inputs. Secret-named inputs are sealed.
    """
    request_hash = checksum_of([spec.checksum, inputs, priority]) if idempotency_key else ""
    # What Poimen starts by itself is no decision of anybody: it leaves no record and needs no transaction of its own.
    together = transaction.atomic(savepoint=False) if created_by else nullcontext()
    with together, prepared_cursor() as cursor:
        made = insert_execution(
            cursor,
            customer=customer.pk,
            spec=parsed_spec(spec),
            checksum=spec.checksum,
            inputs=secrets.seal(dict(inputs), customer.pk),
            name=name,
            workflow=workflow.pk if workflow else None,
            version=version.pk if version else None,
            priority=priority,
            created_by=created_by,
            idempotency_key=idempotency_key,
            request_hash=request_hash,
        )
        if made is not None and created_by:
            audit_start(
                "started", customer.pk, made[0], workflow.pk if workflow else None, created_by, name=name,
                version=version.version if version else None,
            )  # fmt: skip
    if made is None:
        return known_execution(customer.pk, idempotency_key, request_hash), False
    execution = Execution(
        id=made[0], customer=customer, workflow=workflow, workflow_version=version, spec=spec, name=name,
        inputs={**(parsed_spec(spec).input or {}), **inputs}, priority=priority, created_by=created_by,
        idempotency_key=idempotency_key, request_hash=request_hash, created_at=made[2],
    )  # fmt: skip
    return execution, True


_PROGRAMS: dict[str, Program] = {}


def program_of(spec: SpecDocument) -> Program:
    """The spec made ready to run, kept in memory by checksum."""
    program = _PROGRAMS.get(spec.checksum)
    if program is None:
        program = compile_program(spec.document, spec.checksum)
        if len(_PROGRAMS) >= 256:
            _PROGRAMS.pop(next(iter(_PROGRAMS)))
        _PROGRAMS[spec.checksum] = program
    return program


def parsed_spec(spec: SpecDocument) -> schema.WorkflowSpec:
    """The spec as typed shapes, kept in memory by checksum."""
    return program_of(spec).spec


# The newest ended run of each state, as history of a new execution: references to it resolve as before.
_COPY_RUNS = """
WITH newest AS (
    SELECT DISTINCT ON (r.state) r.* FROM workflows_staterun r
    WHERE r.execution_id = %(source)s AND r.status IN ('success', 'failed', 'timed_out') AND r.id < %(before)s
        AND r.state = ANY(%(states)s)
    ORDER BY r.state, r.id DESC
)
INSERT INTO workflows_staterun (execution_id, branch_id, state, visit, attempt, type, activity, status, input, output,
    error, next_state, assigned, started_at, ended_at, worker, epoch, reused)
SELECT %(execution)s, %(branch)s, state, row_number() OVER (ORDER BY id), 1, type, activity, status, input, output,
    error, next_state, assigned, started_at, ended_at, worker, 0, true
FROM newest
"""


def readable_states(spec: schema.WorkflowSpec) -> list[str]:
    """The names of the states whose outputs can be read from the root: all but those inside a Map."""
    return [state.name for key, _, states in walk_bodies(spec) if "*" not in key.split("/") for state in states]


def copy_history(
    cursor: Any,
    spec: schema.WorkflowSpec,
    *,
    source: UUID,
    before: int,
    execution: UUID,
    branch: UUID,
) -> None:
    """Give ``execution`` what the states of ``source`` with run ids under ``before`` gave, marked as reused."""
    cursor.execute(
        _COPY_RUNS,
        {
            "source": source, "before": before, "execution": execution, "branch": branch,
            "states": readable_states(spec),
        },
    )  # fmt: skip


def known_execution(customer: UUID, idempotency_key: str | None, request_hash: str) -> Execution:
    """The execution that the key was used for; raises :class:`IdempotencyConflict` if that was another request."""
    known = Execution.objects.get(customer=customer, idempotency_key=idempotency_key)
    if known.request_hash != request_hash:
        raise IdempotencyConflict(f"the idempotency key was used for execution {known.pk} with another request")
    return known


def audit_start(what: str, customer: UUID, execution: UUID, workflow: UUID | None, by: str, **details: Any) -> None:
    """Record a start; the last thing in its transaction."""
    audit.record(
        customer,
        f"execution.{what}",
        target=("execution", execution),
        actor=by,
        execution=execution,
        workflow=workflow,
        details={key: value for key, value in details.items() if value is not None},
    )
