"""Activities that misbehave in ways no real one should: registered while a test runs, in this process only."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

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
    """Waits for the signal ``kind``, at most ``seconds``."""
    if context.resumed is None:
        return Suspended(input.kind, until=datetime.now(UTC) + timedelta(seconds=input.seconds))
    return Anything(value={"payload": context.resumed.payload, "expired": context.resumed.expired})


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
