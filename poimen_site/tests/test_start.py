"""What a process loads before it can work: nothing that is slow to load and not needed for that."""

import os
import subprocess
import sys

import pytest
from django.conf import settings

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
