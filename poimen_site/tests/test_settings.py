"""Settings: all of them documented, and production refuses what is only safe on one's own machine."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

SOURCE = Path(settings.BASE_DIR) / "poimen_site"
TABLE = Path(settings.BASE_DIR) / "docs" / "reference" / "settings.md"


def documented_settings() -> set[str]:
    """The names in the table of settings."""
    return set(re.findall(r"^\| `(\w+)` \|", TABLE.read_text(), re.MULTILINE))


def test_the_table_names_exactly_the_settings_there_are() -> None:
    read: set[str] = set()
    for path in (SOURCE / "settings.py", SOURCE / "token_issuer.py", SOURCE / "outside_services.py"):
        read |= set(re.findall(r'env\.\w+\(\s*"(\w+)"', path.read_text()))
    for path in SOURCE.rglob("*.py"):
        if "tests" not in path.parts:
            read |= set(re.findall(r'os\.environ\.get\("(\w+)"', path.read_text()))
    assert len(read) > 20
    assert documented_settings() == read


KEY = "a text that is long, and as random as the next one: 8f2k"
SAFE = {"POIMEN_SECRET_KEY": KEY, "POIMEN_ALLOWED_HOSTS": "poimen.example.org"}


@pytest.mark.parametrize(
    "environment, complaint",
    [
        ({}, "POIMEN_SECRET_KEY"),
        (SAFE | {"POIMEN_SECRET_KEY": KEY[:49]}, "refuses this POIMEN_SECRET_KEY: it has 49 characters"),
        (SAFE | {"POIMEN_SECRET_KEY": "abcd" * 20}, "80 characters, 4 of them different; expected a random text"),
        (SAFE | {"POIMEN_ALLOWED_HOSTS": "*"}, "POIMEN_ALLOWED_HOSTS"),
        (SAFE | {"POIMEN_CORS_ORIGINS": "https://a.example.org, *"}, "refuses POIMEN_CORS_ORIGINS=*"),
        (SAFE | {"POIMEN_TEST_ACTIVITIES": "on"}, "refuses POIMEN_TEST_ACTIVITIES"),
        (SAFE | {"POIMEN_SECRET_KEY": KEY[:50], "POIMEN_CORS_ORIGINS": "https://a.example.org"}, ""),
        (SAFE | {"POIMEN_TEST_ACTIVITIES": "off"}, ""),
    ],
)
def test_production_refuses_what_is_unsafe(environment: dict[str, str], complaint: str, tmp_path: Path) -> None:
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("POIMEN", "DJANGO"))}
    done = subprocess.run(
        [sys.executable, "-c", "import poimen_site.settings"],
        env=inherited | {"ENVIRONMENT": "production", "POIMEN_HOME": str(tmp_path)} | environment,
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
    )
    assert (done.returncode != 0) == bool(complaint)
    assert complaint in done.stderr
    assert environment.get("POIMEN_SECRET_KEY", "none given") not in done.stderr
    assert not list(tmp_path.iterdir())  # nor does it make up a key of its own
