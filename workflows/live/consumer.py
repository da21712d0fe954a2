"""``/ws/executions/{id}/logs?after=&level=&node=&batch=&customer=``: the log of an execution, replayed and followed.

Reads on only when what it sent has left, so that a slow reader costs nobody anything. Takes no messages.
Sources: contract-rest-api 2.5, design 5.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs
from uuid import UUID

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.db import DatabaseError, InterfaceError
from psycopg_pool import PoolTimeout
from rest_framework.exceptions import APIException

from workflows.activities.context import LEVELS
from workflows.api.sentences import sentence_of
from workflows.live import access
from workflows.live.feed import Feed
from workflows.live.hub import AWAY, hub
from workflows.live.lines import START, Cursor, Line, frame, state_frame
from workflows.live.reading import Wanted

log = logging.getLogger(__name__)

# As HTTP statuses, for the server lets applications use no code between 1001 and 2999.
BAD_REQUEST, NOT_FOUND, TOO_MUCH, FAULT, TRY_AGAIN = 4400, 4404, 4429, 4500, 4503
MOST_MESSAGES = 100  # that a client may send; it has nothing to say
LOOK_SECONDS = 5.0
CHECK_SECONDS = 60.0  # how long a right that was taken away still works
RETRY_SECONDS = 0.5
BATCH_CHARACTERS = 128 * 1024
MOST_READY = 8  # sets of messages that a feed keeps for those who come next
FRAMES_IN_A_ROW = 50  # then others get their turn


class Refused(Exception):
    """The socket is to be closed with ``code``."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Question:
    """What the query of the address asks for."""

    after: Cursor
    wanted: Wanted
    is_batched: bool
    customer: str

    @classmethod
    def parse(cls, query: bytes) -> "Question":
        """Read it; raises :class:`Refused` naming what is wrong."""
        given = {key: values[-1] for key, values in parse_qs(query.decode("latin-1"), keep_blank_values=True).items()}
        unknown = set(given) - {"after", "level", "node", "batch", "customer"}
        if unknown:
            raise Refused(BAD_REQUEST, f"{min(unknown)}: unknown; known are after, level, node, batch, customer")
        level = given.get("level") or "info"
        if level not in LEVELS:
            raise Refused(BAD_REQUEST, f"level: expected one of {', '.join(LEVELS)}")
        if given.get("batch", "") not in ("", "0", "1"):
            raise Refused(BAD_REQUEST, "batch: expected 0 or 1")
        if "\x00" in given.get("node", "") + given.get("customer", ""):
            raise Refused(BAD_REQUEST, "node, customer: no name has a NUL character")
        try:
            after = Cursor.parse(given["after"]) if given.get("after") else START
        except ValueError as error:
            raise Refused(BAD_REQUEST, f"after: {error}") from None
        return cls(after, Wanted(level, given.get("node", "")), given.get("batch") == "1", given.get("customer", ""))


class LogConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]
    """One socket."""

    channel_layer_alias = "none"  # hints go to the hub, once for all sockets of the process

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._task: asyncio.Task[None] | None = None
        self._messages = 0
        self._is_batched = False

    async def connect(self) -> None:
        """Accept pages that may come in, and begin; 403 for others."""
        if not access.may_come_in(self.scope):
            await self.close()
            return
        await self.accept(access.subprotocol_of(self.scope))
        self._task = asyncio.get_running_loop().create_task(self._serve())

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Take no notice of what a client says, and no more than some of it."""
        self._messages += 1
        if self._messages == MOST_MESSAGES:
            await self._stop()
            await self._refuse(Refused(TOO_MUCH, "this socket only tells; it takes no messages"))

    async def disconnect(self, code: int) -> None:
        """End with the socket."""
        await self._stop()

    async def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _serve(self) -> None:
        try:
            question = Question.parse(self.scope["query_string"])
            self._is_batched = question.is_batched
            execution = await self._authorised(question)
            async with hub().follow(execution) as feed:
                await self._follow(execution, feed, question)
        except Refused as refused:
            await self._refuse(refused)
        except Exception:
            log.exception("a live log failed")
            await self._refuse(Refused(FAULT, "something went wrong here; it is in the log of the web process"))

    async def _refuse(self, refused: Refused) -> None:
        told = frame("error", code=refused.code, message=str(refused))
        await self.send(f"[{told}]" if self._is_batched else told)
        await self.close(refused.code)

    async def _authorised(self, question: Question) -> UUID:
        asked = self.scope["url_route"]["kwargs"]["execution_id"]
        ask = database_sync_to_async(access.authorised, thread_sensitive=False)
        try:
            execution: UUID = await ask(self.scope, asked, question.customer)
        except APIException as error:
            raise Refused(access.close_code(error), sentence_of(error)) from error
        except (DatabaseError, InterfaceError, PoolTimeout) as error:
            raise Refused(TRY_AGAIN, "the database is away; try again in a moment") from error
        return execution

    async def _follow(self, execution: UUID, feed: Feed, question: Question) -> None:
        """Send what there is, and then what comes, until the end."""
        place = question.after
        told: str | None = None
        checked_at = time.monotonic()
        while feed.status is None and not feed.is_gone:
            await feed.change(LOOK_SECONDS)
        while True:
            if time.monotonic() - checked_at > CHECK_SECONDS:
                await self._authorised(question)
                checked_at = time.monotonic()
            if feed.is_gone:
                raise Refused(NOT_FOUND, "the execution has been deleted")
            if told is None:
                told = feed.status
                await self._send([state_frame(place, told or "")], question)
            ready = _ready(feed, place, question)
            if ready is None:
                floor = feed.floor
                try:
                    lines, is_all = await hub().reader.page(execution, place, question.wanted)
                except AWAY:
                    await asyncio.sleep(RETRY_SECONDS)
                    continue
                await self._send(_frames(lines, question.wanted), question)
                place = lines[-1].place if lines else place
                if is_all:
                    place = max(place, floor)  # which was settled before, so that nothing wanted is up to there
                continue
            tail, status, is_over = feed.tail, feed.status, feed.is_over  # as they were when the lines were taken
            await self._send_messages(ready)
            place = max(place, tail or place)
            frames = []
            if status is not None and status != told:
                told = status
                frames.append(state_frame(place, status))
            if is_over:
                frames.append(frame("end", cursor=str(place), status=status))
            await self._send(frames, question)
            if is_over:
                await self.close(1000)
                return
            if feed.tail == tail and (feed.status, feed.is_over) == (told, False):
                await feed.change(LOOK_SECONDS)

    async def _send(self, frames: Iterable[str], question: Question) -> None:
        """Send frames one by one, or as arrays; returns when the socket has room again."""
        await self._send_messages(_arrays(frames) if question.is_batched else frames)

    async def _send_messages(self, messages: Iterable[str]) -> None:
        for number, message in enumerate(messages, 1):
            await self.send(message)
            if number % FRAMES_IN_A_ROW == 0:
                await asyncio.sleep(0)


def _ready(feed: Feed, place: Cursor, question: Question) -> list[str] | None:
    """The messages about what came after a place, made once for all who are there; None as :meth:`Feed.after`."""
    key = place, question.wanted, question.is_batched
    ready = feed.ready.get(key)
    if ready is None and (lines := feed.after(place)) is not None:
        if len(feed.ready) >= MOST_READY:
            feed.ready.clear()
        frames = _frames(lines, question.wanted)
        ready = feed.ready[key] = list(_arrays(frames) if question.is_batched else frames)
    return ready


def _frames(lines: Iterable[Line], wanted: Wanted) -> Iterator[str]:
    for line in lines:
        state = line.state()
        if state is not None:
            yield state
        if wanted.shows(line):
            yield line.told()


def _arrays(frames: Iterable[str]) -> Iterator[str]:
    gathered: list[str] = []
    size = 0
    for one in frames:
        gathered.append(one)
        size += len(one)
        if size >= BATCH_CHARACTERS:
            yield f"[{','.join(gathered)}]"
            gathered, size = [], 0
    if gathered:
        yield f"[{','.join(gathered)}]"
