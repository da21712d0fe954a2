"""Activities that raise, return or do what they should not: the state fails clearly, and the pump lives on."""

import os
import time
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import default_storage

from workflows import control
from workflows.engine.driver import MAX_INTERRUPTIONS
from workflows.models import Signal
from workflows.tests import engine_activities
from workflows.tests.pumping import Engine, eventually, failure_of, output_of, ran, runs_of, story, task

pytestmark = pytest.mark.usefixtures("misbehaving")


def spec(*states: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": "bad", **more, "states": list(states)}


@pytest.mark.parametrize("resource", ["RaiseInline", "RaiseAsync"])
@pytest.mark.parametrize("kind", list(engine_activities.ERRORS))
def test_whatever_an_activity_raises_is_a_failure_of_its_state(engine: Engine, resource: str, kind: str) -> None:
    pump = engine.pump(threads=2)
    execution = engine.run(spec(task(resource, kind=kind)))
    assert execution.status == "failed", story(execution.pk)
    assert ran(execution.pk) == [("A", "failed", 1)]
    assert failure_of(execution)["name"] in ("ActivityError", "InvalidOutput")
    assert failure_of(execution)["message"]
    assert engine.run(spec(task("EchoActivity", value=1), task("SleepActivity", "B", seconds=0))).status == "success"
    assert pump.driven >= 2


@pytest.mark.parametrize("kind", ["nul", "nan", "surrogate", "surrogate key", "too large", "number"])
@pytest.mark.parametrize("place", ["last", "in between", "in a map"])
def test_an_output_that_cannot_be_stored_fails_the_state(engine: Engine, kind: str, place: str) -> None:
    engine.pump(threads=2)
    give = task("Give", kind=kind)
    states = {
        "last": [give],
        "in between": [give, task("EchoActivity", "B", value="${A.output}")],
        "in a map": [{"name": "Each", "type": "Map", "items": [1], "states": [give]}],
    }[place]
    execution = engine.run(spec(*states))
    if kind in ("number", "nan"):  # a number of any size is JSON, and in JSON output NaN is null
        assert execution.status == "success", story(execution.pk)
        return
    assert execution.status == "failed", story(execution.pk)
    assert failure_of(execution)["name"] == ("LimitExceeded" if kind == "too large" else "InvalidOutput"), (
        execution.error
    )
    assert ran(execution.pk)[0] == ("A", "failed", 1)
    assert "may have 33,554,432" in failure_of(execution)["message"] or kind != "too large"


def test_a_large_output_is_kept_as_a_file_and_read_back_through_references(engine: Engine) -> None:
    engine.pump()
    execution = engine.run(
        spec(
            task("Give", kind="large"),
            {"name": "Size", "type": "Pass", "result": "{% $length(A.output.value) %}"},
            {"name": "Again", "type": "Pass", "result": "${A.output}"},
            {"name": "On", "type": "Pass"},
            {"name": "Fan", "type": "Parallel", "branches": [
                {"states": [{"name": "Inside", "type": "Pass", "result": "{% $length(A.output.value) %}"}]}
            ]},
            {"name": "End", "type": "Pass", "result": ["${Size.output}", "${Inside.output}"]},
        )
    )  # fmt: skip
    assert execution.status == "success", story(execution.pk)
    assert execution.output == [300 * 1024, 300 * 1024]
    stored = output_of(execution.pk, "A")
    assert set(stored) == {"$artifact", "bytes", "sha256"}
    assert default_storage.exists(stored["$artifact"])
    assert output_of(execution.pk, "Again") == output_of(execution.pk, "On") == stored


def test_an_async_activity_that_ignores_its_cancellation_is_left_behind_in_time(engine: Engine) -> None:
    engine.pump(threads=2)
    began = time.monotonic()
    execution = engine.run(spec(task("IgnoreCancellation", seconds=8) | {"timeout": "200ms"}))
    assert failure_of(execution)["name"] == "Timeout"
    assert time.monotonic() - began < 0.2 + 5
    assert ran(execution.pk) == [("A", "timed_out", 1)]


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def _pids(file: Path) -> list[int]:
    return eventually(lambda: [int(pid) for pid in file.read_text().split()] if file.exists() else None, "the pids")


@pytest.fixture
def pid_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("POIMEN_REPO_ROOTS", str(tmp_path))
    return tmp_path / "pids"


def test_a_process_that_resists_is_gone_in_time_with_all_it_started(engine: Engine, pid_file: Path) -> None:
    engine.pump(threads=4)
    stubborn = task("StubbornActivity", seconds=60, forks=3, pidFile=str(pid_file)) | {"timeout": "1s"}
    execution = engine.start(
        spec({"name": "Fan", "type": "Parallel", "branches": [
            {"name": "bad", "states": [stubborn | {"catch": [{"errors": ["Timeout"], "next": "Caught"}],
                                       "next": "Caught"}, {"name": "Caught", "type": "Pass", "result": 1}]},
            {"name": "good", "states": [task("SleepActivity", "S1", seconds=0.2), task("EchoActivity", "S2", value=1)]},
        ]})
    )  # fmt: skip
    pids = _pids(pid_file)
    assert len(pids) == 4
    assert all(map(_alive, pids))
    eventually(lambda: not any(map(_alive, pids)), "all of them gone", seconds=1 + 5)
    assert runs_of(execution, "S2"), "the other branch went on meanwhile"
    ended = engine.ended(execution)
    assert ended.status == "success", story(execution)
    (run,) = runs_of(execution, "A")
    assert run.status == "timed_out"
    assert not any(map(_alive, pids))
    assert engine.run(spec(task("EchoActivity", value=1))).status == "success"


def test_cancelling_kills_a_process_that_resists(engine: Engine, pid_file: Path) -> None:
    engine.pump(threads=4)
    execution = engine.start(spec(task("StubbornActivity", seconds=60, forks=1, pidFile=str(pid_file))))
    pids = _pids(pid_file)
    control.request_cancel(execution, by="tester")
    assert engine.ended(execution, seconds=30).status == "cancelled"
    assert not any(map(_alive, pids))
    assert ran(execution) == [("A", "cancelled", 1)]


def test_a_killed_process_is_a_failure_that_is_tried_again(engine: Engine, pid_file: Path) -> None:
    engine.pump(threads=4)
    engine.clock()
    stubborn = task("StubbornActivity", seconds=2, pidFile=str(pid_file))
    execution = engine.start(spec(stubborn | {"retry": {"maxAttempts": 2, "initialInterval": "10ms"}}))
    (pid,) = _pids(pid_file)
    os.kill(pid, 9)
    assert engine.ended(execution).status == "success"
    assert ran(execution) == [("A", "failed", 1), ("A", "success", 2)]
    assert failure_of(runs_of(execution)[0])["name"] == "ProcessDied"


def test_a_suspended_activity_holds_no_worker(engine: Engine) -> None:
    engine.pump(threads=1, capacity=1)
    waiting = engine.start(spec(task("Suspend", kind="go", seconds=60)))
    engine.waits(waiting, "activity")
    assert engine.run(spec(task("EchoActivity", value=1))).status == "success"
    control.send_signal(waiting, "go", {"n": 1})
    assert engine.ended(waiting).output == {"value": {"payload": {"n": 1}, "expired": False}}
    assert ran(waiting) == [("A", "success", 1)]


def test_a_suspended_activity_is_resumed_when_its_time_is_over(engine: Engine) -> None:
    engine.pump()
    engine.clock()
    execution = engine.run(spec(task("Suspend", kind="go", seconds=0.1)))
    assert execution.output == {"value": {"expired": True, "payload": None}}
    assert ran(execution.pk) == [("A", "success", 1)]


@pytest.mark.parametrize("resource", ["Suspend", "SuspendAsync"])
@pytest.mark.parametrize("early", [False, True], ids=["one after the other", "both sent before it looked"])
def test_an_activity_that_suspends_twice_gets_each_signal_once(engine: Engine, resource: str, early: bool) -> None:
    engine.pump()
    execution = engine.start(spec(task(resource, kind="go", seconds=60)))
    (waiting,) = engine.waits(execution, "activity")
    control.send_signal(execution, "go", "again")
    if not early:
        taken = Signal.objects.filter(execution=execution, consumed_at__isnull=False)
        eventually(
            lambda: taken.exists() and engine.waits(execution, "activity")[0].seq > waiting.seq, "it waits again"
        )
    control.send_signal(execution, "go", "done")
    assert engine.ended(execution).output == {"value": {"payload": "done", "expired": False}}, story(execution)
    assert ran(execution) == [("A", "success", 1)]
    assert not Signal.objects.filter(execution=execution, consumed_at=None).exists()


def test_an_activity_that_suspended_twice_is_resumed_when_the_second_time_is_over(engine: Engine) -> None:
    engine.pump()
    engine.clock()
    execution = engine.start(spec(task("Suspend", kind="go", seconds=0.5)))
    engine.waits(execution, "activity")
    control.send_signal(execution, "go", "again")
    assert engine.ended(execution).output == {"value": {"expired": True, "payload": None}}
    assert ran(execution) == [("A", "success", 1)]


def test_an_inline_activity_whose_database_goes_away_is_tried_again_through_no_fault_of_its_own(engine: Engine) -> None:
    engine.pump()
    execution = engine.run(spec(task("LoseDatabase") | {"retry": {"maxAttempts": 1}}))
    assert execution.output == {"value": "there"}, story(execution.pk)
    assert ran(execution.pk) == [("A", "interrupted", 1), ("A", "success", 2)]
    assert "the database was away" in failure_of(runs_of(execution.pk)[0])["message"]


def test_an_inline_activity_that_never_gets_at_its_database_fails_in_the_end(engine: Engine) -> None:
    engine.pump()
    execution = engine.run(spec(task("LoseDatabase", kind="always")))
    assert execution.status == "failed"
    assert [run.status for run in runs_of(execution.pk)] == ["interrupted"] * MAX_INTERRUPTIONS + ["failed"]


def test_an_activity_that_reports_is_not_silent(engine: Engine) -> None:
    engine.pump()
    execution = engine.run(spec(task("Report", seconds=1) | {"heartbeat": "500ms"}))
    assert execution.output == {"value": "alive"}, story(execution.pk)


def test_a_suspended_activity_is_cancelled_at_once(engine: Engine) -> None:
    engine.pump()
    execution = engine.start(spec(task("Suspend", kind="go", seconds=60)))
    engine.waits(execution, "activity")
    control.request_cancel(execution, by="tester")
    assert engine.ended(execution, seconds=2).status == "cancelled"
