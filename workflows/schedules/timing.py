"""When a schedule is due, and when it fires: the instants of its cron text within its bounds, and the jitter of each.

Owns arithmetic on one schedule; reads no clock and no database.
"""

import hashlib
from datetime import UTC, datetime
from typing import Final

from workflows.models import Schedule
from workflows.schedules.cron import parse_cron, start_of_search
from workflows.schedules.zones import zone_of

LATEST: Final = datetime.max.replace(tzinfo=UTC)


def due_after(schedule: Schedule, moment: datetime) -> datetime | None:
    """Return the first instant after ``moment`` at which the schedule is due, None if none comes any more.

    Bounds are ``starts_at`` (counts in), ``ends_at`` (does not) and ``max_runs``.
    """
    if schedule.max_runs is not None and schedule.runs >= schedule.max_runs:
        return None
    after = start_of_search(moment, schedule.starts_at)
    due = parse_cron(schedule.cron).next_after(after, zone_of(schedule.zone), schedule.anchor)
    return None if due is None or (schedule.ends_at is not None and due >= schedule.ends_at) else due


def fires_at(schedule: Schedule, due: datetime) -> datetime:
    """Return ``due`` and this instant's jitter: the same whoever asks and whenever, spread evenly over schedules."""
    if not schedule.jitter:
        return due
    digest = hashlib.sha256(f"{schedule.pk}:{int(due.timestamp())}".encode()).digest()
    jitter = schedule.jitter * (int.from_bytes(digest[:6]) / 2**48)
    return due + min(jitter, LATEST - due)


def plan(schedule: Schedule, now: datetime) -> None:
    """Set when the schedule is due next, seen from ``now``: at creation, after a change, and when it is resumed."""
    schedule.due_at = due_after(schedule, now)
    schedule.fires_at = fires_at(schedule, schedule.due_at) if schedule.due_at is not None else None
    schedule.decided_at = now


def coming_runs(schedule: Schedule, now: datetime, most: int) -> list[datetime]:
    """Return up to ``most`` instants at which it is due next: what is planned, and what follows by its rules."""
    due = schedule.due_at if schedule.paused_at is None else due_after(schedule, now)
    left = None if schedule.max_runs is None else schedule.max_runs - schedule.runs
    found: list[datetime] = []
    while due is not None and len(found) < (most if left is None else min(most, left)):
        found.append(due)
        due = due_after(schedule, due)
    return found
