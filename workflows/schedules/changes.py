"""What people do with schedules: make, change, delete, pause and resume them, start one now, and run a past range.

Each act is one transaction with its audit record, under the schedule's lock. Refuses what could never run.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Any, Final
from uuid import UUID

from django.db import IntegrityError, transaction

from workflows import audit
from workflows.errors import WorkflowError
from workflows.models import Customer, Execution, RunOutcome, RunTrigger, Schedule
from workflows.prepared_queries import prepared_cursor
from workflows.schedules import tallies
from workflows.schedules.cron import EPOCH, parse_cron
from workflows.schedules.deciding import Decision
from workflows.schedules.firing import database_now, execution_for, hold_workflows, record_runs
from workflows.schedules.settings import TIMING, Refused, apply
from workflows.schedules.targets import NoTarget, target_of
from workflows.schedules.timing import plan
from workflows.schedules.zones import zone_of
from workflows.submission import insert_executions

MOST_BACKFILLED: Final = 1000
DELETE_ATTEMPTS: Final = 3


class ScheduleNotFound(Exception):
    """The customer has no such schedule."""


class ScheduleConflict(Exception):
    """The schedule was changed since; ``version`` is the one it has now."""

    def __init__(self, version: int) -> None:
        super().__init__(f"the schedule is at version {version} now")
        self.version = version


class NotPossible(Exception):
    """Not as things stand; the message says why."""


def create_schedule(customer: Customer, wanted: Mapping[str, Any], *, by: str) -> Schedule:
    """Make a schedule out of ``wanted``, whose keys are those of ``workflows.schedules.settings``.

    Raises ``workflows.schedules.settings.Refused`` and ``workflows.sent_specs.SpecNotValid``.
    """
    with transaction.atomic():
        now = database_now()
        schedule = Schedule(customer=customer, created_by=by, decided_at=now, anchor=now)
        apply(schedule, wanted, now=now)
        if wanted.get("enabled") is False:
            schedule.paused_at, schedule.paused_by = now, by
        plan(schedule, now)
        schedule.save(force_insert=True)
        _audit(schedule, "created", by, cron=schedule.cron, timezone=schedule.zone)
    return schedule


def change_schedule(
    pk: UUID, customer: Customer, wanted: Mapping[str, Any], *, by: str, expected_version: int | None = None
) -> Schedule:
    """Change what ``wanted`` names; a change of when it runs counts from now.

    Raises :class:`ScheduleNotFound`, :class:`ScheduleConflict`, and what :func:`create_schedule` raises.
    """
    with transaction.atomic():
        now = database_now()
        schedule = _locked(pk, customer, expected_version)
        changed = apply(schedule, wanted, now=now)
        enabled = wanted.get("enabled")
        if enabled is not None and enabled != (schedule.paused_at is None):
            changed.add("enabled")
            schedule.paused_at, schedule.paused_by, schedule.pause_reason = None if enabled else now, by, ""
        if changed & (TIMING | {"enabled"}):
            plan(schedule, now)
        if changed:
            schedule.version += 1
            schedule.save()
            _audit(schedule, "changed", by, changed=sorted(changed))
    return schedule


def delete_schedule(pk: UUID, customer: Customer, *, by: str, expected_version: int | None = None) -> None:
    """Delete the schedule and its history; executions stay. Raises as :func:`change_schedule`."""
    for attempt in range(1, DELETE_ATTEMPTS + 1):
        try:
            with transaction.atomic():
                schedule = _locked(pk, customer, expected_version)
                name = schedule.name
                schedule.delete()
                audit.record(customer.pk, "schedule.deleted", target=("schedule", pk), actor=by, details={"name": name})
            return
        except IntegrityError:  # one of its executions went on as a new one at this moment
            if attempt == DELETE_ATTEMPTS:
                raise


def pause_schedule(pk: UUID, customer: Customer, *, by: str, reason: str = "") -> Schedule:
    """Let nothing start by the clock until it is resumed; what runs goes on. Asking twice is asking once."""
    with transaction.atomic():
        schedule = _locked(pk, customer)
        if schedule.paused_at is None:
            schedule.paused_at, schedule.paused_by, schedule.pause_reason = database_now(), by, reason
            schedule.version += 1
            schedule.save()
            _audit(schedule, "paused", by, reason=reason)
    return schedule


def resume_schedule(pk: UUID, customer: Customer, *, by: str, reason: str = "") -> Schedule:
    """Go on with the next instant to come: what was due during the pause is not made up for."""
    with transaction.atomic():
        schedule = _locked(pk, customer)
        if schedule.paused_at is not None:
            schedule.paused_at, schedule.paused_by, schedule.pause_reason = None, "", ""
            plan(schedule, database_now())
            schedule.version += 1
            schedule.save()
            _audit(schedule, "resumed", by, reason=reason)
    return schedule


def trigger_schedule(pk: UUID, customer: Customer, *, by: str) -> Execution:
    """Start it now, whatever its overlap policy says and also while it is paused; counts towards no limit.

    Raises :class:`ScheduleNotFound`, and :class:`NotPossible` where there is nothing that can start.
    """
    with transaction.atomic():
        schedule = _locked(pk, customer)
        now = database_now()
        try:
            target = target_of(schedule)
            execution = execution_for(schedule, target, by=by)
        except NoTarget as reason:
            raise NotPossible(str(reason)) from None
        except WorkflowError as refused:
            raise NotPossible(refused.message) from None
        # Not the beginning of the transaction, which another that waited for this one may share.
        decision = Decision(database_now("clock_timestamp"), RunOutcome.STARTED, RunTrigger.MANUAL, target.note)
        with prepared_cursor() as cursor:
            record_runs(cursor, [(schedule, decision, execution["id"])], now, by=by)
            insert_executions(cursor, [execution])
            tallies.count(cursor, [decision])
        _audit(schedule, "triggered", by, execution=execution["id"])
    return Execution.objects.select_related("workflow_version").get(pk=execution["id"])


def backfill_schedule(
    pk: UUID, customer: Customer, *, start: datetime, end: datetime, by: str
) -> tuple[Schedule, list[datetime]]:
    """Queue a run for each instant from ``start`` to before ``end``; returns the schedule and those that are new.

    Instants that ran already, or are queued, are left out. They start one after the other, the oldest first, or all at
    once where runs may overlap; also while the schedule is paused. Raises :class:`ScheduleNotFound`, and
    ``workflows.schedules.settings.Refused`` for a range that ends before it starts or is not in the past, and
    :class:`NotPossible` for one in which the schedule has no instant, or more than a thousand.
    """
    with transaction.atomic():
        schedule = _locked(pk, customer)
        now = database_now()
        _check_range(start, end, now)
        instants = list(islice(_instants(schedule, start, end), MOST_BACKFILLED + 1))
        if len(instants) > MOST_BACKFILLED:
            raise NotPossible(
                f"the range holds more than {MOST_BACKFILLED:,} runs; the first {MOST_BACKFILLED:,} end at "
                f"{instants[-1]:%Y-%m-%dT%H:%M:%SZ}"
            )
        if not instants:
            raise NotPossible("the schedule was never due in this range")
        decided = [(schedule, Decision(due, RunOutcome.QUEUED, RunTrigger.BACKFILL), None) for due in instants]
        with prepared_cursor() as cursor:
            written = record_runs(cursor, decided, now, by=by)
            tallies.count(cursor, (decision for _, decision, _ in decided if (pk, decision.due_at) in written))
        new = sorted(due for _, due in written)
        _audit(schedule, "backfilled", by, start=start.isoformat(), end=end.isoformat(), runs=len(new))
    return schedule, new


def _check_range(start: datetime, end: datetime, now: datetime) -> None:
    if start < EPOCH:
        raise Refused({"start": f"this must not be before {EPOCH:%Y-%m-%dT%H:%M:%SZ}"})
    if start >= end:
        raise Refused({"end": "this must be after start"})
    if end > now:
        raise Refused({"end": "this must not be later than now: what is to come runs by itself"})


def _instants(schedule: Schedule, start: datetime, end: datetime) -> Iterator[datetime]:
    """By the cron text alone: whoever asks for a past range means it, whenever the schedule itself began."""
    cron, zone, anchor = parse_cron(schedule.cron), zone_of(schedule.zone), schedule.anchor
    if cron.every is not None and anchor > start:
        anchor -= ((anchor - start) // cron.every + 1) * cron.every
    for due in cron.after(start - start.resolution, zone, anchor):
        if due >= end:
            return
        yield due


def _locked(pk: UUID, customer: Customer, expected_version: int | None = None) -> Schedule:
    hold_workflows([pk])
    schedule = Schedule.objects.select_for_update(no_key=True).filter(pk=pk, customer=customer).first()
    if schedule is None:
        raise ScheduleNotFound(str(pk))
    if expected_version is not None and schedule.version != expected_version:
        raise ScheduleConflict(schedule.version)
    return schedule


def _audit(schedule: Schedule, what: str, by: str, *, execution: UUID | None = None, **details: Any) -> None:
    """Record the act; the last thing in its transaction."""
    audit.record(
        schedule.customer_id,
        f"schedule.{what}",
        target=("schedule", schedule.pk),
        actor=by,
        execution=execution,
        workflow=schedule.workflow_id,
        details={"name": schedule.name, **{key: value for key, value in details.items() if value}},
    )
