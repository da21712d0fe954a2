"""Ends what a supervisor leaves behind when it is killed: its services, and the embedded database.

A process of its own that waits for its standard input to close, which the kernel sees to however the supervisor ends.
It holds the lock of the home until it is done, so that the next supervisor starts on clean ground.
"""

import os
import signal
import sys
import time
from pathlib import Path

import psutil

from poimen_site.embedded_postgres import EmbeddedPostgres

SUPERVISED = "POIMEN_SUPERVISOR_PID"  # in the environment of every service (supervisor.py)
GRACE_SECONDS = 7.0


def main(supervisor: str, home: str) -> None:
    """Wait for the end of the supervisor with this pid; ``home`` is empty when the database is not ours."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # meant for the supervisor, which ends first
    sys.stdin.buffer.read()
    end_services(supervisor)
    if home:
        EmbeddedPostgres(Path(home)).stop()


def end_services(supervisor: str) -> None:
    """End every process that carries the supervisor's mark: by SIGTERM, and after a grace by SIGKILL."""
    left = _marked(supervisor)
    for process in left:
        _send(process, signal.SIGTERM)
    deadline = time.monotonic() + GRACE_SECONDS
    while left and time.monotonic() < deadline:
        time.sleep(0.1)
        left = _marked(supervisor)
    for process in left:
        _send(process, signal.SIGKILL)


def _marked(supervisor: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            is_marked = process.environ().get(SUPERVISED) == supervisor and process.status() != psutil.STATUS_ZOMBIE
        except psutil.Error:
            continue  # it has ended, or belongs to someone else
        if is_marked and process.pid != os.getpid():
            found.append(process)
    return found


def _send(process: psutil.Process, number: signal.Signals) -> None:
    try:
        process.send_signal(number)
    except psutil.Error:
        pass  # it ended meanwhile


if __name__ == "__main__":
    main(*sys.argv[1:])
