"""``manage.py up`` as people start it: everything runs, comes back when it dies, and is gone when told to stop."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import httpx
import psutil
import pytest
from django.conf import settings

from poimen_site.embedded_postgres import EmbeddedPostgres
from poimen_site.first_run import MARKER
from poimen_site.tests.polling import until
from poimen_site.tests.prepared_homes import prepare

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.xdist_group("up")]

PASSWORD = "correct horse battery"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Installation:
    """A home and a port, and what ``up`` says about them."""

    def __init__(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="poimen-home-"))
        self.home.chmod(0o755)
        self.port = free_port()
        self.log = self.home / "up.log"
        self.process: subprocess.Popen[bytes] | None = None
        inherited = {
            k: v for k, v in os.environ.items() if not k.startswith(("POIMEN", "DJANGO", "DATABASE", "PYTEST"))
        }
        self.environment = inherited | {
            "POIMEN_HOME": str(self.home),
            "PORT": str(self.port),
            "POIMEN_ADMIN_PASSWORD": PASSWORD,
        }

    def prepare(self) -> None:
        """Give it the database of an installation that was started before, without examples and a check-up."""
        (self.home / MARKER).write_text("\n")
        prepare(self.home, self.environment)

    def start(self) -> None:
        self.launch()
        until(lambda: self.status() == "healthy", 120)

    def launch(self) -> None:
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "up"],
                env=self.environment,
                cwd=settings.BASE_DIR,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def status(self) -> str:
        try:
            return str(httpx.get(f"http://127.0.0.1:{self.port}/health", timeout=5).json()["status"])
        except (httpx.HTTPError, ValueError):
            assert self.process is not None
            assert self.process.poll() is None, self.log.read_text()
            return "silent"

    def run(self, **changes: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "manage.py", "up"],
            env=self.environment | changes,
            cwd=settings.BASE_DIR,
            capture_output=True,
            text=True,
            timeout=90,
        )

    def processes(self) -> dict[int, str]:
        """What runs on behalf of this home, the database included: pid and command line."""
        found = {}
        for process in psutil.process_iter():
            try:
                ours = process.environ().get("POIMEN_HOME") == str(self.home)
                line = " ".join(process.cmdline())
                if (ours or str(self.home) in line) and process.status() != psutil.STATUS_ZOMBIE:
                    found[process.pid] = line
            except psutil.Error:
                continue
        return found

    def service(self, command: str) -> psutil.Process | None:
        """The process that the supervisor started for ``manage.py <command>``."""
        assert self.process is not None
        for child in psutil.Process(self.process.pid).children():
            with contextlib.suppress(psutil.Error):  # it has just died
                if command in child.cmdline():
                    return child
        return None

    def replaced(self, command: str, pid: int) -> bool:
        """Whether ``manage.py <command>`` runs as another process than ``pid``."""
        found = self.service(command)
        return found is not None and found.pid != pid

    def stop(self) -> float:
        """Stop by SIGTERM; returns how many seconds it took."""
        assert self.process is not None
        began = time.monotonic()
        self.process.terminate()
        self.process.wait(timeout=60)
        return time.monotonic() - began


@pytest.fixture
def installation() -> Iterator[Installation]:
    made = Installation()
    yield made
    if made.process is not None and made.process.poll() is None:
        made.stop()
    EmbeddedPostgres(made.home).destroy()
    shutil.rmtree(made.home)


def test_a_first_start_checks_up_the_checkout_and_a_stop_leaves_nothing(installation: Installation) -> None:
    installation.start()
    until(lambda: "Repository check-up: " in installation.log.read_text(), 240)
    said = installation.log.read_text()
    assert "Repository check-up: success" in said, said
    report = Path(said.split("  report: ")[1].splitlines()[0])
    assert report.stat().st_size > 1000
    assert installation.home in report.parents

    with httpx.Client(base_url=f"http://127.0.0.1:{installation.port}") as client:
        token = client.post("/auth/token", json={"username": "admin", "password": PASSWORD}).json()["access"]
        names = client.get("/workflows", headers={"Authorization": f"Bearer {token}"}).json()["workflows"]
    assert {"Repository check-up", "Approved report", "Wait and call"} <= {w["name"] for w in names}
    assert PASSWORD not in said
    told = ["making the database", "bringing the database up to date", "loaded 3 example workflows", "Poimen is at"]
    positions = [said.index(text) for text in (*told, "Running the example")]
    assert positions == sorted(positions)
    assert not (installation.home / "admin-password").exists()  # a password that was given is not kept

    assert installation.stop() < 10
    assert installation.process is not None
    assert installation.process.returncode == 0
    assert installation.processes() == {}

    began = time.monotonic()
    installation.start()
    assert time.monotonic() - began < 60  # seconds on a machine of its own; tests share theirs
    assert "Running the example" not in installation.log.read_text()
    assert installation.stop() < 10


def test_the_address_is_told_once_the_web_process_answers(installation: Installation) -> None:
    installation.launch()
    until(lambda: "Poimen is at" in installation.log.read_text(), 120)
    address = f"http://127.0.0.1:{installation.port}"
    assert httpx.get(f"{address}/health/live", timeout=2).status_code == 200
    assert httpx.get(f"{address}/health/ready", timeout=10).status_code == 200  # the schema was made before
    until(lambda: "Running the example" in installation.log.read_text())
    assert installation.stop() < 10  # with a scan on its way
    assert installation.processes() == {}


def test_what_dies_comes_back_and_others_are_refused(installation: Installation) -> None:
    installation.prepare()
    installation.start()
    for command in ("web", "qcluster", "clock"):
        victim = installation.service(command)
        assert victim is not None
        victim.kill()
        until(partial(installation.replaced, command, victim.pid))
    server = EmbeddedPostgres(installation.home)
    pid = server.postmaster_pid()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    until(lambda: server.postmaster_pid() not in (None, pid))
    until(lambda: installation.status() == "healthy")

    again = installation.run(PORT=str(free_port()))
    assert again.returncode == 1
    assert f"Poimen is already running on {installation.home}" in again.stderr

    other = Path(tempfile.mkdtemp(prefix="poimen-home-"))
    try:
        taken = installation.run(POIMEN_HOME=str(other))
        assert taken.returncode == 1
        assert f"127.0.0.1:{installation.port}" in taken.stderr
        assert "Set PORT" in taken.stderr
        assert not EmbeddedPostgres(other).is_running()
    finally:
        shutil.rmtree(other)
    assert installation.status() == "healthy"


def test_a_start_says_at_once_which_database_it_waits_for(installation: Installation) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()  # takes connections, and never says a word
        there = f"127.0.0.1:{silent.getsockname()[1]}"
        installation.environment["DATABASE_URL"] = f"postgresql://ann:sesame@{there}/poimen"
        installation.launch()
        assert installation.process is not None
        said = until(lambda: installation.log.read_text().partition("\n")[1] and installation.log.read_text(), 60)
        assert said.splitlines()[0] == f"poimen | connecting to the database at postgresql://ann@{there}/poimen"
        assert installation.process.poll() is None, "it was said before it was given up"
        installation.stop()
    assert "sesame" not in installation.log.read_text()


def test_a_stop_is_quick_while_the_database_hangs(installation: Installation) -> None:
    installation.prepare()
    installation.start()
    pid = EmbeddedPostgres(installation.home).postmaster_pid()
    assert pid is not None
    for process in (psutil.Process(pid), *psutil.Process(pid).children()):
        process.suspend()
    assert installation.stop() < 10
    assert installation.processes() == {}


def test_a_killed_supervisor_takes_everything_along_and_the_next_one_starts(installation: Installation) -> None:
    installation.prepare()
    installation.start()
    assert installation.process is not None
    installation.process.kill()
    installation.process.wait()
    installation.start()  # at once: it waits for what is left to go
    assert installation.stop() < 10
    assert installation.processes() == {}

    installation.start()
    installation.process.kill()
    installation.process.wait()
    until(lambda: installation.processes() == {}, 30)
