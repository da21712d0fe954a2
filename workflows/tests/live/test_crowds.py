"""Many readers, readers that do not read, web processes that die: nobody loses a line, nobody pays for others."""

import asyncio
import itertools
import json
import random
import socket as sockets
import struct
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import psutil
import psycopg
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from workflows.tests.chaos.installation import eventually
from workflows.tests.live.follower import Follower, following
from workflows.tests.live.house import House, Web, frames, said, say

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("live"), pytest.mark.timeout(240)]

CROWD = 1_000


class Writers:
    """Threads that write to an execution out of order: transactions overlap and some are rolled back."""

    def __init__(self, house: House, execution: str, count: int) -> None:
        self.written: list[str] = []
        self._house, self._execution = house, execution
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(number,)) for number in range(count)]

    def __enter__(self) -> "Writers":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def _write(self, number: int) -> None:
        dice = random.Random(number)
        with self._house.database() as connection:
            for turn in itertools.count():
                if self._stopping.is_set():
                    return
                messages = [f"{number}.{turn}.{part}" for part in range(dice.randint(1, 4))]
                is_kept = dice.random() < 0.8
                with connection.transaction(force_rollback=not is_kept):
                    for message in messages:
                        say(connection, self._execution, message)
                        time.sleep(dice.uniform(0, 0.01))
                if is_kept:
                    self.written += messages


def all_have(followers: list[Follower], count: int) -> bool:
    """Whether everybody has got more than ``count`` frames."""
    return all(len(follower.frames) > count for follower in followers)


def test_dying_web_processes_cost_nobody_a_line(house: House) -> None:
    execution = house.execution()
    with ExitStack() as stack:
        webs = [stack.enter_context(house.web()) for _ in range(2)]
        followers = [Follower(execution, [web.url for web in webs], house.tokens["ann"]) for _ in range(4)]
        hear_the_end = stack.enter_context(following(followers))
        with Writers(house, execution, 4) as writers:
            for number in range(3):
                eventually("everybody follows", partial(all_have, followers, 50 * number), within=30)
                webs[number % 2].restart()
        house.finish(execution)
        hear_the_end(40)
    with house.database() as connection:
        wanted = connection.execute(
            "SELECT message FROM workflows_logentry WHERE execution_id = %s ORDER BY tx, id", (execution,)
        ).fetchall()
    for follower in followers:
        assert said(follower.frames) == [message for (message,) in wanted]
    assert sorted(message for (message,) in wanted) == sorted(writers.written)


@contextmanager
def never_reading(web: Web, execution: str) -> Iterator[sockets.socket]:
    """A socket that asks for the log and takes nothing of it."""
    with sockets.socket() as raw:
        raw.setsockopt(sockets.SOL_SOCKET, sockets.SO_RCVBUF, 4096)
        raw.connect(("127.0.0.1", web.port))
        lines = [
            f"GET /ws/executions/{execution}/logs HTTP/1.1", f"Host: 127.0.0.1:{web.port}", "Upgrade: websocket",
            "Connection: Upgrade", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13",
            f"Authorization: Bearer {web.tokens['ann']}", "", "",
        ]  # fmt: skip
        raw.sendall("\r\n".join(lines).encode())
        yield raw


def is_cut(raw: sockets.socket) -> bool:
    """Whether the other side has reset the connection."""
    state: int = struct.unpack("B", raw.getsockopt(sockets.IPPROTO_TCP, sockets.TCP_INFO, 1))[0]
    return state == 7  # TCP_CLOSE


def test_sockets_that_never_read_take_no_memory_and_are_cut(house: House, web: Web) -> None:
    execution = house.execution()
    messages = [f"{number} {'x' * 1_000}" for number in range(20_000)]  # 20 MB for each reader
    house.say(execution, *messages)
    process = psutil.Process(web.process.pid)
    before = process.memory_info().rss
    with ExitStack() as stack:
        idle = [stack.enter_context(never_reading(web, execution)) for _ in range(10)]
        with web.follow(execution, batch="1") as reader:
            house.finish(execution)
            assert said(frames(reader, kind="end", within=60))[-20_000:] == messages
        assert process.memory_info().rss - before < 60 * 2**20
        for raw in idle:
            eventually("it is cut", partial(is_cut, raw), within=15)
    assert web.answers()


async def crowd(web: Web, executions: list[str], house: House) -> tuple[list[list[str]], float]:
    """Open ``CROWD`` sockets, let every execution say something, and take what comes; returns it and the seconds."""
    gate = asyncio.Semaphore(50)
    headers = {"Authorization": f"Bearer {web.tokens['ann']}"}

    async def enter(number: int) -> Any:
        async with gate:
            address = web.address(executions[number % len(executions)])
            socket = await connect(address, additional_headers=headers, open_timeout=60, ping_interval=None)
            first = json.loads(await socket.recv())
            assert first["type"] == "state", first
            return socket

    async def listen(socket: Any) -> list[str]:
        heard = []
        try:
            async with asyncio.timeout(60):
                async for message in socket:
                    frame = json.loads(message)
                    if frame["type"] == "log":
                        heard.append(frame["message"])
        except ConnectionClosed:
            heard.append("lost")
        return heard

    everybody = await asyncio.gather(*(enter(number) for number in range(CROWD)))
    began = time.monotonic()
    listening = [asyncio.create_task(listen(socket)) for socket in everybody]

    def speak() -> None:
        with psycopg.connect(house.installation.postgres.url) as connection:
            for execution in executions:
                say(connection, execution, f"to all of {execution}")
                connection.execute(
                    "UPDATE workflows_execution SET status = 'success', ended_at = now() WHERE id = %s", (execution,)
                )

    await asyncio.to_thread(speak)
    heard = await asyncio.gather(*listening)
    return heard, time.monotonic() - began


def test_a_thousand_sockets_fit(house: House) -> None:
    with house.web() as web:
        executions = [house.execution() for _ in range(100)]
        process = psutil.Process(web.process.pid)
        before = process.memory_info().rss
        began = time.monotonic()
        heard, took = asyncio.run(crowd(web, executions, house))
        grown = (process.memory_info().rss - before) / 2**20
        print(
            f"\n{CROWD} sockets: open in {time.monotonic() - began - took:.1f} s, told in {took:.1f} s, {grown:.0f} MB"
        )
        for number, mine in enumerate(heard):
            assert mine[-1:] == [f"to all of {executions[number % 100]}"]
        assert grown < 250
        assert web.answers()


@contextmanager
def slowed_down(process: psutil.Process, share: float) -> Iterator[None]:
    """Let a process run for a share of the time only."""
    stopping = threading.Event()

    def hold_and_let_go() -> None:
        while not stopping.wait(share / 20):
            process.suspend()
            stopping.wait((1 - share) / 20)
            process.resume()

    thread = threading.Thread(target=hold_and_let_go)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()


def test_a_slow_web_process_lets_everybody_in_who_comes_at_once(house: House) -> None:
    execution = house.execution()
    house.finish(execution)
    with house.web() as web, slowed_down(psutil.Process(web.process.pid), 0.1):
        followers = [Follower(execution, [web.url], web.tokens["ann"], patience=100) for _ in range(100)]
        began = time.monotonic()
        with following(followers) as hear_the_end:
            hear_the_end(120)
        print(f"\nall were in after {time.monotonic() - began:.1f} s")
    assert [follower.connections for follower in followers] == [1] * len(followers)
    assert [follower.refusals for follower in followers] == [Counter()] * len(followers)


def test_who_leaves_before_being_let_in_leaves_no_fault_behind(house: House, web: Web) -> None:
    execution = house.execution()
    before = house.installation.log("web")
    process = psutil.Process(web.process.pid)
    process.suspend()
    for _ in range(50):
        with never_reading(web, execution):
            pass
    process.resume()
    with web.follow(execution) as follower:
        frames(follower, kind="state")
    time.sleep(3)  # the server looks once a second for what has failed
    assert "Traceback" not in house.installation.log("web").removeprefix(before)


def test_a_web_process_stops_soon_although_sockets_are_open(house: House) -> None:
    execution = house.execution()
    with house.web() as web, ExitStack() as stack:
        for _ in range(5):
            frames(stack.enter_context(web.follow(execution)), kind="state")
        began = time.monotonic()
        web.process.terminate()
        web.process.wait(15)
        assert time.monotonic() - began < 7
