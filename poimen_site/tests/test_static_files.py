"""Static files: on one's own machine a running server serves what is on disk now, in production what it found first."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from poimen_site.settings import BASE_DIR

SHORT, LONG = "let here;", "let here, and, much, more;"
ASKED = ("s.WHITENOISE_AUTOREFRESH", "s.WHITENOISE_MAX_AGE")


@pytest.fixture
def served(tmp_path: Path, settings: Settings) -> Path:
    """A file that is served as ``/static/built.js``."""
    settings.STATICFILES_DIRS = [tmp_path]
    settings.STATIC_ROOT = tmp_path / "collected"
    file = tmp_path / "built.js"
    file.write_text(SHORT)
    return file


def body(answer: Any) -> str:
    assert answer.status_code == 200
    assert answer.streaming
    text = b"".join(answer).decode()
    assert int(answer["Content-Length"]) == len(text)
    return text


def test_a_file_that_was_built_anew_is_served_whole_and_asked_for_again(served: Path) -> None:
    server = Client()
    first = server.get("/static/built.js")
    assert body(first) == SHORT
    assert "max-age=0" in first["Cache-Control"]
    served.write_text(LONG)
    assert body(server.get("/static/built.js")) == LONG
    served.with_name("late.js").write_text(SHORT)
    assert body(server.get("/static/late.js")) == SHORT
    for name in ("gone.js", "../settings.py", "%2e%2e/settings.py"):
        assert server.get(f"/static/{name}").status_code == 404


@pytest.mark.parametrize("environment, looks_again", [("development", "True 0"), ("production", "False 60")])
def test_production_looks_for_files_once(environment: str, looks_again: str, tmp_path: Path) -> None:
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("POIMEN", "DJANGO"))}
    key = "a text that is long, and as random as the next one: 8f2k"
    said = subprocess.run(
        [sys.executable, "-c", f"from poimen_site import settings as s; print({', '.join(ASKED)})"],
        env=inherited | {"ENVIRONMENT": environment, "POIMEN_HOME": str(tmp_path), "POIMEN_SECRET_KEY": key},
        cwd=BASE_DIR,
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.strip() == looks_again
