"""The states of a run as a waterfall: where it stands now, each attempt, and the items of each Map in one line.

Refuses to hold a long run whole: the page shows the newest attempts, and the others come a page at a time.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Case, Count, F, IntegerField, Max, Min, Q, QuerySet, Value, When

from poimen_site.pages.from_cache import makers_of
from poimen_site.pages.places import places_of
from workflows import secrets
from workflows.api.states import cursors_of
from workflows.models import Branch, Execution, StateRun
from workflows.terminal_text import plain

PAGE = 250  # attempts; the page of a run shows the last page, and the one before it until that is full
NOW_SHOWN = 30
ITEMS_PAGE = 100
NARROWEST = 0.6  # percent: a bar that can be seen


@dataclass(frozen=True, slots=True)
class Row:
    """One attempt, or one cursor (``run_id`` None). ``left`` and ``width`` are percent of the run's whole time."""

    state: str
    place: str
    kind: str
    status: str
    attempt: int
    visit: int
    run_id: int | None
    branch: UUID
    started: datetime | None
    ended: datetime | None
    left: float
    width: float
    note: str = ""
    reused: bool = False
    is_from_cache: bool = False
    wake_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Items:
    """All that ran inside a Map: ``counts`` are its items by status, ``attempts`` those of their states."""

    body: str
    state: str
    counts: tuple[tuple[str, int], ...]
    attempts: int
    started: datetime
    left: float
    width: float


@dataclass(frozen=True, slots=True)
class Timeline:
    """``now``: where it stands, what runs in front, ``more_now`` others left out. ``rows``: attempts and Maps in the
    order in which they began, from the attempt numbered ``first`` (0: all of them)."""

    now: tuple[Row, ...]
    more_now: int
    rows: tuple[Row | Items, ...]
    first: int


def timeline_of(execution: Execution, now: datetime | None = None) -> Timeline:
    """Return the waterfall of the execution as of ``now`` (six queries, eight with Maps or Parallels)."""
    scale = _Scale(execution, now)
    ran = list(
        StateRun.objects.filter(execution=execution.pk)
        .values_list("branch__body", "state")
        .annotate(Count("pk"), Min("started_at"), Max("ended_at"))
    )
    total = sum(count for body, _, count, _, _ in ran if not _map_of(body))
    first = max(0, (total - PAGE - 1) // PAGE * PAGE)
    runs = list(_outside(execution)[first:])
    cursors, more = [], 0
    if execution.ended_at is None:
        standing = cursors_of(execution.pk)
        cursors = list(standing.order_by(_urgency(), "depth", "index", "pk")[: NOW_SHOWN + 1])
        more = standing.count() - NOW_SHOWN if len(cursors) > NOW_SHOWN else 0
        cursors = cursors[:NOW_SHOWN]
    rows: list[Row | Items] = [*scale.rows(runs)]
    rows += _maps(execution, ran, scale)
    rows.sort(key=lambda row: row.started or scale.moment)
    return Timeline(
        tuple(_placed(execution, [scale.standing(branch, runs) for branch in cursors])),
        more,
        tuple(rows),
        first,
    )


def attempts_before(execution: Execution, first: int) -> tuple[list[Row], int]:
    """Return the page of attempts outside Maps that ends before number ``first``, and the number of its first."""
    start = max(0, first - PAGE)
    return _placed(execution, _Scale(execution).rows(list(_outside(execution)[start:first]))), start


def attempts_inside(execution: Execution, body: str, start: int) -> tuple[list[Row], int]:
    """Return attempts inside the Map ``body`` from number ``start``, failures first, and the next number (0: none)."""
    inside = Q(branch__body=body) | Q(branch__body__startswith=f"{body}/")
    is_well = Case(When(status="success", then=Value(1)), default=Value(0), output_field=IntegerField())
    runs = list(_runs(execution).filter(inside).order_by(is_well, "place")[start : start + ITEMS_PAGE + 1])
    rows = _placed(execution, _Scale(execution).rows(runs[:ITEMS_PAGE]))
    return rows, start + ITEMS_PAGE if len(runs) > ITEMS_PAGE else 0


class _Scale:
    """The run's whole time, on which every bar has its place."""

    def __init__(self, execution: Execution, now: datetime | None = None) -> None:
        self.execution = execution
        self.moment = execution.ended_at or now or datetime.now(UTC)
        self.start = execution.started_at or execution.created_at
        self.span = max(self.moment - self.start, timedelta(milliseconds=1))

    def bar(self, began: datetime | None, ended: datetime | None) -> tuple[float, float]:
        """``(left, width)`` in percent."""
        left = min(max(((began or self.moment) - self.start) / self.span * 100, 0.0), 100 - NARROWEST)
        right = min(max(((ended or self.moment) - self.start) / self.span * 100, left + NARROWEST), 100.0)
        return round(left, 2), round(right - left, 2)

    def rows(self, runs: list[StateRun]) -> list[Row]:
        """Attempts, in the order given (one query)."""
        began, _ = _beginnings(runs)
        cached = makers_of(self.execution, runs)
        bars = [(0.0, NARROWEST) if run.reused else self.bar(began[run.pk], run.ended_at) for run in runs]
        return [
            replace(_ended(run, began[run.pk], *bar), is_from_cache=run.pk in cached)
            for run, bar in zip(runs, bars, strict=True)
        ]

    def standing(self, branch: Branch, runs: list[StateRun]) -> Row:
        """Where a branch stands, since its last attempt there or since it came there."""
        _, last = _beginnings(runs)
        since = last.get((branch.pk, branch.visit)) or branch.state_entered_at
        return _standing(branch, since, *self.bar(since, None))


def _runs(execution: Execution) -> QuerySet[Any]:
    # Adding 0 keeps PostgreSQL from walking the primary key of everybody's history to find this one's rows.
    runs: QuerySet[Any] = (
        StateRun.objects.filter(execution=execution.pk)
        .alias(place=F("id") + 0)
        .select_related("branch")
        .defer("input", "output", "assigned", "branch__variables", "branch__item", "branch__previous")
    )
    return runs


def _outside(execution: Execution) -> QuerySet[Any]:
    """The attempts that belong to no item of a Map, oldest first."""
    return _runs(execution).exclude(branch__body__contains="/*").order_by("place")


def _map_of(body: str) -> str:
    """The outermost Map around a list of states, such as ``Each/*``; "" outside of any."""
    name, found, _ = body.partition("/*")
    return name + found if found else ""


def _maps(execution: Execution, ran: list[Any], scale: _Scale) -> list[Items]:
    seen: dict[str, tuple[int, datetime, datetime]] = {}
    for body, _, count, began, ended in ran:
        if key := _map_of(body):
            attempts, first, last = seen.get(key, (0, began, ended))
            seen[key] = (attempts + count, min(first, began), max(last, ended))
    if not seen:
        return []
    items = Branch.objects.filter(execution=execution.pk, body__in=seen).values_list("body", "status")
    counts: dict[str, list[tuple[str, int]]] = {}
    for body, status, count in items.annotate(Count("pk")).order_by("status"):
        counts.setdefault(body, []).append((status, count))
    return [
        Items(key, key.removesuffix("/*"), tuple(counts.get(key, ())), attempts, began, *scale.bar(began, ended))
        for key, (attempts, began, ended) in seen.items()
    ]


def _urgency() -> Case:
    """What runs, what may, what waits, and last what only waits for the branches below it."""
    order = (Q(status="running"), Q(status="ready"), ~Q(waiting_for="children"))
    cases = [When(condition, then=Value(place)) for place, condition in enumerate(order)]
    return Case(*cases, default=Value(len(order)), output_field=IntegerField())


def _placed(execution: Execution, rows: list[Row]) -> list[Row]:
    """With the whole place of what is inside a Map or Parallel."""
    inside = {row.branch for row in rows if row.place}
    places = places_of(execution.pk, inside) if inside else {}
    return [replace(row, place=places[row.branch].whole) if row.branch in places else row for row in rows]


def _beginnings(runs: Iterable[StateRun]) -> tuple[dict[int, datetime], dict[tuple[UUID, int], datetime]]:
    """When each attempt began: a second one not with the visit, but when the one before it ended.

    Also when the last known attempt of each ``(branch, visit)`` ended.
    """
    began: dict[int, datetime] = {}
    last: dict[tuple[UUID, int], datetime] = {}
    for run in sorted(runs, key=lambda run: run.pk):
        visit = (run.branch_id, run.visit)
        began[run.pk] = max(run.started_at, last.get(visit, run.started_at))
        last[visit] = run.ended_at
    return began, last


def _ended(run: StateRun, began: datetime, left: float, width: float) -> Row:
    error: dict[str, Any] = secrets.mask(run.error) or {}
    return Row(
        state=run.state,
        place=run.branch.body,
        kind=run.activity or run.type,
        status=run.status,
        attempt=run.attempt,
        visit=run.visit,
        run_id=run.pk,
        branch=run.branch_id,
        started=began,
        ended=run.ended_at,
        left=left,
        width=width,
        note=plain(str(error.get("message", ""))),
        reused=run.reused,
    )


def _standing(branch: Branch, since: datetime | None, left: float, width: float) -> Row:
    words = {
        "timer": "waits for its time",
        "retry": "waits to try again",
        "signal": f"waits for the signal {branch.wait_signal}",
        "activity": "waits for a person"
        if branch.wait_signal.startswith("approval:")
        else f"waits for {branch.wait_signal}",
        "children": "waits for its branches",
        "execution": "waits for a child run",
    }
    return Row(
        state=branch.state,
        place=branch.body,
        kind=branch.activity,
        status=branch.status,
        attempt=branch.attempt,
        visit=branch.visit,
        run_id=None,
        branch=branch.pk,
        started=since,
        ended=None,
        left=left,
        width=width,
        note=words.get(branch.waiting_for, ""),
        wake_at=branch.wake_at,
    )
