"""Durable steps a second, beside what the same server commits and what DBOS Transact makes of it.

The candidates alternate every second or two, ratios are taken between neighbours and medians count: the machine has
better and worse moments, and a ratio between two of them says nothing.
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
    rounds, dbos_rounds, total = (1, 1, 500) if quick else (7, 3, 2_000)
    has_dbos = _has_dbos()
    commits: list[float] = []
    engine: dict[int, list[float]] = {steps: [] for steps in SHAPES}
    ratios: dict[int, list[float]] = {steps: [] for steps in SHAPES}
    dbos: dict[int, list[float]] = {steps: [] for steps in SHAPES}
    results.heading("Steps a second: sequential, trivial, durable; one worker")
    results.note("One pump with one thread, so one step follows another. Workflows are submitted up front; the time is")
    results.note("from the first step's start to the last workflow's end, starts and ends of workflows included.")
    results.note(
        f"Medians of {rounds} round(s); each figure of the engine is set against pgbench -N -c 1 just before and"
    )
    results.note(f"after it. DBOS runs the same workflows on the same server, {dbos_rounds} time(s).")
    _prepare_pgbench(installation)
    with installation.pump(POIMEN_PUMP_THREADS="1") as _:
        for number in range(rounds):
            commits.append(_pgbench(installation))
            for steps in SHAPES:
                engine[steps].append(_engine(steps, max(1, total // steps)))
                commits.append(_pgbench(installation))
                ratios[steps].append(engine[steps][-1] / mean(commits[-2:]))
            if has_dbos and number < dbos_rounds:
                for steps, rate in _dbos(installation, total // 2).items():
                    dbos[steps].append(rate)
    results.add("pgbench -N -c 1", median(commits), "commits/s")
    for steps in SHAPES:
        results.add(f"engine, {steps}-step workflows", median(engine[steps]), "steps/s")
    for steps in SHAPES if has_dbos else ():
        results.add(f"DBOS Transact, {steps}-step workflows", median(dbos[steps]), "steps/s")
    for steps in SHAPES:
        results.add(f"engine / pgbench, {steps} steps", median(ratios[steps]), "", at_least=0.9)
    for steps in SHAPES if has_dbos else ():
        results.add(f"engine / DBOS, {steps} steps", median(engine[steps]) / median(dbos[steps]), "", at_least=4)
    if not has_dbos:
        results.note("DBOS is not installed (requirements-bench.txt): no comparison with it.")
    with installation.pump():
        before = _pgbench(installation)
        rate = _engine(10, total // 2)
        neighbours = mean((before, _pgbench(installation)))
    results.add("engine, 10-step workflows side by side (default threads)", rate, "steps/s")
    results.add("that, set against pgbench", rate / neighbours, "")


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


def _pgbench(installation: Installation) -> float:
    program = installation.postgres.bin_dir / "pgbench"
    done = subprocess.run(
        [program, "-N", "-c", "1", "-T", "2", "pgbench"],
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
