"""Schedules for tests: made due at will, by the database's clock."""

from datetime import datetime, timedelta
from typing import Any

from workflows.models import Customer, Schedule, ScheduleRun
from workflows.schedules.changes import create_schedule
from workflows.schedules.firing import database_now, fire_due

HOUR = timedelta(hours=1)
PASS: dict[str, Any] = {"name": "nightly", "states": [{"name": "A", "type": "Pass", "result": 1}]}
HOLD: dict[str, Any] = {"name": "long", "states": [{"name": "Hold", "type": "WaitForSignal", "signal": "go"}]}


def schedule_of(customer: Customer, spec: dict[str, Any] = PASS, **settings: Any) -> Schedule:
    """A schedule that runs every hour, counted from now."""
    wanted = {"name": "hourly", "schedule": "@every 1h", "spec": spec, **settings}
    return create_schedule(customer, wanted, by="ada")


def make_due(schedule: Schedule, *, late: timedelta = timedelta(seconds=1), runs: int = 1) -> list[datetime]:
    """Let the last of ``runs`` instants, an hour apart, be ``late``; returns them. For what runs each hour."""
    last = (database_now() - late).replace(microsecond=0)
    due = [last - number * HOUR for number in reversed(range(runs))]
    Schedule.objects.filter(pk=schedule.pk).update(due_at=due[0], fires_at=due[0], anchor=due[0])
    return due


def outcomes(schedule: Schedule) -> list[str]:
    """The outcomes in the history, the oldest instant first."""
    return list(ScheduleRun.objects.filter(schedule=schedule).order_by("due_at").values_list("outcome", flat=True))


def last_run(schedule: Schedule) -> ScheduleRun:
    """The newest row of the history."""
    return ScheduleRun.objects.filter(schedule=schedule).order_by("-due_at")[0]


def fire_all() -> int:
    """Deal with everything that is due, as a clock does; returns how many schedules."""
    total = 0
    while count := fire_due():
        total += count
    return total
