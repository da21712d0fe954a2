"""What the admin's index counts: what runs, what waits for people, what failed. Each is one query."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse

from workflows.admin.scoping import roles_in, user_of
from workflows.models import ApprovalGate, Execution, ExecutionStatus
from workflows.models.approval import GateStatus

MOST = 10_000  # what a figure counts up to
MOST_ENDED = 20_000  # of those that ended lately, the newest, failed or not
_FAILED = (ExecutionStatus.FAILED, ExecutionStatus.TIMED_OUT)
LATELY = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Figure:
    """A count with its words, the list it leads to, and its tone; ``is_cut``: there may be more."""

    count: int
    words: str
    url: str
    tone: str
    is_cut: bool


def figures_for(request: HttpRequest) -> list[Figure]:
    """Return the three figures of the customers that the user belongs to; superusers see all (three queries).

    Nobody is shown figures of nothing: without a customer there are none.
    """
    if not user_of(request).is_superuser and not roles_in(request):
        return []
    now = datetime.now(UTC)
    since = now - LATELY
    running = _own(request, Execution.objects.filter(ended_at=None, status=ExecutionStatus.RUNNING))
    gates = _own(request, ApprovalGate.objects.filter(status=GateStatus.PENDING, expires_at__gt=now))
    # The newest that ended, whatever became of them: a walk along an index, which stops.
    ended = _own(request, Execution.objects.filter(ended_at__gte=since)).order_by("-ended_at").values("status")
    told = ended[:MOST_ENDED].aggregate(all=Count("status"), failed=Count("status", filter=Q(status__in=_FAILED)))
    failures = {"status__in": ",".join(_FAILED), "ended_at__gte": since.strftime("%Y-%m-%d %H:%M:%S+00:00")}
    return [
        # Without an end: PostgreSQL then reads the index of those alone, also for the list that this leads to.
        _figure(
            running[:MOST].count(), "running", "execution", "busy",
            status__exact="running", ended_at__isnull="True",
        ),
        _figure(gates[:MOST].count(), "waiting for people", "approvalgate", "wait"),
        _figure(
            told["failed"], "failed in the last 24 h", "execution", "bad",
            is_cut=told["all"] == MOST_ENDED, **failures,
        ),
    ]  # fmt: skip


def _own(request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
    return rows if user_of(request).is_superuser else rows.filter(customer__in=list(roles_in(request)))


def _figure(count: int, words: str, model: str, tone: str, *, is_cut: bool = False, **filters: str) -> Figure:
    url = reverse(f"admin:workflows_{model}_changelist")
    query = f"?{urlencode(filters)}" if filters else ""
    return Figure(count, words, url + query, tone if count else "idle", is_cut or count == MOST)
