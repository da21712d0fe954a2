"""What home counts, straight from the executions' rows over explicit windows (subsystem-dashboard 5).

A window includes its start and excludes its end; days are those of UTC.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db.models import Count, Q
from django.db.models.functions import TruncDay

from workflows.models import Customer, Execution, ExecutionStatus

DAYS = 14
OPEN = (ExecutionStatus.PENDING, ExecutionStatus.RUNNING, ExecutionStatus.WAITING, ExecutionStatus.PAUSED)
FAILED = (ExecutionStatus.FAILED, ExecutionStatus.TIMED_OUT)


@dataclass(frozen=True, slots=True)
class Day:
    """How many executions ended on a day, by how."""

    day: datetime
    success: int
    failed: int
    cancelled: int

    @property
    def total(self) -> int:
        """All that ended."""
        return self.success + self.failed + self.cancelled


def open_counts(customer: Customer) -> dict[str, int]:
    """Return how many executions stand in each of the statuses that are no end (one query)."""
    rows = Execution.objects.filter(customer=customer, ended_at=None).values_list("status").annotate(Count("pk"))
    return {status.value: 0 for status in OPEN} | dict(rows)


def ended_by_day(customer: Customer, now: datetime) -> list[Day]:
    """Return the last :data:`DAYS` days, oldest first, today (up to ``now``) last (one query)."""
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    first = today - timedelta(days=DAYS - 1)
    rows = (
        Execution.objects.filter(customer=customer, ended_at__gte=first)
        .annotate(day=TruncDay("ended_at", tzinfo=UTC))
        .values("day")
        .annotate(
            success=Count("pk", filter=Q(status=ExecutionStatus.SUCCESS)),
            failed=Count("pk", filter=Q(status__in=FAILED)),
            cancelled=Count("pk", filter=Q(status=ExecutionStatus.CANCELLED)),
        )
    )
    found = {row["day"]: Day(row["day"], row["success"], row["failed"], row["cancelled"]) for row in rows}
    days = (first + timedelta(days=number) for number in range(DAYS))
    return [found.get(day) or Day(day, 0, 0, 0) for day in days]
