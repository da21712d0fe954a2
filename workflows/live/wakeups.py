"""Hears that executions have said something: PostgreSQL's NOTIFY always, and the channel layer where there is Redis.

Refuses to be relied on: whoever listens looks again by the clock as well.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Any
from uuid import UUID

import psycopg
from channels.layers import get_channel_layer

from workflows.engine import hints
from workflows.engine.store import connection_parameters

log = logging.getLogger(__name__)

RETRY_SECONDS = 1.0

Hint = Callable[[Iterable[UUID] | None], None]


def listen(hint: Hint) -> list[asyncio.Task[None]]:
    """Start to listen on the running loop: ``hint(executions)`` for each message, ``hint(None)`` after a gap."""
    loop = asyncio.get_running_loop()
    tasks = [loop.create_task(_listen_forever(_hear_database, hint))]
    if get_channel_layer() is not None:
        tasks.append(loop.create_task(_listen_forever(_hear_channel_layer, hint)))
    return tasks


async def _listen_forever(hear: Callable[[Hint], Any], hint: Hint) -> None:
    while True:
        try:
            await hear(hint)
        except Exception as error:
            log.info("hints for live logs are not heard (%s); trying again", type(error).__name__)
        await asyncio.sleep(RETRY_SECONDS)


async def _hear_database(hint: Hint) -> None:
    connection = await psycopg.AsyncConnection.connect(**connection_parameters())
    async with connection:
        await connection.execute(f"LISTEN {hints.LOG_CHANNEL}")
        hint(None)
        async for notice in connection.notifies():
            hint(UUID(text) for text in notice.payload.split(","))


async def _hear_channel_layer(hint: Hint) -> None:
    layer = get_channel_layer()
    channel = await layer.new_channel()
    await layer.group_add(hints.LOG_GROUP, channel)
    hint(None)
    while True:
        message = await layer.receive(channel)
        hint(UUID(text) for text in message["executions"])
