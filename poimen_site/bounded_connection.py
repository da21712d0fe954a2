"""Connections of the web process: none waits for a database that hangs - one that takes connections and says nothing.

It refuses to end a statement merely for being slow: whoever waits long first asks the server for a new connection.
"""

import threading
import time
from collections.abc import Generator
from typing import Any, TypeVar

import psycopg
from django.db import connections
from psycopg.errors import ConnectionTimeout
from psycopg.rows import TupleRow

T = TypeVar("T")

CONNECT_SECONDS = 2  # libpq takes no less
PATIENCE_SECONDS = 2.0  # then the server is asked for a sign of life, and every time that this has passed again
STATEMENT_SECONDS = 30  # for the server to end a statement
LOCK_SECONDS = 10
VERDICT_SECONDS = 1.0  # for how long one answer serves all who wait


def bound_waits() -> None:
    """Make every connection that this process opens from now on one that gives up when the database hangs."""
    options = connections.settings["default"]["OPTIONS"]
    options["connect_timeout"] = CONNECT_SECONDS
    limits = f"-c statement_timeout={STATEMENT_SECONDS}s -c lock_timeout={LOCK_SECONDS}s"
    options["options"] = f"{options.get('options', '')} {limits}".strip()
    options["pool"]["connection_class"] = BoundedConnection


class BoundedConnection(psycopg.Connection[TupleRow]):
    """Raises ``OperationalError`` and closes itself when the server is silent here and to new connections too."""

    def wait(self, gen: Generator[Any, Any, T], interval: float = 0.1, timeout: float | None = None) -> T:
        """Run ``gen`` to its end, as psycopg's connection does, but not for ever."""
        return super().wait(self._patiently(gen), interval, timeout)

    def _patiently(self, gen: Generator[Any, Any, T]) -> Generator[Any, Any, T]:
        began = asked = time.monotonic()
        ready = None  # what a generator is sent first
        while True:
            try:
                wanted = gen.send(ready)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            ready = yield wanted
            now = time.monotonic()
            if not ready and now - asked > PATIENCE_SECONDS:
                if now - began > STATEMENT_SECONDS + LOCK_SECONDS or _server.hangs():
                    self.pgconn.finish()  # what follows on this connection fails at once
                    raise psycopg.OperationalError(f"no answer from the database for {now - began:.0f} s")
                asked = time.monotonic()


class _Server:
    """Asks for signs of life; many who ask at once share one question."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._judged_at = -VERDICT_SECONDS
        self._hangs = False

    def hangs(self) -> bool:
        """Whether a new connection gets no answer either. A refusal is an answer: then the old one will end too."""
        with self._lock:
            if time.monotonic() - self._judged_at > VERDICT_SECONDS:
                self._hangs = self._is_silent()
                self._judged_at = time.monotonic()
            return self._hangs

    def _is_silent(self) -> bool:
        parameters = connections["default"].get_connection_params()
        given = {key: value for key, value in parameters.items() if key not in ("context", "cursor_factory")}
        try:
            psycopg.connect(**given).close()
        except ConnectionTimeout:
            return True
        except psycopg.Error:
            return False
        return False


_server = _Server()
