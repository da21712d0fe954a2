"""What activities say while they run, on its way into the log: gathered, and written in one statement for all of them.

Refuses to tell progress more often than people can look: between two tellings only the newest is kept.
"""

import asyncio
import logging
import threading
import time
from collections import deque
from typing import Any

from workflows import secret_texts, secrets
from workflows.activities.context import Report
from workflows.engine.line import Line
from workflows.engine.store import Stopping, Store

log = logging.getLogger(__name__)

FLUSH_SECONDS = 0.03  # between two writings; what is said after a silence is written at once
MOST_AT_ONCE = 2_000  # lines in one statement
PROGRESS_SECONDS = 0.25  # between two tellings of one activity's progress

Entry = dict[str, Any]


class Outbox:
    """One for each launcher, on its loop. ``put`` may be called from any thread."""

    def __init__(self, store: Store, loop: asyncio.AbstractEventLoop) -> None:
        self._store = store
        self._loop = loop
        self._waiting: deque[Entry] = deque()
        self._something = asyncio.Event()
        self._writing = asyncio.Lock()
        self._open: set[Reports] = set()
        self._task = loop.create_task(self._flush_forever())

    def open(self, line: Line) -> "Reports":
        """The reports of an activity that is about to run."""
        reports = Reports(self, line)
        self._open.add(reports)
        return reports

    async def end(self, reports: "Reports") -> None:
        """Write everything an activity has said, now that it has ended."""
        self._open.discard(reports)
        reports.release(everything=True)
        await self.flush()

    def put(self, entry: Entry) -> None:
        """Take a line of the log."""
        self._waiting.append(entry)
        self.nudge()

    def nudge(self) -> None:
        """Let the writer look."""
        if not self._something.is_set():
            self._loop.call_soon_threadsafe(self._something.set)

    def close(self) -> None:
        """Write no more."""
        self._task.cancel()

    async def flush(self) -> None:
        """Write what has gathered; off the loop, which must not wait for the database."""
        async with self._writing:
            while self._waiting:
                # One by one: another thread may be adding at this moment.
                entries = [self._waiting.popleft() for _ in range(min(len(self._waiting), MOST_AT_ONCE))]
                await asyncio.to_thread(self._write, entries)

    async def _flush_forever(self) -> None:
        while True:
            if any(reports.is_holding for reports in self._open):
                try:
                    async with asyncio.timeout(PROGRESS_SECONDS / 2):
                        await self._something.wait()
                except TimeoutError:
                    pass
            else:
                await self._something.wait()
            self._something.clear()
            for reports in self._open:
                reports.release()
            await self.flush()
            await asyncio.sleep(FLUSH_SECONDS)

    def _write(self, entries: list[Entry]) -> None:
        try:
            self._store.append_logs(entries)
        except Stopping:
            pass  # the database is away and the pump must go: what was not written is lost with the attempt
        except Exception:
            if len(entries) == 1:
                log.exception("a line of %s cannot be written", entries[0]["execution_id"])
                return
            for entry in entries:  # one that cannot be written must not take the others along
                self._write([entry])


class Reports:
    """What one running activity says. ``heard_at`` is when it last gave a sign of life (monotonic seconds)."""

    def __init__(self, outbox: Outbox, line: Line) -> None:
        self._outbox = outbox
        self._line = line
        self._lock = threading.Lock()
        self._held: Entry | None = None
        self._told_at = float("-inf")
        self.begun = asyncio.Event()
        self.heard_at = time.monotonic()

    @property
    def is_holding(self) -> bool:
        """Whether there is progress that was not told yet."""
        return self._held is not None

    def begin(self) -> None:
        """The activity starts now: its timeouts do, too."""
        self.heard_at = time.monotonic()
        self.begun.set()

    def add(self, report: Report) -> None:
        """Take a report, from any thread."""
        self.heard_at = time.monotonic()
        entry = {
            "execution_id": str(self._line.execution.id),
            "branch_id": str(self._line.id),
            "node_id": self._line.state,
            "level": report.level,
            "message": secret_texts.masked(secrets.conceal(report.message, self._line.hidden)),
            "event": report.event,
            "fields": secrets.mask(secrets.conceal(report.content, self._line.hidden)) or None,
            "logged_at": report.at.isoformat(),
        }
        if report.percent is None:
            self._outbox.put(entry)
            return
        with self._lock:
            self._held = entry
        self.release()
        if self.is_holding:
            self._outbox.nudge()

    def release(self, *, everything: bool = False) -> None:
        """Hand on the progress that is held, if it is time."""
        with self._lock:
            held = self._held
            if held is None or not (everything or time.monotonic() - self._told_at >= PROGRESS_SECONDS):
                return
            self._held = None
            self._told_at = time.monotonic()
        self._outbox.put(held)
