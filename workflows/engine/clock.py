"""What the passing of time and the death of workers bring about: timers, lost leases, deadlines, schedules, retention.

Any number may run; one leads, by a session lock in the database. Every duty is one guarded statement or transaction,
so that two leaders during a fail-over do no harm. Only the database's clock counts.
"""

import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import psycopg
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connections

from workflows import approvals, control, plugins, tracing
from workflows.audit import anchor
from workflows.engine import hints, log_order, presence, retention
from workflows.engine.statements import LOCK_EXECUTION
from workflows.engine.store import connection_parameters
from workflows.identifiers import new_id
from workflows.metrics.tallies import Tally
from workflows.models import ProcessKind
from workflows.schedules import firing
from workflows.schedules.deciding import PUNCTUAL

log = logging.getLogger(__name__)

LEADER_LOCK = 0x706F6963
TICK_SECONDS = 1.0
SHORTEST_TICK_SECONDS = 0.02
PUMP_CHECK_SECONDS = 2.0
RETENTION_SECONDS = 60.0
ANCHOR_SECONDS = 15.0
TALLY_SECONDS = 5.0
TRACE_SECONDS = 2.0
QUEUE_SECONDS = 0.5
MOVING_QUEUE_SECONDS = 0.05  # while runs that were queued start and end quickly
MOVING_SECONDS = 5.0
MEND_SECONDS = 15.0
JUMP_SECONDS = 2.0

# The execution is locked too: a pause or resume that commits at this moment must not be overlooked.
_WAKE_DUE = """
WITH due AS (
    SELECT b.id, e.pause_requested_at IS NOT NULL AS is_paused
    FROM workflows_branch b JOIN workflows_execution e ON e.id = b.execution_id
    WHERE b.status = 'waiting' AND b.wake_at <= now()
    ORDER BY b.wake_at LIMIT 1000 FOR SHARE OF e SKIP LOCKED FOR UPDATE OF b SKIP LOCKED
)
UPDATE workflows_branch b SET status = CASE WHEN due.is_paused THEN 'held' ELSE 'ready' END, ready_at = now()
FROM due WHERE b.id = due.id
"""

# A worker that died, or was away too long: its branch is ready again, under the next epoch, and the run that was in
# flight is part of the history.
_TAKE_BACK = """
WITH lost AS (
    SELECT b.id, b.lease_owner, e.pause_requested_at IS NOT NULL AS is_paused
    FROM workflows_branch b JOIN workflows_execution e ON e.id = b.execution_id
    WHERE b.status = 'running' AND b.lease_owner IS NOT NULL AND b.lease_expires_at < now() LIMIT 1000
    FOR SHARE OF e SKIP LOCKED FOR UPDATE OF b SKIP LOCKED
), back AS (
    UPDATE workflows_branch b SET
        status = CASE WHEN lost.is_paused AND b.stop = '' THEN 'held' ELSE 'ready' END,
        epoch = b.epoch + 1, attempt = b.attempt + 1,
        interruptions = b.interruptions + 1, lease_owner = NULL, lease_expires_at = NULL, ready_at = now()
    FROM lost WHERE b.id = lost.id
    RETURNING b.id, b.execution_id, b.state, b.visit, b.attempt, b.activity, b.state_entered_at, b.epoch,
        lost.lease_owner
), runs AS (
    INSERT INTO workflows_staterun (execution_id, branch_id, state, visit, attempt, type, activity, status, error,
        next_state, started_at, ended_at, worker, epoch, reused)
    SELECT execution_id, id, state, visit, attempt - 1, CASE WHEN activity <> '' THEN 'Task' ELSE '' END, activity,
        'interrupted', jsonb_build_object('name', 'Interrupted', 'message', 'the worker was lost'), state,
        COALESCE(state_entered_at, now()), now(),
        COALESCE((SELECT p.host || ':' || p.pid FROM workflows_process p WHERE p.id = lease_owner), lease_owner::text),
        epoch - 1, false
    FROM back ON CONFLICT DO NOTHING
)
INSERT INTO workflows_logentry (execution_id, branch_id, node_id, level, event, message)
SELECT execution_id, id, state, 'warn', 'state.interrupted',
    'the worker running ' || state || ' was lost: it runs again'
FROM back
"""

_OVERDUE = "SELECT id FROM workflows_execution WHERE deadline_at <= now() AND ended_at IS NULL LIMIT 100"

_SCHEDULE_IS_DUE = """
SELECT extract(epoch FROM now())::float
WHERE EXISTS (SELECT 1 FROM workflows_schedule WHERE paused_at IS NULL AND fires_at <= now())
"""

# What a leader that died a moment ago was in the middle of.
_LEFT_BEHIND = """
SELECT (details->>'working_since')::float FROM workflows_process
WHERE kind = 'clock' AND id <> %s AND heartbeat_at > now() - %s AND details->>'working_since' IS NOT NULL
ORDER BY heartbeat_at DESC LIMIT 1
"""

_NEXT = """
SELECT extract(epoch FROM LEAST(
    (SELECT min(wake_at) FROM workflows_branch WHERE status = 'waiting' AND wake_at IS NOT NULL),
    (SELECT min(fires_at) FROM workflows_schedule WHERE paused_at IS NULL AND fires_at IS NOT NULL)
) - now())::float
"""

_MISSED_SIGNALS = """
SELECT b.execution_id, b.id FROM workflows_branch b WHERE b.status = 'waiting' AND b.wait_signal <> '' AND EXISTS (
    SELECT 1 FROM workflows_signal s WHERE s.execution_id = b.execution_id AND s.name = b.wait_signal
        AND s.consumed_at IS NULL) LIMIT 100
"""

# What a worker left when it died between a commit and saying what the execution does now: a pause that is not called
# one yet, or a branch that stopped for a pause which was taken back.
_UNSETTLED = """
SELECT id FROM workflows_execution WHERE pause_requested_at IS NOT NULL AND ended_at IS NULL AND status <> 'paused'
UNION
SELECT b.execution_id FROM workflows_branch b JOIN workflows_execution e ON e.id = b.execution_id
WHERE b.status = 'held' AND e.pause_requested_at IS NULL AND e.ended_at IS NULL
LIMIT 100
"""


class Clock:
    """The clock's loop. ``run`` blocks until ``stop``."""

    def __init__(self) -> None:
        self.id = new_id()
        self._stopping = False
        self._tally = Tally()
        self._history = tracing.History() if tracing.is_wanted() else None
        self._last_ran: dict[str, float] = {}
        self._patient_until = 0.0
        self._moving_until = 0.0
        self._clocks: tuple[float, float] | None = None  # ours, monotonic, and the database's, in seconds
        # Since when something has been due at every look, by the database's clock in seconds; when we last beat there.
        self._working_since: float | None = None
        self._beaten_at = 0.0

    def stop(self) -> None:
        """Return from :meth:`run` at the next tick."""
        self._stopping = True

    def run(self) -> None:
        """Tick until stopped; waits while the database is away, and gives leases time to be renewed after that."""
        while not self._stopping:
            try:
                with psycopg.connect(**connection_parameters()) as connection:
                    self._lead(connection)
            except (psycopg.Error, DatabaseError, InterfaceError) as error:
                log.warning(
                    "the clock waits for the database (%s)",
                    str(error).strip().partition("\n")[0],
                )
                self._be_patient()
                time.sleep(0.5)
            finally:
                connections["default"].close()  # what the gates use; a broken one must not be used again

    def _be_patient(self) -> None:
        # Workers could not beat either while the database was away or stood still: let them before judging them. Two of
        # their beats long, not a whole lease: a database that keeps crashing must not protect the dead for ever.
        self._patient_until = time.monotonic() + settings.POIMEN_LEASE_SECONDS / 2

    def _lead(self, connection: psycopg.Connection[Any]) -> None:
        leads = False
        self._clocks = None
        while not self._stopping:
            self._beat(connection, leads)
            if not leads:
                row = connection.execute("SELECT pg_try_advisory_lock(%s)", (LEADER_LOCK,)).fetchone()
                leads = bool(row and row[0])
                if leads:
                    log.info("clock %s leads", self.id)
                    log_order.mend_after_restore(connection)
                    self._take_over(connection)
            if leads:
                self.tick(connection)
                time.sleep(self._until_next(connection))
            else:
                time.sleep(TICK_SECONDS)
        presence.sign_off(connection, self.id)

    def tick(self, connection: psycopg.Connection[Any]) -> None:
        """Do everything that is due."""
        woken = connection.execute(_WAKE_DUE).rowcount
        if time.monotonic() >= self._patient_until:
            woken += connection.execute(_TAKE_BACK).rowcount
        if woken > 0:
            hints.notify_ready(connection)
        self._each(connection, _OVERDUE, self._time_out)
        # A batch at a time: however many are due at once, everything else has its turn in between.
        self._fire_due(connection)
        is_moving = time.monotonic() < self._moving_until
        self._at_most_every(MOVING_QUEUE_SECONDS if is_moving else QUEUE_SECONDS, "queues", self._start_queued)
        self._at_most_every(MEND_SECONDS, "schedules", firing.mend_ahead)
        self._at_most_every(TICK_SECONDS, "gates", approvals.expire_due_gates)
        self._at_most_every(
            TICK_SECONDS * 5,
            "signals",
            lambda: self._each(connection, _MISSED_SIGNALS, self._wake),
        )
        self._at_most_every(
            TICK_SECONDS * 5, "settling", lambda: self._each(connection, _UNSETTLED, control.settle_status)
        )
        self._at_most_every(PUMP_CHECK_SECONDS, "pumps", lambda: self._want_pumps(connection))
        self._at_most_every(RETENTION_SECONDS, "plugins", plugins.note_installed)
        self._at_most_every(RETENTION_SECONDS, "retention", lambda: retention.prune(connection))
        self._at_most_every(TALLY_SECONDS, "tallies", lambda: self._tally.advance(connection))
        if (history := self._history) is not None:
            self._at_most_every(TRACE_SECONDS, "traces", lambda: history.advance(connection))
        self._at_most_every(ANCHOR_SECONDS, "anchor", lambda: anchor.renew(connection))

    def _fire_due(self, connection: psycopg.Connection[Any]) -> None:
        """Deal with one batch of the schedules that are due, if any are."""
        due = connection.execute(_SCHEDULE_IS_DUE).fetchone()
        if due is None:
            self._working_since = None
            return
        if self._working_since is None:
            self._working_since = float(due[0])
        firing.fire_due(working_since=datetime.fromtimestamp(self._working_since, UTC))

    def _take_over(self, connection: psycopg.Connection[Any]) -> None:
        """Go on where a leader died among schedules that are due: they are not late because it did."""
        if self._working_since is None:
            left = connection.execute(_LEFT_BEHIND, (self.id, PUNCTUAL)).fetchone()
            self._working_since = float(left[0]) if left is not None else None

    def _until_next(self, connection: psycopg.Connection[Any]) -> float:
        row = connection.execute(_NEXT).fetchone()
        due = row[0] if row and row[0] is not None else TICK_SECONDS
        longest = MOVING_QUEUE_SECONDS if time.monotonic() < self._moving_until else TICK_SECONDS / 4
        return float(min(max(due, SHORTEST_TICK_SECONDS), longest))

    def _start_queued(self) -> None:
        """Start what is queued; where that goes on, look again soon, so that one run follows the other at once."""
        if firing.start_queued():
            self._moving_until = time.monotonic() + MOVING_SECONDS

    def _at_most_every(self, seconds: float, name: str, duty: Callable[[], Any]) -> None:
        now = time.monotonic()
        if now - self._last_ran.get(name, -1e9) >= seconds:
            self._last_ran[name] = now
            duty()

    def _each(
        self,
        connection: psycopg.Connection[Any],
        sql: str,
        duty: Callable[..., None],
    ) -> None:
        """Do ``duty`` for every row of ``sql``, each in a transaction that has locked the execution named first."""
        for execution, *more in connection.execute(sql).fetchall():
            with connection.transaction(), connection.cursor() as cursor:
                cursor.execute(LOCK_EXECUTION, {"id": execution})
                duty(cursor, execution, *more)

    def _wake(self, cursor: psycopg.Cursor[Any], execution: UUID, branch: UUID) -> None:
        control.wake_branches(cursor, [branch])

    def _time_out(self, cursor: psycopg.Cursor[Any], execution: UUID) -> None:
        cursor.execute(
            "UPDATE workflows_execution SET deadline_at = NULL, error = jsonb_build_object('name', 'Timeout', "
            "'message', 'the execution passed its timeout') WHERE id = %s AND ended_at IS NULL",
            (execution,),
        )
        if cursor.rowcount:
            control.stop_branches(cursor, execution, "timeout")
            control.finish_if_stopped(cursor, execution)

    def _want_pumps(self, connection: psycopg.Connection[Any]) -> None:
        """Ask for pumps where clusters have workers that are not pumping."""
        row = connection.execute(
            "SELECT COALESCE(sum((details->>'workers')::int) FILTER (WHERE kind = 'cluster'), 0), "
            "count(*) FILTER (WHERE kind = 'pump') FROM workflows_process "
            "WHERE heartbeat_at > now() - %s * interval '1 second'",
            (settings.POIMEN_LEASE_SECONDS,),
        ).fetchone()
        assert row is not None
        if row[1] < row[0]:
            hints.request_pumps(row[0] - row[1])

    def _compare_clocks(self, database_time: float) -> None:
        """Notice that the database's clock was set, or that nothing ran for a while: both make leases look expired."""
        now = time.monotonic()
        if self._clocks is not None:
            passed, passed_there = now - self._clocks[0], database_time - self._clocks[1]
            if abs(passed_there - passed) > JUMP_SECONDS or passed > settings.POIMEN_LEASE_SECONDS / 2:
                log.warning(
                    "%.1f s passed here and %.1f s in the database; no lease is judged now", passed, passed_there
                )
                self._be_patient()
        self._clocks = now, database_time

    def _beat(self, connection: psycopg.Connection[Any], leads: bool) -> None:
        since = self._working_since
        now = presence.sign_in(connection, self.id, ProcessKind.CLOCK, leads=leads, working_since=since)
        if now - self._beaten_at > PUNCTUAL.total_seconds():
            self._working_since = None  # nothing was dealt with meanwhile: what was due then is late
        self._beaten_at = now
        self._compare_clocks(now)
