"""Tells the web processes which executions a pump has just written about, a few times a second and off its threads.

Refuses to slow the writers: to them it is one look into a set, and what cannot be told is left to the readers' poll.
"""

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Callable
from typing import Any
from uuid import UUID

from channels.layers import get_channel_layer

from workflows.engine import hints

log = logging.getLogger(__name__)

EVERY_SECONDS = 0.03
REDIS_SECONDS = 1.0  # for Redis to take a message
REDIS_PAUSE_SECONDS = 5.0  # after it did not; until then the database carries the hints


class LogHints:
    """One pump's hints. ``tell`` may be called from any thread; ``notify(ids)`` sends through the database."""

    def __init__(self, notify: Callable[[list[UUID]], Any]) -> None:
        self._notify = notify
        self._executions: set[UUID] = set()
        self._something = threading.Event()
        self._closed = False
        self._layer = get_channel_layer()
        self._redis_again_at = 0.0
        self._thread = threading.Thread(target=self._run, name="log-hints", daemon=True)
        self._thread.start()

    def tell(self, execution: UUID) -> None:
        """The log or the status of ``execution`` has changed, and that is committed."""
        self._executions.add(execution)
        if not self._something.is_set():
            self._something.set()

    def close(self) -> None:
        """Send what is left, and stop."""
        self._closed = True
        self._something.set()
        self._thread.join(timeout=REDIS_SECONDS + 1)

    def _run(self) -> None:
        # A loop of this thread's own: the one of the activities may be busy.
        loop = asyncio.new_event_loop() if self._layer is not None else None
        while not self._closed:
            self._something.wait()
            self._something.clear()
            executions = []
            while self._executions:
                executions.append(self._executions.pop())  # one by one: a writer may be adding at this moment
            if executions:
                self._send(executions, loop)
            if not self._closed:
                time.sleep(EVERY_SECONDS)  # gathers; what comes after a silence is told at once
        if loop is not None:
            with contextlib.suppress(Exception):
                loop.run_until_complete(self._layer.flush())
            loop.close()

    def _send(self, executions: list[UUID], loop: asyncio.AbstractEventLoop | None) -> None:
        if loop is not None and time.monotonic() >= self._redis_again_at:
            message = {"type": hints.LOG_MESSAGE, "executions": [str(execution) for execution in executions]}
            try:
                loop.run_until_complete(
                    asyncio.wait_for(self._layer.group_send(hints.LOG_GROUP, message), REDIS_SECONDS)
                )
                return
            except Exception as error:
                log.info("Redis takes no hints (%s); the database carries them", type(error).__name__)
                self._redis_again_at = time.monotonic() + REDIS_PAUSE_SECONDS
        try:
            self._notify(executions)
        except Exception as error:
            log.debug("a hint is lost: %s", error)
