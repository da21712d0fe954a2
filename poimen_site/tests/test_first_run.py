"""The first run of a home: an example on the checkout, followed to its end, and told in a few lines."""

from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from poimen_site.first_run import CHECK_UP, MARKER, FirstRun, _told, load_examples
from workflows.models import Execution


@pytest.fixture
def home(settings: Settings, tmp_path: Path) -> Path:
    settings.POIMEN_HOME = tmp_path
    return tmp_path


def advanced(home: Path) -> list[str]:
    said: list[str] = []
    FirstRun(home, said.append).advance()
    return said


@pytest.mark.django_db(transaction=True)
def test_a_checkout_without_git_is_told_and_left_alone(home: Path, settings: Settings) -> None:
    assert load_examples() == 3
    settings.BASE_DIR = home
    said = advanced(home)
    assert len(said) == 1
    assert f"{home} is not a git repository" in said[0]
    assert not Execution.objects.exists()
    assert (home / MARKER).exists()
    assert advanced(home) == []


@pytest.mark.django_db(transaction=True)
def test_a_run_that_was_started_before_is_followed_not_started_again(home: Path, settings: Settings) -> None:
    load_examples()
    (home / ".git").mkdir()
    settings.BASE_DIR = home
    assert any(CHECK_UP in line for line in advanced(home))
    settings.BASE_DIR = home.parent  # another request than the one whose key was used
    first_run = FirstRun(home, lambda _: None)
    first_run.advance()
    first_run.advance()
    assert Execution.objects.count() == 1


def test_a_verdict_says_how_it_comes_about() -> None:
    finding: dict[str, Any] = {"severity": "medium", "file": "app/tests/test_it.py"}
    output = {"securityScore": 20, "riskLevel": "critical", "totalFindings": 11, "vulnerabilities": [finding] * 11}
    output["vulnerabilities"] = [*[finding] * 10, {"severity": "high", "file": "app/main.py"}]
    assert _told({"Scan": output}) == [
        "  security: score 20, risk critical, 11 findings (10 medium, 1 high)",
        "  10 of them are in tests; risk goes by their number (10 or more: critical), read the report",
    ]
