"""A minute of killed processes and a crashing database loses nothing and repeats only what was in flight.

Whoever follows meanwhile sees every line of every execution once, and nobody is answered by a fault. The figures go
to standard output (``pytest -s``).
"""

import random
import time
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import psutil
import psycopg
import pytest

from workflows.tests.chaos.caller import Caller
from workflows.tests.chaos.installation import Installation, eventually, free_port
from workflows.tests.chaos.supervisor import Supervisor
from workflows.tests.live.follower import Follower, following

EXECUTIONS, STEPS = 300, 10
PAUSES = (2, 3, 4, 5)  # seconds after each step, so that work goes on for all of the minute
CHAOS_SECONDS, KILL_EVERY, WEB_KILL_EVERY, RESTART_EVERY = 60.0, 2.0, 5.0, 15.0
LOOK_EVERY = 0.5  # for somebody who may be killed
STATES = [f"Record{step}" for step in range(STEPS)] + [f"Pause{step}" for step in range(STEPS)]
LINE = ("log", "progress")
PASSWORD = "correct horse battery"


def ten_records_with_pauses(records: Path) -> dict[str, Any]:
    """A line is written every second of a pause, which is to the one that waits for the next step."""
    states: list[dict[str, Any]] = []
    for step in range(STEPS):
        record = {"path": str(records), "value": step}
        pause = {"lines": "${workflow.input.pause}", "perSecond": 1}
        states += [
            {"name": f"Record{step}", "type": "Task", "resource": "RecordActivity", "parameters": record},
            {"name": f"Pause{step}", "type": "Task", "resource": "TalkActivity", "parameters": pause},
        ]
    return {"name": "ten-records", "states": states}


class Killer:
    """Kills -9 what is up: on a slow machine nothing would ever get up if the starting were killed as well."""

    def __init__(self, installation: Installation, supervisor: Supervisor, dice: random.Random) -> None:
        self.killed: Counter[str] = Counter()
        self._installation = installation
        self._supervisor = supervisor
        self._dice = dice
        self._signed_in: set[int] = set()

    def kill_of_the_engine(self) -> bool:
        """Any process of a clock or of a worker that pumps: the command, django-q2's own, or a pump."""
        try:
            rows = self._installation.rows("SELECT pid FROM workflows_process WHERE kind IN ('pump', 'clock')")
            self._signed_in = {pid for (pid,) in rows}
        except psycopg.OperationalError:
            pass  # who was up before the crash
        families = self._supervisor.families("qcluster", "clock")
        return self._kill([one for family in families if self._is_up(family) for one in family])

    def kill_web(self) -> bool:
        """One of two web processes, while both serve: whoever followed there goes to the other."""
        serving = [web for [web, *_] in self._supervisor.families("web") if is_listening(web)]
        return len(serving) > 1 and self._kill(serving)

    def _is_up(self, family: list[psutil.Process]) -> bool:
        return any(process.pid in self._signed_in for process in family)

    def _kill(self, candidates: list[psutil.Process]) -> bool:
        if not candidates:
            return False
        victim = self._dice.choice(candidates)
        try:
            kind = victim.cmdline()[-1]
            victim.kill()
        except (psutil.Error, IndexError):
            return False  # it died by itself a moment ago
        self.killed[kind] += 1
        return True


def is_listening(process: psutil.Process) -> bool:
    try:
        return any(one.status == psutil.CONN_LISTEN for one in process.net_connections("tcp"))
    except psutil.Error:
        return False


def unleash(installation: Installation, killer: Killer) -> int:
    """A minute of it; returns how often the database crashed."""
    crashes = 0
    due = {"database": RESTART_EVERY, "engine": KILL_EVERY, "web": WEB_KILL_EVERY}
    began = time.monotonic()
    while (passed := time.monotonic() - began) < CHAOS_SECONDS:
        if passed >= due["database"]:
            installation.postgres.restart(immediate=True)
            due["database"] += RESTART_EVERY
            crashes += 1
        if passed >= due["engine"]:
            due["engine"] = passed + (KILL_EVERY if killer.kill_of_the_engine() else LOOK_EVERY)
        if passed >= due["web"]:
            due["web"] = passed + (WEB_KILL_EVERY if killer.kill_web() else LOOK_EVERY)
        time.sleep(0.05)
    return crashes


def answers(web: str) -> bool:
    try:
        return httpx.get(f"{web}/health/live", timeout=5).status_code == 200
    except httpx.TransportError:
        return False


def access_token(web: str) -> str:
    answer = httpx.post(f"{web}/auth/token", json={"username": "ann", "password": PASSWORD}, timeout=20)
    token: str = answer.json()["access"]
    return token


@pytest.mark.chaos
@pytest.mark.timeout(600)
def test_a_minute_of_kills_and_crashes(tmp_path: Path) -> None:
    seed = random.randrange(10**6)
    print(f"\nchaos with seed {seed}")
    with Installation(tmp_path / "home", POIMEN_WORKERS="2") as installation:
        installation.admit("ann", PASSWORD, "operator")
        ports = [free_port(), free_port()]
        webs = [f"http://127.0.0.1:{port}" for port in ports]
        with Supervisor(installation, "qcluster", "qcluster", "clock", "clock", ports=ports) as supervisor:
            eventually("the workers pump", lambda: len(installation.pumps()) == 4, within=120)
            eventually("the web processes answer", lambda: all(map(answers, webs)), within=120)
            token = access_token(webs[0])
            spec = ten_records_with_pauses(installation.records)
            ids = installation.submit(spec, *({"pause": PAUSES[n % len(PAUSES)]} for n in range(EXECUTIONS)))
            followers = [Follower(id, webs if n % 2 else webs[::-1], token, level="debug") for n, id in enumerate(ids)]
            with following(followers) as hear_the_end:
                with Caller(webs, token) as caller:
                    killer = Killer(installation, supervisor, random.Random(seed))
                    crashes = unleash(installation, killer)
                    over = time.time()
                open_then = still_open(installation)
                settled = eventually("every execution has ended", lambda: not still_open(installation), within=180)
                hear_the_end(60)
        eventually("no process is left", lambda: not installation.processes(), within=10)
        report(installation, supervisor, killer.killed, crashes, open_then, settled)
        heard_meanwhile = report_what_was_heard(installation, followers, caller, over)

        asked = set(caller.started.values())
        statuses = installation.rows("SELECT status, count(*) FROM workflows_execution GROUP BY 1")
        assert statuses == [("success", EXECUTIONS + len(asked))]
        wanted = {(id, state): 1 for id in ids for state in STATES} | {(id, "Only"): 1 for id in asked}
        assert successes_per_state(installation) == wanted
        times_recorded = Counter(entry["key"] for entry in installation.recorded())
        assert set(times_recorded) == successful_keys(installation)
        twice = {key for key, times in times_recorded.items() if times > 1}
        assert twice <= set(interrupted_keys(installation))
        assert open_then > 0, "all was done before the minute was over: the test has lost its bite"

        assert_every_line_was_heard_once(installation, followers)
        assert heard_meanwhile > 0
        assert killer.killed["web"] > 0, "no web process was killed: the test has lost its bite"
        assert set(sum((follower.refusals for follower in followers), Counter())) <= {4503}
        assert caller.wrong == []


def assert_every_line_was_heard_once(installation: Installation, followers: Sequence[Follower]) -> None:
    """Compare with the rows, in their order."""
    written: dict[str, list[tuple[str, ...]]] = {follower.execution: [] for follower in followers}
    for execution, *line in installation.rows(
        "SELECT execution_id::text, tx || '-' || id, node_id, level, event, message FROM workflows_logentry "
        "WHERE execution_id = ANY(%s) ORDER BY execution_id, tx, id", list(written)
    ):  # fmt: skip
        written[execution].append(tuple(line))
    assert all(written.values())
    for follower in followers:
        heard = [
            (frame["cursor"], frame["nodeId"], frame["level"], frame.get("event", ""), frame["message"])
            for frame in follower.frames
            if frame["type"] in LINE
        ]
        assert heard == written[follower.execution], follower.execution


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


def report_what_was_heard(
    installation: Installation, followers: Sequence[Follower], caller: Caller, over: float
) -> int:
    """Returns how many lines were heard before ``over``."""
    heard = sorted(
        moment
        for follower in followers
        for frame, moment in zip(follower.frames, follower.heard_at, strict=True)
        if frame["type"] in LINE
    )
    meanwhile = sum(moment < over for moment in heard)
    silence = max(later - earlier for earlier, later in pairwise(heard))
    [(written,)] = installation.rows(
        "SELECT count(*) FROM workflows_logentry WHERE execution_id = ANY(%s::uuid[])",
        [follower.execution for follower in followers],
    )
    connections = sum(follower.connections for follower in followers)
    refusals: Counter[int] = sum((follower.refusals for follower in followers), Counter())
    print(f"lines written: {written}; heard: {len(heard)}, {meanwhile} of them within the minute")
    print(f"longest time in which nobody heard a line: {silence:.1f} s")
    print(f"connections of {len(followers)} followers: {connections}, refused or ended: {dict(refusals)}")
    print(f"REST: executions started {len(caller.started)}, answers {dict(caller.answers)}, the slowest after "
          f"{caller.slowest:.1f} s; not answered: {dict(caller.unanswered)}")  # fmt: skip
    return meanwhile
