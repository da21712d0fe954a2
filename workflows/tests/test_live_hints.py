"""Hints that executions have said something travel through Redis where there is one, else through the database."""

import asyncio
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
import redis
from channels.layers import get_channel_layer

from workflows.engine import hints
from workflows.engine.log_hints import LogHints
from workflows.engine.store import connection_parameters
from workflows.identifiers import new_id
from workflows.live.wakeups import listen
from workflows.tests.pumping import eventually

pytestmark = pytest.mark.skipif(shutil.which("redis-server") is None, reason="no redis-server (Debian: redis-server)")


class Redis:
    """A server of our own, which keeps nothing."""

    def __init__(self, directory: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.client = redis.Redis(port=self.port)
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", str(directory)]
        self.process = subprocess.Popen(["redis-server", *options], stdout=subprocess.DEVNULL)
        eventually(self.answers, "Redis answers")

    def answers(self) -> bool:
        try:
            return bool(self.client.ping())
        except redis.ConnectionError:
            return False

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def server(tmp_path: Path, settings: Any) -> Iterator[Redis]:
    made = Redis(tmp_path)
    settings.CHANNEL_LAYERS = {
        "default": {
            "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
            "CONFIG": {"hosts": [f"redis://127.0.0.1:{made.port}/0"]},
        }
    }
    yield made
    made.stop()


def test_a_pump_sends_through_redis_and_through_the_database_while_that_is_away(server: Redis) -> None:
    notified: list[UUID] = []
    subscriber: Any = server.client.pubsub()  # type: ignore[no-untyped-call]
    subscriber.psubscribe("*" + hints.LOG_GROUP)
    assert subscriber.get_message(timeout=5)
    pump = LogHints(notified.extend)
    try:
        first, second = new_id(), new_id()
        pump.tell(first)
        message = eventually(lambda: subscriber.get_message(timeout=0.5), "the message in Redis")
        assert str(first).encode() in message["data"]
        assert not notified
        server.stop()
        pump.tell(second)
        eventually(lambda: notified == [second], "the hint in the database")
    finally:
        pump.close()


@pytest.mark.django_db(transaction=True)
def test_a_web_process_hears_both(server: Redis) -> None:
    heard: list[UUID] = []
    gaps = 0

    def hear(executions: Any) -> None:
        nonlocal gaps
        if executions is None:
            gaps += 1
        else:
            heard.extend(executions)

    async def scenario() -> tuple[UUID, UUID]:
        by_redis, by_database = new_id(), new_id()
        tasks = listen(hear)
        await until(lambda: gaps == 2)
        layer = get_channel_layer()
        await layer.group_send(hints.LOG_GROUP, {"type": hints.LOG_MESSAGE, "executions": [str(by_redis)]})
        await until(lambda: by_redis in heard)
        parameters: dict[str, Any] = connection_parameters()
        async with await psycopg.AsyncConnection.connect(**parameters) as connection:
            await connection.execute("SELECT pg_notify(%s, %s)", (hints.LOG_CHANNEL, str(by_database)))
        await until(lambda: by_database in heard)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return by_redis, by_database

    assert asyncio.run(scenario()) == tuple(heard)


async def until(condition: Any) -> None:
    deadline = time.monotonic() + 15
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)
