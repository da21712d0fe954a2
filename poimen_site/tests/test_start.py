"""What a process loads before it can work, and what it says when it cannot: nothing needless, and nothing too late."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

from poimen_site.tests.homes import Home
from poimen_site.tests.polling import until

LATER = ("networkx", "playwright")


@pytest.mark.parametrize(
    "loaded",
    [
        "import workflows.engine.pump, workflows.engine.clock",
        "import poimen_site.asgi; from django.urls import get_resolver; get_resolver().url_patterns",
    ],
    ids=["worker", "web"],
)
def test_a_start_does_not_load_what_only_some_requests_need(loaded: str) -> None:
    program = f"import django, sys; django.setup(); {loaded}; print([n for n in {LATER!r} if n in sys.modules])"
    environment = {key: value for key, value in os.environ.items() if not key.startswith("OTEL_")}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment | {"DJANGO_SETTINGS_MODULE": "poimen_site.settings"},
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("command", ["qcluster", "clock"])
def test_what_starts_without_its_database_says_that_it_waits(command: str, tmp_path: Path) -> None:
    home = Home(tmp_path)
    with socket.socket() as closed, (tmp_path / "log").open("w") as log:
        closed.bind(("127.0.0.1", 0))  # bound, but not listening
        address = f"postgresql://ann:sesame@127.0.0.1:{closed.getsockname()[1]}/poimen"
        process = subprocess.Popen(
            [sys.executable, "manage.py", command],
            cwd=settings.BASE_DIR,
            env=home.environment | {"DATABASE_URL": address},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            until(lambda: "waits for the database (" in (tmp_path / "log").read_text())
            assert process.poll() is None, "it goes on waiting"
        finally:
            process.terminate()
            process.wait(timeout=30)
    said = (tmp_path / "log").read_text()
    assert "Connection refused" in said
    assert "sesame" not in said
    assert "Traceback" not in said
