"""Activities for testing an engine: they sleep, fail to order, resist being stopped and record that they ran.

Registered only where the setting ``POIMEN_TEST_ACTIVITIES`` is on; no palette of a real installation shows them.
"""

import asyncio
import json
import os
import signal
import time
from datetime import UTC, datetime
from typing import Any

from pydantic import Field

from workflows.activities.context import ActivityContext
from workflows.activities.paths import Territory
from workflows.activities.registry import activity
from workflows.activities.shapes import KEEPS_HANDLES, Fields
from workflows.errors import WorkflowError

DAY = 86_400


class SleepInput(Fields):
    """How long."""

    seconds: float = Field(ge=0, le=DAY, description="How long to sleep, in seconds")


class SleepOutput(Fields):
    """How long it was."""

    slept: float = Field(description="Seconds that passed")


@activity("SleepActivity", category="testing", timeout="24h", isolation="async", internal=True)
async def sleep(input: SleepInput, context: ActivityContext) -> SleepOutput:
    """Waits for some seconds without holding a thread."""
    began = time.monotonic()
    await asyncio.sleep(input.seconds)
    return SleepOutput(slept=round(time.monotonic() - began, 3))


class TalkInput(Fields):
    """What to say, and how fast."""

    lines: int = Field(ge=0, le=1_000_000, description="How many lines to write to the log")
    per_second: float = Field(default=10, gt=0, le=10_000, description="How many of them in a second")
    progress: bool = Field(default=False, description="Whether to tell the progress with every line as well")


class TalkOutput(Fields):
    """What was said."""

    said: int = Field(description="How many lines were written")


@activity("TalkActivity", category="testing", timeout="24h", isolation="async", internal=True)
async def talk(input: TalkInput, context: ActivityContext) -> TalkOutput:
    """Writes lines to the log, numbered from 1, each with the moment it was said (seconds since 1970)."""
    began = time.monotonic()
    for number in range(1, input.lines + 1):
        early = began + number / input.per_second - time.monotonic()
        if early > 0.001:
            await asyncio.sleep(early)
        context.info(f"line {number}", number=number, saidAt=time.time())
        if input.progress:
            context.progress(100 * number / input.lines, f"{number} of {input.lines}")
    return TalkOutput(said=input.lines)


class FailInput(Fields):
    """How to fail."""

    message: str = Field(default="failed as asked", description="The error's message", json_schema_extra=KEEPS_HANDLES)
    failures: int | None = Field(
        default=None, ge=0, description="Fail this many attempts, then succeed; left out, always fail"
    )
    retryable: bool = Field(default=True, description="Whether another attempt may be made")
    name: str = Field(default="ActivityError", min_length=1, description="The error's name, as catch rules match it")


class FailOutput(Fields):
    """What it took."""

    attempt: int = Field(description="The attempt that succeeded, from 1")


@activity("FailActivity", category="testing", timeout="30s", isolation="inline", internal=True)
def fail(input: FailInput, context: ActivityContext) -> FailOutput:
    """Fails as told, always or for the first attempts."""
    attempt = context.identity.attempt
    if input.failures is None or attempt <= input.failures:
        raise WorkflowError(input.message, name=input.name, retryable=input.retryable)
    return FailOutput(attempt=attempt)


class StubbornInput(Fields):
    """How long to resist, and with how many."""

    seconds: float = Field(ge=0, le=DAY, description="How long to run when nobody kills it, in seconds")
    forks: int = Field(default=0, ge=0, le=20, description="How many child processes to fork")
    pid_file: str = Field(description="File in an allowed directory that gets the process ids, one a line, own first")


class StubbornOutput(Fields):
    """Who resisted."""

    pids: list[int] = Field(description="The process ids written to pidFile")


@activity("StubbornActivity", category="testing", timeout="30s", isolation="process", internal=True)
def stubborn(input: StubbornInput, context: ActivityContext) -> StubbornOutput:
    """Ignores SIGTERM, SIGINT and SIGHUP, and so do the children it forks: only SIGKILL ends it early."""
    target = Territory.of(context).confine(input.pid_file, field="pidFile", must_exist=False)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    end = time.monotonic() + input.seconds
    pids = [os.getpid()]
    for _ in range(input.forks):
        pid = os.fork()
        if pid == 0:
            try:
                _sit_until(end)
            finally:
                os._exit(0)  # the child must never run the parent's code
        pids.append(pid)
    part = target.with_name(target.name + ".part")
    part.write_text("".join(f"{pid}\n" for pid in pids))
    part.replace(target)  # a reader sees all the ids or no file
    _sit_until(end)
    for pid in pids[1:]:
        os.waitpid(pid, 0)
    return StubbornOutput(pids=pids)


def _sit_until(end: float) -> None:
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, 1.0))


class RecordInput(Fields):
    """Where to write."""

    path: str = Field(description="File in an allowed directory that gets one JSON line a run")
    value: Any = Field(
        default=None, description="Anything; written with the line and given back", json_schema_extra=KEEPS_HANDLES
    )


class RecordOutput(Fields):
    """What was written."""

    key: str = Field(description="The idempotency key")
    attempt: int = Field(description="The attempt, from 1")
    value: Any = Field(default=None, description="The input value")


@activity("RecordActivity", category="testing", timeout="30s", isolation="inline", internal=True)
def record(input: RecordInput, context: ActivityContext) -> RecordOutput:
    """Appends its idempotency key and attempt to a file, on disk before it returns."""
    target = Territory.of(context).confine(input.path, must_exist=False)
    key, attempt = context.idempotency_key, context.identity.attempt
    line = json.dumps({"key": key, "attempt": attempt, "value": input.value, "at": datetime.now(UTC).isoformat()})
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        os.write(descriptor, line.encode() + b"\n")  # one write: lines of several processes never mix
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return RecordOutput(key=key, attempt=attempt, value=input.value)
