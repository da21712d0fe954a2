"""Schedules in the admin: what the list says, what operators may ask of them there, and what others may not."""

from typing import Any

import pytest
from django.test import Client

from workflows.models import AuditRecord, Execution, Role, Schedule
from workflows.schedules.changes import pause_schedule, trigger_schedule
from workflows.tests.people import customer
from workflows.tests.scheduling import schedule_of
from workflows.tests.test_admin_access import root, staff

pytestmark = pytest.mark.django_db
LIST = "/admin/workflows/schedule/"


def ask(client: Client, action: str, *chosen: Schedule) -> Any:
    return client.post(LIST, {"action": action, "_selected_action": [str(one.pk) for one in chosen]}, follow=True)


def test_the_list_says_when_it_runs_and_what_became_of_it() -> None:
    schedule = schedule_of(customer(), name="nightly", schedule="30 7 * * MON-FRI", timezone="Europe/Berlin")
    theirs = schedule_of(customer("other"), name="foreign")
    trigger_schedule(schedule.pk, schedule.customer, by="ada")
    page = staff(Role.VIEWER).get(LIST).content.decode()
    assert "At 07:30, Monday through Friday, in Europe/Berlin" in page
    assert "pending" in page
    assert str(theirs.pk) not in page
    detail = staff(Role.VIEWER).get(f"{LIST}{schedule.pk}/change/").content.decode()
    assert detail.count("07:30 CE") == 5
    assert "manual, ada" in detail
    assert staff(Role.ADMIN).get(f"{LIST}{theirs.pk}/change/").status_code == 302


def test_operators_pause_resume_and_start_and_it_is_recorded() -> None:
    one, two = schedule_of(customer()), schedule_of(customer())
    client = staff(Role.OPERATOR)
    assert "2 schedules were paused." in ask(client, "pause_selected", one, two).content.decode()
    assert Schedule.objects.filter(paused_at=None).count() == 0
    ask(client, "resume_selected", one)
    assert Schedule.objects.get(paused_at=None) == one
    assert "1 schedule was started." in ask(client, "trigger_selected", one).content.decode()
    assert Execution.objects.get().schedule_id == one.pk
    told = AuditRecord.objects.filter(target_kind="schedule", target_id=str(one.pk)).order_by("seq")
    actions = ["schedule.created", "schedule.paused", "schedule.resumed", "schedule.triggered"]
    assert list(told.values_list("action", flat=True)) == actions
    assert told[1].actor.startswith("operator-")


def test_what_cannot_start_says_why() -> None:
    schedule = schedule_of(customer())
    Schedule.objects.update(spec=None)
    assert "the workflow was deleted" in ask(root(), "trigger_selected", schedule).content.decode()


def test_others_may_only_look() -> None:
    schedule = schedule_of(customer())
    theirs = schedule_of(customer("other"))
    client = staff(Role.EDITOR)
    assert "pause_selected" not in client.get(LIST).content.decode()
    ask(client, "pause_selected", schedule)
    ask(staff(Role.OPERATOR), "pause_selected", theirs)
    assert Schedule.objects.filter(paused_at=None).count() == 2
    pause_schedule(schedule.pk, schedule.customer, by="ada")
    assert client.post(f"{LIST}{schedule.pk}/change/", {"name": "x"}).status_code == 403
    assert root().get(f"{LIST}add/").status_code == 403
