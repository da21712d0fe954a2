"""Whatever happens during a pause - a signal, a lost worker, an item that ends - waits for the resume."""

from typing import Any
from uuid import UUID

import pytest

from workflows import control
from workflows.models import Branch
from workflows.tests import engine_activities
from workflows.tests.pumping import Engine, eventually, lose_lease, ran, runs_of, story, task

pytestmark = pytest.mark.usefixtures("misbehaving")


HOLD = task("Hold", seconds=20)
THEN = task("EchoActivity", "B", value=1)


def paused_while_a_runs(engine: Engine, *states: dict[str, Any], attempt: int = 1) -> UUID:
    """Start, wait until the activity of A runs, pause, let the activity end, wait until all stands still."""
    execution = engine.start({"name": "pausing", "states": list(states)})
    Branch.objects.filter(execution=execution).update(attempt=attempt)
    engine.pump()
    engine.is_running(execution, "A")
    control.request_pause(execution, by="tester")
    engine_activities.release.set()
    engine.reaches(execution, "paused")
    return execution


def resumed(engine: Engine, execution: UUID) -> list[str]:
    """Resume, wait for the end, and return the states that succeeded."""
    control.request_resume(execution, by="tester")
    assert engine.ended(execution).status == "success", story(execution)
    return [run.state for run in runs_of(execution) if run.status == "success"]


@pytest.mark.parametrize("attempt", [1, 2], ids=["the first attempt", "a later attempt"])
def test_a_step_that_ends_is_the_last_before_the_resume(engine: Engine, attempt: int) -> None:
    execution = paused_while_a_runs(engine, HOLD, THEN, attempt=attempt)
    assert ran(execution) == [("A", "success", attempt)]
    assert resumed(engine, execution) == ["A", "B"]


def test_no_item_takes_the_place_of_one_that_ends(engine: Engine) -> None:
    each = {"name": "Each", "type": "Map", "items": [1, 2, 3], "maxConcurrency": 1, "states": [HOLD]}
    execution = paused_while_a_runs(engine, each)
    assert ran(execution) == [("A", "success", 1)]
    assert resumed(engine, execution) == ["A", "A", "A", "Each"]


def test_no_branch_takes_the_place_of_one_that_ends(engine: Engine) -> None:
    branches = [{"states": [HOLD]}, {"states": [THEN]}]
    execution = paused_while_a_runs(
        engine, {"name": "Fan", "type": "Parallel", "maxConcurrency": 1, "branches": branches}
    )
    assert ran(execution) == [("A", "success", 1)]
    assert resumed(engine, execution) == ["A", "B", "Fan"]


def test_the_last_item_does_not_end_its_map(engine: Engine) -> None:
    execution = paused_while_a_runs(engine, {"name": "Each", "type": "Map", "items": [1], "states": [HOLD]})
    assert ran(execution) == [("A", "success", 1)]
    assert resumed(engine, execution) == ["A", "Each"]


def test_a_signal_wakes_nobody(engine: Engine) -> None:
    engine.pump()
    execution = engine.start({"name": "pausing", "states": [{"name": "S", "type": "WaitForSignal", "signal": "go"}]})
    engine.waits(execution, "signal")
    control.request_pause(execution, by="tester")
    control.send_signal(execution, "go", 1)
    assert Branch.objects.get(execution=execution).status == "held"
    assert resumed(engine, execution) == ["S"]


def test_a_lost_worker_is_not_replaced(engine: Engine) -> None:
    engine.pump()
    execution = engine.start({"name": "pausing", "states": [HOLD, THEN]})
    branch = engine.is_running(execution, "A")
    control.request_pause(execution, by="tester")
    engine.clock()
    eventually(lambda: lose_lease(branch.pk) and runs_of(execution), "taken back")
    assert Branch.objects.get(pk=branch.pk).status == "held"
    engine_activities.release.set()
    assert resumed(engine, execution) == ["A", "B"]


def test_what_a_stopping_worker_gives_back_stays_where_it_is(engine: Engine) -> None:
    pump = engine.pump()
    execution = engine.start({"name": "pausing", "states": [task("SleepActivity", seconds=60)]})
    eventually(lambda: pump._launcher._tasks, "the activity is under way")
    control.request_pause(execution, by="tester")
    engine.stop(pump)
    assert ran(execution) == [("A", "interrupted", 1)]
    assert Branch.objects.get(execution=execution).status == "held"
