"""A minute of killed processes and a crashing database loses nothing and repeats only what was in flight.

Its figures go to standard output (``pytest -s``).
"""

import random
import time
from collections import Counter
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil
import pytest

from workflows.tests.chaos.installation import Installation, eventually
from workflows.tests.chaos.supervisor import Supervisor

EXECUTIONS, STEPS = 300, 10
GROWN_UP_SECONDS = 3.0
PAUSES = (1.0, 2.0, 3.0, 4.0)  # seconds after each step, so that work goes on for all of the minute
CHAOS_SECONDS, KILL_EVERY, RESTART_EVERY = 60.0, 2.0, 15.0
STATES = [f"Record{step}" for step in range(STEPS)] + [f"Pause{step}" for step in range(STEPS)]


def ten_records_with_pauses(records: Path) -> dict[str, Any]:
    states: list[dict[str, Any]] = []
    for step in range(STEPS):
        record = {"path": str(records), "value": step}
        pause = {"seconds": "${workflow.input.pause}"}
        states += [
            {"name": f"Record{step}", "type": "Task", "resource": "RecordActivity", "parameters": record},
            {"name": f"Pause{step}", "type": "Task", "resource": "SleepActivity", "parameters": pause},
        ]
    return {"name": "ten-records", "states": states}


def kill_someone(supervisor: Supervisor, dice: random.Random) -> str:
    """Kill -9 any process of a worker or a clock: the command, django-q2's own, or a pump."""
    # Those that are up: on a slow machine nothing would ever get up if the starting were killed as well.
    family = [process for process in supervisor.family() if is_older_than(process, GROWN_UP_SECONDS)]
    if not family:
        return "nobody"
    victim = dice.choice(family)
    try:
        kind = victim.cmdline()[-1]
        victim.kill()
    except (psutil.Error, IndexError):
        return "nobody"  # it died by itself a moment ago
    return kind


def is_older_than(process: psutil.Process, seconds: float) -> bool:
    try:
        return time.time() - process.create_time() > seconds
    except psutil.Error:
        return False


def unleash(installation: Installation, supervisor: Supervisor, dice: random.Random) -> tuple[Counter[str], int]:
    """A minute of it; returns who was killed how often, and how often the database crashed."""
    killed: Counter[str] = Counter()
    crashes = 0
    began = time.monotonic()
    while (passed := time.monotonic() - began) < CHAOS_SECONDS:
        if passed >= RESTART_EVERY * (crashes + 1):
            crashes += 1
            installation.postgres.restart(immediate=True)
        if passed >= KILL_EVERY * (killed.total() + 1):
            killed[kill_someone(supervisor, dice)] += 1
        time.sleep(0.05)
    return killed, crashes


@pytest.mark.chaos
@pytest.mark.timeout(600)
def test_a_minute_of_kills_and_crashes(tmp_path: Path) -> None:
    seed = random.randrange(10**6)
    print(f"\nchaos with seed {seed}")
    with Installation(tmp_path / "home", POIMEN_WORKERS="2") as installation:
        with Supervisor(installation, "qcluster", "qcluster", "clock", "clock") as supervisor:
            eventually("the workers pump", lambda: len(installation.pumps()) == 4, within=120)
            spec = ten_records_with_pauses(installation.records)
            ids = installation.submit(spec, *({"pause": PAUSES[n % len(PAUSES)]} for n in range(EXECUTIONS)))
            killed, crashes = unleash(installation, supervisor, random.Random(seed))
            open_then = still_open(installation)
            settled = eventually("every execution has ended", lambda: not still_open(installation), within=180)
        eventually("no process is left", lambda: not installation.processes(), within=10)
        report(installation, supervisor, killed, crashes, open_then, settled)

        statuses = installation.rows("SELECT status, count(*) FROM workflows_execution GROUP BY 1")
        assert statuses == [("success", EXECUTIONS)]
        assert successes_per_state(installation) == {(id, state): 1 for id in ids for state in STATES}
        times_recorded = Counter(entry["key"] for entry in installation.recorded())
        assert set(times_recorded) == successful_keys(installation)
        twice = {key for key, times in times_recorded.items() if times > 1}
        assert twice <= set(interrupted_keys(installation))
        assert open_then > 0, "all was done before the minute was over: the test has lost its bite"


def still_open(installation: Installation) -> int:
    count: int = installation.rows("SELECT count(*) FROM workflows_execution WHERE ended_at IS NULL")[0][0]
    return count


def successes_per_state(installation: Installation) -> dict[tuple[str, str], int]:
    rows = installation.rows(
        "SELECT execution_id::text, state, count(*) FROM workflows_staterun WHERE status = 'success' GROUP BY 1, 2"
    )
    return {(execution, state): times for execution, state, times in rows}


def successful_keys(installation: Installation) -> set[str]:
    return set(keys(installation, "success"))


def interrupted_keys(installation: Installation) -> list[str]:
    return keys(installation, "interrupted")


def keys(installation: Installation, status: str) -> list[str]:
    """Idempotency keys of the recording runs that ended as ``status``."""
    rows = installation.rows(
        "SELECT concat_ws(':', execution_id, branch_id, state, visit) FROM workflows_staterun "
        "WHERE status = %s AND state LIKE 'Record%%'",
        status,
    )
    return [key for (key,) in rows]


def report(
    installation: Installation, supervisor: Supervisor, killed: Counter[str], crashes: int, open_then: int,
    settled: float,
) -> None:  # fmt: skip
    recorded = [entry["key"] for entry in installation.recorded()]
    moments = sorted(datetime.fromisoformat(entry["at"]) for entry in installation.recorded())
    stall = max((later - earlier).total_seconds() for earlier, later in pairwise(moments))
    interrupted = installation.rows("SELECT count(*) FROM workflows_staterun WHERE status = 'interrupted'")[0][0]
    print(f"killed: {dict(killed)}; the supervisor restarted {supervisor.restarts} commands")
    print(f"database crashed and recovered: {crashes} times")
    print(f"steps recorded: {len(set(recorded))}; again: {len(recorded) - len(set(recorded))}")
    print(f"runs interrupted, pauses included: {interrupted}")
    print(f"longest time without a recorded step: {stall:.1f} s")
    print(f"executions open when the minute was over: {open_then}; the last ended {settled:.1f} s later")
    print(f"clusters replaced for silence: {installation.log('qcluster').count('the cluster is silent')}, "
          f"for shortage: {installation.log('qcluster').count('short of workers')}")  # fmt: skip
