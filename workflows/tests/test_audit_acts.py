"""What leaves a record in the audit trail, and who may read it: every decision and every administrative act."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from workflows import approvals, control, reruns, secrets
from workflows.api_keys import create_key, revoke
from workflows.models import AuditRecord, Customer, Execution, Membership, Role, Scope, Secret
from workflows.tests.people import customer, member, signed_in, started
from workflows.tests.test_approvals import gate

pytestmark = pytest.mark.django_db


def told(of: Customer, action: str) -> AuditRecord:
    """The one record of that action."""
    return AuditRecord.objects.get(customer_id=of.pk, action=action)


def actions(of: Customer, prefix: str) -> list[str]:
    rows = AuditRecord.objects.filter(customer_id=of.pk, action__startswith=prefix).order_by("seq")
    return [f"{row.actor}: {row.action}" for row in rows]


def test_stepping_in_leaves_one_record_for_each_act() -> None:
    acme = customer()
    execution = started(acme, by="ann")
    control.request_pause(execution.pk, by="bob", reason="lunch")
    control.request_pause(execution.pk, by="cleo")
    control.request_resume(execution.pk, by="bob")
    control.send_signal(execution.pk, "go", {"token": "s3cret-value"}, by="dan", dedupe_key="1")
    control.send_signal(execution.pk, "go", {"token": "s3cret-value"}, by="dan", dedupe_key="1")
    control.request_cancel(execution.pk, by="eve", reason="enough")
    control.request_cancel(execution.pk, by="ann")
    assert actions(acme, "execution.") == [
        "ann: execution.started", "bob: execution.paused", "bob: execution.resumed", "dan: execution.signalled",
        "eve: execution.cancelled",
    ]  # fmt: skip
    paused = told(acme, "execution.paused")
    assert (paused.execution_id, json.loads(paused.details)) == (execution.pk, {"reason": "lunch"})
    again = reruns.rerun_execution(execution.pk, by="fay")
    rerun = told(acme, "execution.rerun")
    assert (rerun.actor, rerun.execution_id) == ("fay", again.pk)
    assert json.loads(rerun.details)["rerunOf"] == str(execution.pk)


def test_what_poimen_starts_by_itself_is_nobodys_decision() -> None:
    started(customer())
    assert actions(customer(), "execution.") == []


def test_poimens_own_names_are_no_persons() -> None:
    started(customer(), by="poimen")
    assert told(customer(), "execution.started").actor_kind == "system"


def test_a_refused_request_leaves_no_record() -> None:
    acme = customer()
    execution = started(acme, by="ann")
    with pytest.raises(control.NotPossible):
        control.request_resume(execution.pk, by="bob")
    assert actions(acme, "execution.") == ["ann: execution.started"]


def test_votes_and_expiry_are_recorded_with_where_the_gate_stands() -> None:
    asked, rejected, late = gate(2), gate(), gate()
    acme = asked.customer
    for name in ("ann", "bob"):
        approvals.vote(asked.pk, member(acme, Role.APPROVER, name), approve=True)
    approvals.vote(rejected.pk, member(acme, Role.APPROVER, "cleo"), approve=False, reason="the tests are red")
    approvals.expire_due_gates(datetime.now(UTC) + timedelta(days=400))
    assert actions(acme, "approval.") == [
        "ann: approval.approved", "bob: approval.approved", "cleo: approval.rejected", ": approval.expired",
    ]  # fmt: skip
    states = [
        json.loads(row.details)["gate"] for row in AuditRecord.objects.filter(target_id=str(asked.pk)).order_by("seq")
    ]
    assert states == ["pending", "approved"]
    assert told(acme, "approval.expired").actor_kind == "system"
    assert told(acme, "approval.expired").execution_id == late.execution_id
    assert json.loads(told(acme, "approval.rejected").details)["reason"] == "the tests are red"
    with pytest.raises(approvals.VoteRefused):
        approvals.vote(asked.pk, member(acme, Role.APPROVER, "dan"), approve=True)
    assert actions(acme, "approval.")[-1] == ": approval.expired", "a vote that does not count is none"


def test_administration_is_recorded_without_any_value() -> None:
    acme = customer()
    ann = member(acme, Role.VIEWER, "ann")
    membership = Membership.objects.get(user=ann)
    membership.role = Role.ADMIN
    membership.save()
    secret = secrets.write_secret(acme, "hunter2-hunter2", name="deploy token")
    secrets.write_secret(acme, "hunter3-hunter3", name="deploy token", secret=Secret.objects.get(pk=secret.pk))
    key, text = create_key(acme, name="ci", scopes=[Scope.READ], role=Role.VIEWER, by="ann")
    revoke(key, by="ann")
    revoke(key, by="ann")
    membership.delete()
    ann.set_password("a new password of hers")
    ann.save()
    trail = list(AuditRecord.objects.filter(customer_id=acme.pk).order_by("seq"))
    assert [row.action for row in trail] == [
        "customer.created", "membership.created", "membership.changed", "secret.created", "secret.changed",
        "api_key.created", "api_key.revoked", "membership.deleted",
    ]  # fmt: skip
    assert json.loads(trail[2].details)["role"] == {"from": "viewer", "to": "admin"}
    assert json.loads(trail[4].details)["replaced"] == "the value"
    whole = " ".join(row.details for row in AuditRecord.objects.all())
    assert '"replaced":"the password"' in whole
    for hidden in ("hunter", text, "md5$", "a new password"):
        assert hidden not in whole


def test_failed_sign_ins_are_told_to_the_users_customers() -> None:
    acme = customer()
    member(acme, Role.ADMIN, "ann")
    client = Client(REMOTE_ADDR="192.0.2.7")
    before = AuditRecord.objects.count()

    def code(name: str, password: str) -> int:
        return client.post("/auth/token", {"username": name, "password": password}, "application/json").status_code

    assert (code("ann", "wrong"), code("my-pass", "x")) == (401, 401)
    assert AuditRecord.objects.count() == before + 2
    assert json.loads(told(acme, "sign_in.failed").details) == {"address": "192.0.2.7", "name": "ann"}
    unknown = AuditRecord.objects.get(action="sign_in.failed", target_id="unknown")
    assert "my-pass" not in unknown.details, "it may be a password in the wrong field"
    assert (
        client.post("/auth/token", {"username": "ann", "password": "correct horse"}, "application/json").status_code
        == 200
    )
    assert AuditRecord.objects.count() == before + 2, "signing in is no act of administration"


def test_an_act_over_rest_names_person_and_request() -> None:
    acme = customer()
    execution = started(acme)
    client = signed_in(member(acme, Role.OPERATOR, "ann"))
    answer = client.post(
        f"/executions/{execution.pk}/cancel", {"reason": "stop"}, "json", headers={"X-Request-Id": "r-1"}
    )
    assert (answer.status_code, answer["X-Request-Id"]) == (202, "r-1")
    row = told(acme, "execution.cancelled")
    assert (row.actor, row.actor_kind, row.request_id) == ("ann", "user", "r-1")


def test_an_act_with_a_key_is_told_apart_from_a_persons() -> None:
    acme = customer()
    execution = started(acme)
    _, text = create_key(acme, name="ci", scopes=[Scope.RUN, Scope.READ], role=Role.OPERATOR, by="ann")
    answer = Client().post(f"/executions/{execution.pk}/cancel", "{}", "application/json", headers={"X-API-Key": text})
    assert answer.status_code == 202
    row = told(acme, "execution.cancelled")
    assert (row.actor, row.actor_kind) == ("key:ci", "api_key")
    assert row.request_id == answer["X-Request-Id"]


@pytest.mark.parametrize("given", ["two words", "ü", "x" * 200, "a\tb"])
def test_a_request_id_that_is_no_plain_word_is_replaced(given: str) -> None:
    answer = Client().get("/health/live", headers={"X-Request-Id": given.encode().decode("latin-1")})
    assert answer["X-Request-Id"] not in ("", given)


# -- reading it ----------------------------------------------------------------------------------------------------


def query(of: Customer, **wanted: Any) -> dict[str, Any]:
    answer = signed_in(member(of, Role.ADMIN)).get("/audit", wanted)
    assert answer.status_code == 200, answer.json()
    body: dict[str, Any] = answer.json()
    return body


def test_the_trail_is_read_newest_first_in_pages_without_gaps() -> None:
    acme = customer()
    execution = started(acme, by="ann")
    for _ in range(6):
        control.send_signal(execution.pk, "go", by="bob")
    admin = signed_in(member(acme, Role.ADMIN))
    seen: list[int] = []
    body = admin.get("/audit", {"limit": 3}).json()
    while True:
        seen += [row["seq"] for row in body["records"]]
        if body["next"] is None:
            break
        control.send_signal(execution.pk, "go", by="bob")  # what is added meanwhile moves no page
        body = admin.get("/audit", {"limit": 3, "after": body["next"]}).json()
    assert seen == list(range(seen[0], 0, -1))


def test_the_trail_is_filtered_by_every_handle() -> None:
    acme = customer()
    first, second = started(acme, by="ann"), started(acme, by="bob")
    control.request_cancel(first.pk, by="bob")
    flow = signed_in(member(acme, Role.EDITOR, "ann")).post("/workflows", {"name": "Ship"}, "json").json()["id"]

    def found(**wanted: Any) -> list[str]:
        return [f"{row['actor']}: {row['action']}" for row in query(acme, **wanted)["records"]]

    assert found(executionId=first.pk) == ["bob: execution.cancelled", "ann: execution.started"]
    assert found(workflowId=flow) == ["ann: workflow.created"]
    assert found(actor="bob") == ["bob: execution.cancelled", "bob: execution.started"]
    assert found(action="execution.started", targetId=second.pk) == ["bob: execution.started"]
    assert found(targetKind="workflow") == ["ann: workflow.created"]
    cancelled = AuditRecord.objects.get(action="execution.cancelled", customer_id=acme.pk).at
    assert "bob: execution.cancelled" in found(**{"from": cancelled.isoformat()})
    assert "bob: execution.cancelled" not in found(to=cancelled.isoformat())


@pytest.mark.parametrize(
    "wanted",
    [{"executionId": "x"}, {"from": "yesterday"}, {"after": "0"}, {"after": "9" * 30}, {"limit": "0"},
     {"actor": "x" * 301}],
)  # fmt: skip
def test_a_wrong_filter_is_named(wanted: dict[str, str]) -> None:
    answer = signed_in(member(customer(), Role.ADMIN)).get("/audit", wanted)
    assert answer.status_code == 400
    assert next(iter(wanted)) in answer.json()["details"]


@pytest.mark.parametrize("role", [role for role in Role if role != Role.ADMIN])
def test_only_admins_read_it(role: Role) -> None:
    assert signed_in(member(customer(), role)).get("/audit").status_code == 403
    assert Client().get("/audit").status_code == 401


def test_a_foreign_trail_does_not_exist() -> None:
    execution = started(customer("other"), by="ann")
    assert query(customer(), executionId=execution.pk)["records"] == []


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
def test_nobody_writes_it_over_rest(method: str) -> None:
    superuser = User.objects.create_superuser("root")
    assert getattr(signed_in(superuser), method)("/audit").status_code == 405


# -- the admin -----------------------------------------------------------------------------------------------------

TRAIL = "/admin/workflows/auditrecord/"


def staff(role: Role, of: Customer) -> Client:
    client = Client()
    client.force_login(member(of, role, is_staff=True))
    return client


def test_the_admin_shows_the_trail_of_the_users_customers() -> None:
    acme, other = customer(), customer("other")
    control.request_cancel(started(acme, by="ann").pk, by="bob", reason="told why")
    control.request_cancel(started(other, by="zoe").pk, by="zoe")
    page = staff(Role.ADMIN, acme).get(TRAIL).content.decode()
    assert "execution.cancelled" in page
    assert "told why" in page
    assert "zoe" not in page
    foreign = AuditRecord.objects.get(customer_id=other.pk, action="execution.cancelled")
    assert "zoe" not in staff(Role.ADMIN, acme).get(f"{TRAIL}{foreign.pk}/change/", follow=True).content.decode()
    found = staff(Role.ADMIN, acme).get(TRAIL, {"q": "execution.started"}).content.decode()
    assert "told why" not in found
    assert "ann" in found


@pytest.mark.parametrize("role", [role for role in Role if role != Role.ADMIN])
def test_the_admin_shows_it_to_nobody_less(role: Role) -> None:
    assert staff(role, customer()).get(TRAIL).status_code == 403


def test_nobody_writes_it_in_the_admin() -> None:
    acme = customer()
    started(acme, by="ann")
    row = told(acme, "execution.started")
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    page = client.get(f"{TRAIL}{row.pk}/change/").content.decode()
    assert row.hash in page
    assert 'name="_save"' not in page
    assert client.get(f"{TRAIL}add/").status_code == 403
    assert client.post(f"{TRAIL}{row.pk}/delete/", {"post": "yes"}).status_code == 403
    assert client.post(f"{TRAIL}{row.pk}/change/", {"actor": "bob"}).status_code == 403
    row.refresh_from_db()
    assert row.actor == "ann"


def test_what_is_done_in_the_admin_names_who_did_it() -> None:
    acme = customer()
    admin = member(acme, Role.ADMIN, "ann", is_staff=True)
    User.objects.create_user("bob")
    client = Client()
    client.force_login(admin)
    made = client.post(
        "/admin/workflows/membership/add/", {"customer": str(acme.pk), "username": "bob", "role": "operator"}
    )
    assert made.status_code == 302, made.content.decode()
    row = AuditRecord.objects.filter(customer_id=acme.pk, action="membership.created").latest("seq")
    assert (row.actor, json.loads(row.details)["user"]) == ("ann", "bob")
    assert row.request_id == made["X-Request-Id"]


def test_a_deleted_execution_keeps_its_trail() -> None:
    acme = customer()
    execution = started(acme, by="ann")
    Execution.objects.filter(pk=execution.pk).delete()
    assert query(acme, executionId=execution.pk)["records"][0]["action"] == "execution.started"
