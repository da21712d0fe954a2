"""Processes and the database go away one at a time: work moves again in time, and nothing runs twice without need."""

import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import psutil
import pytest

from workflows.tests.chaos.installation import Installation, ended, eventually
from workflows.tests.chaos.supervisor import Supervisor

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

START_SECONDS = 90  # of processes, on a machine that has other things to do
AWAY_SECONDS = 20


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with Installation(tmp_path_factory.mktemp("recovery") / "home", POIMEN_WORKERS="1") as made:
        yield made


@pytest.fixture
def installation(shared: Installation) -> Iterator[Installation]:
    """The shared one, with nothing left of the test before."""
    shared.records.unlink(missing_ok=True)
    yield shared
    eventually("no process is left", lambda: not shared.processes(), within=15)
    shared.rows("UPDATE workflows_branch SET status = 'cancelled' WHERE ended_at IS NULL RETURNING 1")


def records(installation: Installation, steps: int, pause: float) -> dict[str, Any]:
    states: list[dict[str, Any]] = []
    for step in range(steps):
        record, sleep = {"path": str(installation.records), "value": step}, {"seconds": pause}
        states += [
            {"name": f"Record{step}", "type": "Task", "resource": "RecordActivity", "parameters": record},
            {"name": f"Pause{step}", "type": "Task", "resource": "SleepActivity", "parameters": sleep},
        ]
    return {"name": "records", "states": states}


def moves(installation: Installation, within: float) -> float:
    """Wait for one more recorded step; returns the seconds it took."""
    before = len(installation.recorded())
    return eventually("another step is recorded", lambda: len(installation.recorded()) > before, within)


def the_pump(installation: Installation) -> psutil.Process:
    eventually("one worker pumps", lambda: len(installation.pumps()) == 1, START_SECONDS)
    return psutil.Process(installation.pumps()[0])


def interrupted(installation: Installation, execution: str) -> int:
    found: int = installation.rows(
        "SELECT count(*) FROM workflows_staterun WHERE status = 'interrupted' AND execution_id = %s", execution
    )[0][0]
    return found


def test_work_moves_again_within_15_seconds_of_the_death_of_the_only_worker(installation: Installation) -> None:
    with Supervisor(installation, "qcluster", "clock"):
        pump = the_pump(installation)
        installation.submit(records(installation, 1000, 0.2))
        moves(installation, 15)
        pump.kill()
        assert moves(installation, 15) > 0
        assert the_pump(installation) != pump
        (worker,) = installation.rows("SELECT worker FROM workflows_staterun WHERE status = 'interrupted'")[0]
        assert worker.endswith(f":{pump.pid}"), "by the name that its other runs carry"


def test_work_moves_again_within_15_seconds_of_the_death_of_the_whole_cluster(installation: Installation) -> None:
    with Supervisor(installation, "qcluster", "clock") as supervisor:
        the_pump(installation)
        installation.submit(records(installation, 1000, 0.2))
        moves(installation, 15)
        command = next(p for p in supervisor.family() if p.cmdline()[-1] == "qcluster")
        below = command.children(recursive=True)
        command.kill()
        eventually("what it had started is gone too", lambda: not any(map(psutil.Process.is_running, below)), 5)
        assert moves(installation, 15) > 0


def test_a_silent_cluster_is_replaced(installation: Installation) -> None:
    with Supervisor(installation, "qcluster", "clock"):
        pump = the_pump(installation)
        installation.submit(records(installation, 1000, 0.2))
        moves(installation, 15)
        replaced = installation.log("qcluster").count("the cluster is silent")
        pump.send_signal(signal.SIGSTOP)  # like a worker that waits for a lock which nobody will release
        moves(installation, 40)
        assert installation.log("qcluster").count("the cluster is silent") == replaced + 1
        eventually("the silent worker is gone", lambda: not pump.is_running(), 5)


def test_another_clock_leads_when_the_leader_dies(installation: Installation) -> None:
    leader = "SELECT pid FROM workflows_process WHERE kind = 'clock' AND (details->>'leads')::boolean ORDER BY 1"
    timers = {
        "name": "timers",
        "states": [{"name": f"Wait{n}", "type": "Wait", "duration": "500ms"} for n in range(100)],
    }
    visits = "SELECT count(*) FROM workflows_staterun WHERE execution_id = %s AND status = 'success'"
    with Supervisor(installation, "qcluster"):
        the_pump(installation)
        first = installation.start("clock")
        eventually("it leads", lambda: (first.pid,) in installation.rows(leader), START_SECONDS)
        second = installation.start("clock")
        present = "SELECT 1 FROM workflows_process WHERE kind = 'clock' AND pid = %s"
        eventually("another is up", lambda: installation.rows(present, second.pid), START_SECONDS)
        (execution,) = installation.submit(timers)
        eventually("timers ring", lambda: installation.rows(visits, execution)[0][0] >= 2, 15)
        os.kill(first.pid, signal.SIGKILL)
        rung = installation.rows(visits, execution)[0][0]
        eventually("timers ring again", lambda: installation.rows(visits, execution)[0][0] >= rung + 2, 10)
        assert (second.pid,) in installation.rows(leader)
        first.wait(1)
        ended(second)


def test_a_database_that_is_away_for_20_seconds_costs_nothing_but_time(installation: Installation) -> None:
    with Supervisor(installation, "qcluster", "clock") as supervisor:
        pump = the_pump(installation)
        ids = installation.submit(records(installation, 40, 0.5), *[{}] * 5)
        moves(installation, 15)
        installation.postgres.stop()
        away_until = time.monotonic() + AWAY_SECONDS  # longer than a lease
        eventually("the time is over", lambda: time.monotonic() > away_until, AWAY_SECONDS + 5)
        installation.postgres.start()
        assert moves(installation, 15) > 0
        unended = "SELECT 1 FROM workflows_execution WHERE id = ANY(%s) AND status <> 'success'"
        eventually("all succeed", lambda: not installation.rows(unended, ids), 90)
        assert supervisor.restarts == 0
        assert pump.is_running(), "the worker waited, it was not replaced"
        assert [interrupted(installation, id) for id in ids] == [0] * 5
        assert set(Counter(entry["key"] for entry in installation.recorded()).values()) == {1}


def test_a_worker_that_is_told_to_stop_gives_its_work_back_at_once(installation: Installation) -> None:
    with Supervisor(installation, "clock"):
        worker = installation.start("qcluster")
        the_pump(installation)
        (execution,) = installation.submit(records(installation, 1000, 3600.0))
        running = "SELECT status FROM workflows_branch WHERE execution_id = %s AND state = 'Pause0'"
        eventually("it waits", lambda: installation.rows(running, execution) == [("running",)], 15)
        assert ended(worker) < 10
        assert installation.rows(running, execution) == [("ready",)]
