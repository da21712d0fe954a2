"""The states of a run as a waterfall: one row for each attempt and each place where the run stands now."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import F

from workflows import secrets
from workflows.api.states import cursors_of
from workflows.models import Branch, Execution, StateRun

ROWS = 500  # attempts on the page, the newest; REST has them all
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
    started: datetime | None
    ended: datetime | None
    left: float
    width: float
    note: str = ""
    reused: bool = False
    wake_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Timeline:
    """Rows in the order in which they began; ``hidden`` older ones are left out."""

    rows: tuple[Row, ...]
    hidden: bool
    span: timedelta
    states: frozenset[str] = field(default_factory=frozenset)

    def has(self, state: str) -> bool:
        """Whether the state ran."""
        return state in self.states


def timeline_of(execution: Execution, now: datetime | None = None) -> Timeline:
    """Return the waterfall of the execution as of ``now`` (two queries)."""
    moment = execution.ended_at or now or datetime.now(UTC)
    start = execution.started_at or execution.created_at
    # Adding 0 keeps PostgreSQL from walking the primary key of everybody's history to find this one's rows.
    runs = list(
        StateRun.objects.filter(execution=execution.pk)
        .alias(place=F("id") + 0)
        .order_by("-place")
        .select_related("branch")
        .defer("input", "output", "assigned", "branch__variables", "branch__item", "branch__previous")[: ROWS + 1]
    )
    hidden = len(runs) > ROWS
    runs = runs[:ROWS]
    cursors = [] if execution.ended_at else list(cursors_of(execution.pk)[:ROWS])
    span = max(moment - start, timedelta(milliseconds=1))

    def bar(began: datetime | None, ended: datetime | None) -> tuple[float, float]:
        left = min(max(((began or moment) - start) / span * 100, 0.0), 100 - NARROWEST)
        right = min(max(((ended or moment) - start) / span * 100, left + NARROWEST), 100.0)
        return round(left, 2), round(right - left, 2)

    began, last = _beginnings(runs)
    rows = [
        _ended(run, began[run.pk], *((0.0, NARROWEST) if run.reused else bar(began[run.pk], run.ended_at)))
        for run in runs
    ]
    for branch in cursors:
        since = last.get((branch.pk, branch.visit)) or branch.state_entered_at
        rows.append(_standing(branch, since, *bar(since, None)))
    rows.sort(key=lambda row: row.started or moment)
    return Timeline(tuple(rows), hidden, span, frozenset(run.state for run in runs))


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
        place=_place(run.branch),
        kind=run.activity or run.type,
        status=run.status,
        attempt=run.attempt,
        visit=run.visit,
        run_id=run.pk,
        started=began,
        ended=run.ended_at,
        left=left,
        width=width,
        note=str(error.get("message", "")),
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
        place=_place(branch),
        kind=branch.activity,
        status=branch.status,
        attempt=branch.attempt,
        visit=branch.visit,
        run_id=None,
        started=since,
        ended=None,
        left=left,
        width=width,
        note=words.get(branch.waiting_for, ""),
        wake_at=branch.wake_at,
    )


def _place(branch: Branch) -> str:
    """Where inside the workflow: "" at the top, ``Fan/left``, ``Each[3]``."""
    if branch.body.endswith("*"):
        return f"{branch.body.rstrip('*').rstrip('/')}[{branch.index}]"
    return branch.body
