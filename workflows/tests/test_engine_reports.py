"""What an activity says reaches the log while it runs: all of it, soon, in order, and its progress not too often."""

import asyncio
import threading
import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from pydantic import BaseModel

from workflows.activities.context import ActivityContext
from workflows.activities.registry import activity, registry
from workflows.engine.hints import LOG_CHANNEL
from workflows.engine.store import connection_parameters
from workflows.models import LogEntry
from workflows.tests.pumping import Engine, eventually

GO_ON = threading.Event()


class Nothing(BaseModel):
    """Nothing."""


class Lines(BaseModel):
    """How many lines."""

    lines: int = 0


async def chatter(input: Lines, context: ActivityContext) -> Nothing:
    """Says ``lines`` lines, and one from another thread, then waits to be let go on."""
    for number in range(input.lines):
        context.info(f"line {number}", event="a field may be called anything")
    await asyncio.to_thread(context.info, "from a thread")
    await asyncio.to_thread(GO_ON.wait, 20)
    context.info("the last word")
    return Nothing()


def steps(input: Lines, context: ActivityContext) -> Nothing:
    """Tells its progress within one commit."""
    for percent in (10, 50, 100):
        context.progress(percent)
    context.info("done", event="inline as well")
    return Nothing()


@pytest.fixture(autouse=True)
def talkative() -> Iterator[None]:
    GO_ON.clear()
    activity("Chatter", category="testing")(chatter)
    activity("Steps", category="testing", isolation="inline")(steps)
    yield
    GO_ON.set()
    for name in ("Chatter", "Steps"):
        registry._activities.pop(name)


def spec(resource: str, **parameters: Any) -> dict[str, Any]:
    return {"name": "talk", "states": [{"name": "A", "type": "Task", "resource": resource, "parameters": parameters}]}


def of_event(execution: Any, event: str) -> list[LogEntry]:
    return list(LogEntry.objects.filter(execution=execution, event=event).order_by("tx", "id"))


def test_lines_are_there_while_the_activity_runs_and_before_its_end(engine: Engine) -> None:
    engine.pump()
    execution = engine.start(spec("Chatter", lines=500))
    wanted = [*(f"line {number}" for number in range(500)), "from a thread"]
    eventually(
        lambda: [entry.message for entry in of_event(execution, "activity.log")] == wanted, "every line in order"
    )
    GO_ON.set()
    engine.ended(execution)
    assert [entry.message for entry in of_event(execution, "activity.log")] == [*wanted, "the last word"]
    last, ended = of_event(execution, "activity.log")[-1], of_event(execution, "state.succeeded")[0]
    assert (last.tx, last.pk) < (ended.tx, ended.pk)


def test_progress_is_told_four_times_a_second_and_in_the_end(engine: Engine) -> None:
    engine.pump()
    execution = engine.start(spec("TalkActivity", lines=1000, perSecond=800, progress=True))
    engine.ended(execution)
    told = of_event(execution, "activity.progress")
    percents = [entry.fields["percent"] for entry in told if entry.fields]
    took = (told[-1].logged_at - told[0].logged_at).total_seconds()
    assert percents == sorted(percents)
    assert percents[-1] == 100
    assert 3 <= len(told) <= 4 * took + 2


def test_progress_within_one_commit_is_told_once(engine: Engine) -> None:
    engine.pump()
    execution = engine.start(spec("Steps"))
    engine.ended(execution)
    told = [(entry.message, entry.fields) for entry in of_event(execution, "activity.progress")]
    assert told == [("100 %", {"percent": 100})]
    assert [entry.fields for entry in of_event(execution, "activity.log")] == [{"event": "inline as well"}]


def test_whoever_listens_is_told_which_executions_said_something(engine: Engine) -> None:
    parameters: dict[str, Any] = connection_parameters()
    with psycopg.connect(**parameters) as connection:
        connection.execute(f"LISTEN {LOG_CHANNEL}")
        engine.pump()
        execution = engine.start(spec("Chatter", lines=1))
        began, heard = time.monotonic(), set[str]()
        while str(execution) not in heard:
            assert time.monotonic() - began < 10, "nothing was told"
            for notice in connection.notifies(timeout=0.5, stop_after=1):
                heard |= set(notice.payload.split(","))
        eventually(lambda: of_event(execution, "activity.log"), "the line")
        GO_ON.set()
        engine.ended(execution)
        notices = list(connection.notifies(timeout=0.5))
    assert len(notices) < 10, "a pump must not pay for every line"
