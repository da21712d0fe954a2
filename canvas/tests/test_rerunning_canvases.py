"""A canvas with two ways, one of which failed: run again from the step that failed, over REST, only that way runs."""

import threading
from collections.abc import Iterator

import pytest

from canvas.tests.asking import client, post, saved
from canvas.tests.drawing import edges, node
from workflows.activities.context import ActivityContext
from workflows.activities.registry import activity, registry
from workflows.activities.shapes import Fields
from workflows.errors import PermanentError
from workflows.models import Role
from workflows.tests.pumping import Engine, eventually, runs_of, story


class Nothing(Fields):
    """No fields."""


@pytest.fixture
def unsteady() -> Iterator[threading.Event]:
    """An activity that waits until it is told to, and fails the first time."""
    told = threading.Event()
    calls: list[str] = []

    def run(input: Nothing, context: ActivityContext) -> Nothing:
        assert told.wait(20)
        calls.append(context.identity.state)
        if len(calls) == 1:
            raise PermanentError("the first time it fails")
        return Nothing()

    activity("UnsteadyActivity", category="testing", isolation="inline")(run)
    yield told
    told.set()
    registry._activities.pop("UnsteadyActivity")


def test_only_the_way_that_failed_runs_again(engine: Engine, unsteady: threading.Event) -> None:
    engine.pump()
    ann = client(Role.OPERATOR)
    nodes = [node("a", value=1), node("b", value="${a.output.value}"), node("c"), node("d", "UnsteadyActivity"),
             node("e", value="${a.output.value}"), node("f")]  # fmt: skip
    made = saved(ann, nodes=nodes, edges=edges("a b c f", "a d e f"))
    first = post(ann, f"/workflows/{made['id']}/execute").json()["id"]
    assert ann.get(f"/executions/{first}/rerun").json() == {"states": []}, "it has not ended"
    eventually(lambda: runs_of(first, "c"), "the other way is done")
    unsteady.set()
    assert engine.ended(first).status == "failed", story(first)

    beginnings = ann.get(f"/executions/{first}/rerun").json()["states"]
    assert set(beginnings) == {"parallel", "a", "b", "c", "d"}
    answer = post(ann, f"/executions/{first}/rerun", {"fromState": "d"})
    assert answer.status_code == 201, answer.content
    again = engine.ended(answer.json()["id"])
    assert again.status == "success", story(again.pk)
    states = ann.get(f"/executions/{again.pk}/states").json()["states"]
    assert [run["state"] for run in states if not run["reused"]] == ["d", "e", "f", "parallel"]
    assert {run["state"] for run in states if run["reused"]} == {"a", "b", "c"}

    refused = post(ann, f"/executions/{first}/rerun", {"fromState": "e"})
    assert refused.status_code == 409
    assert "e did not run" in refused.json()["error"]
    near = post(ann, f"/executions/{first}/rerun", {"fromState": "paralel"})
    assert 'did you mean "parallel"?' in near.json()["error"]
