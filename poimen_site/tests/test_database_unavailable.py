"""The web process while its database is away: 503 with a hint when to come back, and service as soon as it is there."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from django.conf import settings

from poimen_site.embedded_postgres import EmbeddedPostgres
from poimen_site.tests.polling import until


@pytest.fixture
def server() -> Iterator[EmbeddedPostgres]:
    home = Path(tempfile.mkdtemp(prefix="poimen-home-"))
    home.chmod(0o755)
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
    subprocess.run([*manage, "migrate", "-v0"], env=environment, cwd=settings.BASE_DIR, check=True)
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
