"""A whole Poimen in a throwaway home: its own PostgreSQL, its own worker and clock processes, watched from outside.

Looks into the database over connections of its own, so that it sees what anybody else would see.
"""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import psycopg

from poimen_site.embedded_postgres import EmbeddedPostgres
from poimen_site.tests.prepared_homes import prepare

ROOT = Path(__file__).resolve().parents[3]
ADMIT = """
import json, sys
from django.contrib.auth.models import User
from workflows.models import Customer, Membership
asked = json.load(sys.stdin)
customer, _ = Customer.objects.get_or_create(slug="acme", defaults={"name": "Acme"})
user = User.objects.create_user(asked["username"], password=asked["password"])
Membership.objects.create(user=user, customer=customer, role=asked["role"])
"""


class Installation:
    """The installation of ``home``, which is made on entering and destroyed on leaving."""

    def __init__(self, home: Path, **settings: str) -> None:
        self.home = home
        self.postgres = EmbeddedPostgres(home)
        self.records = home / "records.jsonl"
        self.environment = {k: v for k, v in os.environ.items() if k not in ("DATABASE_URL", "REDIS_URL")} | {
            "POIMEN_HOME": str(home),
            "POIMEN_TEST_ACTIVITIES": "1",
            "DJANGO_SETTINGS_MODULE": "poimen_site.settings",
            **settings,
        }
        self._started: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> "Installation":
        self.home.mkdir(parents=True, exist_ok=True)
        prepare(self.home, self.environment)
        self.postgres.start()
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._started:
            process.kill()
        for left in self.processes():
            left.kill()
        self.postgres.destroy()

    def start(self, command: str, **settings: str) -> subprocess.Popen[bytes]:
        """Start ``manage.py <command>``; what it says goes to ``<command>.log`` in the home."""
        with (self.home / f"{command}.log").open("ab") as output:
            process = subprocess.Popen(
                [sys.executable, "manage.py", command],
                cwd=ROOT, env=self.environment | settings, stdout=output, stderr=output,
            )  # fmt: skip
        self._started.append(process)
        return process

    def submit(self, spec: dict[str, Any], *inputs: dict[str, Any]) -> list[str]:
        """Start one execution of ``spec`` for each of ``inputs``, as the REST API would; returns their ids."""
        request = json.dumps({"spec": spec, "inputs": inputs or [{}]})
        ids: list[str] = json.loads(self._run("-m", "workflows.tests.chaos.submit", given=request))
        return ids

    def admit(self, username: str, password: str, role: str) -> None:
        """Make a user with ``role`` in the customer that :meth:`submit` starts executions for."""
        asked = json.dumps({"username": username, "password": password, "role": role})
        self._run("manage.py", "shell", "--no-imports", "-c", ADMIT, given=asked)

    def _run(self, *arguments: str, given: str = "") -> str:
        done = subprocess.run(
            [sys.executable, *arguments], cwd=ROOT, env=self.environment, input=given, capture_output=True, text=True,
            timeout=180,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def rows(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Read from the database."""
        with psycopg.connect(self.postgres.url, autocommit=True, connect_timeout=5) as connection:
            return connection.execute(sql, parameters).fetchall()

    def processes(self) -> list[psutil.Process]:
        """Every living process of the installation but the database's."""
        found = []
        for process in psutil.process_iter():
            try:
                mine = process.environ().get("POIMEN_HOME") == str(self.home)
                if mine and process.pid != os.getpid() and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def pumps(self) -> list[int]:
        """Process ids of the pumps that signed in within the last seconds and exist."""
        fresh = self.rows(
            "SELECT pid FROM workflows_process WHERE kind = 'pump' AND heartbeat_at > now() - interval '5 seconds'"
        )
        return [pid for (pid,) in fresh if _runs(pid)]

    def recorded(self) -> list[dict[str, Any]]:
        """What RecordActivity wrote, in order."""
        return [json.loads(line) for line in self.records.read_text().splitlines()] if self.records.exists() else []

    def log(self, command: str) -> str:
        """What the processes of ``command`` said so far."""
        path = self.home / f"{command}.log"
        return path.read_text() if path.exists() else ""


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def eventually(what: str, holds: Callable[[], Any], within: float) -> float:
    """Wait until ``holds()`` is true, which may fail for want of a database; returns the seconds it took."""
    began = time.monotonic()
    while True:
        try:
            if holds():
                return time.monotonic() - began
        except psycopg.OperationalError:
            pass  # the database is away: not yet
        assert time.monotonic() - began < within, f"not within {within} s: {what}"
        time.sleep(0.05)


def ended(process: subprocess.Popen[bytes], within: float = 10) -> float:
    """Ask ``process`` to end; returns the seconds it took."""
    began = time.monotonic()
    process.terminate()
    process.wait(within)
    return time.monotonic() - began


def _runs(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False
