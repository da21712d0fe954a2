"""Requests are counted per customer by all processes together; past the limit they wait for the next minute."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from rest_framework.test import APIClient

from workflows import rate_limit
from workflows.models import RequestCount, Role
from workflows.rate_limit import CustomerThrottle, RequestCounter
from workflows.tests.people import customer, member, signed_in

pytestmark = pytest.mark.django_db

NOON = 1_900_000_020.0  # within a minute


@pytest.fixture
def at_noon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fresh process, early in a minute that does not pass."""
    monkeypatch.setattr(rate_limit, "counter", RequestCounter())
    monkeypatch.setattr(time, "time", lambda: NOON)


def test_a_customer_past_its_limit_is_told_when_to_come_again(settings: Any, at_noon: None) -> None:
    settings.POIMEN_REQUESTS_PER_MINUTE = 5
    mine, colleague = (signed_in(member(customer("acme"), Role.VIEWER)) for _ in range(2))
    other = signed_in(member(customer("other"), Role.VIEWER))
    assert [mine.get("/activities").status_code for _ in range(3)] == [200] * 3
    assert [colleague.get("/activities").status_code for _ in range(3)] == [200, 200, 429]
    refused = mine.get("/executions")
    assert refused.status_code == 429
    assert "error" in refused.json()
    assert int(refused.headers["Retry-After"]) == 60 - NOON % 60
    assert other.get("/activities").status_code == 200


def test_signing_in_again_needs_no_customer(settings: Any, at_noon: None) -> None:
    settings.POIMEN_REQUESTS_PER_MINUTE = 1
    user = member(customer(), Role.VIEWER)
    client = APIClient()
    body = {"username": user.username, "password": "correct horse"}
    refresh = client.post("/auth/token", body, format="json").json()["refresh"]
    for _ in range(3):
        assert client.post("/auth/refresh", {"refresh": refresh}, format="json").status_code == 200
        assert signed_in(user).get("/schema").status_code == 200


def test_the_next_minute_begins_anew() -> None:
    counter, who = RequestCounter(), customer().pk
    assert [counter.is_allowed(who, 2, NOON) for _ in range(4)] == [True, True, False, False]
    assert counter.is_allowed(who, 2, NOON + 60)
    assert RequestCount.objects.get(customer=who).count == 1


def test_processes_count_together_and_report_in_portions(django_assert_num_queries: Any) -> None:
    one, two, who = RequestCounter(), RequestCounter(), customer().pk
    with django_assert_num_queries(6):
        for _ in range(600):
            assert one.is_allowed(who, 10_000, NOON)
    for _ in range(9_400):
        assert two.is_allowed(who, 10_000, NOON)
    assert not two.is_allowed(who, 10_000, NOON)
    allowed = [one.is_allowed(who, 10_000, NOON) for _ in range(200)]
    assert not allowed[-1]
    assert sum(allowed) < 100


def test_a_process_whose_clock_is_behind_does_not_take_the_count_back() -> None:
    ahead, behind, who = RequestCounter(), RequestCounter(), customer().pk
    assert [ahead.is_allowed(who, 2, NOON + 60) for _ in range(3)] == [True, True, False]
    assert not behind.is_allowed(who, 2, NOON)


@pytest.fixture
def redis_server(settings: Any, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A Redis of our own that the cache is in."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path)]
    process = subprocess.Popen(["redis-server", *options], stdout=subprocess.DEVNULL)
    settings.REDIS_URL = f"redis://127.0.0.1:{port}/0"
    settings.CACHES = {
        "default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": settings.REDIS_URL}
    }
    client = redis.Redis(port=port)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            client.ping()
            break
        except redis.ConnectionError:
            continue
    yield process
    process.kill()
    process.wait()


@pytest.mark.skipif(shutil.which("redis-server") is None, reason="no redis-server (Debian: redis-server)")
def test_with_redis_the_count_is_there_and_without_it_nobody_is_refused(
    redis_server: subprocess.Popen[bytes], django_assert_num_queries: Any
) -> None:
    who = customer().pk
    one, two = RequestCounter(), RequestCounter()
    with django_assert_num_queries(0):
        assert [one.is_allowed(who, 3, NOON), two.is_allowed(who, 3, NOON), one.is_allowed(who, 3, NOON)] == [True] * 3
        assert not two.is_allowed(who, 3, NOON)
        assert one.is_allowed(who, 3, NOON + 60)
    redis_server.kill()
    redis_server.wait()
    fresh = RequestCounter()
    assert all(fresh.is_allowed(who, 3, NOON) for _ in range(10))


def test_waiting_takes_a_minute_at_most() -> None:
    assert 0 < CustomerThrottle().wait() <= 60
    assert abs(CustomerThrottle().wait() - (60 - time.time() % 60)) < 1
