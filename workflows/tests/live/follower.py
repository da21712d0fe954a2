"""Clients that follow executions to their end through whatever web process answers, as a program would.

They refuse to judge what they heard; that is for the test, which compares it with the rows.
"""

import itertools
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import wait
from contextlib import contextmanager
from typing import Any

import anyio
import httpx
from anyio.from_thread import start_blocking_portal
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus, WebSocketException

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0  # seconds before the next attempt to connect
PATIENCE = 20.0  # seconds for a connection to open


class Follower:
    """Follows one execution, first at the first of ``webs`` (``http://...``), each time from its last cursor."""

    def __init__(
        self, execution: str, webs: Sequence[str], token: str, *, patience: float = PATIENCE, **query: str
    ) -> None:
        self.execution = execution
        self.frames: list[dict[str, Any]] = []
        self.heard_at: list[float] = []  # when each frame came, in seconds since 1970
        self.refusals: Counter[int] = Counter()  # by HTTP status, or code of an ``error`` frame
        self.connections = 0
        self._webs = webs
        self._headers = {"Authorization": f"Bearer {token}"}
        self._query = query
        self._patience = patience

    @property
    def has_ended(self) -> bool:
        """Whether the end was told."""
        return bool(self.frames) and self.frames[-1]["type"] == "end"

    async def follow(self) -> None:
        """Follow to the end, however often the connection is lost."""
        pause = FIRST_PAUSE
        for web in itertools.cycle(self._webs):
            heard = len(self.frames)
            try:
                await self._listen(web)
            except InvalidStatus as refused:
                self.refusals[refused.response.status_code] += 1
            except (OSError, WebSocketException):
                pass  # nobody there, cut off, or too slow: the next attempt goes on from the last cursor
            if self.has_ended:
                return
            pause = FIRST_PAUSE if len(self.frames) > heard else min(pause * 2, LONGEST_PAUSE)
            await anyio.sleep(pause * random.uniform(0.5, 1))

    async def _listen(self, web: str) -> None:
        place = {"after": self.frames[-1]["cursor"]} if self.frames else {}
        address = httpx.URL(f"{web}/ws/executions/{self.execution}/logs", scheme="ws", params={**self._query, **place})
        async with connect(str(address), additional_headers=self._headers, open_timeout=self._patience) as socket:
            self.connections += 1
            async for message in socket:
                frame = json.loads(message)
                if frame["type"] == "error":
                    self.refusals[frame["code"]] += 1
                    continue
                self.frames.append(frame)
                self.heard_at.append(time.time())


@contextmanager
def following(followers: Sequence[Follower]) -> Iterator[Callable[[float], None]]:
    """Let ``followers`` follow beside what the block does; what it gets waits until all have heard the end."""
    with start_blocking_portal() as portal:
        running = [portal.start_task_soon(follower.follow) for follower in followers]

        def hear_the_end(within: float) -> None:
            """Raises ``AssertionError`` if somebody has not after ``within`` seconds."""
            done, missing = wait(running, within)
            for one in done:
                one.result()
            assert not missing, f"not within {within} s: {len(missing)} of {len(running)} have heard the end"

        yield hear_the_end
