"""The web process while its database is away: 503 with a hint when to come back, and service as soon as it is there."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import httpx
import psutil
import psycopg
import pytest
from django.conf import settings
from django.db import connections

from poimen_site import bounded_connection
from poimen_site.bounded_connection import BoundedConnection
from poimen_site.embedded_postgres import EmbeddedPostgres
from poimen_site.tests.polling import until
from poimen_site.tests.prepared_homes import prepare


@pytest.fixture
def server() -> Iterator[EmbeddedPostgres]:
    home = Path(tempfile.mkdtemp(prefix="poimen-home-"))
    home.chmod(0o755)
    prepare(home, os.environ | {"DJANGO_SETTINGS_MODULE": "poimen_site.settings"})
    made = EmbeddedPostgres(home)
    made.start()
    yield made
    made.destroy()
    shutil.rmtree(home)


@pytest.fixture
def client(server: EmbeddedPostgres) -> Iterator[httpx.Client]:
    """The web process, serving a current schema."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("POIMEN", "DATABASE"))}
    environment = inherited | {"POIMEN_HOME": str(server.home), "PORT": str(port)}
    manage = [sys.executable, "manage.py"]
    with (server.home / "web.log").open("wb") as log:
        web = subprocess.Popen([*manage, "web"], env=environment, cwd=settings.BASE_DIR, stdout=log, stderr=log)
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=20) as made:
        until(lambda: status(made) == 200)
        yield made
    web.terminate()
    web.wait(timeout=30)


def status(client: httpx.Client) -> int:
    try:
        return client.get("/health/ready").status_code
    except httpx.ConnectError:
        return 0


@pytest.mark.slow
def test_the_web_process_waits_out_an_outage(server: EmbeddedPostgres, client: httpx.Client) -> None:
    server.stop()
    credentials = {"username": "ada", "password": "difference engine"}
    for _ in range(3):
        answer = client.post("/auth/token", json=credentials)
        assert answer.status_code == 503
        assert answer.json()["error"].startswith("The database cannot be reached right now.")
        assert int(answer.headers["Retry-After"]) > 0
    page = client.get("/admin/", headers={"Accept": "text/html", "Cookie": "sessionid=" + "a" * 32})
    assert page.status_code == 503
    assert client.get("/health/ready").status_code == 503
    assert client.get("/health/live").status_code == 200

    server.start()
    until(lambda: client.post("/auth/token", json=credentials).status_code == 401, 10)
    assert client.get("/health/ready").status_code == 200
    said = (server.home / "web.log").read_text()
    assert "POST /auth/token" in said
    assert "Traceback" not in said  # an outage is not a mistake in the program


def hold(server: EmbeddedPostgres, number: signal.Signals) -> None:
    pid = server.postmaster_pid()
    assert pid is not None
    postmaster = psutil.Process(pid)
    for process in (postmaster, *postmaster.children()):
        process.send_signal(number)


@pytest.mark.slow
def test_a_database_that_hangs_holds_nobody(server: EmbeddedPostgres, client: httpx.Client) -> None:
    numbers = count()  # of users: failures are counted by name, and ten of one are enough

    def ask(_: int) -> tuple[int, float, str]:
        began = time.monotonic()
        answer = client.post("/auth/token", json={"username": f"ada{next(numbers)}", "password": "difference engine"})
        return answer.status_code, time.monotonic() - began, answer.headers.get("Retry-After", "")

    assert ask(0)[0] == 401
    hold(server, signal.SIGSTOP)
    try:
        began = time.monotonic()
        assert client.get("/health/ready").status_code == 503
        assert time.monotonic() - began < 6
        for _ in range(2):
            with ThreadPoolExecutor(20) as many:
                answers = list(many.map(ask, range(20)))
            assert {code for code, _, _ in answers} == {503}
            assert max(seconds for _, seconds, _ in answers) < 6
            assert all(int(retry_after) > 0 for _, _, retry_after in answers)
        assert client.get("/health/live").status_code == 200
    finally:
        hold(server, signal.SIGCONT)
    until(lambda: ask(0)[0] == 401, 10)
    with ThreadPoolExecutor(20) as many:
        assert {code for code, _, _ in many.map(ask, range(40))} == {401}
    assert client.get("/health/ready").status_code == 200
    assert "Traceback" not in (server.home / "web.log").read_text()


@pytest.mark.slow
def test_a_command_says_how_to_start_the_database(server: EmbeddedPostgres) -> None:
    server.stop()
    environment = {k: v for k, v in os.environ.items() if k != "DATABASE_URL"} | {"POIMEN_HOME": str(server.home)}
    done = subprocess.run(
        [sys.executable, "manage.py", "showmigrations"],
        env=environment,
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "bin/run" in done.stderr
    assert "manage.py database start" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.django_db
def test_a_slow_statement_is_not_taken_for_a_database_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_connection, "PATIENCE_SECONDS", 0.2)
    parameters = connections["default"].get_connection_params()
    given = {key: value for key, value in parameters.items() if key not in ("context", "cursor_factory")}
    with BoundedConnection.connect(**given) as connection:
        assert connection.execute("SELECT 1 FROM pg_sleep(1)").fetchone() == (1,)
        monkeypatch.setattr(bounded_connection, "STATEMENT_SECONDS", -bounded_connection.LOCK_SECONDS)
        with pytest.raises(psycopg.OperationalError, match="no answer from the database"):
            connection.execute("SELECT 1 FROM pg_sleep(1)")
        assert connection.closed
