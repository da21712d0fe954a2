"""A rerun that begins inside a Parallel: what went well beside it is taken over, what hangs on it runs again."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from pydantic import BaseModel

from workflows import control, reruns
from workflows.activities.context import ActivityContext
from workflows.activities.registry import activity, registry
from workflows.engine import clock
from workflows.errors import PermanentError
from workflows.models import Branch, Execution, LogEntry, StateRun
from workflows.reruns import NotRerunnable, rerun_execution, states_to_rerun_from
from workflows.tests import engine_activities
from workflows.tests.pumping import Engine, eventually, lose_lease, messages, output_of, ran, runs_of, story, task

ROOT = Path(__file__).resolve().parents[2]


class Given(BaseModel):
    """What a step is called with."""

    value: Any = None


class Steps:
    """``Step``: an activity that says what it was given, and fails in the states that are ``broken``."""

    def __init__(self) -> None:
        self.broken: set[str] = set()

    def __call__(self, input: Given, context: ActivityContext) -> Given:
        if context.identity.state in self.broken:
            raise PermanentError(f"{context.identity.state} is broken")
        return Given(value=input.value)


@pytest.fixture
def steps() -> Iterator[Steps]:
    made = Steps()

    def step(input: Given, context: ActivityContext) -> Given:
        return made(input, context)

    activity("Step", category="testing", isolation="inline")(step)
    yield made
    registry._activities.pop("Step")


def step(name: str, value: Any = None, **more: Any) -> dict[str, Any]:
    return task("Step", name, value=value if value is not None else name.lower()) | more


def branch(name: str, *states: dict[str, Any], after: tuple[str, ...] = (), when: str | None = None) -> dict[str, Any]:
    made: dict[str, Any] = {"name": name, "states": list(states)}
    return made | ({"dependsOn": list(after)} if after else {}) | ({"when": when} if when else {})


def parallel(name: str, *branches: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": name, "type": "Parallel", "branches": list(branches), **more}


def spec(*states: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": "work", **more, "states": list(states)}


def again(engine: Engine, first: Execution, state: str) -> Execution:
    made = rerun_execution(first.pk, from_state=state, by="tester")
    ended = engine.ended(made.pk)
    assert ended.rerun_of_id == first.pk
    assert ended.start_state == state
    return ended


def own(execution: Execution) -> set[str]:
    """The states that it ran itself; none ran twice."""
    names = [state for state, _, _ in ran(execution.pk)]
    assert len(names) == len(set(names)), story(execution.pk)
    return set(names)


def reused(execution: Execution) -> set[str]:
    return {run.state for run in runs_of(execution.pk) if run.reused}


THREE = spec(
    step("Begin", "b", assign={"from": "${result.value}"}),
    parallel(
        "Fan",
        branch("left", step("L1"), step("L2", "${L1.output.value}!")),
        branch("mid", step("M1", assign={"kept": "${result.value}-${vars.from}"}),
               step("M2", "${vars.kept}/${vars.from}"), {"name": "MP", "type": "Pass"}),
        branch("right", step("R1")),
    ),
    step("End", ["${L2.output.value}", "${M2.output.value}", "${R1.output.value}", "${vars.from}"]),
)  # fmt: skip


def test_only_the_rest_of_one_of_three_branches_runs_again(engine: Engine, steps: Steps) -> None:
    engine.pump()
    first = engine.run(THREE)
    assert first.output == {"value": ["l1!", "m1-b/b", "r1", "b"]}
    ended = again(engine, first, "M2")
    assert ended.status == "success", story(ended.pk)
    assert own(ended) == {"M2", "MP", "Fan", "End"}
    assert reused(ended) == {"Begin", "L1", "L2", "M1", "R1"}
    assert ended.output == first.output
    assert output_of(ended.pk, "MP") == {"value": "m1-b/b"}
    assert output_of(ended.pk, "Fan") == output_of(first.pk, "Fan")
    assert "work started again at M2; what ran before it is reused" in messages(ended.pk)
    assert "Fan begins again at M2; 2 of 3 branches are reused: left, right" in messages(ended.pk)
    said = LogEntry.objects.get(execution=ended, event="state.started", node_id="Fan")
    assert said.fields == {"reused": ["left", "right"], "state": "M2"}


def test_a_state_that_hands_on_what_came_before_it_begins_with_that(engine: Engine, steps: Steps) -> None:
    engine.pump()
    ended = again(engine, engine.run(THREE), "MP")
    assert own(ended) == {"MP", "Fan", "End"}
    assert output_of(ended.pk, "MP") == {"value": "m1-b/b"}


def test_what_depends_on_the_branch_runs_again_and_what_it_depends_on_does_not(engine: Engine, steps: Steps) -> None:
    engine.pump()
    chain = spec(parallel(
        "Fan",
        branch("a", step("A")),
        branch("b", step("B", "${A.output.value}"), after=("a",)),
        branch("c", step("C", "${B.output.value}"), after=("b",)),
        branch("d", step("D", "${C.output.value}"), after=("c", "e")),
        branch("e", step("E")),
    ))  # fmt: skip
    first = engine.run(chain)
    ended = again(engine, first, "B")
    assert own(ended) == {"B", "C", "D", "Fan"}
    assert reused(ended) == {"A", "E"}
    assert output_of(ended.pk, "D") == {"value": "a"}
    assert own(again(engine, ended, "D")) == {"D", "Fan"}


def test_a_branch_that_was_skipped_stays_skipped(engine: Engine, steps: Steps) -> None:
    engine.pump()
    first = engine.run(spec(parallel(
        "Fan",
        branch("start", step("S", 1)),
        branch("no", step("N"), after=("start",), when="{% S.output.value > 1 %}"),
        branch("below", step("B"), after=("no",)),
        branch("yes", step("Y"), step("Z"), after=("start",), when="{% S.output.value = 1 %}"),
    )))  # fmt: skip
    ended = again(engine, first, "Z")
    assert own(ended) == {"Z", "Fan"}
    statuses = dict(Branch.objects.filter(execution=ended, parent__isnull=False).values_list("name", "status"))
    assert statuses == {"start": "success", "no": "skipped", "below": "skipped", "yes": "success"}
    assert output_of(ended.pk, "Fan") == output_of(first.pk, "Fan")


def test_a_sibling_that_failed_and_those_it_stopped_run_again(engine: Engine, steps: Steps) -> None:
    engine.pump()
    steps.broken = {"F2"}
    first = engine.run(spec(parallel(
        "Fan",
        branch("good", step("G")),
        branch("slow", {"name": "W", "type": "WaitForSignal", "signal": "go"}, after=("good",)),
        branch("never", step("N"), after=("slow",)),
        branch("bad", step("F1"), step("F2"), after=("good",)),
        branch("late", step("T"), after=("bad",)),
    ), step("End")))  # fmt: skip
    assert first.status == "failed"
    assert states_to_rerun_from(first) == ["Fan", "G", "W", "F1", "F2"]
    steps.broken = set()
    made = rerun_execution(first.pk, from_state="F2")
    engine.waits(made.pk, "signal")
    control.send_signal(made.pk, "go", by="tester")
    ended = engine.ended(made.pk)
    assert ended.status == "success", story(ended.pk)
    assert own(ended) == {"F2", "W", "N", "T", "Fan", "End"}
    assert reused(ended) == {"G", "F1"}

    from_the_wait = rerun_execution(first.pk, from_state="W")  # where it was stopped while it waited
    engine.waits(from_the_wait.pk, "signal")
    control.send_signal(from_the_wait.pk, "go", by="tester")
    ended = engine.ended(from_the_wait.pk)
    assert own(ended) == {"F1", "F2", "W", "N", "T", "Fan", "End"}, "the failed branch runs again from its start"


def test_a_failure_that_the_workflow_goes_on_after_is_reused_where_the_state_builds_on_it(
    engine: Engine, steps: Steps
) -> None:
    engine.pump()
    steps.broken = {"A", "C"}
    first = engine.run(spec(parallel(
        "Fan",
        branch("a", step("A")),
        branch("b", step("B1"), step("B2"), after=("a",)),
        branch("c", step("C")),
        branch("d", step("D"), after=("c",)),
    ), errorHandling="continue"))  # fmt: skip
    assert {state: status for state, status, _ in ran(first.pk)}["A"] == "failed"
    ended = again(engine, first, "B2")
    assert own(ended) == {"B2", "C", "D", "Fan"}
    assert reused(ended) == {"A", "B1"}
    assert ended.errors == first.errors


NESTED = spec(
    parallel(
        "Outer",
        branch("o1", step("P1"), parallel(
            "Early", branch("x", step("X1")), branch("y", step("Y1"))),
            parallel(
                "Inner",
                branch("i1", step("I1", assign={"deep": "${X1.output.value}"}), step("I2", "${vars.deep}")),
                branch("i2", step("J1")),
                branch("i3", step("K1", "${I2.output.value}"), after=("i1",))),
            step("P2", ["${K1.output.value}", "${Y1.output.value}"])),
        branch("o2", parallel("Other", branch("u", step("U1")), branch("v", step("V1")))),
        branch("o3", step("Q1", "${P2.output.value}"), after=("o1",)),
        branch("o4", step("Q2", "${U1.output.value}"), after=("o2",)),
    ),
    step("End", ["${Q1.output.value}", "${V1.output.value}"]),
)  # fmt: skip


def test_nested_parallels_reuse_at_every_level(engine: Engine, steps: Steps) -> None:
    engine.pump()
    first = engine.run(NESTED)
    ended = again(engine, first, "I2")
    assert own(ended) == {"I2", "K1", "Inner", "P2", "Q1", "Outer", "End"}, story(ended.pk)
    assert ended.output == first.output == {"value": [["x1", "y1"], "v1"]}
    assert output_of(ended.pk, "Outer") == output_of(first.pk, "Outer")
    bodies = dict(StateRun.objects.filter(execution=ended, reused=True).values_list("state", "branch__body"))
    assert bodies["X1"] == "Outer/o1/Early/x"
    assert bodies["V1"] == "Outer/o2/Other/v"
    once_more = again(engine, ended, "Y1")
    assert own(once_more) == {"Y1", "Early", "I1", "I2", "J1", "K1", "Inner", "P2", "Q1", "Outer", "End"}
    assert once_more.output == first.output


def test_a_rerun_of_what_was_reused_whole_goes_back_to_where_it_ran(engine: Engine, steps: Steps) -> None:
    engine.pump()
    first = engine.run(THREE)
    from_the_end = again(engine, first, "End")
    assert states_to_rerun_from(from_the_end) == ["Begin", "Fan", "End", "L1", "L2", "M1", "M2", "MP", "R1"]
    ended = again(engine, from_the_end, "M2")
    assert own(ended) == {"M2", "MP", "Fan", "End"}
    assert ended.output == first.output
    first.delete()
    from_the_end.refresh_from_db()
    assert states_to_rerun_from(from_the_end) == ["Begin", "Fan", "End"]
    with pytest.raises(NotRerunnable, match="not kept any more; rerun from Fan"):
        rerun_execution(from_the_end.pk, from_state="M2")


def test_a_rerun_from_the_parallel_itself_reuses_nothing_in_it(engine: Engine, steps: Steps) -> None:
    engine.pump()
    ended = again(engine, engine.run(THREE), "Fan")
    assert reused(ended) == {"Begin"}
    assert own(ended) == {"L1", "L2", "M1", "M2", "MP", "R1", "Fan", "End"}


def test_the_error_that_was_caught_before_the_state_can_still_be_read(engine: Engine, steps: Steps) -> None:
    engine.pump()
    steps.broken = {"F"}
    caught = step("F", catch=[{"errors": ["*"], "next": "Mend", "resultPath": "why"}], next="Mend")
    mend = {"name": "Mend", "type": "Pass", "result": ["${error.message}", "${vars.why.message}"]}
    inside = engine.run(spec(parallel("Fan", branch("a", caught, mend), branch("b", step("B")))))
    ended = again(engine, inside, "Mend")
    assert output_of(ended.pk, "Mend") == ["F is broken", "F is broken"], story(ended.pk)
    at_the_top = engine.run(spec(caught, mend))
    assert again(engine, at_the_top, "Mend").output == ["F is broken", "F is broken"]


def test_a_loop_in_a_branch_begins_with_its_last_round(engine: Engine, steps: Steps) -> None:
    engine.pump()
    loop = spec(parallel("Fan", branch(
        "a",
        {"name": "Zero", "type": "Pass", "assign": {"i": 0}, "next": "Body"},
        step("Body", "${vars.i}", assign={"i": "{% vars.i + 1 %}"}, next="Again"),
        {"name": "Again", "type": "Choice", "choices": [{"when": "{% vars.i < 3 %}", "next": "Body"}],
         "default": "Done"},
        {"name": "Done", "type": "Succeed", "output": "${vars.i}"}), branch("b", step("B"))))  # fmt: skip
    first = engine.run(loop)
    ended = again(engine, first, "Body")
    assert own(ended) == {"Body", "Again", "Done", "Fan"}
    assert output_of(ended.pk, "Done") == 3


def test_slots_hold_for_what_begins_again(engine: Engine, steps: Steps) -> None:
    names = ("a", "b", "c", "d")
    waits = [branch(name, step(f"S{name}"), {"name": f"W{name}", "type": "WaitForSignal", "signal": name})
             for name in names]  # fmt: skip
    execution = engine.start(spec(parallel("Fan", *waits, maxConcurrency=2)))
    engine.pump()
    engine.waits(execution, "signal", count=2)
    control.request_cancel(execution, by="tester")
    first = engine.ended(execution)
    made = rerun_execution(first.pk, from_state="Wb")
    for name in ("b", "a", "c", "d"):
        engine.waits(made.pk, "signal", count=2 if name != "d" else 1)
        assert Branch.objects.filter(execution=made, parent__isnull=False, status="waiting").count() <= 2
        control.send_signal(made.pk, name, by="tester")
    ended = engine.ended(made.pk)
    assert own(ended) == {"Wb", "Sa", "Wa", "Sc", "Wc", "Sd", "Wd", "Fan"}


def test_what_cannot_be_started_from_says_what_can_be_done(engine: Engine, steps: Steps) -> None:
    engine.pump()
    kid = {"name": "kid", "states": [step("Deep")]}
    first = engine.run(spec(parallel(
        "Fan",
        branch("a", {"name": "Each", "type": "Map", "items": [1, 2], "states": [step("Item")]}),
        branch("b", {"name": "Kid", "type": "Workflow", "spec": kid}),
        branch("c", {"name": "Pick", "type": "Choice", "choices": [{"when": "{% 1 = 2 %}", "next": "Other"}],
                     "default": "Tail"}, step("Other", end=True), step("Tail")))))  # fmt: skip
    assert first.status == "success", story(first.pk)
    child = Execution.objects.get(parent=first)
    for state, why in {
        "Item": "Item is inside the Map Each, whose items are not run again one by one; rerun from Each",
        "Deep": f"Deep is a state of the child kid, an execution of its own; rerun {child.pk} from it",
        "Other": "Other did not run",
        "tial": r"no state 'tial' \(did you mean \"Tail\"\?\); there are Fan, Each, Kid, Pick, Other, Tail",
    }.items():
        with pytest.raises(NotRerunnable, match=why):
            rerun_execution(first.pk, from_state=state)
    assert states_to_rerun_from(first) == ["Fan", "Each", "Kid", "Pick", "Tail"]
    assert states_to_rerun_from(child) == ["Deep"]
    from_the_map = again(engine, first, "Each")
    assert [state for state, _, _ in ran(from_the_map.pk)] == ["Item", "Item", "Each", "Fan"]


def test_a_worker_killed_after_the_fork_loses_and_doubles_nothing(
    engine: Engine, misbehaving: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "TICK_SECONDS", 0.1)
    pump = engine.pump()
    engine_activities.release.set()
    first = engine.run(spec(
        parallel("Fan", branch("a", task("EchoActivity", "A", value=1)),
                 branch("b", task("EchoActivity", "B", value=2), task("Hold", "H", seconds=60)),
                 branch("c", task("EchoActivity", "C", value="${B.output.value}"), after=("b",))),
        task("EchoActivity", "End", value="${C.output.value}")))  # fmt: skip
    assert first.status == "success", story(first.pk)
    engine.stop(pump)
    made = rerun_execution(first.pk, from_state="H").pk
    worker = subprocess.Popen(
        [sys.executable, "-m", "workflows.tests.dying_workers"],
        cwd=ROOT,
        env=os.environ
        | {"DJANGO_SETTINGS_MODULE": "poimen_site.settings_test",
           "POIMEN_TEST_DATABASE": connection.settings_dict["NAME"]},
    )  # fmt: skip
    try:
        held = eventually(
            lambda: Branch.objects.filter(execution=made, status="running", state="H").first(), "H runs", seconds=60
        )
    finally:
        worker.kill()  # and its pump with it
        worker.wait()
    lose_lease(held.pk)
    engine.clock()
    eventually(lambda: runs_of(made, "H"), "taken back")
    engine.pump()
    ended = engine.ended(made)
    assert ended.output == {"value": 2}, story(made)
    assert ran(made) == [("H", "interrupted", 1), ("H", "success", 2), ("C", "success", 1), ("Fan", "success", 1),
                         ("End", "success", 1)]  # fmt: skip
    assert Branch.objects.filter(execution=made).count() == 4


def test_a_fork_that_is_cut_off_leaves_nothing(engine: Engine, steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.pump()
    first = engine.run(THREE)

    def fall(*_: Any, **__: Any) -> None:
        raise ConnectionAbortedError

    monkeypatch.setattr(reruns, "audit_start", fall)  # the last thing that the transaction does
    with pytest.raises(ConnectionAbortedError):
        rerun_execution(first.pk, from_state="M2")
    assert list(Execution.objects.all()) == [first]
    for model in (Branch, StateRun, LogEntry):
        assert not model.objects.exclude(execution=first.pk).exists()


def test_a_rerun_in_a_branch_can_be_paused_and_cancelled(engine: Engine, steps: Steps) -> None:
    engine.pump()
    first = engine.run(spec(parallel("Fan", branch("a", step("A")), branch("b", step("B"), step("C"))), step("End")))
    engine.stop()
    made = rerun_execution(first.pk, from_state="C").pk
    control.request_pause(made, by="tester")
    assert Execution.objects.get(pk=made).status == "paused"
    control.request_resume(made, by="tester")
    assert control.request_cancel(made, by="tester").status == "cancelled"
    third = rerun_execution(made, from_state="C")  # it had come there
    engine.pump()
    assert own(engine.ended(third.pk)) == {"C", "Fan", "End"}


def test_a_repeated_request_with_one_key_forks_once(engine: Engine, steps: Steps) -> None:
    engine.pump()
    first = engine.run(THREE)
    made, is_new = reruns.rerun_once(first.pk, from_state="M2", idempotency_key="k")
    same, is_new_again = reruns.rerun_once(first.pk, from_state="M2", idempotency_key="k")
    assert (made.pk, is_new, is_new_again) == (same.pk, True, False)
    assert Execution.objects.count() == 2
    engine.ended(made.pk)
