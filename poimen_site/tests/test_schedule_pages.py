"""The pages of schedules over HTTP: who sees what, what a row and a schedule say, and who gets which buttons."""

from datetime import timedelta
from uuid import uuid4

import pytest

from poimen_site.tests.test_pages import text, visitor
from workflows.models import Role, Schedule
from workflows.schedules.changes import pause_schedule, trigger_schedule
from workflows.tests.people import customer, started
from workflows.tests.scheduling import HOLD, fire_all, make_due, schedule_of

pytestmark = pytest.mark.django_db


def test_an_empty_list_says_what_to_do_by_role() -> None:
    assert "Make a schedule" in text(visitor(Role.OPERATOR), "/ui/schedules")
    viewer = text(visitor(Role.VIEWER), "/ui/schedules")
    assert "What operators schedule shows here" in viewer
    assert "New schedule" not in viewer


def test_the_list_shows_reading_next_run_and_last_result_and_is_filtered() -> None:
    schedule = schedule_of(customer(), name="nightly scan", schedule="30 7 * * MON-FRI", timezone="Europe/Berlin")
    other = schedule_of(customer(), name="hourly import")
    schedule_of(customer("other"), name="of others")
    trigger_schedule(schedule.pk, schedule.customer, by="ada")
    page = text(visitor(), "/ui/schedules")
    assert "At 07:30, Monday through Friday, in Europe/Berlin" in page
    assert "of others" not in page
    assert 'status tone-idle"' in page
    assert "pending" in page
    pause_schedule(other.pk, other.customer, by="ada", reason="holidays")
    paused = text(visitor(), "/ui/schedules?status=paused")
    assert "hourly import" in paused
    assert "nightly scan" not in paused
    assert "No schedule fits" in text(visitor(), "/ui/schedules?q=nothing")
    assert text(visitor(), "/ui/schedules?status=nonsense&page=x").count("<tr data-href") == 2


def test_a_schedule_shows_its_next_runs_its_history_and_why() -> None:
    schedule = schedule_of(customer(), HOLD, schedule="@every 1h", timezone="Asia/Tokyo")
    make_due(schedule, late=timedelta(minutes=5))
    fire_all()
    page = text(visitor(), f"/ui/schedules/{schedule.pk}")
    assert page.count("JST") == 5
    assert "missed: no clock ran" in page
    assert "Run now" not in page
    assert "Backfill" not in page
    mine = text(visitor(Role.OPERATOR), f"/ui/schedules/{schedule.pk}")
    for button in ("Run now", "Pause", "Edit", "Delete", "Queue these runs"):
        assert button in mine, button
    pause_schedule(schedule.pk, schedule.customer, by="ada", reason="holidays")
    paused = text(visitor(Role.OPERATOR), f"/ui/schedules/{schedule.pk}")
    assert "by ada: holidays" in paused
    assert "Next, were it resumed" in paused
    Schedule.objects.filter(pk=schedule.pk).update(spec=None)
    assert "was deleted" in text(visitor(), f"/ui/schedules/{schedule.pk}")


def test_what_people_wrote_is_shown_as_text() -> None:
    schedule = schedule_of(
        customer(), name="<b>x</b>", description="<script>alert(1)</script>", inputs={"token": "hush"}
    )
    for path in ("/ui/schedules", f"/ui/schedules/{schedule.pk}", f"/ui/schedules/{schedule.pk}/edit"):
        page = text(visitor(Role.OPERATOR), path)
        assert "<b>x" not in page
        assert "<script>alert" not in page
        assert "hush" not in page


def test_the_form_is_for_operators_and_has_what_is_set() -> None:
    schedule = schedule_of(customer(), schedule="@every 1h", timezone="Asia/Tokyo", catchUp="6h", overlapPolicy="queue")
    assert "needs the role operator" in text(visitor(Role.EDITOR), "/ui/schedules/new", 403)
    page = text(visitor(Role.OPERATOR), "/ui/schedules/new")
    assert 'value="Australia/Lord_Howe"' in page
    page = text(visitor(Role.OPERATOR), f"/ui/schedules/{schedule.pk}/edit")
    for part in (
        'value="@every 1h"',
        'value="Asia/Tokyo"',
        'value="6h"',
        '<option value="queue" selected>',
        'data-version="1"',
    ):
        assert part in page, part


def test_others_schedules_and_nonsense_are_not_found() -> None:
    theirs = schedule_of(customer("other"))
    for path in (
        f"/ui/schedules/{theirs.pk}",
        f"/ui/schedules/{theirs.pk}/edit",
        f"/ui/schedules/{uuid4()}",
        "/ui/schedules/x",
    ):
        assert "not found" in text(visitor(Role.ADMIN), path, 404)


def test_an_execution_leads_to_its_schedule() -> None:
    schedule = schedule_of(customer(), name="nightly scan")
    execution = trigger_schedule(schedule.pk, schedule.customer, by="ada")
    started(customer())
    assert f'href="/ui/schedules/{schedule.pk}">nightly scan' in text(visitor(), f"/ui/executions/{execution.pk}")
    assert text(visitor(), "/ui/executions").count(f'href="/ui/schedules/{schedule.pk}"') == 1
