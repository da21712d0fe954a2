"""States that wait: for a time, for a signal, for a suspended activity to be told to go on.

A waiting branch is a row, not a worker. Whoever parks for a signal looks for one under the execution's row lock, the
same lock under which signals are sent, so that none is missed.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings

from workflows import control
from workflows.engine import outcomes
from workflows.engine.line import Line, LineScope
from workflows.engine.outcomes import Outcome
from workflows.engine.store import Store
from workflows.errors import ActivityTimeout, InvalidInput
from workflows.spec.durations import format_duration, parse_duration, parse_moment
from workflows.spec.limits import MAX_WAIT

log = logging.getLogger(__name__)


class SignalGone(Exception):
    """Another branch took the signal first; nothing was written."""


@dataclass(frozen=True, slots=True)
class TakenSignal:
    """An unconsumed signal that the line is about to take."""

    id: UUID
    payload: Any

    def consume(self, cursor: Any, line: Line) -> None:
        """Mark it as taken by the line, in the caller's transaction; :class:`SignalGone` if another was faster."""
        cursor.execute(
            "UPDATE workflows_signal SET consumed_at = now(), consumed_by = %s, consumed_visit = %s "
            "WHERE id = %s AND consumed_at IS NULL",
            (line.id, line.visit, self.id),
        )
        if cursor.rowcount != 1:
            raise SignalGone


@dataclass(frozen=True, slots=True)
class WithSignal:
    """An outcome that must consume a signal in its own transaction."""

    outcome: Outcome
    signal: TakenSignal

    def consume(self, line: Line) -> Callable[[Any], None]:
        """Return what to do in the transaction; it raises :class:`SignalGone` if another was faster."""
        return lambda cursor: self.signal.consume(cursor, line)


@cache
def home() -> Path:
    """Where workspaces and artifacts live."""
    return Path(settings.POIMEN_HOME)


def duration(text: str) -> timedelta:
    """Parse a duration of a running spec; raises :class:`InvalidInput`."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise InvalidInput(f"duration: {error}") from None


def enter_wait(store: Store, line: Line, started: datetime) -> Outcome | bool:
    """A Wait state: park until its time, then go on."""
    if line.waiting_for == "timer":
        if line.is_due:
            return outcomes.succeeded(line, line.previous, started=line.entered_at)
        return park_again(store, line)
    templates, scope = line.step.templates, LineScope(line)
    until: datetime | None = None
    length: timedelta | None = None
    if "duration" in templates:
        length = duration(templates["duration"].resolve(scope))
    else:
        text = templates["until"].resolve(scope)
        try:
            until = parse_moment(text)
        except ValueError as error:
            raise InvalidInput(f"until: {text!r} {error}") from None
    if (length if length is not None else (until or started) - started) > MAX_WAIT:
        raise InvalidInput(f"a Wait may last {MAX_WAIT.days} days")
    line.log(
        "info",
        "state.waiting",
        f"{line.state} waits "
        + (f"for {format_duration(length)}" if length is not None else f"until {until:%Y-%m-%d %H:%M:%S} UTC"),
    )
    store.advance(line, status="waiting", waiting_for="timer", wake_at=until, wake_in=length)
    settle(store, line)
    return False


def enter_signal(store: Store, line: Line, started: datetime) -> Outcome | bool | Any:
    """A WaitForSignal state: take a signal that is there, else park; past the timeout fail with Timeout."""
    name = line.wait_signal or str(line.step.templates["signal"].resolve(LineScope(line)))
    line.wait_signal = name
    signal = awaited_signal(store, line)
    if signal is not None:
        outcome = outcomes.succeeded(line, signal.payload, given={"signal": name}, started=line.entered_at)
        return WithSignal(outcome, signal)
    if line.waiting_for == "signal":
        if line.is_due:
            raise ActivityTimeout(f"no signal {name!r} arrived in time")
        return park_for_signal(store, line, name, wake_at=line.wake_at, waiting_for="signal")
    line.log("info", "state.waiting", f"{line.state} waits for the signal {name}")
    return park_for_signal(store, line, name, wake_in=line.step.timeout, waiting_for="signal")


def awaited_signal(store: Store, line: Line) -> TakenSignal | None:
    """The oldest unconsumed signal of the name the line waits for."""
    if not line.wait_signal:
        return None
    rows = store.rows(
        "SELECT id, payload FROM workflows_signal WHERE execution_id = %s AND name = %s AND consumed_at IS NULL "
        "ORDER BY id LIMIT 1",
        (line.execution.id, line.wait_signal),
    )
    return TakenSignal(*rows[0]) if rows else None


def park_for_signal(
    store: Store,
    line: Line,
    name: str,
    *,
    waiting_for: str,
    wake_at: datetime | None = None,
    wake_in: timedelta | None = None,
    taken: TakenSignal | None = None,
) -> bool:
    """Park until a signal ``name`` comes, or the time; if it is there already the branch is ready at once.

    ``taken`` is the signal that was had from the last wait, and is not to come again.
    """

    def look(cursor: Any) -> None:
        if taken is not None:
            taken.consume(cursor, line)
        cursor.execute(
            "SELECT 1 FROM workflows_signal WHERE execution_id = %s AND name = %s AND consumed_at IS NULL LIMIT 1",
            (line.execution.id, name),
        )
        if cursor.fetchone() is not None:
            control.wake_branches(cursor, [line.id])

    store.advance(
        line, status="waiting", waiting_for=waiting_for, wait_signal=name, wake_at=wake_at, wake_in=wake_in, also=look,
        locking=True,
    )  # fmt: skip
    settle(store, line)
    return False


def park_again(store: Store, line: Line) -> bool:
    """Woken without cause (a stale hint): wait on for the same thing."""
    if line.wait_signal:
        return park_for_signal(
            store,
            line,
            line.wait_signal,
            wake_at=line.wake_at,
            waiting_for=line.waiting_for,
        )
    store.advance(line, status="waiting", waiting_for=line.waiting_for, wake_at=line.wake_at)
    settle(store, line)
    return False


def settle(store: Store, line: Line) -> None:
    """Bring the execution's status in line with its branches, and end it if it was stopped meanwhile."""

    def run(cursor: Any) -> None:
        control.settle_status(cursor, line.execution.id)

    store.transaction(run)
