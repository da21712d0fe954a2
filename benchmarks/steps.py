"""Durable steps a second, beside what the same server commits and what DBOS Transact makes of it.

Rounds alternate between the candidates, and medians count: the machine has better and worse moments.
"""

import json
import os
import re
import subprocess
import sys
from statistics import mean, median

from benchmarks.executions import chain, finish, seconds_of, start
from benchmarks.installation import ROOT, Installation
from benchmarks.results import Results

SHAPES = (10, 100, 1_000)  # steps in a workflow


def measure(installation: Installation, results: Results, *, quick: bool) -> None:
    """Take pgbench, engine and DBOS in turn."""
    rounds, total = (1, 500) if quick else (3, 1_000)
    has_dbos = _has_dbos()
    commits: list[float] = []
    engine: dict[int, list[float]] = {steps: [] for steps in SHAPES}
    dbos: dict[int, list[float]] = {steps: [] for steps in SHAPES}
    results.heading("Steps a second: sequential, trivial, durable; one worker")
    results.note(f"{rounds} round(s) of: pgbench -N -c 1, engine, DBOS; medians. The engine runs one pump with one")
    results.note("thread, so one step follows another. Workflows are submitted up front; the time is from the first")
    results.note("step's start to the last workflow's end, starts and ends of workflows included.")
    _prepare_pgbench(installation)
    with installation.pump(POIMEN_PUMP_THREADS="1") as _:
        for _ in range(rounds):
            commits.append(_pgbench(installation, quick))
            for steps in SHAPES:
                engine[steps].append(_engine(steps, max(1, total // steps)))
            if has_dbos:
                for steps, rate in _dbos(installation, total).items():
                    dbos[steps].append(rate)
        commits.append(_pgbench(installation, quick))
    results.add("pgbench -N -c 1, mean of before, between and after", mean(commits), "commits/s")
    for steps in SHAPES:
        results.add(f"engine, {steps}-step workflows", median(engine[steps]), "steps/s")
    for steps in SHAPES if has_dbos else ():
        results.add(f"DBOS Transact, {steps}-step workflows", median(dbos[steps]), "steps/s")
    for steps in SHAPES:
        results.add(f"engine / pgbench, {steps} steps", median(engine[steps]) / mean(commits), "", at_least=0.9)
    for steps in SHAPES if has_dbos else ():
        results.add(f"engine / DBOS, {steps} steps", median(engine[steps]) / median(dbos[steps]), "", at_least=4)
    if not has_dbos:
        results.note("DBOS is not installed (requirements-bench.txt): no comparison with it.")
    with installation.pump():
        rates = [_engine(10, max(1, total // 10)) for _ in range(rounds)]
        results.add("engine, 10-step workflows side by side (default threads)", median(rates), "steps/s")


def _engine(steps: int, workflows: int) -> float:
    ids = start(chain(steps), workflows)
    finish(ids)
    return steps * workflows / seconds_of(ids)


def _environment(installation: Installation) -> dict[str, str]:
    account = installation.postgres.url.partition("requirepeer=")[2].partition("&")[0]
    return os.environ | {
        "PGHOST": str(installation.postgres.socket_directory),
        "PGPORT": "5432",
        "PGUSER": "poimen",
        "PGREQUIREPEER": account,
    }


def _prepare_pgbench(installation: Installation) -> None:
    environment = _environment(installation)
    for command in (["psql", "-d", "poimen", "-c", "CREATE DATABASE pgbench"], ["pgbench", "-i", "-q", "pgbench"]):
        program = installation.postgres.bin_dir / command[0]
        subprocess.run([program, *command[1:]], env=environment, check=True, capture_output=True)


def _pgbench(installation: Installation, quick: bool) -> float:
    program = installation.postgres.bin_dir / "pgbench"
    done = subprocess.run(
        [program, "-N", "-c", "1", "-T", "3" if quick else "5", "pgbench"],
        env=_environment(installation), check=True, capture_output=True, text=True,
    )  # fmt: skip
    found = re.search(r"tps = ([\d.]+)", done.stdout)
    assert found is not None, done.stdout
    return float(found[1])


def _has_dbos() -> bool:
    from importlib.util import find_spec

    return find_spec("dbos") is not None


def _dbos(installation: Installation, total: int) -> dict[int, float]:
    url = installation.postgres.url.replace("/poimen?", "/dbos?")
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.dbos_steps", url, str(total), *map(str, SHAPES)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(f"DBOS failed:\n{done.stderr[-2000:]}")
    return {int(steps): rate for steps, rate in json.loads(done.stdout.splitlines()[-1]).items()}
