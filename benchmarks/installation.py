"""The throwaway installation that is measured: one embedded PostgreSQL, and the processes a measurement starts.

Sets the environment that Django reads, so it must be imported, and entered, before any model is.
"""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parent.parent
START_SECONDS = 120.0


class Installation:
    """A migrated installation in ``home``; ``environment`` is what its processes get."""

    def __init__(self, home: Path) -> None:
        os.environ.pop("DATABASE_URL", None)
        os.environ.pop("REDIS_URL", None)
        os.environ |= {
            "POIMEN_HOME": str(home),
            "POIMEN_TEST_ACTIVITIES": "1",
            "DJANGO_SETTINGS_MODULE": "poimen_site.settings",
            "LOG_LEVEL": "warning",
        }
        from poimen_site.embedded_postgres import EmbeddedPostgres

        self.home = home
        self.postgres = EmbeddedPostgres(home)

    def __enter__(self) -> "Installation":
        import django
        from django.core.management import call_command

        from workflows.garbage_collection import keep_what_is_loaded

        self.home.mkdir(parents=True, exist_ok=True)
        self.postgres.start()
        django.setup()
        call_command("migrate", verbosity=0, skip_checks=True)
        keep_what_is_loaded()
        return self

    def __exit__(self, *_: object) -> None:
        from django.db import connections

        connections.close_all()
        connections["default"].close_pool()  # type: ignore[attr-defined]
        self.postgres.destroy()

    @contextlib.contextmanager
    def process(self, *arguments: str, **settings: str) -> Iterator[psutil.Process]:
        """Run ``python <arguments>`` while the block runs."""
        process = subprocess.Popen([sys.executable, *arguments], cwd=ROOT, env=os.environ | settings)
        try:
            yield psutil.Process(process.pid)
        finally:
            process.terminate()
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    @contextlib.contextmanager
    def pump(self, **settings: str) -> Iterator[psutil.Process]:
        """Run one pump in a process of its own, as a worker would; enters when it is up."""
        with self.process("-m", "benchmarks.worker", **settings) as process:
            wait_until(
                "the pump is up",
                lambda: rows("SELECT 1 FROM workflows_process WHERE kind = 'pump' AND pid = %s", process.pid),
                every=0.1,
                within=START_SECONDS,
            )
            yield process


def rows(sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
    """Read from the measured database."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        found: list[tuple[Any, ...]] = cursor.fetchall()
        return found


def wait_until(what: str, holds: Callable[[], Any], *, every: float, within: float) -> None:
    """Look every ``every`` seconds until ``holds()``; raises ``TimeoutError`` after ``within`` seconds."""
    ends = time.monotonic() + within
    while not holds():
        if time.monotonic() > ends:
            raise TimeoutError(f"not within {within:.0f} s: {what}")
        time.sleep(every)


def peak_memory(process: psutil.Process) -> float:
    """The largest resident set the process ever had, in MB (Linux; elsewhere what it is now)."""
    with contextlib.suppress(OSError, StopIteration):
        lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024
    return memory(process)


def memory(process: psutil.Process) -> float:
    """The resident set of the process, in MB."""
    return float(process.memory_info().rss / 2**20)


def processor_seconds(process: psutil.Process) -> float:
    """The processor time that the process has used so far."""
    times = process.cpu_times()
    return float(times.user + times.system)
