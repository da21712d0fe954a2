"""The engine's way to the database: a small pool of prepared connections, and every guarded write.

Waits out a database that is away; refuses to decide anything. Statements are in ``statements``.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

import psycopg
from django.conf import settings
from django.db import connections
from psycopg.rows import tuple_row
from psycopg_pool import ConnectionPool, PoolTimeout

from workflows.engine import artifacts, hints, presence, statements
from workflows.engine.claims import Claims
from workflows.engine.json_text import dumps, loggable
from workflows.engine.line import Line
from workflows.engine.log_hints import LogHints
from workflows.engine.prepared import PreparedStatement
from workflows.models import ProcessKind

log = logging.getLogger(__name__)

T = TypeVar("T")
Statement = tuple[str, Any]

# What says that the database is away rather than that a statement is wrong.
AWAY = (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout)
_RETRY_SECONDS = 0.25
_GUARD = {"id": "uuid", "epoch": "bigint", "seq": "bigint", "visit": "int"}
_STEP = PreparedStatement("poimen_step", statements.STEP, {**_GUARD, "r_visit": "int", "r_attempt": "int"})
END_EXECUTION_AND_TAKE = PreparedStatement(
    "poimen_end_and_take",
    statements.END_EXECUTION_AND_TAKE,
    {**_GUARD, "attempt": "int", "execution": "uuid", "owner": "uuid"},
)


class StaleLease(Exception):
    """The branch belongs to someone else by now; nothing was written."""


class Stopping(Exception):
    """The pump must go while the database is away; what was not committed runs again elsewhere."""


class Store:
    """Owned by one pump. Thread-safe. ``worker`` is written into the history as who ran a state."""

    def __init__(
        self,
        owner: UUID,
        worker: str,
        *,
        connections_wanted: int,
        is_stopping: Callable[[], bool],
    ) -> None:
        self.owner = owner
        self.worker = worker
        self.lease = timedelta(seconds=settings.POIMEN_LEASE_SECONDS)
        self._lease_text = f"{settings.POIMEN_LEASE_SECONDS} seconds"
        self._is_stopping = is_stopping
        self._thread = threading.local()
        self.claims = Claims(self)
        self._pool = ConnectionPool(
            kwargs=connection_parameters(),
            min_size=1,
            max_size=connections_wanted,
            timeout=2,
            reconnect_timeout=1,  # else the pool pauses longer and longer while the database is away; we ask anew
            configure=_configure,
            open=True,
        )
        self.log_hints = LogHints(self._notify_logged)

    def close(self) -> None:
        """Close the connections."""
        self.log_hints.close()
        self._pool.close(timeout=2)

    # -- plumbing ------------------------------------------------------------------------------------------------

    def _patiently(self, work: Callable[[psycopg.Connection[Any]], T]) -> T:
        """Run ``work`` on a connection, again and again while the database is away.

        Repeating is safe: every write is guarded by epoch and sequence, see :meth:`_was_ours`.
        """
        is_waiting = False
        while True:
            try:
                held = getattr(self._thread, "connection", None)
                if held is not None and not held.closed:
                    return work(held)
                with self._pool.connection() as connection:
                    return work(connection)
            except AWAY as error:
                if self._is_stopping():
                    raise Stopping from error
                if not is_waiting:
                    text = str(error).strip().partition("\n")[0]
                    if isinstance(error, PoolTimeout):
                        log.warning("no connection to the database was to be had (%s); waiting for one", text)
                    else:
                        log.warning("the database is away (%s); waiting for it", text)
                is_waiting = True
                time.sleep(_RETRY_SECONDS)

    @contextmanager
    def session(self) -> Iterator[None]:
        """Let this thread keep one connection for what follows; saves a trip to the pool per statement."""
        try:
            connection = self._pool.getconn()
        except AWAY:
            yield  # it is away: each statement waits for it by itself
            return
        self._thread.connection = connection
        try:
            yield
        finally:
            self._thread.connection = None
            self._pool.putconn(connection)

    def rows(self, sql: str, parameters: Any = None) -> list[tuple[Any, ...]]:
        """Read; waits while the database is away."""
        return self._patiently(lambda connection: connection.execute(sql, parameters).fetchall())

    def write(self, sql: str, parameters: Any = None) -> None:
        """One harmless-to-repeat write."""
        self._patiently(lambda connection: connection.execute(sql, parameters))

    def transaction(self, work: Callable[[psycopg.Cursor[Any]], T]) -> T:
        """Run ``work`` in one transaction; it is run again from the start while the database is away."""

        def run(connection: psycopg.Connection[Any]) -> T:
            with connection.transaction(), connection.cursor() as cursor:
                return work(cursor)

        return self._patiently(run)

    # -- reading -------------------------------------------------------------------------------------------------

    def load_outputs(self, line: Line, states: frozenset[str]) -> dict[str, Any]:
        """``{state: {output, error}}`` of those of ``states`` that have ended where ``line`` can see them."""
        if not states:
            return {}
        chain = [*line.ancestors, line.id]
        bodies = _chain_of_bodies(line.body)
        wanted: list[tuple[str, str, UUID, bool]] = []
        for state in states:
            body = line.program.body_of(state)
            anchor = max(i for i, mine in enumerate(bodies) if mine in (body, "") or body.startswith(f"{mine}/"))
            wanted.append((state, body, chain[anchor], body == bodies[anchor]))
        names, keys, anchors, owns = (list(column) for column in zip(*wanted, strict=True))
        rows = self.rows(
            statements.OUTPUTS,
            {
                "states": names,
                "bodies": keys,
                "anchors": anchors,
                "owns": owns,
                "root": chain[0],
                "execution": line.execution.id,
            },
        )
        return {
            state: {"output": artifacts.fetch(output)} if status == "success" else {"error": error}
            for state, status, output, error in rows
        }

    def load_previous(self, line: Line) -> Any:
        """The output of the state that ended before the one under the cursor; None at the start."""
        rows = self.rows(statements.PREVIOUS, (line.execution.id, line.id))
        return rows[0][0] if rows else None

    def transitions_of_others(self, line: Line) -> int:
        """How many transitions the other branches of the execution have made."""
        return int(self.rows(statements.TRANSITIONS, (line.execution.id, line.id))[0][0])

    # -- writing -------------------------------------------------------------------------------------------------

    def advance(
        self,
        line: Line,
        *,
        status: str = "running",
        waiting_for: str = "",
        wait_signal: str = "",
        wake_at: datetime | None = None,
        wake_in: timedelta | None = None,
        open_children: int = 0,
        also: Callable[[psycopg.Cursor[Any]], None] | None = None,
        locking: bool = False,
    ) -> str:
        """Commit where the line stands now, with its unwritten history; ``also`` joins the same transaction.

        Returns the status the branch has afterwards: ``held`` if the execution is being paused, ``ready`` if it was
        to wait but was asked to stop; then ``also`` is left out. Sets ``line.stop``.
        Raises :class:`StaleLease` if the line has lost its lease, in which case nothing was written.
        """
        if status == "running" and also is None and not waiting_for and not line.was_waiting and self._is_step(line):
            row = self._guarded(line, _STEP, self._step_parameters(line), None)
        else:
            row = self._guarded(
                line,
                statements.ADVANCE,
                self._history(line)
                | {
                    "status": status,
                    "state": line.state,
                    "visit": line.visit,
                    "attempt": line.attempt,
                    "failures": line.failures,
                    "interruptions": line.interruptions,
                    "activity": line.step.resource,
                    "variables": self._changed_variables(line),
                    "caught": None if line.caught is None else dumps(line.caught),
                    "waiting_for": waiting_for,
                    "wait_signal": wait_signal,
                    "wake_at": wake_at,
                    "wake_in": wake_in,
                    "open_children": open_children,
                    "lease": self.lease,
                },
                also,
                locking=locking,
                also_if=lambda row: status != "waiting" or not row[1],
            )
            line.was_waiting = bool(waiting_for) or line.caught is not None
        if row is not None:
            line.stop = line.stop or row[1]
            status = row[0]
        line.stored_variables = line.variables
        line.waiting_for, line.wait_signal, line.wake_at = waiting_for, wait_signal, wake_at
        return status

    def _is_step(self, line: Line) -> bool:
        """Whether what the line has to write is one successful run and one log line, and a fresh state follows."""
        return (
            len(line.runs) == 1
            and len(line.logs) == 1
            and line.runs[0]["error"] is None
            and line.attempt == 1
            and line.failures == 0
            and line.interruptions == 0
        )

    def _step_parameters(self, line: Line) -> dict[str, Any]:
        run, entry = line.runs[0], line.logs[0]
        return {
            "id": line.id,
            "epoch": line.epoch,
            "seq": line.seq,
            "worker": self.worker,
            "lease": self._lease_text,
            "state": line.state,
            "visit": line.visit,
            "activity": line.step.resource,
            "variables": self._changed_variables(line),
            "r_state": run["state"],
            "r_visit": run["visit"],
            "r_attempt": run["attempt"],
            "r_type": run["type"],
            "r_activity": run["activity"],
            "r_status": run["status"],
            "r_input": None if run["input"] is None else dumps(run["input"]),
            "r_output": None if run["output"] is None else dumps(run["output"]),
            "r_assigned": None if run["assigned"] is None else dumps(run["assigned"]),
            "r_started_at": run["started_at"],
            "r_ended_at": run["ended_at"],
            "l_node_id": entry["node_id"],
            "l_level": entry["level"],
            "l_event": entry["event"],
            "l_message": entry["message"],
            "l_fields": None if entry["fields"] is None else loggable(entry["fields"]),
            "l_logged_at": entry["logged_at"],
        }

    def _changed_variables(self, line: Line) -> str | None:
        return None if line.variables is line.stored_variables else dumps(line.variables)

    def end(
        self,
        line: Line,
        sql: str | PreparedStatement,
        parameters: dict[str, Any],
        also: Callable[..., None] | None = None,
        *,
        locking: bool = False,
    ) -> tuple[Any, ...] | None:
        """End the line's branch with one of the ``END_*`` statements; raises :class:`StaleLease` like advance.

        With ``locking`` the execution, and those it is a child of, are locked first. Returns the statement's row,
        None if it was lost with the connection.
        """
        shared = {
            "state": line.state,
            "visit": line.visit,
            "attempt": line.attempt,
            "variables": dumps(line.variables) if line.variables else None,
        }
        return self._guarded(line, sql, self._history(line) | shared | parameters, also, locking=locking)

    def _guarded(
        self,
        line: Line,
        sql: str | PreparedStatement,
        parameters: dict[str, Any],
        also: Callable[..., None] | None,
        *,
        locking: bool = False,
        also_if: Callable[[tuple[Any, ...]], bool] = lambda row: True,
    ) -> tuple[Any, ...] | None:
        """Run a guarded statement; None if an earlier try, whose answer was lost, had already done it."""
        tries = 0

        def run(connection: psycopg.Connection[Any]) -> tuple[Any, ...] | None:
            nonlocal tries
            tries += 1
            if isinstance(sql, PreparedStatement):
                return sql.execute(connection, parameters)
            if also is None and not locking:
                return connection.execute(sql, parameters, prepare=True).fetchone()
            with connection.transaction(), connection.cursor() as cursor:
                if locking:
                    cursor.execute(statements.LOCK_EXECUTION, {"id": line.execution.id})
                row: tuple[Any, ...] | None = cursor.execute(sql, parameters).fetchone()
                if row is not None and also is not None and also_if(row):
                    also(cursor)
                return row

        row = self._patiently(run)
        if row is None and not (tries > 1 and self._was_ours(line)):
            raise StaleLease
        line.seq += 1
        line.runs, line.logs = [], []
        self.log_hints.tell(line.execution.id)
        return row

    def _was_ours(self, line: Line) -> bool:
        """Whether the branch is one transition further under our own epoch: only our lost answer can have done that."""
        rows = self.rows("SELECT epoch, seq FROM workflows_branch WHERE id = %s", (line.id,))
        return bool(rows) and rows[0] == (line.epoch, line.seq + 1)

    def _history(self, line: Line) -> dict[str, Any]:
        return {
            "id": line.id,
            "execution": line.execution.id,
            "epoch": line.epoch,
            "seq": line.seq,
            "worker": self.worker,
            "runs": dumps(line.runs),
            "logs": loggable(line.logs),
        }

    def release(self, line: Line, *, lost_attempts: int = 0) -> None:
        """Give the branch back as ready, with the history so far; quietly nothing if the lease is lost."""
        self._patiently(
            lambda connection: connection.execute(
                statements.RELEASE,
                self._history(line) | {"lost_attempts": lost_attempts},
            )
        )
        line.runs, line.logs = [], []
        self.log_hints.tell(line.execution.id)

    def heartbeat(self, lines: Sequence[Line]) -> dict[UUID, str]:
        """Extend the leases of ``lines``; returns ``{branch: why it must stop or ''}`` for those still ours.

        Does not wait for a database that is away: the caller beats again soon.
        """
        parameters = {
            "lease": self.lease,
            "ids": [x.id for x in lines],
            "epochs": [x.epoch for x in lines],
        }
        with self._pool.connection() as connection:
            connection.execute(statements.HEARTBEAT, parameters)
            return dict(connection.execute(statements.HELD, parameters).fetchall())

    def sign_in(self, kind: ProcessKind, **details: Any) -> None:
        """Leave a heartbeat of this process; does not wait for a database that is away, either."""
        with self._pool.connection() as connection:
            presence.sign_in(connection, self.owner, kind, **details)

    def append_logs(self, entries: list[dict[str, Any]]) -> None:
        """Write log lines of states that still run; each says which execution and branch it is of."""
        self.write(statements.APPEND_LOGS, {"logs": loggable(entries)})
        for execution in {entry["execution_id"] for entry in entries}:
            self.log_hints.tell(UUID(execution))

    def _notify_logged(self, executions: list[UUID]) -> None:
        with self._pool.connection() as connection:
            hints.notify_logged(connection, executions, alone=True)


def _chain_of_bodies(body: str) -> list[str]:
    """The bodies from the root down to ``body``: ``['', 'Fan/left', 'Fan/left/Each/*']``."""
    parts = body.split("/") if body else []
    return ["", *("/".join(parts[:end]) for end in range(2, len(parts) + 1, 2))]


def connection_parameters() -> dict[str, Any]:
    """How to reach Django's default database with psycopg directly, in autocommit mode."""
    parameters = connections["default"].get_connection_params()
    for name in ("cursor_factory", "context", "prepare_threshold", "pool"):
        parameters.pop(name, None)
    return parameters | {
        "autocommit": True,
        "row_factory": tuple_row,
        "prepare_threshold": 2,
        "connect_timeout": 5,
        # A network that swallows packets must look like a lost connection within a lease, not after hours.
        "keepalives_idle": 3,
        "keepalives_interval": 2,
        "keepalives_count": 3,
        "tcp_user_timeout": 9_000,  # milliseconds
    }


def _configure(connection: psycopg.Connection[Any]) -> None:
    # The statements are few and their plans do not depend on the values: plan once. Every one of them finds its rows
    # through an index; a plan made while a table was small must not go on reading it whole when it has grown.
    connection.execute("SET plan_cache_mode = force_generic_plan")
    connection.execute("SET enable_seqscan = off")


@contextmanager
def direct_connection() -> Any:
    """A connection of one's own outside any pool, for LISTEN and session locks."""
    connection = psycopg.connect(**connection_parameters())
    try:
        yield connection
    finally:
        connection.close()
