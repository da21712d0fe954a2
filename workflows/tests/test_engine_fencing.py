"""A worker whose lease was given away writes nothing, whichever of its statements it comes to."""

from typing import Any

import pytest

from workflows.models import Branch
from workflows.tests import engine_activities
from workflows.tests.pumping import Engine, eventually, messages, runs_of, task

pytestmark = pytest.mark.usefixtures("misbehaving")


HOLD = task("Hold", seconds=20)
THEN = task("EchoActivity", "B", value=1)
FAILS = {"name": "Bad", "type": "Fail"}
PLACES: dict[str, list[dict[str, Any]]] = {
    "a step": [HOLD, THEN],
    "a wait": [HOLD, {"name": "W", "type": "Wait", "duration": "1h"}],
    "the end of a branch": [{"name": "Fan", "type": "Parallel", "branches": [{"states": [HOLD]}]}],
    "the failure of a branch": [{"name": "Fan", "type": "Parallel", "branches": [{"states": [HOLD, FAILS]}]}],
    "the end of an item": [{"name": "Each", "type": "Map", "items": [1], "states": [HOLD]}],
    "the end of the execution": [HOLD],
    "the failure of the execution": [HOLD, FAILS],
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("attempt", [1, 2], ids=["first attempt", "later attempt"])
def test_a_commit_under_an_old_epoch_writes_nothing(engine: Engine, place: str, attempt: int) -> None:
    execution = engine.start({"name": "fencing", "states": PLACES[place]})
    Branch.objects.filter(execution=execution, state="A").update(attempt=attempt)
    engine.pump()
    branch = engine.is_running(execution, "A")
    Branch.objects.filter(pk=branch.pk).update(epoch=branch.epoch + 1)
    before, said = (
        Branch.objects.filter(pk=branch.pk).values("status", "state", "visit", "seq", "epoch")[0],
        messages(execution),
    )
    engine_activities.release.set()
    eventually(lambda: not engine.pumps[0]._lines, "the worker lets go")
    assert Branch.objects.filter(pk=branch.pk).values(*before)[0] == before
    assert runs_of(execution) == []
    assert messages(execution) == said


def test_what_is_given_back_under_an_old_epoch_stays_with_its_new_owner(engine: Engine) -> None:
    pump = engine.pump()
    execution = engine.start({"name": "fencing", "states": [task("SleepActivity", seconds=60)]})
    eventually(lambda: pump._launcher._tasks, "the activity is under way")
    Branch.objects.filter(execution=execution).update(epoch=7)
    engine.stop(pump)
    branch = Branch.objects.get(execution=execution)
    assert (branch.status, branch.epoch, branch.attempt) == ("running", 7, 1)
    assert runs_of(execution) == []
