"""Log lines from the worker to the sockets of those who follow, with and without Redis."""

import contextlib
import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.executions import finish, start
from benchmarks.installation import ROOT, START_SECONDS, Installation, processor_seconds, wait_until
from benchmarks.results import Results, percentile
from benchmarks.web import answers, make_user, token

PORT = 8352
READERS = 50
LINES_A_SECOND = 1_000
BUDGETS = {"embedded": 250, "with Redis": 100}


def measure(installation: Installation, results: Results, *, quick: bool) -> None:
    """One execution talks, 50 sockets follow it; each line carries the moment at which it was said."""
    lines = LINES_A_SECOND * (5 if quick else 20)
    make_user()
    results.heading(
        f"Live logs: {LINES_A_SECOND:,} lines/s of one execution, {READERS} readers of all of them (batch=1)"
    )
    _measure(installation, results, lines, "embedded", {})
    if shutil.which("redis-server") is None:
        results.note("without redis-server there is nothing to say about Redis")
        return
    with _redis(installation.home) as url:
        _measure(installation, results, lines, "with Redis", {"REDIS_URL": url})


def _measure(installation: Installation, results: Results, lines: int, name: str, settings: dict[str, str]) -> None:
    from workflows import control

    url = f"http://127.0.0.1:{PORT}"
    spec = talking(lines)
    with (
        installation.process("manage.py", "web", HOST="127.0.0.1", PORT=str(PORT), **settings) as web,
        installation.pump(**settings) as pump,
    ):
        wait_until("the web process answers", lambda: answers(url), every=0.2, within=START_SECONDS)
        ids = start(spec)
        command = [sys.executable, "-m", "benchmarks.log_readers", str(PORT), str(ids[0]), str(READERS), token(url)]
        before = processor_seconds(web), processor_seconds(pump)
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as readers:
            assert readers.stdout is not None
            readers.stdout.readline()  # they are all there
            control.send_signal(ids[0], "go")
            said, _ = readers.communicate(timeout=300)
        after = processor_seconds(web), processor_seconds(pump)
        finish(ids)
    taken: list[float] = json.loads(said)
    if len(taken) != READERS * lines:
        raise RuntimeError(f"{len(taken)} lines came where {READERS * lines} were due")
    results.add(f"{name}: from the activity to the socket, p50", percentile(taken, 0.5), "ms")
    results.add(f"{name}: p95", percentile(taken, 0.95), "ms", at_most=BUDGETS[name])
    results.add(f"{name}: p99", percentile(taken, 0.99), "ms")

    for process, was, now in zip(("web process", "pump"), before, after, strict=True):
        results.add(f"{name}: processor time of the {process}, per 1,000 lines", (now - was) / lines * 1_000, "s")


def talking(lines: int) -> dict[str, Any]:
    """A workflow that waits until its readers are there, and then talks."""
    talk = {"lines": lines, "perSecond": LINES_A_SECOND}
    states = [
        {"name": "Settle", "type": "WaitForSignal", "signal": "go"},
        {"name": "Talk", "type": "Task", "resource": "TalkActivity", "parameters": talk},
    ]
    return {"name": "talking", "states": states}


@contextlib.contextmanager
def _redis(home: Path) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(home)]
    server = subprocess.Popen(["redis-server", *options], stdout=subprocess.DEVNULL)
    try:
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        server.terminate()
        server.wait()
