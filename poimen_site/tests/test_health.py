"""Health: ready means that requests are served; without workers that is true, and the whole is degraded."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from workflows.models import Process, ProcessKind


def sign_in(kind: ProcessKind, seconds_ago: float = 0) -> None:
    at = timezone.now() - timedelta(seconds=seconds_ago)
    Process.objects.create(kind=kind, host="here", pid=1, heartbeat_at=at)


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
