"""Deciding and stepping in from the admin: votes from list and page, cancel, pause, resume and run again."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry as AuditEntry
from django.contrib.auth.models import User
from django.test import Client

from workflows.models import ApprovalGate, Execution, Role, StateRun
from workflows.tests.people import ECHO, customer, member, started
from workflows.tests.pumping import Engine
from workflows.tests.test_approvals import gate

GATES = "/admin/workflows/approvalgate/"
EXECUTIONS = "/admin/workflows/execution/"


def as_(role: Role, name: str = "", slug: str = "acme") -> Client:
    client = Client()
    client.force_login(member(customer(slug), role, name, is_staff=True))
    return client


def act(client: Client, path: str, action: str, *rows: Any, **more: Any) -> str:
    body = {"action": action, "_selected_action": [str(row.pk) for row in rows], "index": 0, **more}
    return client.post(path, body, follow=True).content.decode()


def vote_on_page(client: Client, asked: ApprovalGate, decision: str, reason: str = "") -> str:
    body = {"decision": decision, "reason": reason}
    return client.post(f"{GATES}{asked.pk}/vote/", body, follow=True).content.decode()


@pytest.mark.django_db
def test_the_list_shows_what_waits_with_quorum_voters_and_time_left() -> None:
    asked, decided = gate(2), gate()
    vote_on_page(as_(Role.APPROVER, "ann"), asked, "approve")
    vote_on_page(as_(Role.APPROVER, "cleo"), decided, "approve")
    page = as_(Role.APPROVER, "bob").get(GATES).content.decode()
    assert "1 of 2" in page
    assert "✓ ann" in page
    assert "59 min" in page
    assert str(asked.pk) in page
    assert str(decided.pk) not in page, "decided ones are one click away"
    assert str(decided.pk) in as_(Role.VIEWER).get(f"{GATES}?status=approved").content.decode()


@pytest.mark.django_db
def test_the_users_own_vote_is_shown() -> None:
    asked = gate(2)
    ann = as_(Role.APPROVER, "ann")
    vote_on_page(ann, asked, "approve")
    cell = '<td class="field-own_vote"><span class="status status-approved">'
    assert cell in ann.get(GATES).content.decode()
    assert cell not in as_(Role.APPROVER, "bob").get(GATES).content.decode()
    page = ann.get(f"{GATES}{asked.pk}/change/").content.decode()
    assert "You have voted" in page
    assert 'value="approve"' not in page


@pytest.mark.django_db
def test_a_rejection_from_the_list_asks_for_the_reason_first() -> None:
    first, second = gate(), gate()
    bob = as_(Role.APPROVER, "bob")
    asking = act(bob, GATES, "reject_selected", first, second)
    assert "Reject 2 approvals" in asking
    assert str(first.pk) in asking
    assert ApprovalGate.objects.filter(status="pending").count() == 2, "nothing has happened yet"
    asked_again = act(bob, GATES, "reject_selected", first, second, apply="Reject", reason="  ")
    assert "needs a reason" in asked_again
    assert "Reject 2 approvals" in asked_again
    assert ApprovalGate.objects.filter(status="pending").count() == 2
    done = act(bob, GATES, "reject_selected", first, second, apply="Reject", reason="the tests are red")
    assert "is rejected" in done
    for asked in (first, second):
        asked.refresh_from_db()
        assert (asked.status, asked.reason) == ("rejected", "the tests are red")


@pytest.mark.django_db
def test_an_approval_from_the_list_may_have_a_reason() -> None:
    asked = gate()
    bob = as_(Role.APPROVER, "bob")
    assert "Approve 1 approval" in act(bob, GATES, "approve_selected", asked)
    assert "is approved" in act(bob, GATES, "approve_selected", asked, apply="Approve", reason="")
    asked.refresh_from_db()
    assert asked.status == "approved"


@pytest.mark.django_db
def test_the_page_of_a_gate_has_the_question_and_both_buttons() -> None:
    asked = gate()
    page = as_(Role.APPROVER).get(f"{GATES}{asked.pk}/change/").content.decode()
    assert "Ship it?" in page
    assert 'value="approve"' in page
    assert 'value="reject"' in page
    for role in (Role.VIEWER, Role.EDITOR, Role.OPERATOR):
        page = as_(role).get(f"{GATES}{asked.pk}/change/").content.decode()
        assert "needs the role approver" in page
        assert 'value="approve"' not in page


@pytest.mark.django_db
def test_bad_votes_on_the_page_are_explained() -> None:
    asked = gate(2)
    ann = as_(Role.APPROVER, "ann")
    assert "needs a reason" in vote_on_page(ann, asked, "reject")
    assert "Choose approve or reject" in vote_on_page(ann, asked, "maybe")
    assert "1 more is needed" in vote_on_page(ann, asked, "approve")
    assert "voted on this already" in vote_on_page(ann, asked, "approve")
    assert "role approver" in vote_on_page(as_(Role.OPERATOR), asked, "approve")
    assert "that you may see" in vote_on_page(as_(Role.ADMIN, slug="other"), asked, "approve")
    assert ann.get(f"{GATES}{asked.pk}/vote/").status_code == 405
    assert asked.votes.count() == 1


@pytest.mark.django_db
@pytest.mark.parametrize("role", [Role.VIEWER, Role.EDITOR, Role.OPERATOR])
def test_lesser_roles_cannot_vote_from_the_list(role: Role) -> None:
    asked = gate()
    client = as_(role)
    assert "approve_selected" not in client.get(GATES).content.decode()
    act(client, GATES, "approve_selected", asked, apply="Approve")
    asked.refresh_from_db()
    assert asked.status == "pending"


@pytest.mark.django_db
def test_a_vote_needs_the_pages_csrf_token() -> None:
    asked = gate()
    client = Client(enforce_csrf_checks=True)
    client.force_login(member(customer(), Role.APPROVER, is_staff=True))
    assert client.post(f"{GATES}{asked.pk}/vote/", {"decision": "approve"}).status_code == 403
    asked.refresh_from_db()
    assert asked.status == "pending"


@pytest.mark.django_db
def test_votes_are_in_the_audit_trail() -> None:
    asked = gate()
    vote_on_page(as_(Role.APPROVER, "ann"), asked, "reject", "too early")
    entry = AuditEntry.objects.get(object_id=str(asked.pk))
    assert (entry.user.get_username(), entry.get_change_message()) == ("ann", "Rejected: too early")


def test_a_decision_in_the_admin_lets_the_execution_go_on_at_once(engine: Engine) -> None:
    spec = {
        "name": "release",
        "states": [
            {"name": "Ask", "type": "Task", "resource": "ApproveWorkflowActivity",
             "parameters": {"workflowId": "release-7"}, "next": "Ship"},
            {"name": "Ship", "type": "Pass", "result": "${Ask.output.approved}", "end": True},
        ],
    }  # fmt: skip
    approved, rejected = started(customer(), spec), started(customer(), spec)
    engine.pump()
    for execution in (approved, rejected):
        engine.reaches(execution.pk, "waiting")
    ann = as_(Role.APPROVER, "ann")
    page = ann.get(f"{EXECUTIONS}{approved.pk}/change/").content.decode()
    assert "Waits for people" in page
    vote_on_page(ann, ApprovalGate.objects.get(execution=approved), "approve")
    act(ann, GATES, "reject_selected", ApprovalGate.objects.get(execution=rejected), apply="1", reason="no")
    assert engine.ended(approved.pk, seconds=5).output is True
    assert engine.ended(rejected.pk, seconds=5).output is False


# -- executions -------------------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_cancelling_from_the_list_asks_for_a_reason_first() -> None:
    one, two = started(customer()), started(customer())
    olga = as_(Role.OPERATOR, "olga")
    assert "Cancel executions" in act(olga, EXECUTIONS, "cancel_selected", one, two)
    assert Execution.objects.filter(status="cancelled").count() == 0
    done = act(olga, EXECUTIONS, "cancel_selected", one, two, apply="1", reason="wrong branch")
    assert "2 executions were cancelled" in done
    found = Execution.objects.get(pk=one.pk)
    assert (found.status, found.cancelled_by, found.cancel_reason) == ("cancelled", "olga", "wrong branch")


@pytest.mark.django_db
def test_pause_and_resume_from_list_and_page() -> None:
    execution = started(customer())
    olga = as_(Role.OPERATOR, "olga")
    assert "1 execution was paused" in act(olga, EXECUTIONS, "pause_selected", execution)
    page = olga.get(f"{EXECUTIONS}{execution.pk}/change/").content.decode()
    assert f"{execution.pk}/resume/" in page
    assert f"{execution.pk}/pause/" not in page
    assert "Paused by olga" in page
    resumed = olga.post(f"{EXECUTIONS}{execution.pk}/resume/", follow=True).content.decode()
    assert "1 execution was resumed" in resumed
    assert "not paused" in act(olga, EXECUTIONS, "resume_selected", execution)


def test_running_again_from_a_state(engine: Engine) -> None:
    one = {**ECHO["states"][0], "name": "One", "next": "Fan"}
    beside = {"name": "beside", "states": [{**ECHO["states"][0], "name": "Beside"}]}
    fan = {"name": "Fan", "type": "Parallel", "next": "Two", "branches": [
        beside, {"name": "inner", "states": [{**ECHO["states"][0], "name": "Inner"}]}]}  # fmt: skip
    spec = {"name": "two", "states": [one, fan, {"name": "Two", "type": "Pass", "result": 2}]}
    execution = started(customer(), spec)
    engine.pump()
    engine.ended(execution.pk)
    olga = as_(Role.OPERATOR, "olga")
    asking = olga.get(f"{EXECUTIONS}{execution.pk}/rerun/").content.decode()
    assert all(f'<option value="{name}">' in asking for name in ("One", "Fan", "Beside", "Inner", "Two"))
    olga.post(f"{EXECUTIONS}{execution.pk}/rerun/", {"from_state": "Inner", "apply": "1"})
    again = engine.ended(Execution.objects.get(rerun_of=execution).pk)
    ran = StateRun.objects.filter(execution=again, reused=False).order_by("id")
    assert [run.state for run in ran] == ["Inner", "Fan", "Two"]
    bad = olga.post(f"{EXECUTIONS}{execution.pk}/rerun/", {"from_state": "Nowhere", "apply": "1"})
    assert "Select a valid choice" in bad.content.decode()
    assert "1 execution was started again" in act(olga, EXECUTIONS, "rerun_selected", execution)
    page = olga.get(f"{EXECUTIONS}{execution.pk}/change/").content.decode()
    assert "rerun as" in page


def test_the_page_of_an_execution_tells_its_story(engine: Engine) -> None:
    spec = {
        "name": "story",
        "states": [
            {
                "name": "Each",
                "type": "Map",
                "items": [1, 2],
                "states": [{"name": "One", "type": "Pass"}],
                "next": "Bad",
            },
            {"name": "Bad", "type": "Fail", "error": "Nope", "cause": "it is <b>closed</b>"},
        ],
    }
    execution = started(customer(), spec)
    engine.pump()
    engine.ended(execution.pk)
    page = as_(Role.VIEWER).get(f"{EXECUTIONS}{execution.pk}/change/").content.decode()
    assert "status-failed" in page
    assert "it is &lt;b&gt;closed" in page
    assert "<b>closed</b>" not in page
    assert "Each/* [1]" in page
    assert f"logentry/?execution__id__exact={execution.pk}" in page


@pytest.mark.django_db
def test_what_cannot_be_done_is_told_for_each() -> None:
    ended, waiting = started(customer()), started(customer())
    root = Client()
    root.force_login(User.objects.create_superuser("root"))
    act(root, EXECUTIONS, "cancel_selected", ended, apply="1")
    page = act(root, EXECUTIONS, "pause_selected", ended, waiting)
    assert "has ended (cancelled)" in page
    assert "1 execution was paused" in page
    assert "still running" in act(root, EXECUTIONS, "rerun_selected", waiting)
