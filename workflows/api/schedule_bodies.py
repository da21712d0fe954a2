"""What schedules and their history look like in answers, and what may be sent of them.

Owns the shapes of ``/schedules``; secrets in inputs and specs go out masked.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection
from rest_framework import serializers

from workflows import secrets
from workflows.api.answers import Shape, moment, text
from workflows.api.requests import MAX_PRIORITY, JsonObject, JsonValue, Strict, Text, WholeNumber
from workflows.api.timestamps import rfc3339
from workflows.models import ExecutionStatus, Overlap, RunOutcome, RunTrigger, Schedule, ScheduleRun
from workflows.schedules.cron import parse_cron
from workflows.schedules.readings import reading_of
from workflows.schedules.timing import coming_runs
from workflows.schedules.zones import zone_of
from workflows.spec.cron_schema import MAX_RUNS
from workflows.spec.durations import format_duration

STATUSES = ("active", "paused", "ended")
_MAX_VERSION = 2_000_000_000


class CatchUp(JsonValue):
    """True, false, null or a duration."""

    def to_internal_value(self, data: Any) -> Any:
        """Return ``data``; raises ``ValidationError`` for another type."""
        if not isinstance(data, bool | str):
            raise serializers.ValidationError("expected true, false or a duration such as 6h")
        return data


class Id(serializers.UUIDField):
    """An id in a body, as text; a number is none."""

    def to_internal_value(self, data: Any) -> UUID:
        """Return the id; raises ``ValidationError`` for what is no UUID in text."""
        if not isinstance(data, str):
            raise serializers.ValidationError("expected an id, as text")
        return super().to_internal_value(data)


class SchedulePart(Strict):
    """What ``PATCH`` changes; what is left out stays. Moments are RFC 3339, durations like 1h30m."""

    name = Text(required=False, max_length=128)
    description = Text(required=False, allow_blank=True, max_length=10_000)
    workflowId = Id(required=False, allow_null=True)  # noqa: N815 - the key of the contract
    workflowVersion = WholeNumber(  # noqa: N815
        required=False, allow_null=True, min_value=1, max_value=_MAX_VERSION, help_text="Left out: the newest each time"
    )
    spec = JsonObject(required=False, allow_null=True, help_text="A WorkflowSpec, or a CronWorkflowSpec with all")
    inputs = JsonObject(required=False, allow_null=True)
    priority = WholeNumber(required=False, min_value=-MAX_PRIORITY, max_value=MAX_PRIORITY)
    schedule = Text(required=False, max_length=1000, help_text="Cron text, @daily and the like, or @every 1h30m")
    timezone = Text(required=False, max_length=64, help_text="IANA time zone")
    enabled = serializers.BooleanField(required=False)
    overlapPolicy = serializers.ChoiceField(choices=Overlap.choices, required=False)  # noqa: N815
    catchUp = CatchUp(required=False, allow_null=True)  # noqa: N815
    jitter = Text(required=False, allow_null=True, max_length=64)
    maxRuns = WholeNumber(required=False, allow_null=True, min_value=1, max_value=MAX_RUNS)  # noqa: N815
    startAt = serializers.DateTimeField(required=False, allow_null=True)  # noqa: N815
    endAt = serializers.DateTimeField(required=False, allow_null=True)  # noqa: N815

    def validate_enabled(self, enabled: bool) -> bool:
        """Refuse text that only looks like a truth value."""
        if not isinstance(self.initial_data.get("enabled"), bool):
            raise serializers.ValidationError("expected true or false")
        return enabled


class BackfillBody(Strict):
    """A range in the past: from ``start`` (counts in) to ``end`` (does not)."""

    start = serializers.DateTimeField()
    end = serializers.DateTimeField()


class PreviewBody(Strict):
    """Cron text that is not saved yet."""

    schedule = Text(max_length=1000, allow_blank=True)
    timezone = Text(required=False, max_length=64, default="UTC")
    startAt = serializers.DateTimeField(required=False, allow_null=True, default=None)  # noqa: N815
    endAt = serializers.DateTimeField(required=False, allow_null=True, default=None)  # noqa: N815


class ComingRun(Shape):
    """A run to come, in UTC and as clocks in the time zone show it."""

    at = moment()
    local = text()


class PreviewAnswer(Shape):
    """What cron text means; ``problems`` has a sentence for each field where ``valid`` is false."""

    valid = serializers.BooleanField()
    reading = text(required=False)
    nextRuns = ComingRun(many=True, required=False)  # noqa: N815
    problems = serializers.DictField(child=text(), required=False)


class LastRun(Shape):
    """What became of the last instant."""

    dueAt = moment()  # noqa: N815
    outcome = serializers.ChoiceField(choices=RunOutcome.choices)
    executionId = serializers.UUIDField(allow_null=True)  # noqa: N815
    executionStatus = serializers.ChoiceField(choices=ExecutionStatus.choices, allow_null=True)  # noqa: N815


class ScheduleInList(Shape):
    """A schedule without its spec."""

    id = serializers.UUIDField()
    name = text()
    description = text()
    status = serializers.ChoiceField(choices=STATUSES)
    version = serializers.IntegerField()
    workflowId = serializers.UUIDField(allow_null=True)  # noqa: N815
    workflowVersion = serializers.IntegerField(allow_null=True)  # noqa: N815
    inputs = serializers.DictField(child=serializers.JSONField(allow_null=True))
    priority = serializers.IntegerField()
    schedule = text()
    timezone = text()
    reading = text()
    overlapPolicy = serializers.ChoiceField(choices=Overlap.choices)  # noqa: N815
    catchUp = text(allow_null=True)  # noqa: N815
    jitter = text(allow_null=True)
    maxRuns = serializers.IntegerField(allow_null=True)  # noqa: N815
    startAt = moment(allow_null=True)  # noqa: N815
    endAt = moment(allow_null=True)  # noqa: N815
    runs = serializers.IntegerField()
    nextRunAt = moment(allow_null=True)  # noqa: N815
    lastRun = LastRun(allow_null=True)  # noqa: N815
    createdAt = moment()  # noqa: N815
    createdBy = text()  # noqa: N815
    updatedAt = moment()  # noqa: N815
    pausedAt = moment(required=False)  # noqa: N815
    pausedBy = text(required=False)  # noqa: N815
    pauseReason = text(required=False)  # noqa: N815


class ScheduleAnswer(ScheduleInList):
    """A schedule; ``spec`` is null where it starts a workflow."""

    spec = serializers.DictField(child=serializers.JSONField(allow_null=True), allow_null=True)
    nextRuns = ComingRun(many=True)  # noqa: N815


class RunExecution(Shape):
    """What was started."""

    id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=ExecutionStatus.choices)
    completedAt = moment(allow_null=True)  # noqa: N815


class RunAnswer(Shape):
    """What became of one due instant; ``execution`` is null where nothing started, or retention has removed it."""

    dueAt = moment()  # noqa: N815
    outcome = serializers.ChoiceField(choices=RunOutcome.choices)
    trigger = serializers.ChoiceField(choices=RunTrigger.choices)
    reason = text()
    triggeredBy = text()  # noqa: N815
    decidedAt = moment()  # noqa: N815
    execution = RunExecution(allow_null=True)


class BackfillAnswer(Shape):
    """The instants that will run; those that had run already, or were queued, are not among them."""

    queued = serializers.ListField(child=moment())


def status_of(schedule: Schedule) -> str:
    """Return ``active``, ``paused``, or ``ended`` where no run comes any more."""
    if schedule.paused_at is not None:
        return "paused"
    return "active" if schedule.due_at is not None else "ended"


def coming(schedule: Schedule, now: datetime, most: int = 5) -> list[dict[str, str]]:
    """Return the next runs, by the rules as they are, also of what is paused."""
    return [moment_in_zone(due, schedule.zone) for due in coming_runs(schedule, now, most)]


def moment_in_zone(due: datetime, zone: str) -> dict[str, str]:
    """Return ``{at, local}``: RFC 3339 in UTC, and with the zone's own offset."""
    return {"at": rfc3339(due), "local": due.astimezone(zone_of(zone)).isoformat(timespec="seconds")}


def reading(schedule: Schedule) -> str:
    """Return the plain English of the schedule's cron text."""
    return reading_of(parse_cron(schedule.cron), schedule.zone)


def schedule_body(schedule: Schedule, last: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a schedule as in lists; ``last`` is from :func:`last_runs_of`."""
    body: dict[str, Any] = {
        "id": str(schedule.pk),
        "name": schedule.name,
        "description": schedule.description,
        "status": status_of(schedule),
        "version": schedule.version,
        "workflowId": None if schedule.workflow_id is None else str(schedule.workflow_id),
        "workflowVersion": schedule.workflow_version,
        "inputs": secrets.mask(schedule.inputs),
        "priority": schedule.priority,
        "schedule": schedule.cron,
        "timezone": schedule.zone,
        "reading": reading(schedule),
        "overlapPolicy": schedule.overlap,
        "catchUp": _span(schedule.catch_up),
        "jitter": _span(schedule.jitter),
        "maxRuns": schedule.max_runs,
        "startAt": schedule.starts_at and rfc3339(schedule.starts_at),
        "endAt": schedule.ends_at and rfc3339(schedule.ends_at),
        "runs": schedule.runs,
        "nextRunAt": rfc3339(schedule.due_at) if schedule.due_at and schedule.paused_at is None else None,
        "lastRun": last,
        "createdAt": rfc3339(schedule.created_at),
        "createdBy": schedule.created_by,
        "updatedAt": rfc3339(schedule.updated_at),
    }
    if schedule.paused_at is not None:
        body |= {"pausedAt": rfc3339(schedule.paused_at), "pausedBy": schedule.paused_by}
        body |= {"pauseReason": schedule.pause_reason} if schedule.pause_reason else {}
    return body


def full_body(schedule: Schedule, now: datetime) -> dict[str, Any]:
    """Return a schedule with its spec and next runs."""
    spec = secrets.mask(schedule.spec.document) if schedule.spec is not None else None
    last = last_runs_of([schedule.pk]).get(schedule.pk)
    return schedule_body(schedule, last) | {"spec": spec, "nextRuns": coming(schedule, now)}


_LAST = """
SELECT r.schedule_id, r.due_at, r.outcome, e.id, e.status
FROM unnest(%s::uuid[]) AS s(id) CROSS JOIN LATERAL (
    SELECT * FROM workflows_schedulerun WHERE schedule_id = s.id ORDER BY due_at DESC LIMIT 1
) r LEFT JOIN workflows_execution e ON e.id = r.execution_id
"""


def last_runs_of(schedules: Sequence[UUID]) -> dict[UUID, dict[str, Any]]:
    """Return what became of the last instant of each of ``schedules`` that had one (one query)."""
    with connection.cursor() as cursor:
        cursor.execute(_LAST, [list(schedules)])
        return {
            row[0]: {
                "dueAt": rfc3339(row[1]),
                "outcome": row[2],
                "executionId": None if row[3] is None else str(row[3]),
                "executionStatus": row[4],
            }
            for row in cursor.fetchall()
        }


def run_body(run: ScheduleRun, execution: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a row of the history; ``execution`` has ``id``, ``status`` and ``ended_at`` of what it started."""
    return {
        "dueAt": rfc3339(run.due_at),
        "outcome": run.outcome,
        "trigger": run.trigger,
        "reason": run.reason,
        "triggeredBy": run.triggered_by,
        "decidedAt": rfc3339(run.decided_at),
        "execution": None
        if execution is None
        else {
            "id": str(execution["id"]),
            "status": execution["status"],
            "completedAt": execution["ended_at"] and rfc3339(execution["ended_at"]),
        },
    }


def _span(length: timedelta) -> str | None:
    return format_duration(length) if length else None
