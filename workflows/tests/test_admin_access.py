"""The admin shows each member of the staff what is theirs, and lets nobody do more than their role covers."""

import re
from importlib import import_module
from typing import Any
from uuid import uuid4

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import User
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.urls import reverse

from workflows import secrets
from workflows.models import (
    ApprovalGate,
    AuditRecord,
    Customer,
    Execution,
    LogEntry,
    Membership,
    Role,
    Secret,
    StateRun,
)
from workflows.secrets import write_secret
from workflows.tests.people import customer, member, started
from workflows.tests.pumping import Engine
from workflows.tests.test_approvals import gate

MODELS = sorted(
    model._meta.model_name or "" for model in admin.site._registry if model.__module__.startswith("workflows.models")
)
LISTS = [f"/admin/workflows/{name}/" for name in MODELS]


def staff(role: Role | None, slug: str = "acme", **more: Any) -> Client:
    client = Client()
    if role is None:
        client.force_login(User.objects.create_user(f"staff-{uuid4().hex[:6]}", is_staff=True, **more))
    else:
        client.force_login(member(customer(slug), role, is_staff=True, **more))
    return client


def root() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


@pytest.mark.django_db
def test_every_model_has_a_page() -> None:
    assert {"execution", "branch", "staterun", "logentry", "signal", "specdocument", "approvalgate", "approvalvote",
            "secret", "customer", "membership", "process", "workflow", "workflowversion", "auditrecord",
            "apikey", "notificationrecord", "cachedresult", "plugin", "schedule"} == set(MODELS)  # fmt: skip


@pytest.mark.django_db
def test_the_sign_in_page_opens() -> None:
    assert Client().get("/admin/login/").status_code == 200


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/admin/", *LISTS])
def test_strangers_and_people_without_staff_status_are_sent_to_sign_in(path: str) -> None:
    plain = Client()
    plain.force_login(member(customer(), Role.ADMIN))
    for client in (Client(), plain):
        response = client.get(path)
        assert response.status_code == 302
        assert response["Location"].startswith("/admin/login/")


@pytest.mark.django_db
@pytest.mark.parametrize("path", LISTS)
def test_staff_without_a_membership_see_nothing(path: str) -> None:
    assert staff(None).get(path).status_code == 403


@pytest.mark.django_db
def test_staff_without_a_membership_have_an_empty_index() -> None:
    assert "/admin/workflows/" not in staff(None).get("/admin/").content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize("name", [m for m in MODELS if m not in ("workflow", "workflowversion")])
def test_lists_open_for_superusers_and_search_takes_anything(name: str) -> None:
    gate()
    client = root()
    for query in ("", "?q=release", f"?q={uuid4()}", "?q=%27%22%3Cscript%3E", "?p=3", "?status=odd", "?level=odd"):
        assert client.get(f"/admin/workflows/{name}/{query}").status_code in (200, 302), query


@pytest.mark.django_db
def test_members_see_the_rows_of_their_customers_only(engine: Engine) -> None:
    mine, foreign = started(customer()), started(customer("other"))
    gates = {slug: gate(slug=slug) for slug in ("acme", "other")}
    engine.pump()
    for execution in (mine, foreign):
        engine.ended(execution.pk)
    held = {slug: write_secret(customer(slug), "x", name=f"of-{slug}") for slug in ("acme", "other")}
    client = staff(Role.EDITOR)
    for name, own, other in [
        ("execution", mine, foreign),
        ("staterun", StateRun.objects.get(execution=mine), StateRun.objects.get(execution=foreign)),
        (
            "logentry",
            LogEntry.objects.filter(execution=mine)[0],
            LogEntry.objects.filter(execution=foreign)[0],
        ),
        ("approvalgate", gates["acme"], gates["other"]),
        ("secret", held["acme"], held["other"]),
        ("customer", customer(), customer("other")),
    ]:
        listed = client.get(f"/admin/workflows/{name}/").content.decode()
        assert f"/{name}/{own.pk}/change/" in listed, name
        assert f"/{name}/{other.pk}/change/" not in listed, name
        assert client.get(reverse(f"admin:workflows_{name}_change", args=[own.pk])).status_code == 200
        hidden = client.get(reverse(f"admin:workflows_{name}_change", args=[other.pk]))
        assert hidden.status_code == 302, "foreign rows do not exist"
        assert client.get(f"/admin/workflows/{name}/?q={other.pk}").content.decode().count("/change/") == 0
    narrowed = client.get(f"/admin/workflows/logentry/?execution__id__exact={foreign.pk}").content.decode()
    assert "/change/" not in narrowed


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["execution", "branch", "staterun", "logentry", "signal", "approvalgate", "process"])
def test_what_the_engine_owns_cannot_be_edited_even_by_superusers(name: str) -> None:
    client = root()
    assert client.get(f"/admin/workflows/{name}/add/").status_code == 403
    asked = gate()
    for model, row in (("execution", asked.execution), ("approvalgate", asked)):
        path = reverse(f"admin:workflows_{model}_change", args=[row.pk])
        assert client.post(path, {"status": "success"}).status_code == 403
        assert client.post(path.replace("change", "delete"), {"post": "yes"}).status_code == 403
    assert Execution.objects.get(pk=asked.execution_id).status == "pending"
    assert ApprovalGate.objects.get(pk=asked.pk).status == "pending"


@pytest.mark.django_db
@pytest.mark.parametrize("role", list(Role))
def test_only_operators_and_above_step_in(role: Role) -> None:
    execution = started(customer())
    client = staff(role)
    page = client.get(f"/admin/workflows/execution/{execution.pk}/change/").content.decode()
    may = role.covers(Role.OPERATOR)
    assert (f"/execution/{execution.pk}/pause/" in page) is may
    assert (f"/execution/{execution.pk}/cancel/" in page) is may
    client.post(f"/admin/workflows/execution/{execution.pk}/pause/")
    assert (Execution.objects.get(pk=execution.pk).pause_requested_at is not None) is may
    client.post(f"/admin/workflows/execution/{execution.pk}/cancel/", {"apply": "1", "reason": "no"})
    assert (Execution.objects.get(pk=execution.pk).status == "cancelled") is may


@pytest.mark.django_db
def test_nobody_steps_in_at_another_customer() -> None:
    execution = started(customer("other"))
    client = staff(Role.ADMIN)
    for action in ("pause", "resume", "cancel", "rerun"):
        response = client.post(f"/admin/workflows/execution/{execution.pk}/{action}/", {"apply": "1"})
        assert response.status_code == 302
    client.post(
        "/admin/workflows/execution/", {"action": "pause_selected", "_selected_action": [str(execution.pk)], "index": 0}
    )
    found = Execution.objects.get(pk=execution.pk)
    assert (found.status, found.pause_requested_at, found.cancel_requested_at) == ("pending", None, None)


@pytest.mark.django_db
def test_the_role_at_the_rows_customer_counts_not_the_best_one() -> None:
    person = member(customer(), Role.ADMIN, is_staff=True)
    Membership.objects.create(user=person, customer=customer("other"), role=Role.VIEWER)
    client = Client()
    client.force_login(person)
    execution = started(customer("other"))
    assert client.get(f"/admin/workflows/execution/{execution.pk}/change/").status_code == 200
    client.post(f"/admin/workflows/execution/{execution.pk}/cancel/", {"apply": "1"})
    client.post(
        "/admin/workflows/execution/",
        {"action": "cancel_selected", "_selected_action": [str(execution.pk)], "apply": "1", "index": 0},
    )
    assert Execution.objects.get(pk=execution.pk).status == "pending"


@pytest.mark.django_db
def test_get_requests_change_nothing() -> None:
    execution = started(customer())
    client = staff(Role.ADMIN)
    for action in ("pause", "resume"):
        assert client.get(f"/admin/workflows/execution/{execution.pk}/{action}/").status_code == 405
    assert client.get(f"/admin/workflows/execution/{execution.pk}/cancel/").status_code == 200
    assert Execution.objects.get(pk=execution.pk).status == "pending"


# -- tenancy ----------------------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_admins_of_a_customer_manage_its_members() -> None:
    new = User.objects.create_user("newcomer")
    acme, other = customer(), customer("other")
    client = staff(Role.ADMIN)
    form = {"customer": str(acme.pk), "username": "newcomer", "role": "operator"}
    assert client.post("/admin/workflows/membership/add/", form).status_code == 302
    made = Membership.objects.get(user=new)
    assert (made.customer, made.role) == (acme, "operator")
    assert "member already" in client.post("/admin/workflows/membership/add/", form).content.decode()
    foreign = {**form, "customer": str(other.pk)}
    assert "Select a valid choice" in client.post("/admin/workflows/membership/add/", foreign).content.decode()
    path = f"/admin/workflows/membership/{made.pk}/change/"
    assert client.post(path, {"role": "approver"}).status_code == 302
    made.refresh_from_db()
    assert made.role == "approver"
    assert staff(Role.APPROVER).post(path, {"role": "admin"}).status_code == 403


@pytest.mark.django_db
def test_nobody_is_drawn_into_a_customer_by_people_who_are_not_theirs() -> None:
    mine, theirs = customer("mine"), customer("theirs")
    adder = member(mine, Role.ADMIN, "adder", is_staff=True)
    member(theirs, Role.VIEWER, "victim")
    User.objects.create_superuser("owner")
    client = Client()
    client.force_login(adder)

    def added(name: str, by: Client = client) -> str:
        form = {"customer": str(mine.pk), "username": name, "role": "viewer"}
        answer = by.post("/admin/workflows/membership/add/", form)
        return "" if answer.status_code == 302 else answer.content.decode().replace(name, "NAME")

    refusal = "No user of this name can be added; ask whoever runs this installation"
    for name in ("victim", "owner", "nobody-of-this-name"):
        assert refusal in added(name), name
    plain = [re.sub(r'value="[^"]*"|nonce="[^"]*"', "", added(name)) for name in ("victim", "nobody-of-this-name")]
    assert plain[0] == plain[1], "the answer does not tell whether there is such a user"
    assert not Membership.objects.filter(user__username="victim", customer=mine).exists()

    # Who administers the other customer as well may; a lesser role there does not do.
    there = Membership.objects.create(user=adder, customer=theirs, role=Role.APPROVER)
    assert refusal in added("victim")
    Membership.objects.filter(pk=there.pk).update(role=Role.ADMIN)
    assert added("victim") == ""
    trail = AuditRecord.objects.order_by("customer_id", "seq")
    told = {
        of.slug: list(trail.filter(customer_id=of.pk, details__contains="victim").values_list("actor", "action"))
        for of in (mine, theirs)
    }
    assert told["mine"] == [("adder", "membership.created")]
    assert told["theirs"][1:] == [("adder", "membership.added_elsewhere")]
    assert "mine" not in trail.get(action="membership.added_elsewhere", customer_id=theirs.pk, actor="adder").details
    member(theirs, Role.VIEWER, "another")
    assert added("another", root()) == "", "a superuser may add anybody"


@pytest.mark.django_db
def test_customers_are_made_by_superusers_only() -> None:
    form = {"name": "New", "slug": "new", "max_running_branches": ""}
    assert staff(Role.ADMIN).post("/admin/workflows/customer/add/", form).status_code == 403
    assert root().post("/admin/workflows/customer/add/", form).status_code == 302
    assert Customer.objects.filter(slug="new").exists()


@pytest.mark.django_db
@pytest.mark.parametrize("limit", ["0", "-1", "x"])
def test_a_limit_under_which_nothing_would_run_is_refused(limit: str) -> None:
    form = {"name": "New", "slug": "new", "max_running_branches": limit}
    client = root()
    answer = client.post("/admin/workflows/customer/add/", form)
    assert answer.status_code == 200
    assert not Customer.objects.exists()
    if limit == "0":
        assert "nothing of this customer would ever run; leave it empty for no limit" in answer.content.decode()
    for right, kept in (("1", 1), ("", None)):
        form = {"name": "New", "slug": f"new{right}", "max_running_branches": right}
        assert client.post("/admin/workflows/customer/add/", form).status_code == 302
        assert Customer.objects.get(slug=f"new{right}").max_running_branches == kept


@pytest.mark.django_db
def test_the_database_refuses_such_a_limit_from_anybody() -> None:
    acme = customer()
    with pytest.raises(IntegrityError, match="room_for_one_branch"), transaction.atomic():
        Customer.objects.filter(pk=acme.pk).update(max_running_branches=0)


@pytest.mark.django_db
def test_limits_that_kept_a_customer_waiting_are_lifted_by_the_upgrade() -> None:
    waiting, limited, free = (customer(slug) for slug in ("waiting", "limited", "free"))
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE workflows_customer DROP CONSTRAINT room_for_one_branch")
    Customer.objects.filter(pk=waiting.pk).update(max_running_branches=0)
    Customer.objects.filter(pk=limited.pk).update(max_running_branches=7)
    import_module("workflows.migrations.0011_room_for_one_branch").make_room(apps, None)
    assert [Customer.objects.get(pk=c.pk).max_running_branches for c in (waiting, limited, free)] == [1, 7, None]


# -- secrets ----------------------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_a_secret_can_be_set_and_replaced_and_never_read() -> None:
    acme = customer()
    client = staff(Role.ADMIN)
    form = {"customer": str(acme.pk), "name": "github", "value": "c4n4ry-one", "expires_at_0": "", "expires_at_1": ""}
    assert client.post("/admin/workflows/secret/add/", form).status_code == 302
    row = Secret.objects.get()
    assert secrets.reveal(secrets.handle_of(row), acme) == "c4n4ry-one"
    again = client.post("/admin/workflows/secret/add/", form)
    assert "already" in again.content.decode()
    path = f"/admin/workflows/secret/{row.pk}/change/"
    pages = [client.get(path), client.get("/admin/workflows/secret/"), again, client.get(f"{path}../history/")]
    assert (
        client.post(path, {"name": "renamed", "value": "", "expires_at_0": "", "expires_at_1": ""}).status_code == 302
    )
    row.refresh_from_db()
    assert row.name == "renamed"
    assert secrets.reveal(secrets.handle_of(row), acme) == "c4n4ry-one", "an empty value keeps the old one"
    client.post(path, {"name": "renamed", "value": "c4n4ry-two", "expires_at_0": "", "expires_at_1": ""})
    assert secrets.reveal(secrets.handle_of(row), acme) == "c4n4ry-two"
    pages += [client.get(path), client.get(f"/admin/workflows/secret/{row.pk}/history/"), client.get("/admin/")]
    for page in pages:
        assert "c4n4ry" not in page.content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize("role", [Role.VIEWER, Role.EDITOR, Role.OPERATOR, Role.APPROVER])
def test_lesser_roles_write_no_secrets(role: Role) -> None:
    row = write_secret(customer(), "old", name="k")
    client = staff(role)
    assert client.get("/admin/workflows/secret/add/").status_code == 403
    response = client.post(f"/admin/workflows/secret/{row.pk}/change/", {"name": "k", "value": "new"})
    assert response.status_code in (302, 403)
    assert client.get("/admin/workflows/secret/").status_code == (200 if role.covers(Role.EDITOR) else 403)
    row.refresh_from_db()
    assert row.digest == write_secret(customer("other"), "old", name="k").digest
