"""What the engine takes beside steps: the time to start, a wide Map, and memory."""

import time
from statistics import median

from benchmarks.executions import chain, fan_out, finish, start, waiting
from benchmarks.installation import Installation, memory, peak_memory, rows, wait_until
from benchmarks.results import Results, percentile

ITEMS = 1_000
WAITING = 100
PUMP_MEMORY = 300  # MB


def measure_starts(installation: Installation, results: Results, *, quick: bool) -> None:
    """From the moment of submission to the first state's start, one execution at a time on an idle system."""
    count = 30 if quick else 200
    results.heading("Start: from submission to the first state's start, idle system, one at a time")
    with installation.pump():
        ids = []
        for _ in range(count):
            ids += start(chain(1))
            time.sleep(0.05)
        finish(ids)
    waits = [
        float(wait) * 1_000
        for (wait,) in rows(
            "SELECT extract(epoch FROM r.started_at - e.created_at) FROM workflows_execution e "
            "JOIN workflows_staterun r ON r.execution_id = e.id WHERE e.id = ANY(%s)",
            ids,
        )
    ]
    results.add("p50", percentile(waits, 0.5), "ms")
    results.add("p95", percentile(waits, 0.95), "ms", at_most=100)


def measure_map(installation: Installation, results: Results, *, quick: bool) -> None:
    """A Map of 1,000 trivial items in one pump: seconds from submission to end, and the pump's largest memory."""
    results.heading(f"Map of {ITEMS:,} trivial items, one pump")
    with installation.pump() as pump:
        seconds = []
        for _ in range(1 if quick else 3):
            ids = start(fan_out(ITEMS))
            finish(ids, every=0.2)
            took = rows("SELECT ended_at - created_at FROM workflows_execution WHERE id = ANY(%s)", ids)[0][0]
            seconds.append(took.total_seconds())
        results.add("from submission to end, median", median(seconds), "s", at_most=5)
        results.add("largest resident memory of the pump", peak_memory(pump), "MB", at_most=PUMP_MEMORY)


def measure_waiting(installation: Installation, results: Results, *, quick: bool) -> None:
    """100 activities that wait at the same time in one pump, which has 32 threads."""
    results.heading(f"{WAITING} waiting activities in one pump")
    running = "SELECT count(*) FROM workflows_branch WHERE execution_id = ANY(%s) AND status = 'running'"
    with installation.pump() as pump:
        before = memory(pump)
        ids = start(waiting(5 if quick else 15), WAITING)
        wait_until("all of them wait", lambda: rows(running, ids)[0][0] == WAITING, every=0.1, within=60)
        results.add("resident memory of an idle pump", before, "MB")
        results.add(f"resident memory with {WAITING} waiting", memory(pump), "MB", at_most=PUMP_MEMORY)
        finish(ids)
