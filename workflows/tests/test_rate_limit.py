"""Requests are counted per customer by all processes together; past the limit they wait for the next minute."""

import time
from typing import Any

import pytest
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


def test_waiting_takes_a_minute_at_most() -> None:
    assert 0 < CustomerThrottle().wait() <= 60
    assert abs(CustomerThrottle().wait() - (60 - time.time() % 60)) < 1
