"""Workers stop, die, lose their leases or the database: nothing is lost, only what was in flight runs twice."""

import json
import os
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection

from poimen_site.embedded_postgres import EmbeddedPostgres
from workflows.engine import driver
from workflows.models import Branch, Customer, Execution, Process, StateRun
from workflows.tests import engine_activities
from workflows.tests.pumping import (
    Engine,
    eventually,
    failure_of,
    lose_lease,
    messages,
    overlap,
    ran,
    runs_of,
    story,
    task,
)


def spec(*states: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": "work", **more, "states": list(states)}


ECHOES = spec(*(task("EchoActivity", f"S{n}", value=n) for n in range(5)))


def test_a_commit_under_a_stale_epoch_writes_nothing(engine: Engine, misbehaving: None) -> None:
    engine.pump()
    execution = engine.start(spec(task("Hold", seconds=20), task("EchoActivity", "B", value=1)))
    branch = engine.is_running(execution, "A")
    Branch.objects.filter(pk=branch.pk).update(epoch=branch.epoch + 1)
    before = messages(execution)
    engine_activities.release.set()
    eventually(lambda: not engine.pumps[0]._lines, "the pump lets go")
    assert runs_of(execution) == []
    assert messages(execution) == before
    still = Branch.objects.get(pk=branch.pk)
    assert (still.state, still.epoch, still.seq) == ("A", branch.epoch + 1, branch.seq)


def test_a_lost_lease_runs_the_state_again_and_the_first_worker_counts_no_more(
    engine: Engine, misbehaving: None
) -> None:
    engine.pump()
    execution = engine.start(spec(task("Hold", seconds=20), task("EchoActivity", "B", value=1)))
    branch = engine.is_running(execution, "A")
    engine.clock()
    # Until the clock was there, which may take longer than the next heartbeat.
    eventually(lambda: lose_lease(branch.pk) and StateRun.objects.filter(execution=execution).exists(), "taken back")
    engine_activities.release.set()
    assert engine.ended(execution).status == "success"
    assert ran(execution) == [("A", "interrupted", 1), ("A", "success", 2), ("B", "success", 1)], story(execution)
    assert runs_of(execution)[0].error == {"name": "Interrupted", "message": "the worker was lost"}
    assert any("the worker running A was lost" in line for line in messages(execution))


def test_a_state_that_loses_too_many_workers_is_given_up(engine: Engine) -> None:
    execution = engine.start(spec(task("EchoActivity", value=1) | {"retry": {"maxAttempts": 5}}))
    Branch.objects.filter(execution=execution).update(interruptions=driver.MAX_INTERRUPTIONS + 1)
    engine.pump()
    ended = engine.ended(execution)
    assert failure_of(ended)["name"] == "WorkerLost"
    assert ran(execution) == [("A", "failed", 1)]


def test_a_pump_that_stops_gives_back_at_once_and_another_finishes(engine: Engine) -> None:
    first = engine.pump()
    long = [engine.start(spec(task("SleepActivity", seconds=60) | {"timeout": "90s"})) for _ in range(2)]
    short = engine.start(spec(task("SleepActivity", seconds=0.5), task("EchoActivity", "B", value=1)))
    eventually(lambda: len(first._launcher._tasks) == 3, "three activities under way")
    began = time.monotonic()
    engine.stop(first)
    assert time.monotonic() - began < 10
    assert set(Branch.objects.values_list("status", flat=True)) == {"ready"}, "nothing waits for a lease to run out"
    assert not Process.objects.filter(kind="pump").exists()
    # What was nearly done could end; the others were cut short, which is no failure of theirs.
    assert ran(short) == [("A", "success", 1)]
    for execution in long:
        assert ran(execution) == [("A", "interrupted", 1)]
    engine.pump()
    assert engine.ended(short).status == "success"
    eventually(lambda: Branch.objects.filter(execution__in=long, status="running", attempt=2).count() == 2, "again")


def test_higher_priorities_run_first(engine: Engine) -> None:
    ids = {
        priority: engine.start(spec(task("EchoActivity", value=priority)), priority=priority)
        for priority in (0, 5, -3, 9, 1)
    }
    engine.pump(threads=1)
    for execution in ids.values():
        engine.ended(execution)
    order = StateRun.objects.order_by("id").values_list("execution__priority", flat=True)
    assert list(order) == [9, 5, 1, 0, -3]


def test_a_customer_never_runs_more_branches_than_allowed_under_two_pumps(engine: Engine) -> None:
    Customer.objects.filter(pk=engine.customer.pk).update(max_running_branches=3)
    other = Customer.objects.create(slug="other", name="Other")
    nap = spec(
        {"name": "Each", "type": "Map", "items": list(range(10)), "states": [task("SleepActivity", seconds=0.1)]}
    )
    limited, free = engine.start(nap), engine.start(nap, customer=other)
    engine.pump()
    engine.pump()
    assert engine.ended(limited).status == engine.ended(free).status == "success"
    assert len(runs_of(limited, "A")) == 10
    assert overlap(runs_of(limited, "A")) <= 3
    assert overlap(runs_of(free, "A")) > 3


def test_an_activity_never_runs_more_often_than_allowed_under_two_pumps(engine: Engine, misbehaving: None) -> None:
    nap = spec({"name": "Each", "type": "Map", "items": list(range(5)), "states": [
        task("EchoActivity", "First", value=1), task("Limited", seconds=0.1), task("EchoActivity", "Last", value=1)
    ]})  # fmt: skip
    engine.pump()
    engine.pump()
    executions = [engine.start(nap) for _ in range(2)]
    for execution in executions:
        assert engine.ended(execution).status == "success"
    runs = [run for execution in executions for run in runs_of(execution, "A")]
    assert len(runs) == 10
    assert overlap(runs) <= 2


def test_a_map_never_runs_more_items_than_max_concurrency(engine: Engine) -> None:
    engine.pump()
    engine.pump()
    execution = engine.run(spec(
        {"name": "Each", "type": "Map", "items": list(range(9)), "maxConcurrency": 3,
         "states": [task("SleepActivity", seconds=0.05), task("SleepActivity", "B", seconds=0.05)]}
    ))  # fmt: skip
    assert execution.status == "success"
    assert 1 < overlap(runs_of(execution.pk, "A") + runs_of(execution.pk, "B")) <= 3


def test_a_parallel_never_runs_more_branches_than_max_concurrency(engine: Engine) -> None:
    engine.pump()
    branches = [{"states": [task("SleepActivity", f"S{n}", seconds=0.05)]} for n in range(6)]
    execution = engine.run(spec({"name": "Fan", "type": "Parallel", "maxConcurrency": 2, "branches": branches}))
    assert execution.status == "success"
    runs = [run for run in runs_of(execution.pk) if run.state != "Fan"]
    assert len(runs) == 6
    assert overlap(runs) == 2


def test_two_pumps_share_the_work_and_run_nothing_twice(engine: Engine, tmp_path: Path) -> None:
    pumps = [engine.pump(), engine.pump()]
    executions = [engine.start(ECHOES) for _ in range(30)]
    for execution in executions:
        assert engine.ended(execution).status == "success"
    expected = [(f"S{n}", "success", 1) for n in range(5)]
    assert all(ran(execution) == expected for execution in executions)
    assert all(pump.driven > 0 for pump in pumps)


def test_one_clock_leads_and_another_takes_over(engine: Engine) -> None:
    def leaders() -> list[Any]:
        return list(Process.objects.filter(kind="clock", details__leads=True).values_list("pk", flat=True))

    first = engine.clock()
    eventually(lambda: leaders() == [first.id], "the first leads")
    second = engine.clock()
    eventually(lambda: Process.objects.filter(pk=second.id).exists(), "the second is up")
    assert leaders() == [first.id]
    engine.stop(first)
    eventually(lambda: leaders() == [second.id], "the second leads")
    engine.pump()
    assert engine.run(spec({"name": "W", "type": "Wait", "duration": "50ms"})).status == "success"


@pytest.mark.chaos  # alone: it takes the database from every other test
@pytest.mark.skipif("DATABASE_URL" in os.environ, reason="the server is not ours to restart")
def test_a_database_that_crashes_in_the_middle_loses_nothing(
    engine: Engine, tmp_path: Path, monkeypatch: Any, caplog: pytest.LogCaptureFixture
) -> None:
    record = tmp_path / "record"
    monkeypatch.setattr(settings, "POIMEN_REPO_ROOTS", [tmp_path])
    monkeypatch.setattr(settings, "POIMEN_LEASE_SECONDS", 3.0)
    engine.pump()
    engine.clock()
    steps = [task("RecordActivity", f"R{n}", path=str(record), value=n) for n in range(8)]
    steps.insert(4, {"name": "W", "type": "Wait", "duration": "100ms"})
    executions = [engine.start(spec(*steps, task("SleepActivity", "Z", seconds=0.2))) for _ in range(10)]
    eventually(lambda: record.exists() and record.read_text().count("\n") > 15, "some work is done")
    connection.close()
    EmbeddedPostgres(settings.POIMEN_HOME).restart(immediate=True)
    connection.close()
    _reconnect()
    for execution in executions:
        assert engine.ended(execution, seconds=40).status == "success", story(execution)
        done = [run.state for run in runs_of(execution) if run.status == "success"]
        assert done == [step["name"] for step in steps] + ["Z"], story(execution)
    runs = Counter(json.loads(line)["key"] for line in record.read_text().splitlines())
    assert len(runs) == 80
    # Only what was in flight at the crash ran again: one step a line of control at most.
    twice = [key for key, times in runs.items() if times > 1]
    assert len(twice) <= 10
    assert max(runs.values()) <= 2
    assert [line for line in caplog.messages if "driving branch" in line] == []  # drivers wait, they do not fail


def _reconnect() -> None:
    def works() -> bool:
        try:
            return Execution.objects.exists()
        except Exception:  # noqa: BLE001 - whatever a restarting server answers
            connection.close()
            return False

    eventually(works, "the database is back")
