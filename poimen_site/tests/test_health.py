"""Health: ready means that requests are served; without workers that is true, and the whole is degraded."""

import json
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import OperationalError
from django.test import Client
from django.utils import timezone

from poimen_site import health
from workflows.audit import anchor
from workflows.models import Branch, Process, ProcessKind
from workflows.tests.people import customer, started


def sign_in(kind: ProcessKind, seconds_ago: float = 0, started_ago: float = 0) -> None:
    now = timezone.now()
    made = Process.objects.create(kind=kind, host="here", pid=1, heartbeat_at=now - timedelta(seconds=seconds_ago))
    Process.objects.filter(pk=made.pk).update(started_at=now - timedelta(seconds=started_ago))


@pytest.fixture(autouse=True)
def _anchored(db: None, settings: Any, tmp_path: Path) -> None:
    """Have an anchor that fits, whatever tests before have done to the trail of the shared database."""
    settings.POIMEN_HOME = tmp_path
    anchor.renew_anew()


def problems() -> dict[str, str]:
    """What the report says is wrong."""
    checks = Client().get("/health").json()["checks"]
    return {name: check["message"] for name, check in checks.items() if check["status"] != "healthy"}


def test_a_process_that_answers_is_alive() -> None:
    assert Client().get("/health/live").json() == {"status": "alive"}


@pytest.mark.django_db
def test_ready_with_a_current_schema_even_without_workers() -> None:
    answer = Client().get("/health/ready")
    checks = answer.json()["checks"]
    assert (answer.status_code, answer.json()["status"]) == (200, "ready")
    assert {name: check["status"] for name, check in checks.items()} == {
        "database": "healthy",
        "migrations": "healthy",
        "workers": "unhealthy",
        "clock": "unhealthy",
        "queue": "healthy",
        "audit": "healthy",
        "git": "healthy",
        "disk": "healthy",
        "memory": "healthy",
        "llm": "healthy",
    }
    assert "no clock has signed in" in checks["clock"]["message"]
    assert Client().get("/health").json()["status"] == "degraded"


@pytest.mark.django_db
def test_healthy_with_fresh_heartbeats_only() -> None:
    sign_in(ProcessKind.CLUSTER, seconds_ago=60)
    sign_in(ProcessKind.CLOCK)
    assert Client().get("/health").json()["status"] == "degraded"
    sign_in(ProcessKind.CLUSTER)
    answer = Client().get("/health")
    assert (answer.status_code, answer.json()["status"]) == (200, "healthy")
    assert all(check["latencyMs"] >= 0 for check in answer.json()["checks"].values())


@pytest.mark.django_db
def test_a_cluster_whose_workers_are_silent_is_told_apart_from_one_that_starts() -> None:
    sign_in(ProcessKind.CLOCK)
    sign_in(ProcessKind.CLUSTER, started_ago=5)
    assert problems() == {}
    Process.objects.filter(kind=ProcessKind.CLUSTER).delete()
    sign_in(ProcessKind.CLUSTER, started_ago=60)
    assert list(problems()) == ["workers"]
    assert problems()["workers"].startswith("silent")
    sign_in(ProcessKind.PUMP)
    assert problems() == {}


@pytest.mark.django_db
def test_work_that_nobody_takes_is_a_problem_of_the_queue() -> None:
    branch = started(customer()).branches.get()
    assert "queue" not in problems()
    Branch.objects.filter(pk=branch.pk).update(ready_at=timezone.now() - timedelta(seconds=300))
    assert "ready for 30" in problems()["queue"]
    assert Client().get("/health/ready").status_code == 200, "requests are accepted all the same"


@pytest.mark.django_db
def test_an_anchor_that_is_gone_changed_or_contradicted_is_told_without_details() -> None:
    acme = customer()
    assert "audit" not in problems()
    kept = anchor.path().read_bytes()
    anchor.path().unlink()
    assert problems()["audit"] == "the audit trail and its anchor do not fit: run manage.py audit_verify"
    anchor.path().write_bytes(kept.replace(b'"seq": ', b'"seq": 1'))
    assert "audit" in problems()
    anchor.write({str(acme.pk): (1000, "0" * 64)})
    assert "audit" in problems()
    anchor.path().write_bytes(kept)
    assert "audit" not in problems()


@pytest.mark.django_db
def test_a_full_disk_and_a_missing_git_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "LEAST_FREE_BYTES", 2**60)
    monkeypatch.setenv("PATH", "/nowhere")
    health._git_problem.cache_clear()
    found = problems()
    health._git_problem.cache_clear()
    assert "git cannot be run" in found["git"]
    assert "MiB are free" in found["disk"]


@pytest.mark.django_db
def test_without_the_database_nothing_is_ready_and_the_process_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    def away() -> None:
        raise OperationalError("gone")

    monkeypatch.setattr(health, "_check_database", away)
    for path, status in (("/health", 503), ("/health/ready", 503), ("/health/live", 200)):
        assert Client().get(path).status_code == status
    checks = Client().get("/health").json()["checks"]
    assert checks["database"]["message"] == "the database does not answer"
    assert checks["queue"]["message"] == "unknown without the database"
    assert checks["git"]["status"] == "healthy"


@pytest.mark.django_db
def test_the_command_tells_the_same_and_fails_unless_all_is_healthy() -> None:
    def told(**options: Any) -> tuple[str, int]:
        out = StringIO()
        try:
            call_command("health", stdout=out, **options)
        except SystemExit as end:
            return out.getvalue(), int(str(end.code))
        return out.getvalue(), 0

    text, code = told()
    assert code == 1
    assert text.startswith("degraded")
    assert "no clock has signed in" in text
    sign_in(ProcessKind.CLOCK)
    sign_in(ProcessKind.CLUSTER)
    text, code = told(json=True)
    assert (json.loads(text)["status"], code) == ("healthy", 0)
