"""What metrics and health say about schedules: what became of due instants, how late, and what is overdue."""

from datetime import timedelta

import pytest

from poimen_site.tests.test_health import problems, sign_in
from poimen_site.tests.test_metrics import scraped, value
from workflows.models import MetricTally, ProcessKind
from workflows.schedules.changes import pause_schedule, trigger_schedule
from workflows.tests.people import customer
from workflows.tests.scheduling import HOLD, fire_all, make_due, schedule_of

pytestmark = pytest.mark.django_db


def test_due_instants_are_counted_with_their_lag() -> None:
    schedule = schedule_of(customer(), HOLD)
    late = schedule_of(customer(), HOLD)
    queueing = schedule_of(customer(), HOLD, overlapPolicy="queue", catchUp="24h")
    make_due(schedule, late=timedelta(seconds=3))
    make_due(late, late=timedelta(minutes=5))
    make_due(queueing, late=timedelta(minutes=5), runs=3)
    fire_all()
    trigger_schedule(schedule.pk, schedule.customer, by="ada")
    samples = scraped()
    counted = {
        (trigger, outcome): value(samples, "poimen_schedule_runs_total", trigger=trigger, outcome=outcome)
        for trigger, outcome in (
            ("clock", "started"), ("clock", "skipped"), ("catch-up", "started"), ("catch-up", "queued"),
            ("manual", "started"),
        )
    }  # fmt: skip
    assert list(counted.values()) == [1, 1, 1, 2, 1]
    assert value(samples, "poimen_schedule_lag_seconds_bucket", le="2.5") == 0
    assert value(samples, "poimen_schedule_lag_seconds_bucket", le="10.0") == 1
    assert value(samples, "poimen_schedule_lag_seconds_count") == 1
    assert 3 <= value(samples, "poimen_schedule_lag_seconds_sum") < 10
    assert value(samples, "poimen_schedule_queued_runs") == 2
    assert value(samples, "poimen_schedules_active") == 3
    assert value(samples, "poimen_schedule_delay_seconds") == 0
    assert MetricTally.objects.filter(metric="schedule").count() == 5


def test_a_schedule_that_no_clock_deals_with_is_told() -> None:
    sign_in(ProcessKind.CLOCK)
    sign_in(ProcessKind.CLUSTER)
    schedule = schedule_of(customer())
    assert problems() == {}
    make_due(schedule, late=timedelta(minutes=5))
    assert "has been due for 30" in problems()["clock"]
    assert value(scraped(), "poimen_schedule_delay_seconds") == pytest.approx(300, abs=10)
    pause_schedule(schedule.pk, schedule.customer, by="ada")
    assert problems() == {}
