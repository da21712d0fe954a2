"""What may be asked of schedules: each act once, as REST, the pages, the admin and the command line do it.

Takes bodies as they were sent, checks them, and gives what REST answers; refuses with the errors of the API. Whether
somebody may act at all is for the caller (``workflows.access``).
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from rest_framework.exceptions import ValidationError

from workflows.access import Access
from workflows.api.acts import as_unprocessable
from workflows.api.executions import execution_body
from workflows.api.repeated import Done, once
from workflows.api.requests import Conflict, Reason, checked, id_in_path, not_found
from workflows.api.schedule_bodies import (
    BackfillBody,
    PreviewBody,
    SchedulePart,
    full_body,
    last_runs_of,
    moment_in_zone,
    run_body,
    schedule_body,
)
from workflows.api.timestamps import rfc3339
from workflows.models import Customer, Execution, Schedule, ScheduleRun
from workflows.schedules import changes
from workflows.schedules.cron import CronError, next_runs, parse_cron, start_of_search
from workflows.schedules.firing import database_now
from workflows.schedules.readings import reading_of
from workflows.schedules.settings import DEFAULTS, Refused, with_spec_settings
from workflows.schedules.zones import UnknownZone, zone_of
from workflows.sent_specs import SpecNotValid

Body = dict[str, Any]
SCHEDULE = "Schedule"


@contextmanager
def answered() -> Iterator[None]:
    """Turn what the acts refuse into answers of the API."""
    try:
        yield
    except Refused as refused:
        raise ValidationError({field: [message] for field, message in refused.problems.items()}) from None
    except SpecNotValid as refused:
        raise as_unprocessable(refused) from None
    except changes.ScheduleNotFound:
        raise not_found(SCHEDULE) from None
    except (changes.ScheduleConflict, changes.NotPossible) as refused:
        raise Conflict(f"{refused}.") from None


def create(access: Access, sent: Any) -> Body:
    """Make a schedule of a workflow or a spec; returns it. Raises 400 for fields, 422 for what is wrong with a spec."""
    return create_once(access, sent, None)[0]


def create_once(access: Access, sent: Any, key: str | None) -> tuple[Body, bool]:
    """As :func:`create`; returns the schedule and whether it is new (idempotency ``key``).

    Raises 409 if the key was used for something else, or the schedule that it made was deleted.
    """
    wanted = with_spec_settings(_part(sent))
    if wanted.get("name") is None:
        wanted["name"] = ""

    def act() -> Done:
        with answered():
            return changes.create_schedule(access.customer, wanted, by=access.actor).pk, None

    (pk, _), is_new = once(access.customer, key, ["schedule", sent], act)
    assert pk is not None
    schedule = Schedule.objects.select_related("spec").filter(pk=pk, customer=access.customer).first()
    if schedule is None:
        raise Conflict("the schedule that was made with this idempotency key was deleted.")
    return full_body(schedule, database_now()), is_new


def replace(access: Access, schedule_id: str, sent: Any, expected: int | None) -> Body:
    """Give the schedule the settings of ``sent``, and defaults where it says nothing; returns it.

    Raises 400, 404, 409 if its version is not ``expected``, and 422.
    """
    wanted = {**DEFAULTS, "name": "", **with_spec_settings(_part(sent))}
    if wanted.get("schedule") is None:
        raise ValidationError({"schedule": ["this is missing: cron text such as 30 7 * * MON-FRI"]})
    if wanted.get("workflowId") is None and wanted.get("spec") is None:
        raise ValidationError({"workflowId": ["give workflowId, the workflow to start, or spec"]})
    return _changed(access, schedule_id, wanted, expected)


def change(access: Access, schedule_id: str, sent: Any, expected: int | None) -> Body:
    """Change what ``sent`` names; returns the schedule. Raises as :func:`replace`."""
    return _changed(access, schedule_id, with_spec_settings(_part(sent)), expected)


def delete(access: Access, schedule_id: str, expected: int | None) -> None:
    """Delete the schedule with its history; executions stay. Raises 404, and 409 as :func:`replace`."""
    pk = id_in_path(schedule_id, SCHEDULE)
    with answered():
        changes.delete_schedule(pk, access.customer, by=access.actor, expected_version=expected)


def pause(access: Access, schedule_id: str, sent: Any) -> Body:
    """Pause with ``{reason?}``; returns the schedule. Raises 400 and 404."""
    pk, reason = id_in_path(schedule_id, SCHEDULE), _reason(access, schedule_id, sent)
    with answered():
        schedule = changes.pause_schedule(pk, access.customer, by=access.actor, reason=reason)
    return full_body(schedule, database_now())


def resume(access: Access, schedule_id: str, sent: Any) -> Body:
    """Resume with ``{reason?}``; returns the schedule. Raises 400 and 404."""
    pk, reason = id_in_path(schedule_id, SCHEDULE), _reason(access, schedule_id, sent)
    with answered():
        schedule = changes.resume_schedule(pk, access.customer, by=access.actor, reason=reason)
    return full_body(schedule, database_now())


def trigger(access: Access, schedule_id: str) -> Body:
    """Start it now; returns the execution. Raises 404, and 409 where there is nothing that can start."""
    return trigger_once(access, schedule_id, None)[0]


def trigger_once(access: Access, schedule_id: str, key: str | None) -> tuple[Body, bool]:
    """As :func:`trigger`; returns the execution and whether it is new (idempotency ``key``).

    Raises 409 if the key was used for something else, or the execution that it started is not kept any more.
    """
    pk = id_in_path(schedule_id, SCHEDULE)

    def act() -> Done:
        with answered():
            return changes.trigger_schedule(pk, access.customer, by=access.actor).pk, None

    (started, _), is_new = once(access.customer, key, ["trigger", str(pk)], act)
    assert started is not None
    execution = Execution.objects.select_related("workflow_version").filter(pk=started).first()
    if execution is None:
        raise Conflict("the execution that was started with this idempotency key is not kept any more.")
    return execution_body(execution), is_new


def backfill(access: Access, schedule_id: str, sent: Any, key: str | None = None) -> Body:
    """Queue a run for every instant of ``{start, end}``; returns ``{queued}``. Raises 400, 404, 409.

    With an idempotency ``key`` the same request gets the same answer and queues nothing.
    """
    own_schedule(access.customer, schedule_id)
    body = checked(BackfillBody, sent)
    pk = id_in_path(schedule_id, SCHEDULE)

    def act() -> Done:
        with answered():
            _, due = changes.backfill_schedule(
                pk, access.customer, start=body["start"], end=body["end"], by=access.actor
            )
        return None, {"queued": [rfc3339(one) for one in due]}

    (_, answer), _ = once(access.customer, key, ["backfill", str(pk), sent], act)
    return dict(answer)


def preview(sent: Any) -> Body:
    """Return what cron text that is not saved yet means: ``{valid, reading, nextRuns}`` or ``{valid, problems}``."""
    body = checked(PreviewBody, sent)
    now, start, end = database_now(), body["startAt"], body["endAt"]
    problems: dict[str, str] = {}
    try:
        zone_of(body["timezone"])
    except UnknownZone as error:
        problems["timezone"] = str(error)
    try:
        cron = parse_cron(body["schedule"])
    except CronError as error:
        problems["schedule"] = str(error)
    if problems:
        return {"valid": False, "problems": problems}
    runs = next_runs(cron, body["timezone"], after=start_of_search(now, start), anchor=start or now)
    if not runs:
        return {"valid": False, "problems": {"schedule": f'"{cron.text}" never runs within the next 5 years'}}
    if end is not None and runs[0] >= end:
        return {"valid": False, "problems": {"endAt": f"this is before the first run, at {rfc3339(runs[0])}"}}
    coming = [moment_in_zone(due, body["timezone"]) for due in runs if end is None or due < end]
    return {"valid": True, "reading": reading_of(cron, body["timezone"]), "nextRuns": coming}


def own_schedule(customer: Customer, schedule_id: str) -> Schedule:
    """Return the customer's schedule with its spec; raises 404."""
    pk = id_in_path(schedule_id, SCHEDULE)
    found = Schedule.objects.select_related("spec").filter(pk=pk, customer=customer).first()
    if found is None:
        raise not_found(SCHEDULE)
    return found


def list_bodies(schedules: Sequence[Schedule]) -> list[Body]:
    """Return schedules as a list shows them (one query for their last runs)."""
    last = last_runs_of([schedule.pk for schedule in schedules])
    return [schedule_body(schedule, last.get(schedule.pk)) for schedule in schedules]


def history_bodies(runs: Sequence[ScheduleRun]) -> list[Body]:
    """Return rows of a history with what became of their executions (one query)."""
    started = [run.execution_id for run in runs if run.execution_id is not None]
    rows = Execution.objects.filter(pk__in=started).values("id", "status", "ended_at")
    known: dict[UUID | None, Mapping[str, Any]] = {row["id"]: row for row in rows}
    return [run_body(run, known.get(run.execution_id)) for run in runs]


def _part(sent: Any) -> Body:
    return checked(SchedulePart, sent)


def _changed(access: Access, schedule_id: str, wanted: Mapping[str, Any], expected: int | None) -> Body:
    pk = id_in_path(schedule_id, SCHEDULE)
    with answered():
        schedule = changes.change_schedule(pk, access.customer, wanted, by=access.actor, expected_version=expected)
    return full_body(schedule, database_now())


def _reason(access: Access, schedule_id: str, sent: Any) -> str:
    own_schedule(access.customer, schedule_id)  # what is not there is not found, whatever the body says
    return str(checked(Reason, sent)["reason"])
