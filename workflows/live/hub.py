"""One for each web process: reads for all who follow logs there, woken by hints and, in case one is lost, by the clock.

Refuses to pass anything on itself: followers take from their feed as fast as their socket does.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from uuid import UUID

import psycopg
from psycopg_pool import PoolTimeout

from workflows.live.feed import Feed
from workflows.live.reading import Reader
from workflows.live.wakeups import listen

log = logging.getLogger(__name__)

AWAY = (psycopg.Error, PoolTimeout, TimeoutError)
PAUSE_SECONDS = 0.02  # between two readings: what is written meanwhile comes with the next
FEEDS_A_READING = 200
READING_SECONDS = 35.0  # longer than the server lets a statement run
RETRY_SECONDS = 0.5


class Hub:
    """Follows executions while somebody wants to know of them. Belongs to one event loop."""

    def __init__(self) -> None:
        self.reader = Reader()
        self._feeds: dict[UUID, Feed] = {}
        self._hint = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    @asynccontextmanager
    async def follow(self, execution: UUID) -> AsyncIterator[Feed]:
        """The feed of an execution, which is kept up to date while the block runs."""
        await self._start()
        feed = self._feeds.get(execution)
        if feed is None:
            feed = self._feeds[execution] = Feed(self._now())
            self._hint.set()
        feed.followers += 1
        try:
            yield feed
        finally:
            feed.followers -= 1
            if not feed.followers:
                self._feeds.pop(execution, None)

    def hint(self, executions: Iterable[UUID] | None) -> None:
        """These have something to say; None: any of them may."""
        now = self._now()
        feeds = self._feeds.values() if executions is None else filter(None, map(self._feeds.get, executions))
        for feed in feeds:
            feed.due = min(feed.due, now)
            self._hint.set()

    async def close(self) -> None:
        """Stop reading and close every connection."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.reader.close()

    async def _start(self) -> None:
        if not self._tasks:
            loop = asyncio.get_running_loop()
            self._tasks = [loop.create_task(self._read_forever()), *listen(self.hint)]
            await self.reader.open()

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()

    async def _read_forever(self) -> None:
        is_away = False
        while True:
            await self._wait()
            try:
                async with asyncio.timeout(READING_SECONDS):
                    await self._read()
            except AWAY as error:
                if not is_away:
                    log.warning("live logs wait for the database (%s)", str(error).strip().partition("\n")[0])
                is_away = True
                await asyncio.sleep(RETRY_SECONDS)
            except Exception:
                log.exception("reading for live logs failed; going on")  # else nobody would ever see a line again
                await asyncio.sleep(RETRY_SECONDS)
            else:
                is_away = False
                await asyncio.sleep(PAUSE_SECONDS)

    async def _wait(self) -> None:
        """Until a feed is due."""
        self._hint.clear()
        soonest = min((feed.due for feed in self._feeds.values()), default=None)
        wait = None if soonest is None else soonest - self._now()
        if wait is None or wait > 0:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._hint.wait()

    async def _read(self) -> None:
        now = self._now()
        due = [(execution, feed) for execution, feed in self._feeds.items() if feed.due <= now]
        for start in range(0, len(due), FEEDS_A_READING):
            chosen = dict(due[start : start + FEEDS_A_READING])
            for feed in chosen.values():
                feed.due = float("inf")  # a hint that comes while we read counts anew
            try:
                found = await self.reader.news({execution: feed.tail for execution, feed in chosen.items()})
            except BaseException:
                for feed in chosen.values():
                    feed.due = self._now()
                raise
            for execution, feed in chosen.items():
                hinted = feed.due
                feed.apply(found[execution], self._now())
                feed.due = min(feed.due, hinted)


_hubs: dict[asyncio.AbstractEventLoop, Hub] = {}


def hub() -> Hub:
    """The hub of the running loop; made on first use."""
    loop = asyncio.get_running_loop()
    if loop not in _hubs:
        _hubs[loop] = Hub()
    return _hubs[loop]
