"""What runs when: the order of what is ready, who gets a slot that becomes free, and how long a retry waits."""

from itertools import pairwise
from typing import Any

import pytest

from workflows import control
from workflows.models import Branch, Customer, Execution, StateRun
from workflows.tests import engine_activities
from workflows.tests.pumping import Engine, eventually, runs_of, story, task

pytestmark = pytest.mark.usefixtures("misbehaving")


def spec(*states: dict[str, Any]) -> dict[str, Any]:
    return {"name": "order", "states": list(states)}


ECHO = spec(task("EchoActivity", value=1))


@pytest.mark.parametrize("most", [None, 100], ids=["no limits", "under limits"])
def test_higher_priorities_come_first_and_the_older_of_equals(engine: Engine, most: int | None) -> None:
    Customer.objects.filter(pk=engine.customer.pk).update(max_running_branches=most)
    priorities = (0, 5, 0, 5, -1)
    started = [engine.start(ECHO, priority=priority) for priority in priorities]
    engine.pump(threads=1)
    for execution in started:
        engine.ended(execution)
    order = [started.index(id) for id in StateRun.objects.order_by("id").values_list("execution_id", flat=True)]
    assert order == [1, 3, 0, 2, 4]


def test_branches_items_and_children_have_the_priority_of_their_execution(engine: Engine) -> None:
    engine.pump()
    kid = {"name": "Kid", "type": "Workflow", "spec": ECHO | {"name": "kid"}}
    each = {"name": "Each", "type": "Map", "items": [1], "states": [kid]}
    engine.run(spec({"name": "Fan", "type": "Parallel", "branches": [{"states": [each]}]}), priority=5)
    assert set(Execution.objects.values_list("priority", flat=True)) == {5}
    assert list(Branch.objects.values_list("priority", flat=True)) == [5] * 4


def test_the_next_item_lets_work_go_first_that_is_more_urgent(engine: Engine) -> None:
    engine.pump(threads=1)
    low = engine.start(
        spec(
            {"name": "Each", "type": "Map", "items": [1, 2], "maxConcurrency": 1, "states": [task("Hold", seconds=20)]}
        )
    )
    engine.is_running(low, "A")
    urgent = engine.start(ECHO, priority=9)
    engine_activities.release.set()
    engine.ended(urgent)
    engine.ended(low)
    (first, second), (between,) = runs_of(low, "A"), runs_of(urgent)
    assert first.pk < between.pk < second.pk


def test_a_branch_that_waits_keeps_its_slot(engine: Engine) -> None:
    engine.pump()
    wait = {"type": "WaitForSignal", "signal": "go"}
    states = [wait | {"name": "W1"}, task("EchoActivity", "E1", value=1), wait | {"name": "W2"},
              task("EchoActivity", "E2", value=1)]  # fmt: skip
    execution = engine.start(spec(
        {"name": "Fan", "type": "Parallel", "maxConcurrency": 2, "branches": [{"states": [s]} for s in states]}
    ))  # fmt: skip
    engine.waits(execution, "signal", count=2)
    assert Branch.objects.get(execution=execution, state="E2").status == "queued"
    control.send_signal(execution, "go")
    control.send_signal(execution, "go")
    assert engine.ended(execution).status == "success", story(execution)


def test_a_signal_goes_to_the_branch_that_has_waited_longest(engine: Engine) -> None:
    engine.pump()
    wait = {"type": "WaitForSignal", "signal": "go"}
    execution = engine.start(spec({"name": "Fan", "type": "Parallel", "branches": [
        {"states": [{"name": "Later", "type": "WaitForSignal", "signal": "first"}, wait | {"name": "Second"}]},
        {"states": [wait | {"name": "First"}]},
    ]}))  # fmt: skip
    engine.waits(execution, "signal", count=2)
    control.send_signal(execution, "first")
    eventually(lambda: Branch.objects.filter(state="Second", status="waiting").exists(), "both wait")
    control.send_signal(execution, "go")
    eventually(lambda: len(runs_of(execution)) == 2, "one more is done")
    assert [run.state for run in runs_of(execution)] == ["Later", "First"]


def test_each_retry_waits_longer_than_the_one_before(engine: Engine) -> None:
    engine.pump()
    engine.clock()
    retry = {"maxAttempts": 3, "initialInterval": "200ms", "backoffCoefficient": 3, "jitter": 0}
    execution = engine.run(spec(task("FailActivity", failures=2) | {"retry": retry}))
    waited = [(b.started_at - a.ended_at).total_seconds() for a, b in pairwise(runs_of(execution.pk))]
    assert waited[0] >= 0.2
    assert waited[1] >= 0.6
