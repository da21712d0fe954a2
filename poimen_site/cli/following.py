"""Waiting for what an execution says and becomes: by the hints of the workers, and by the clock if none come.

Refuses to give up because the database is away for a while: it says so once, and goes on where it was.
"""

import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
from django.db import DatabaseError, InterfaceError, connection

from poimen_site.cli.faults import Fault
from poimen_site.cli.session import Session
from poimen_site.errors import is_database_unavailable
from workflows.activities.context import LogLevel
from workflows.api.execution_reading import read_execution
from workflows.api.logs import lines_after
from workflows.engine import hints
from workflows.engine.store import connection_parameters
from workflows.live.lines import Cursor, Entry
from workflows.models import Execution

LOOK_SECONDS = 1.0
AGAIN_SECONDS = 0.1  # lines are there that an older transaction still withholds
PAGE = 1_000


class Hearing:
    """Hears that executions said something; as a context manager it holds one connection."""

    def __init__(self) -> None:
        self._connection: psycopg.Connection[Any] | None = None

    def __enter__(self) -> "Hearing":
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def wait(self, execution: UUID, seconds: float) -> None:
        """Return when ``execution`` said something, or after ``seconds``."""
        ends = time.monotonic() + seconds
        try:
            if self._connection is None:
                self._connection = psycopg.connect(**connection_parameters())
                self._connection.execute(f"LISTEN {hints.LOG_CHANNEL}")
                return  # something may have been said before we listened
            while (left := ends - time.monotonic()) > 0:
                for notice in self._connection.notifies(timeout=left, stop_after=1):
                    if str(execution) in notice.payload:
                        return
        except (psycopg.OperationalError, psycopg.InterfaceError):
            self._close()
            time.sleep(max(0.0, ends - time.monotonic()))

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class Patience:
    """Passes over a database that is away; says so on standard error once each time."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._is_away = False

    def lost(self, error: Exception) -> None:
        """Note that the database did not answer; raises ``error`` again if that will not pass by itself."""
        if not is_database_unavailable(error):
            raise error
        connection.close()
        if not self._is_away:
            self._session.remark("the database is away; waiting for it")
        self._is_away = True

    def back(self) -> None:
        """Note that it answered."""
        if self._is_away:
            self._session.remark("the database is back")
        self._is_away = False


def wait_for_end(
    session: Session, customer: UUID, execution_id: UUID, timeout: timedelta | None
) -> tuple[dict[str, Any], bool]:
    """Return the execution, or the last one that continues it, as it is at its end, and whether that came in time.

    Raises :class:`Fault` if there is no such execution any more.
    """
    ends = None if timeout is None else time.monotonic() + timeout.total_seconds()
    patience = Patience(session)
    body: dict[str, Any] = {}
    with Hearing() as hearing:
        while True:
            try:
                body = read_execution(customer, execution_id, lines=0)
                patience.back()
            except Execution.DoesNotExist:
                raise Fault(f"the execution {execution_id} has been deleted") from None
            except (DatabaseError, InterfaceError) as error:
                patience.lost(error)
            if body.get("continuedAs"):
                execution_id, body = UUID(body["continuedAs"]), {}
                continue
            if body.get("completedAt"):
                return body, True
            left = LOOK_SECONDS if ends is None else min(LOOK_SECONDS, ends - time.monotonic())
            if left <= 0:
                return body, False
            hearing.wait(execution_id, left)


def follow_lines(session: Session, execution_id: UUID, after: Cursor | None, level: LogLevel) -> Iterator[Entry]:
    """Yield every line after a place once, in order, as it is written, until the execution has ended.

    Raises :class:`Fault` if there is no such execution any more.
    """
    patience = Patience(session)
    with Hearing() as hearing:
        while True:
            more = False
            try:
                # Before the lines: what is written before the end is there once the end is.
                end = Execution.objects.filter(pk=execution_id).values_list("ended_at", flat=True).first()
                is_gone = end is None and not Execution.objects.filter(pk=execution_id).exists()
                entries, more = lines_after(execution_id, after, PAGE, level=level)
                patience.back()
            except (DatabaseError, InterfaceError) as error:
                patience.lost(error)
                hearing.wait(execution_id, LOOK_SECONDS)
                continue
            if is_gone:
                raise Fault(f"the execution {execution_id} has been deleted")
            for entry in entries:
                after = Cursor(entry.tx, entry.id)
                yield entry
            if end is not None and not more:
                return
            if len(entries) < PAGE:
                hearing.wait(execution_id, AGAIN_SECONDS if more else LOOK_SECONDS)
