"""Warm child processes for activities that need isolation; what does not end in time is killed with all it started.

Lives on the pump's event loop. Refuses to reuse a process that was killed or left children behind.
"""

import asyncio
import contextlib
import json
import logging
import os
import signal
import struct
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any
from uuid import uuid4

import psutil

from workflows.activities.context import Identity, Report, Resumption
from workflows.errors import ActivityError, WorkflowError

log = logging.getLogger(__name__)

GRACE_SECONDS = 2.0  # between asking a process to stop and killing its group
MARK = "POIMEN_ACTIVITY_MARK"
_LENGTH = struct.Struct(">I")


class ProcessDied(ActivityError):
    """The activity's process ended without an answer (killed by the system, or it crashed)."""

    name = "ProcessDied"


class ActivityProcess:
    """One child, led by ``activity_process``."""

    def __init__(self, process: asyncio.subprocess.Process, token: str) -> None:
        self._process = process
        self.token = token

    @classmethod
    async def start(cls) -> "ActivityProcess":
        """Start a child and wait until it is ready (about a second)."""
        token = uuid4().hex
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "workflows.engine.activity_process",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            start_new_session=True, env=os.environ | {MARK: token, "PYTHONUNBUFFERED": "1"}, limit=2**20,
        )  # fmt: skip
        child = cls(process, token)
        ready = await child.read()
        if ready is None:
            raise ProcessDied("the process for activities could not be started")
        return child

    async def read(self) -> dict[str, Any] | None:
        """The next message; None once the child has ended."""
        assert self._process.stdout is not None
        try:
            head = await self._process.stdout.readexactly(_LENGTH.size)
            data = await self._process.stdout.readexactly(_LENGTH.unpack(head)[0])
        except asyncio.IncompleteReadError:
            return None
        message: dict[str, Any] = json.loads(data)
        return message

    async def write(self, message: dict[str, Any]) -> None:
        """Send a message; a child that is gone is noticed when reading."""
        assert self._process.stdin is not None
        data = json.dumps(message, default=str).encode()
        with contextlib.suppress(ConnectionError):
            self._process.stdin.write(_LENGTH.pack(len(data)) + data)
            await self._process.stdin.drain()

    def is_clean(self) -> bool:
        """Whether the child lives and nothing it started does."""
        if self._process.returncode is not None:
            return False
        try:
            return not psutil.Process(self._process.pid).children(recursive=True)
        except psutil.Error:
            return False

    async def end(self, *, gently: bool = True) -> None:
        """End the child's process group, whatever it has started, and what escaped the group."""
        pid = self._process.pid
        strays = _descendants(pid)
        if gently:
            await self.write({"type": "cancel"})
            _signal_group(pid, signal.SIGTERM)
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._process.wait(), GRACE_SECONDS)
            strays |= _descendants(pid)
        _signal_group(pid, signal.SIGKILL)
        for process in strays | await asyncio.to_thread(_marked, self.token):
            with contextlib.suppress(psutil.Error):
                process.kill()
        await self._process.wait()


def _signal_group(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def _descendants(pid: int) -> set[psutil.Process]:
    try:
        return set(psutil.Process(pid).children(recursive=True))
    except psutil.Error:
        return set()


def _marked(token: str) -> set[psutil.Process]:
    """Processes that carry the child's token in their environment: those that left its group and its tree."""
    found = set()
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.environ().get(MARK) == token:
                found.add(process)
    return found


class ProcessPool:
    """At most ``size`` children; idle ones are kept warm."""

    def __init__(self, size: int) -> None:
        self._slots = asyncio.Semaphore(size)
        self._idle: list[ActivityProcess] = []
        self._busy: set[ActivityProcess] = set()

    async def run(
        self,
        activity: str,
        parameters: Any,
        *,
        identity: Identity,
        home: str,
        resumed: Resumption | None,
        sink: Callable[[Report], None],
        on_start: Callable[[], None],
        config: Mapping[str, Any] | None = None,
    ) -> Any:
        """Run an activity in a child; returns its output or raises its error. Cancelling this kills the child.

        ``on_start`` is called once a child is there: waiting for one is not the activity's time.
        """
        async with self._slots:
            child = self._idle.pop() if self._idle else await ActivityProcess.start()
            self._busy.add(child)
            on_start()
            finished = False
            try:
                await child.write(
                    {
                        "type": "run",
                        "activity": activity,
                        "parameters": parameters,
                        "identity": asdict(identity),
                        "home": home,
                        "resumed": asdict(resumed) if resumed else None,
                        "config": config,
                    }
                )
                output = await _answer(child, sink)
                finished = True
                return output
            except WorkflowError as error:
                finished = not isinstance(error, ProcessDied)
                raise
            finally:
                self._busy.discard(child)
                if finished and child.is_clean():
                    self._idle.append(child)
                else:
                    # Shielded: a cancelled run must still not leave anything behind.
                    await asyncio.shield(child.end(gently=not finished))

    async def close(self) -> None:
        """End every child."""
        children = [*self._idle, *self._busy]
        self._idle.clear()
        await asyncio.gather(*(child.end(gently=False) for child in children), return_exceptions=True)


async def _answer(child: ActivityProcess, sink: Callable[[Report], None]) -> Any:
    while (message := await child.read()) is not None:
        if message["type"] == "result":
            return message["output"]
        if message["type"] == "error":
            raise WorkflowError(
                message["message"], name=message["name"], retryable=message["retryable"],
                details=message.get("details"),
            )  # fmt: skip
        if message["type"] == "report":
            sink(
                Report(
                    message["level"],
                    message["message"],
                    message["fields"],
                    message["percent"],
                    datetime.fromisoformat(message["at"]),
                )
            )
    raise ProcessDied("the activity's process ended without a result")
