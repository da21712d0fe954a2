"""``/metrics``: what a scraper reads, and who may read it."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from workflows.models import MetricTally, Role
from workflows.tests.people import ECHO, customer, member, started
from workflows.tests.test_approvals import gate

pytestmark = pytest.mark.django_db


def scraped(client: Client | None = None) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Every sample by its name and labels."""
    answer = (client or Client()).get("/metrics")
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/plain")
    families = text_string_to_metric_families(answer.content.decode())
    return {(s.name, frozenset(s.labels.items())): s.value for family in families for s in family.samples}


def value(samples: dict[Any, float], name: str, **labels: str) -> float:
    return samples[name, frozenset(labels.items())]


def test_executions_and_activities_are_told_with_buckets_of_minutes() -> None:
    for status, bucket, count, seconds in (("success", 0, 5, 0.2), ("failed", 7, 2, 300.0), ("lost", 3, 1, 6.0)):
        MetricTally.objects.create(
            metric="run", label="RunTests", kind="Task", status=status, bucket=bucket, count=count, again=count - 1,
            seconds=seconds,
        )  # fmt: skip
    MetricTally.objects.create(
        metric="ended", label="Ship", kind="", status="timed_out", bucket=10, count=1, seconds=9e4
    )
    MetricTally.objects.create(metric="started", label="Ship", kind="", status="", bucket=0, count=4)
    samples = scraped()
    activity = {"activity_type": "RunTests"}
    assert value(samples, "poimen_activity_executions_started_total", **activity) == 8
    assert value(samples, "poimen_activity_retries_total", **activity) == 5
    assert value(samples, "poimen_activity_executions_completed_total", status="failure", **activity) == 2
    assert value(samples, "poimen_activity_executions_completed_total", status="success", **activity) == 5
    assert value(samples, "poimen_activity_duration_seconds_bucket", le="0.1", **activity) == 5
    assert value(samples, "poimen_activity_duration_seconds_bucket", le="60.0", **activity) == 6
    assert value(samples, "poimen_activity_duration_seconds_bucket", le="300.0", **activity) == 8
    assert value(samples, "poimen_activity_duration_seconds_bucket", le="+Inf", **activity) == 8
    assert value(samples, "poimen_activity_duration_seconds_sum", **activity) == pytest.approx(306.2)
    assert value(samples, "poimen_lease_expiries_total") == 1
    assert value(samples, "poimen_transitions_total", state_type="Task") == 8
    assert value(samples, "poimen_workflow_executions_started_total", workflow_type="Ship") == 4
    assert value(samples, "poimen_workflow_executions_completed_total", workflow_type="Ship", status="timeout") == 1
    assert value(samples, "poimen_workflow_duration_seconds_bucket", workflow_type="Ship", le="86400.0") == 0
    assert value(samples, "poimen_workflow_duration_seconds_count", workflow_type="Ship") == 1


def test_how_things_stand_now() -> None:
    started(customer(), ECHO)
    gate()
    samples = scraped()
    assert value(samples, "poimen_database_up") == 1
    assert value(samples, "poimen_ready_branches") >= 1
    assert value(samples, "poimen_queue_age_seconds") >= 0
    assert value(samples, "poimen_approvals_pending") == 1
    assert value(samples, "poimen_executions", status="pending") >= 1
    assert value(samples, "poimen_processes_alive", kind="pump") == 0
    assert value(samples, "poimen_database_size_bytes") > 1_000_000


def test_requests_are_timed_by_route_and_not_by_path() -> None:
    client = Client()

    def seen() -> float:
        route = "/executions/<str:execution_id>"
        key = ("poimen_http_request_duration_seconds_count",
               frozenset({"method": "GET", "route": route, "status": "401"}.items()))  # fmt: skip
        return scraped(client).get(key, 0.0)

    before = seen()
    client.get("/executions/one")
    client.get("/executions/two")
    assert seen() == before + 2


def test_a_method_nobody_knows_makes_no_series_of_its_own() -> None:
    Client().generic("BREW", "/workflows")
    names = {dict(labels).get("method") for _, labels in scraped()}
    assert "other" in names
    assert "BREW" not in names


def test_a_token_is_what_a_scraper_shows(settings: Any) -> None:
    settings.POIMEN_METRICS_TOKEN = "scrape-me-please"
    assert Client().get("/metrics").status_code == 401, "being here is not enough any more"
    for wrong in ("Bearer other", "Bearer ", "Basic scrape-me-please", "Bearer scrape-me-pleasé"):
        assert Client(headers={"Authorization": wrong}).get("/metrics").status_code == 401
    scraped(Client(headers={"Authorization": "Bearer scrape-me-please"}))


@pytest.mark.parametrize(
    "there", [{"REMOTE_ADDR": "192.0.2.1"}, {"HTTP_X_FORWARDED_FOR": "127.0.0.1"}, {"HTTP_FORWARDED": "for=x"}]
)
def test_without_a_token_only_this_machine_may_read(there: dict[str, str]) -> None:
    answer = Client(**there).get("/metrics")  # type: ignore[arg-type]
    assert (answer.status_code, answer["WWW-Authenticate"]) == (401, 'Bearer realm="metrics"')
    assert b"poimen_" not in answer.content


def test_a_superuser_may_look_from_anywhere_and_an_admin_of_one_customer_may_not() -> None:
    client = Client(REMOTE_ADDR="192.0.2.1")
    client.force_login(User.objects.create_superuser("root"))
    scraped(client)
    client.force_login(member(customer(), Role.ADMIN))
    assert client.get("/metrics").status_code == 401


def test_without_the_database_a_scrape_still_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    from django.db import OperationalError

    from workflows.metrics import figures

    def away() -> None:
        raise OperationalError("gone")

    monkeypatch.setattr(figures, "read", away)
    samples = scraped()
    assert value(samples, "poimen_database_up") == 0
    assert not any(name == "poimen_ready_branches" for name, _ in samples)
