"""The clock's part: every instant at which a schedule is due becomes one row of its history and one start at most.

The row, the execution and the schedule's next instant are one transaction under the schedule's lock, so that clocks
may race and die at any point. Refuses to wait for a lock: another clock's work is left to it.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal
from uuid import UUID

from django.db import DataError, IntegrityError, connection, transaction

from workflows import control
from workflows.errors import WorkflowError
from workflows.identifiers import new_id
from workflows.models import Execution, Overlap, RunOutcome, RunTrigger, Schedule, ScheduleRun
from workflows.prepared_queries import prepared_cursor
from workflows.schedules import tallies
from workflows.schedules.deciding import Decision, Plan, decide
from workflows.schedules.targets import Target, targets_of
from workflows.schedules.timing import plan
from workflows.submission import execution_values, insert_executions

log = logging.getLogger(__name__)

BATCH: Final = 100
MOST_FROM_QUEUE: Final = 50  # of one schedule, where runs may overlap
AMISS_SECONDS: Final = 5
RETRY_AFTER: Final = timedelta(minutes=10)
INTERNAL_ERROR: Final = "an error inside Poimen kept it from starting; the clock's log has it"

# A row that says why nothing ran gives way to one that says what runs; what ran, or is queued, stays.
_RECORD: Final = """
INSERT INTO workflows_schedulerun (id, schedule_id, due_at, outcome, trigger, reason, triggered_by, execution_id,
    decided_at)
SELECT id, schedule_id, due_at, outcome, trigger, reason, %(by)s, execution_id, %(now)s
FROM unnest(%(ids)s::uuid[], %(schedules)s::uuid[], %(due)s::timestamptz[], %(outcomes)s::text[], %(triggers)s::text[],
    %(reasons)s::text[], %(executions)s::uuid[])
    AS decided(id, schedule_id, due_at, outcome, trigger, reason, execution_id)
ON CONFLICT (schedule_id, due_at) DO UPDATE SET outcome = excluded.outcome, trigger = excluded.trigger,
    reason = excluded.reason, triggered_by = excluded.triggered_by, execution_id = excluded.execution_id,
    decided_at = excluded.decided_at
WHERE workflows_schedulerun.outcome IN ('skipped', 'failed')
RETURNING schedule_id, due_at
"""
_ADVANCE: Final = """
UPDATE workflows_schedule s SET due_at = n.due_at, fires_at = n.fires_at, runs = n.runs, decided_at = %(now)s
FROM unnest(%(ids)s::uuid[], %(due)s::timestamptz[], %(fires)s::timestamptz[], %(runs)s::int[])
    AS n(id, due_at, fires_at, runs)
WHERE s.id = n.id
"""
_HOLD: Final = """
SELECT 1 FROM workflows_workflow
WHERE id IN (SELECT workflow_id FROM workflows_schedule WHERE id = ANY(%s)) ORDER BY id FOR KEY SHARE
"""
_QUEUES: Final = """
SELECT DISTINCT r.schedule_id FROM workflows_schedulerun r JOIN workflows_schedule s ON s.id = r.schedule_id
WHERE r.outcome = 'queued' AND (s.paused_at IS NULL OR r.trigger = 'backfill')
    AND (s.overlap = 'allow' OR NOT EXISTS (
        SELECT 1 FROM workflows_execution e WHERE e.schedule_id = s.id AND e.ended_at IS NULL))
LIMIT %s
"""


@dataclass(frozen=True, slots=True)
class _Fired:
    """One schedule of a batch: what was decided for it and what it starts."""

    schedule: Schedule
    plan: Plan
    target: Target | str


def database_now(function: Literal["now", "clock_timestamp"] = "now") -> datetime:
    """Return the database's time, the only one that counts: at the beginning of the transaction, or right now."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}()")
        moment: datetime = cursor.fetchone()[0]
    return moment


def fire_due(limit: int = BATCH, *, working_since: datetime | None = None) -> int:
    """Deal with up to ``limit`` schedules that are due; returns how many there were. Raises ``DatabaseError``.

    ``working_since``: from when on clocks have dealt with what is due without a pause. However many are due at once, no
    run is missed because its turn comes late.
    """
    try:
        count, cancelling = _fire(limit, working_since)
    except (DataError, IntegrityError):
        log.exception("a batch of schedules could not be written; each goes by itself")
        return sum(_fire_alone(pk, working_since) for pk in _due_ids(limit))
    # These cancel executions, which is recorded in their customers' trails: one by one, to hold one trail at a time.
    return count + sum(_fire_alone(pk, working_since) for pk in cancelling)


def _due_ids(limit: int) -> list[UUID]:
    due = Schedule.objects.filter(paused_at=None, fires_at__lte=database_now())
    return list(due.order_by("fires_at").values_list("pk", flat=True)[:limit])


def _fire_alone(pk: UUID, working_since: datetime | None) -> int:
    try:
        return _fire(1, working_since, only=pk)[0]
    except (DataError, IntegrityError):
        log.exception("schedule %s cannot be written", pk)
        Schedule.objects.filter(pk=pk).update(fires_at=database_now() + RETRY_AFTER)
        return 1


def _fire(limit: int, working_since: datetime | None, only: UUID | None = None) -> tuple[int, list[UUID]]:
    """Deal with schedules that are due, in one transaction; returns how many, and which have to cancel something."""
    with transaction.atomic():
        now = database_now()
        found = Schedule.objects.filter(paused_at=None, fires_at__lte=now)
        if only is not None:
            found = found.filter(pk=only)
        due = list(found.order_by("fires_at").values_list("pk", flat=True)[:limit])
        hold_workflows(due)
        # Not FOR UPDATE: a continuation that is being written refers to its schedule, and must not wait for this.
        locked = found.filter(pk__in=due).select_for_update(skip_locked=True, no_key=True)
        schedules = list(locked.order_by("fires_at"))
        if not schedules:
            return 0, []
        busy, queues, targets = _busy_among(schedules), _queues_of(schedules), targets_of(schedules)
        fired, cancelling = [], []
        for schedule in schedules:
            target = targets[schedule.pk]
            obstacle = target if isinstance(target, str) else ""
            queued = queues.get(schedule.pk, 0)
            made = _decide(schedule, now, working_since, is_busy=schedule.pk in busy, queued=queued, obstacle=obstacle)
            if made.cancels and only is None:
                cancelling.append(schedule.pk)
                continue
            fired.append(_Fired(schedule, made, target))
        new = _write(fired, now)
        for one in fired:
            if one.plan.cancels and new:
                _cancel_others(one.schedule, new)
    return len(fired), cancelling


def hold_workflows(schedules: Sequence[UUID]) -> None:
    """Keep the workflows of ``schedules`` from being deleted until the transaction ends; before these are locked.

    Who deletes a workflow locks that first and its schedules then: in the other order, each could wait for the other.
    """
    if schedules:
        with connection.cursor() as cursor:
            cursor.execute(_HOLD, [list(schedules)])


def _decide(
    schedule: Schedule, now: datetime, working_since: datetime | None, *, is_busy: bool, queued: int, obstacle: str
) -> Plan:
    try:
        return decide(schedule, now, is_busy=is_busy, queued=queued, obstacle=obstacle, working_since=working_since)
    except Exception:
        # One schedule must not keep the others from running: it says so in its history and is tried again later.
        log.exception("schedule %s cannot be dealt with", schedule.pk)
        due = schedule.due_at or now
        failed = Decision(due, RunOutcome.FAILED, reason=INTERNAL_ERROR)
        return Plan([failed], due_at=due, fires_at=now + RETRY_AFTER, runs=schedule.runs)


def _busy_among(schedules: Sequence[Schedule]) -> set[UUID]:
    running = Execution.objects.filter(schedule__in=[s.pk for s in schedules], ended_at=None)
    return set(running.values_list("schedule_id", flat=True))


def _queues_of(schedules: Sequence[Schedule]) -> dict[UUID, int]:
    found: dict[UUID, int] = {}
    queued = ScheduleRun.objects.filter(schedule__in=[s.pk for s in schedules], outcome=RunOutcome.QUEUED)
    for pk in queued.values_list("schedule_id", flat=True):
        found[pk] = found.get(pk, 0) + 1
    return found


def _cancel_others(schedule: Schedule, new: set[UUID]) -> None:
    running = Execution.objects.filter(schedule=schedule, ended_at=None).exclude(pk__in=new)
    for pk in running.values_list("pk", flat=True):
        try:
            control.request_cancel(pk, by="", reason=f"the next run of the schedule {schedule.name} was due")
        except control.NotPossible:
            log.debug("execution %s ended before it could be cancelled", pk)


def _write(fired: Sequence[_Fired], now: datetime) -> set[UUID]:
    """Write the history, the executions of what is new in it, and when the schedules are due next; returns those."""
    decided: list[tuple[Schedule, Decision, UUID | None]] = []
    values: dict[UUID, dict[str, Any]] = {}
    for one in fired:
        for decision in one.plan.decisions:
            execution = _execution_of(one, decision)
            if execution is not None:
                values[execution["id"]] = execution
            decided.append((one.schedule, decision, execution["id"] if execution is not None else None))
    with prepared_cursor() as cursor:
        written = record_runs(cursor, decided, now)
        new = [values[key] for s, d, key in decided if key is not None and (s.pk, d.due_at) in written]
        insert_executions(cursor, new)
        cursor.execute(
            _ADVANCE,
            {
                "now": now,
                "ids": [one.schedule.pk for one in fired],
                "due": [one.plan.due_at for one in fired],
                "fires": [one.plan.fires_at for one in fired],
                "runs": [one.plan.runs for one in fired],
            },
        )
        tallies.count(cursor, (d for s, d, _ in decided if (s.pk, d.due_at) in written))
    return {execution["id"] for execution in new}


def _execution_of(one: _Fired, decision: Decision) -> dict[str, Any] | None:
    """What is inserted for a run that starts; None if it does not, for which the decision then says why."""
    if decision.outcome != RunOutcome.STARTED or isinstance(one.target, str):
        return None
    decision.reason = "; ".join(filter(None, (decision.reason, one.target.note)))
    try:
        return execution_for(one.schedule, one.target)
    except WorkflowError as refused:
        decision.outcome, decision.reason = RunOutcome.FAILED, refused.message
        return None


def execution_for(schedule: Schedule, target: Target, *, by: str = "") -> dict[str, Any]:
    """Return what the insertion of an execution of the schedule binds. Raises ``LimitExceeded`` for large inputs."""
    return execution_values(
        customer=schedule.customer_id,
        spec=target.spec,
        checksum=target.checksum,
        inputs=schedule.inputs,
        name=target.name,
        workflow=target.workflow,
        version=target.version,
        schedule=schedule.pk,
        priority=schedule.priority,
        created_by=by,
    )


def record_runs(
    cursor: Any, decided: Sequence[tuple[Schedule, Decision, UUID | None]], now: datetime, *, by: str = ""
) -> set[tuple[UUID, datetime]]:
    """Write rows of history with the executions that start; returns those that are new, as (schedule, instant).

    What ran at an instant, or is queued for it, stays as it is.
    """
    if not decided:
        return set()
    cursor.execute(
        _RECORD,
        {
            "by": by,
            "now": now,
            "ids": [new_id() for _ in decided],
            "schedules": [schedule.pk for schedule, _, _ in decided],
            "due": [decision.due_at for _, decision, _ in decided],
            "outcomes": [decision.outcome.value for _, decision, _ in decided],
            "triggers": [decision.trigger.value for _, decision, _ in decided],
            "reasons": [decision.reason for _, decision, _ in decided],
            "executions": [execution for _, _, execution in decided],
        },
    )
    return {(row[0], row[1]) for row in cursor.fetchall()}


def start_queued(limit: int = BATCH) -> int:
    """Start what is queued of schedules of which nothing runs any more; returns how many schedules there were.

    The oldest first, one at a time, or as many as there are where runs may overlap. Raises ``DatabaseError``.
    """
    with connection.cursor() as cursor:
        cursor.execute(_QUEUES, [limit])
        waiting = [row[0] for row in cursor.fetchall()]
    if not waiting:
        return 0
    with transaction.atomic():
        now = database_now()
        hold_workflows(waiting)
        locked = Schedule.objects.filter(pk__in=waiting).select_for_update(skip_locked=True, no_key=True)
        schedules = list(locked.order_by("pk"))
        busy, targets = _busy_among(schedules), targets_of(schedules)
        for schedule in schedules:
            if schedule.overlap == Overlap.ALLOW or schedule.pk not in busy:
                _start_from_queue(schedule, targets[schedule.pk], now)
    return len(schedules)


def _start_from_queue(schedule: Schedule, target: Target | str, now: datetime) -> None:
    rows = ScheduleRun.objects.filter(schedule=schedule, outcome=RunOutcome.QUEUED).order_by("due_at")
    if schedule.paused_at is not None:
        rows = rows.filter(trigger=RunTrigger.BACKFILL)
    new, started = [], []
    for row in rows[: MOST_FROM_QUEUE if schedule.overlap == Overlap.ALLOW else 1]:
        decision = Decision(row.due_at, RunOutcome.STARTED, RunTrigger(row.trigger), row.reason)
        if isinstance(target, str):
            decision.outcome, decision.reason = RunOutcome.FAILED, target
        execution = _execution_of(_Fired(schedule, Plan(), target), decision)
        if execution is not None:
            new.append(execution)
            row.execution_id = execution["id"]
        row.outcome, row.reason, row.decided_at = decision.outcome, decision.reason, now
        row.save(update_fields=["outcome", "reason", "decided_at", "execution"])
        started.append(decision)
    with prepared_cursor() as cursor:
        insert_executions(cursor, new)
        tallies.count(cursor, started)


def mend_ahead() -> int:
    """Plan again, from now, what was planned while the database's clock was ahead; returns how many there were."""
    with transaction.atomic():
        now = database_now()
        ahead = Schedule.objects.filter(decided_at__gt=now + timedelta(seconds=AMISS_SECONDS))
        schedules = list(ahead.select_for_update(skip_locked=True, no_key=True)[:BATCH])
        for schedule in schedules:
            plan(schedule, now)
            schedule.save(update_fields=["due_at", "fires_at", "decided_at"])
    return len(schedules)
