"""Two things happen at one moment: a pause and a commit, two takers of one signal, an answer lost with its commit.

Each test brings about the one order of events that would do harm, and then looks at what became of the execution.
"""

import time
from collections.abc import Callable
from typing import Any
from uuid import UUID

import psycopg
import pytest
from django.conf import settings
from django.db import connection

from workflows import control
from workflows.engine import clock, waits
from workflows.engine.line import Line
from workflows.engine.store import Store, direct_connection
from workflows.models import Branch, Execution, Signal
from workflows.tests import engine_activities
from workflows.tests.pumping import Engine, eventually, lose_lease, messages, ran, runs_of, story, task

pytestmark = pytest.mark.usefixtures("misbehaving")


def spec(*states: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": "race", **more, "states": list(states)}


HELD_THEN_ECHO = spec(task("Hold", seconds=20), task("EchoActivity", "B", value=1))
A_THEN_B = [("A", "success", 1), ("B", "success", 1)]


# -- a pause between a step's commit and what follows from it ---------------------------------------------------------


def between_commit_and_settling(monkeypatch: pytest.MonkeyPatch, happens: Callable[[UUID], Any]) -> list[UUID]:
    """Let ``happens`` once, after a branch has committed that it stands still and before its execution says so.

    Returns the executions it has happened to.
    """
    settle = waits.settle
    done: list[UUID] = []

    def interrupted(store: Store, line: Line) -> None:
        if line.execution.id not in done:
            done.append(line.execution.id)
            happens(line.execution.id)
        settle(store, line)

    monkeypatch.setattr(waits, "settle", interrupted)
    return done


def test_a_pause_that_comes_just_after_a_wait_was_committed(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    happened = between_commit_and_settling(monkeypatch, lambda id: control.request_pause(id, by="tester"))
    engine.pump()
    execution = engine.start(spec({"name": "W", "type": "Wait", "duration": "1ms"}, task("EchoActivity", value=1)))
    eventually(lambda: happened == [execution], "the pause")
    engine.reaches(execution, "paused")
    engine.clock()
    eventually(lambda: Branch.objects.filter(execution=execution, status="held").exists(), "the timer rings")
    assert Execution.objects.get(pk=execution).status == "paused"
    control.request_resume(execution, by="tester")
    assert engine.ended(execution).status == "success", story(execution)
    assert ran(execution) == [("W", "success", 1), ("A", "success", 1)]


def test_a_resume_that_comes_just_after_a_branch_stopped_for_the_pause(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def resume_and_let_it_run(execution: UUID) -> None:
        control.request_resume(execution, by="tester")
        eventually(lambda: ran(execution) == A_THEN_B, "the next step, run by whoever was faster")

    happened = between_commit_and_settling(monkeypatch, resume_and_let_it_run)
    engine.pump()
    engine.pump()
    execution = engine.start(HELD_THEN_ECHO)
    engine.is_running(execution, "A")
    control.request_pause(execution, by="tester")
    engine_activities.release.set()
    ended = engine.ended(execution)
    eventually(lambda: happened == [execution], "the resume")
    assert (ended.status, ran(execution)) == ("success", A_THEN_B), story(execution)
    assert Execution.objects.get(pk=execution).status == "success", "the late settling changes nothing"


def test_a_pause_taken_back_while_a_step_commits_that_it_stops_for_it(engine: Engine) -> None:
    """The commit began to read before the resume and is written after it: it holds the branch for nobody's pause."""
    engine.pump()
    execution = engine.start(HELD_THEN_ECHO)
    branch = engine.is_running(execution, "A")
    control.request_pause(execution, by="tester")
    with direct_connection() as other, other.transaction():
        other.execute("SELECT 1 FROM workflows_branch WHERE id = %s FOR UPDATE", (branch.pk,))
        engine_activities.release.set()
        eventually(_someone_waits_for_a_row, "the commit waits for the row")
        control.request_resume(execution, by="tester")
    assert engine.ended(execution, seconds=5).status == "success", story(execution)
    assert ran(execution) == A_THEN_B


def _someone_waits_for_a_row() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()")
        return cursor.fetchone() is not None


@pytest.mark.parametrize("taken_back", [False, True], ids=["paused", "resumed"])
def test_a_worker_that_dies_between_the_commit_and_the_settling(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, taken_back: bool
) -> None:
    """Nobody is left to settle what it left: the clock finds it."""
    monkeypatch.setattr(clock, "TICK_SECONDS", 0.1)
    monkeypatch.setattr(waits, "settle", lambda store, line: None)  # all that its death changes
    engine.pump()
    execution = engine.start(HELD_THEN_ECHO)
    branch = engine.is_running(execution, "A")
    control.request_pause(execution, by="tester")
    with direct_connection() as other, other.transaction():
        other.execute("SELECT 1 FROM workflows_branch WHERE id = %s FOR UPDATE", (branch.pk,))
        engine_activities.release.set()
        eventually(_someone_waits_for_a_row, "the commit waits for the row")
        if taken_back:
            control.request_resume(execution, by="tester")
    eventually(lambda: Branch.objects.get(pk=branch.pk).status == "held", "the branch stops")
    engine.clock()
    if not taken_back:
        engine.reaches(execution, "paused")
        control.request_resume(execution, by="tester")
    assert engine.ended(execution).status == "success", story(execution)
    assert ran(execution) == A_THEN_B


# -- two who want one signal ------------------------------------------------------------------------------------------


def test_two_branches_that_find_the_same_signal_at_once_share_nothing(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both look before either has taken it; one gets it, the other waits on and gets the next."""
    look = waits.awaited_signal
    seen: set[UUID] = set()

    def look_and_wait_for_the_other(store: Store, line: Line) -> Any:
        found = look(store, line)
        if found is not None and len(seen) < 2:
            seen.add(line.id)
            eventually(lambda: len(seen) == 2, "both have found it")
        return found

    monkeypatch.setattr(waits, "awaited_signal", look_and_wait_for_the_other)
    engine.pump()
    engine.pump()
    waiting = {"type": "WaitForSignal", "signal": "go"}
    execution = engine.start(spec(
        {"name": "Fan", "type": "Parallel", "branches": [
            {"states": [waiting | {"name": "L"}]}, {"states": [waiting | {"name": "R"}]}]},
        {"name": "After", "type": "Pass", "result": "{% $sort([L.output, R.output]) %}"},
    ))  # fmt: skip
    branches = engine.waits(execution, "signal", count=2)
    Signal.objects.create(execution_id=execution, name="go", payload="first")
    Branch.objects.filter(pk__in=[b.pk for b in branches]).update(status="ready")
    eventually(lambda: len(seen) == 2, "both found the signal")
    (left,) = engine.waits(execution, "signal")
    assert len(runs_of(execution)) == 1, story(execution)
    assert Signal.objects.get(execution=execution).consumed_by != left.pk
    control.send_signal(execution, "go", "second")
    ended = engine.ended(execution)
    assert ended.output == ["first", "second"], story(execution)
    assert len({s.consumed_by for s in Signal.objects.filter(execution=execution)}) == 2


def test_signals_of_one_name_are_taken_in_the_order_they_came(engine: Engine) -> None:
    waits_for_three = [{"name": f"S{n}", "type": "WaitForSignal", "signal": "go"} for n in range(3)]
    end = {"name": "End", "type": "Pass", "result": ["${S0.output}", "${S1.output}"]}
    execution = engine.start(spec(*waits_for_three, end))
    for payload in ("first", "second", "third"):
        control.send_signal(execution, "go", payload)
    engine.pump()
    assert engine.ended(execution).output == ["first", "second"], story(execution)


def test_a_signal_that_comes_while_a_branch_is_about_to_wait_for_it(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It looked and saw nothing, the signal comes, it waits: no clock is needed to find out."""
    look = waits.awaited_signal
    sent: list[Any] = []

    def look_then_send(store: Store, line: Line) -> Any:
        found = look(store, line)
        if not sent:
            sent.append(control.send_signal(line.execution.id, "go", "in between"))
        return found

    monkeypatch.setattr(waits, "awaited_signal", look_then_send)
    engine.pump()
    execution = engine.start(spec({"name": "S", "type": "WaitForSignal", "signal": "go"}))
    assert engine.ended(execution).output == "in between", story(execution)


# -- answers that are lost ---------------------------------------------------------------------------------------------

STEPS = spec(
    task("EchoActivity", "First", value=1),
    {"name": "Each", "type": "Map", "items": [1, 2], "states": [task("EchoActivity", "I", value="${item}")]},
    {"name": "Fan", "type": "Parallel", "branches": [{"states": [task("EchoActivity", "P", value=1)]}]},
    task("FailActivity", "Again", failures=1) | {"retry": {"maxAttempts": 2, "initialInterval": "1ms"}},
    {"name": "T", "type": "Wait", "duration": "1ms"},
    task("EchoActivity", "Last", value=1),
)
ALL_OF_IT = sorted([("First", "success", 1), ("I", "success", 1), ("I", "success", 1), ("Each", "success", 1),
                    ("P", "success", 1), ("Fan", "success", 1), ("Again", "failed", 1), ("Again", "success", 2),
                    ("T", "success", 1), ("Last", "success", 1)])  # fmt: skip


def every_commit_loses(monkeypatch: pytest.MonkeyPatch, what: str) -> list[str]:
    """Break the connection once in each guarded write: before it (``question``) or after it (``answer``)."""
    guarded = Store._guarded
    lost: list[str] = []

    def losing(store: Store, line: Line, sql: Any, *more: Any, **options: Any) -> Any:
        patiently, tries = store._patiently, 0

        def once_in_vain(work: Callable[[Any], Any]) -> Any:
            def run(link: Any) -> Any:
                nonlocal tries
                tries += 1
                done = work(link) if what == "answer" or tries > 1 else None
                if tries == 1:
                    lost.append(line.state)
                    raise psycopg.OperationalError("the connection is lost")
                return done

            return patiently(run)

        class Losing:
            _patiently = staticmethod(once_in_vain)

            def __getattr__(self, name: str) -> Any:
                return getattr(store, name)

        return guarded(Losing(), line, sql, *more, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Store, "_guarded", losing)
    monkeypatch.setattr("workflows.engine.store._RETRY_SECONDS", 0.01)
    return lost


@pytest.mark.parametrize("what", ["question", "answer"])
def test_a_connection_that_breaks_in_every_commit_changes_nothing(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """Whether the question was lost, or the answer after all was written: each step is recorded once."""
    lost = every_commit_loses(monkeypatch, what)
    engine.pump()
    engine.clock()
    execution = engine.start(STEPS)
    assert engine.ended(execution).status == "success", story(execution)
    assert sorted(ran(execution)) == ALL_OF_IT, story(execution)
    said = messages(execution)
    assert said.count("First succeeded") == said.count("race finished: success") == 1
    assert len(lost) >= 9, "every commit was hit"


def test_what_a_worker_without_a_lease_repeats_is_not_taken_for_done(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its question was lost; when it asks again, another worker has made the step, which must not count as its own."""
    monkeypatch.setattr("workflows.engine.store._RETRY_SECONDS", 0.01)
    guarded = Store._guarded
    away: list[UUID] = []

    def slow_to_ask(store: Store, line: Line, *more: Any, **options: Any) -> Any:
        if line.epoch == 1 and not away:
            away.append(line.id)
            eventually(lambda: runs_of(line.execution.id, "B"), "another made both steps")
        return guarded(store, line, *more, **options)

    monkeypatch.setattr(Store, "_guarded", slow_to_ask)
    engine.pump()
    execution = engine.start(
        spec(task("EchoActivity", value=1), task("EchoActivity", "B", value=1), task("Hold", "C", seconds=20))
    )
    branch = engine.is_running(execution, "A")
    eventually(lambda: away, "the first worker is about to commit")
    engine.clock()
    engine.pump()
    eventually(lambda: lose_lease(branch.pk) and Branch.objects.get(pk=branch.pk).epoch > 1, "taken back")
    engine.is_running(execution, "C")
    engine_activities.release.set()
    assert engine.ended(execution).status == "success", story(execution)
    assert ran(execution) == [("A", "interrupted", 1), ("A", "success", 2), ("B", "success", 1), ("C", "success", 1)]


# -- values that cannot be told ----------------------------------------------------------------------------------------


def test_a_moment_before_all_time_stops_its_own_execution_only(engine: Engine) -> None:
    """Five past midnight of the first day, fourteen hours east, lies before the year 1: PostgreSQL could tell it."""
    engine.pump()
    execution = engine.run(
        spec({"name": "W", "type": "Wait", "until": "${workflow.input.d}"}), {"d": "0001-01-01T00:05:00+14:00"}
    )
    assert execution.status == "failed"
    assert "is not a moment" in (execution.error or {})["message"]
    assert engine.run(spec(task("EchoActivity", value=1))).status == "success"


def test_a_row_with_such_a_moment_does_not_keep_the_others_from_being_claimed(engine: Engine) -> None:
    poisoned = engine.start(spec(task("EchoActivity", value=1)))
    with connection.cursor() as cursor:
        cursor.execute("UPDATE workflows_branch SET wake_at = '0044-03-15 BC' WHERE execution_id = %s", (poisoned,))
    other = engine.start(spec(task("EchoActivity", value=1)))
    engine.pump()
    assert engine.ended(other).status == "success"
    assert engine.ended(poisoned).status == "success"


# -- leases ------------------------------------------------------------------------------------------------------------


def test_a_worker_whose_lease_was_given_away_does_not_keep_it_alive(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It still beats, under its old epoch: neither is the new lease extended, nor does its activity go on."""
    monkeypatch.setattr(settings, "POIMEN_LEASE_SECONDS", 0.4)
    engine.pump()
    execution = engine.start(spec(task("SleepActivity", seconds=60)))
    branch = engine.is_running(execution, "A")
    eventually(lambda: engine.pumps[0]._launcher._tasks, "the activity is under way")
    (line,) = engine.pumps[0]._lines.values()
    Branch.objects.filter(pk=branch.pk).update(epoch=branch.epoch + 1)
    before = Branch.objects.get(pk=branch.pk).lease_expires_at
    eventually(lambda: not engine.pumps[0]._lines, "the worker has let go")
    assert line.is_lost
    assert Branch.objects.get(pk=branch.pk).lease_expires_at == before
    assert runs_of(execution) == []


def test_a_lease_is_extended_for_as_long_as_its_activity_takes(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "POIMEN_LEASE_SECONDS", 0.8)
    engine.pump()
    engine.clock()
    began = time.monotonic()
    execution = engine.run(spec(task("SleepActivity", seconds=2)))
    assert ran(execution.pk) == [("A", "success", 1)], story(execution.pk)
    assert time.monotonic() - began > 2 * settings.POIMEN_LEASE_SECONDS
