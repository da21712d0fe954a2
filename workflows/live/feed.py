"""The end of one execution's log in memory, shared by all who follow it in this process.

Refuses to keep more than a short window: who falls behind it reads from the database until they have caught up.
"""

import asyncio
from collections import deque
from itertools import islice
from typing import Any

from workflows.live.lines import START, Cursor, Line
from workflows.live.reading import News

WINDOW_LINES = 1_000
WINDOW_CHARACTERS = 256 * 1024

POLL_SECONDS = 1.0
SOONEST_AGAIN_SECONDS = 0.02
LATEST_AGAIN_SECONDS = 0.5


class Feed:
    """What is known of an execution. ``due`` is when to look again, on the loop's clock.

    ``status`` is None until it was looked at for the first time; ``is_gone``: there is no such execution any more.
    ``is_over``: it has ended, and ``tail`` is its last line. Every line after ``floor`` is held, up to ``tail``.
    """

    def __init__(self, due: float) -> None:
        self.due = due
        self.followers = 0
        self.floor = START
        self.tail: Cursor | None = None
        self.status: str | None = None
        self.is_gone = False
        self.is_over = False
        self.ready: dict[Any, list[str]] = {}  # messages made of the window as it is, by who wants which
        self._window: deque[Line] = deque()
        self._size = 0
        self._again = SOONEST_AGAIN_SECONDS
        self._all_there_from: int | None = None
        self._changed = asyncio.Event()

    def apply(self, news: News, now: float) -> None:
        """Take in what was read, and wake who waits for it."""
        is_new = bool(news.lines) or news.status != self.status or self.tail is None
        if self.tail is None:
            self.floor = news.tail
        self.tail = news.tail
        self.status = news.status
        self.is_gone = news.status is None
        self.ready.clear()
        for line in news.lines:
            self._window.append(line)
            self._size += len(line.message)
        while self._window and (len(self._window) > WINDOW_LINES or self._size > WINDOW_CHARACTERS):
            dropped = self._window.popleft()
            self._size -= len(dropped.message)
            self.floor = dropped.place
        is_open = news.is_more_to_come
        if news.has_ended and not self.is_over:
            # What was under way when the end was first seen may still add lines before it. A crash ends that, and the
            # database then counts from an earlier transaction.
            self._all_there_from = min(self._all_there_from or news.next, news.next)
            self.is_over = not news.is_more_to_come and news.oldest >= self._all_there_from
            is_new = is_new or self.is_over
            is_open = not self.is_over
        self._again = SOONEST_AGAIN_SECONDS if news.lines else min(self._again * 2, LATEST_AGAIN_SECONDS)
        self.due = now + (self._again if is_open else POLL_SECONDS)
        if is_new:
            self.wake()

    def wake(self) -> None:
        """Let everybody who waits look."""
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def change(self, within: float) -> None:
        """Wait for the next change, ``within`` seconds at most."""
        event = self._changed
        try:
            async with asyncio.timeout(within):
                await event.wait()
        except TimeoutError:
            pass

    def after(self, place: Cursor) -> list[Line] | None:
        """The lines after a place up to the tail; None if the window does not reach back so far."""
        if place < self.floor:
            return None
        if not self._window or self._window[-1].place <= place:
            return []
        # Nearly always few lines from the end.
        fresh = 0
        for line in reversed(self._window):
            if line.place <= place:
                break
            fresh += 1
        return list(islice(self._window, len(self._window) - fresh, None))
