"""Kept results over REST and in the admin: listed to members, forgotten by operators, each customer its own."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from workflows.models import AuditRecord, CachedResult, CacheStatus, Customer, Role, Workflow
from workflows.tests.people import customer, member, signed_in


def kept(of: Customer, activity: str = "HttpRequestActivity", **more: Any) -> CachedResult:
    now = timezone.now()
    return CachedResult.objects.create(
        customer=of, key=uuid4().hex * 2, activity=activity, version="1", state="Fetch", status=CacheStatus.READY,
        output={"body": "x", "password": "hunter22"}, bytes=12, made_at=now, used_at=now,
        expires_at=now + timedelta(hours=1), **more,
    )  # fmt: skip


@pytest.mark.django_db
def test_results_are_listed_without_key_and_output_and_filtered() -> None:
    acme = customer()
    flow = Workflow.objects.create(customer=acme, name="rates")
    one, two = kept(acme), kept(acme, "OtherActivity", workflow=flow)
    kept(customer("other"))
    client = signed_in(member(acme, Role.VIEWER))
    found = client.get("/cached-results").json()
    assert {item["id"] for item in found} == {str(one.pk), str(two.pk)}
    assert "hunter22" not in str(found)
    assert one.key not in str(found)
    assert [item["id"] for item in client.get(f"/cached-results?workflowId={flow.pk}").json()] == [str(two.pk)]
    assert [item["activity"] for item in client.get("/cached-results?activity=OtherActivity").json()] == [
        "OtherActivity"
    ]


@pytest.mark.django_db
def test_operators_forget_by_activity_workflow_id_or_all_and_it_is_recorded() -> None:
    acme, other = customer(), customer("other")
    flow = Workflow.objects.create(customer=acme, name="rates")
    one, theirs = kept(acme), kept(other)
    for activity, workflow in (("A", None), ("A", None), ("B", flow), ("C", None)):
        kept(acme, activity, workflow=workflow)
    client = signed_in(member(acme, Role.OPERATOR))

    def forget(**body: Any) -> Any:
        return client.post("/cached-results/forget", body, format="json").json()

    assert forget(activity="A") == {"forgotten": 2}
    assert forget(workflowId=str(flow.pk)) == {"forgotten": 1}
    assert forget(id=str(one.pk)) == {"forgotten": 1}
    assert forget(id=str(theirs.pk)) == {"forgotten": 0}
    assert forget(all=True) == {"forgotten": 1}
    assert CachedResult.objects.get() == theirs
    records = AuditRecord.objects.filter(customer_id=acme.pk, action="cache.cleared")
    assert sorted(record.target_id for record in records) == ["activity", "all", "pk", "workflow"]


@pytest.mark.django_db
@pytest.mark.parametrize("body", [{}, {"all": False}, {"all": True, "activity": "A"}], ids=["none", "false", "two"])
def test_what_to_forget_must_be_said(body: Any) -> None:
    acme = customer()
    kept(acme)
    answer = signed_in(member(acme, Role.OPERATOR)).post("/cached-results/forget", body, format="json")
    assert answer.status_code == 400
    assert "exactly one of" in str(answer.json())
    assert CachedResult.objects.count() == 1


@pytest.mark.django_db
def test_the_admin_shows_them_masked_and_forgets_what_is_chosen() -> None:
    acme, other = customer(), customer("other")
    rows = [kept(acme, "A"), kept(acme, "A"), kept(acme, "B")]
    theirs = kept(other, "A")
    pages = "/admin/workflows/cachedresult/"
    viewer, operator = Client(), Client()
    viewer.force_login(member(acme, Role.VIEWER, is_staff=True))
    operator.force_login(member(acme, Role.OPERATOR, is_staff=True))
    page = viewer.get(f"{pages}{rows[0].pk}/change/").content.decode()
    assert "hunter22" not in page
    assert "***" in page
    chosen = {"action": "forget_activity", "_selected_action": [str(rows[0].pk)]}
    viewer.post(pages, chosen)
    assert CachedResult.objects.count() == 4
    operator.post(pages, chosen | {"_selected_action": [str(rows[0].pk), str(theirs.pk)]})
    assert set(CachedResult.objects.all()) == {rows[2], theirs}
    operator.post(pages, {"action": "delete_selected", "_selected_action": [str(rows[2].pk)], "post": "yes"})
    assert CachedResult.objects.get() == theirs
    assert AuditRecord.objects.filter(customer_id=acme.pk, action="cache.cleared").count() == 2
