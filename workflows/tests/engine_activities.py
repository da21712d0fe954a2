"""Activities that misbehave in ways no real one should: registered while a test runs, in this process only."""

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connection
from pydantic import BaseModel, Field

from workflows.activities.context import ActivityContext, Suspended
from workflows.activities.registry import activity, registry
from workflows.errors import PermanentError, WorkflowError


class Choice(BaseModel):
    """Which misbehaviour."""

    kind: str = ""
    seconds: float = Field(default=0, ge=0)


class Anything(BaseModel):
    """Whatever."""

    value: Any = None


class OddError(Exception):
    """An exception whose text cannot be had."""

    def __str__(self) -> str:
        raise ValueError("no text")


ERRORS: dict[str, Callable[[], BaseException]] = {
    "plain": lambda: ValueError("a plain one"),
    "exit": lambda: SystemExit(3),
    "interrupt": lambda: KeyboardInterrupt(),
    "stop": lambda: StopIteration(),
    "timeout": lambda: TimeoutError("of its own"),
    "cancelled": lambda: asyncio.CancelledError(),
    "textless": lambda: OddError(),
    "nul": lambda: WorkflowError("a \0 in the message", retryable=False),
    "details": lambda: PermanentError("odd details", details={"set": {1, 2}, "nan": float("nan")}),
}
OUTPUTS: dict[str, Callable[[], Any]] = {
    "nul": lambda: "a\0b",
    "nan": lambda: float("nan"),
    "surrogate": lambda: "\ud800",
    "surrogate key": lambda: {"\ud800": 1},
    "large": lambda: "x" * (300 * 1024),
    "too large": lambda: "x" * (33 * 1024 * 1024),
    "number": lambda: 10**400,
}
release = threading.Event()


def raise_inline(input: Choice, context: ActivityContext) -> Anything:
    """Raises what it is told."""
    error = ERRORS[input.kind]()
    raise error


async def raise_async(input: Choice, context: ActivityContext) -> Anything:
    """Raises what it is told."""
    await asyncio.sleep(0)
    error = ERRORS[input.kind]()
    raise error


def give(input: Choice, context: ActivityContext) -> Anything:
    """Gives what it is told."""
    return Anything.model_construct(value=OUTPUTS[input.kind]())


async def ignore_cancellation(input: Choice, context: ActivityContext) -> Anything:
    """Sleeps, whatever happens."""
    end = asyncio.get_running_loop().time() + input.seconds
    while asyncio.get_running_loop().time() < end:
        try:
            await asyncio.sleep(0.05)
        except asyncio.CancelledError:
            continue
    return Anything(value="late")


def hold(input: Choice, context: ActivityContext) -> Anything:
    """Holds its driver thread until the test releases it."""
    if not release.wait(input.seconds):
        raise PermanentError("nobody released this activity")
    return Anything(value=context.idempotency_key)


async def limited(input: Choice, context: ActivityContext) -> Anything:
    """Takes a while."""
    await asyncio.sleep(input.seconds)
    return Anything()


def suspend(input: Choice, context: ActivityContext) -> Anything | Suspended:
    """Waits for the signal ``kind``, at most ``seconds``; and once more if its payload is ``again``."""
    if context.resumed is None or context.resumed.payload == "again":
        return Suspended(input.kind, until=datetime.now(UTC) + timedelta(seconds=input.seconds))
    return Anything(value={"payload": context.resumed.payload, "expired": context.resumed.expired})


async def suspend_async(input: Choice, context: ActivityContext) -> Anything | Suspended:
    """The same, off the driver threads."""
    return suspend(input, context)


async def report(input: Choice, context: ActivityContext) -> Anything:
    """Says ten times that it lives, in ``seconds`` altogether."""
    for tenth in range(10):
        context.progress(tenth * 10)
        await asyncio.sleep(input.seconds / 10)
    return Anything(value="alive")


def lose_database(input: Choice, context: ActivityContext) -> Anything:
    """Works with the database while the server ends the connection: in the first attempt, or ``always``."""
    if input.kind == "always" or context.identity.attempt == 1:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
    with connection.cursor() as cursor:
        cursor.execute("SELECT 'there'")
        return Anything(value=cursor.fetchone()[0])


def die(input: Choice, context: ActivityContext) -> Anything:
    """Takes its worker along, as the kernel does when memory runs out."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("nobody survives that")


def fill(input: Choice, context: ActivityContext) -> Anything:
    """Writes a quarter of a megabyte into its workspace."""
    (context.workspace / "result").write_bytes(b"x" * 256 * 1024)
    return Anything(value="written")


@contextmanager
def registered() -> Iterator[None]:
    """Register them all; gone afterwards, since a limit on an activity makes every claim count."""
    made = (
        ("RaiseInline", raise_inline, "inline", None),
        ("RaiseAsync", raise_async, "async", None),
        ("Give", give, "inline", None),
        ("IgnoreCancellation", ignore_cancellation, "async", None),
        ("Hold", hold, "inline", None),
        ("Limited", limited, "async", 2),
        ("Suspend", suspend, "inline", None),
        ("SuspendAsync", suspend_async, "async", None),
        ("Report", report, "async", None),
        ("LoseDatabase", lose_database, "inline", None),
        ("Die", die, "inline", None),
        ("Fill", fill, "inline", None),
    )
    release.clear()
    for name, function, isolation, limit in made:
        activity(name, category="testing", isolation=isolation, max_concurrency=limit)(function)  # type: ignore[arg-type]
    try:
        yield
    finally:
        release.set()
        for name, *_ in made:
            registry._activities.pop(name)
