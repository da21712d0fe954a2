"""The pages over HTTP: who sees what, where sign-in leads, what forms and filters do."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from canvas.tests.asking import saved
from canvas.tests.drawing import node
from poimen_site.pages.urls import urlpatterns
from poimen_site.templatetags.ui import ago, ahead, relative
from workflows.models import Execution, LogEntry, Membership, Role
from workflows.tests.people import customer, member, signed_in, started
from workflows.tests.test_approvals import gate

pytestmark = pytest.mark.django_db

PAGES = ["/", "/ui/workflows", "/ui/executions", "/ui/schedules"]


def visiting(user: User) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(user)
    return client


def visitor(role: Role = Role.VIEWER, slug: str = "acme", **more: Any) -> Client:
    return visiting(member(customer(slug), role, **more))


def text(client: Client, path: str, code: int = 200) -> str:
    answer = client.get(path)
    assert answer.status_code == code, path
    return answer.content.decode()


def test_nobody_sees_a_page_without_signing_in() -> None:
    values = {
        "<str:exchange_id>": str(uuid4()),
        "<str:schedule_id>": str(uuid4()),
        "<str:workflow_id>": str(uuid4()),
        "<str:execution_id>": str(uuid4()),
        "<int:run_id>": "1",
    }
    for pattern in urlpatterns:
        route = str(pattern.pattern).replace("<path:rest>", "elsewhere").replace("<path:name>", "report.md")
        path = "/" + "/".join(values.get(part, part) for part in route.split("/"))
        if path in ("/ui/sign-in", "/ui/sign-out", "/ui/customer"):
            continue
        answer = Client().get(path)
        assert (answer.status_code, answer["Location"]) == (302, f"/ui/sign-in?next={path}"), path


def test_signing_in_leads_to_the_page_that_was_asked_for_and_nowhere_else() -> None:
    member(customer(), name="ada")
    for wanted, reached in (
        ("/ui/executions?status=failed", "/ui/executions?status=failed"),
        ("https://evil.example/", "/"),
        ("//evil.example/", "/"),
        ("javascript:alert(1)", "/"),
        ("", "/"),
    ):
        body = {"username": "ada", "password": "correct horse", "next": wanted}
        answer = Client().post("/ui/sign-in", body)
        assert (answer.status_code, answer["Location"]) == (302, reached)


def test_a_wrong_password_is_said_on_the_form_and_counted() -> None:
    member(customer(), name="ada")
    client = Client(REMOTE_ADDR="192.0.2.77")
    for _ in range(10):
        answer = client.post("/ui/sign-in", {"username": "ada", "password": "wrong"})
        assert answer.status_code == 400
    assert "do not match" in answer.content.decode()
    assert 'value="ada"' in answer.content.decode()
    refused = client.post("/ui/sign-in", {"username": "ada", "password": "correct horse"})
    assert refused.status_code == 429
    assert int(refused["Retry-After"]) > 0
    assert client.post("/ui/sign-in", {"username": "eve", "password": "x" * 5000}).status_code == 400


def test_signing_out_takes_a_form_and_ends_the_session() -> None:
    client = visitor()
    assert client.get("/ui/sign-out").status_code == 405
    assert client.post("/ui/sign-out")["Location"] == "/ui/sign-in"
    assert client.get("/").status_code == 302


def test_forms_want_their_token() -> None:
    user = member(customer())
    client = Client(enforce_csrf_checks=True)
    client.force_login(user)
    assert client.post("/ui/sign-out").status_code == 403
    assert client.post("/ui/customer", {"customer": "x"}).status_code == 403


def test_pages_allow_no_code_of_others_and_are_not_kept() -> None:
    client = visitor(Role.ADMIN)
    started(customer())
    for path in (*PAGES, f"/ui/executions/{Execution.objects.get().pk}"):
        answer = client.get(path)
        policy = answer["Content-Security-Policy"]
        assert "default-src 'self'" in policy
        assert "unsafe" not in policy
        assert answer["Cache-Control"] == "no-store"
        body = answer.content.decode()
        assert "style=" not in body
        assert "<script>" not in body
        assert 'src="http' not in body


def test_what_is_written_by_people_is_shown_not_run() -> None:
    evil = "<script>alert(1)</script>"
    execution = started(customer(), note=evil)
    Execution.objects.filter(pk=execution.pk).update(
        name=evil, status="failed", ended_at=datetime.now(UTC), errors=[evil], error={"name": evil, "message": evil}
    )
    asked = gate(slug="acme")
    asked.subject = asked.description = evil
    asked.save()
    client = visitor(Role.ADMIN)
    for path in (*PAGES, f"/ui/executions/{execution.pk}", f"/ui/executions?q={evil}&status={evil}"):
        body = text(client, path)
        assert evil not in body, path


def test_others_executions_do_not_exist() -> None:
    foreign = started(customer("other"))
    client = visitor(Role.ADMIN)
    for path in (
        f"{foreign.pk}",
        f"{foreign.pk}/log.txt",
        f"{foreign.pk}/runs/1",
        f"{foreign.pk}/attempts",
        f"{foreign.pk}/places",
        "x",
        f"{uuid4()}",
    ):
        assert "not found" in text(client, f"/ui/executions/{path}", 404)
    workflow = saved(signed_in(member(customer("other"), Role.ADMIN)), nodes=[node("a")], edges=[])["id"]
    assert "not found" in text(client, f"/ui/workflows/{workflow}", 404)
    assert str(foreign.pk)[-6:] not in text(client, "/ui/executions")
    assert "no such page" in text(client, "/ui/elsewhere", 404)


def test_someone_of_no_customer_is_told_what_to_do() -> None:
    user = User.objects.create_user("newcomer", password="correct horse")
    assert "Ask an administrator" in text(visiting(user), "/", 403)


def test_a_customer_is_chosen_once_for_all_pages() -> None:
    user = member(customer("acme"), Role.VIEWER)
    Membership.objects.create(user=user, customer=customer("zeta"), role=Role.OPERATOR)
    theirs = started(customer("zeta"), by="someone")
    client = visiting(user)
    assert str(theirs.pk)[-6:] not in text(client, "/ui/executions")
    page = text(client, f"/ui/executions/{theirs.pk}", 404)
    assert "This belongs to Zeta" in page
    there = f"/ui/executions/{theirs.pk}"
    answer = client.post("/ui/customer", {"customer": str(customer("zeta").pk), "next": there})
    assert answer["Location"] == there
    page = text(client, there)
    assert f'content="{customer("zeta").pk}"' in page  # what scripts send along
    assert 'id="cancel"' in page
    assert str(theirs.pk)[-6:] in text(client, "/ui/executions")


def test_being_added_elsewhere_leaves_everybody_where_they_were() -> None:
    user = member(customer("zeta"), Role.VIEWER)
    Membership.objects.create(user=user, customer=customer("acme"), role=Role.OPERATOR)
    assert f'content="{customer("zeta").pk}"' in text(visiting(user), "/")


def test_a_customer_of_others_cannot_be_chosen() -> None:
    user = member(customer("acme"), Role.VIEWER)
    client = visiting(user)
    client.post("/ui/customer", {"customer": str(customer("other").pk)})
    assert f'content="{customer("acme").pk}"' in text(client, "/")


@pytest.mark.parametrize("role", list(Role))
def test_a_run_offers_what_the_role_allows(role: Role) -> None:
    asked = gate(slug="acme")
    page = text(visitor(role), f"/ui/executions/{asked.execution_id}")
    for button in ("pause", "signal", "cancel"):
        assert (f'id="{button}"' in page) == role.covers(Role.OPERATOR)
    assert (f'id="approve-{asked.pk}"' in page) == role.covers(Role.APPROVER)
    assert asked.subject in page


def test_an_ended_run_offers_to_run_again_and_nothing_else() -> None:
    execution = started(customer())
    Execution.objects.filter(pk=execution.pk).update(status="success", ended_at=datetime.now(UTC), output={"a": "b c"})
    page = text(visitor(Role.OPERATOR), f"/ui/executions/{execution.pk}")
    assert 'id="rerun"' in page
    assert 'id="cancel"' not in page
    assert "b c" in page
    assert 'id="rerun"' not in text(visitor(Role.VIEWER), f"/ui/executions/{execution.pk}")


def test_secrets_are_masked_on_pages() -> None:
    execution = started(customer())
    # As an older version may have left them: what is written today is sealed before it gets here.
    Execution.objects.filter(pk=execution.pk).update(inputs={"password": "hunter22", "harmless": "seen"})
    page = text(visitor(Role.ADMIN), f"/ui/executions/{execution.pk}")
    assert "hunter22" not in page
    assert "seen" in page


def test_executions_are_found_by_status_workflow_and_words() -> None:
    client = visitor()
    for number, state in enumerate(("running", "failed", "timed_out", "success")):
        one = started(customer(), by=f"user{number}")
        Execution.objects.filter(pk=one.pk).update(status=state, name=f"Job {state}")
    rows = {"failures": {"failed", "timed_out"}, "open": {"running"}, "success": {"success"}}
    for wanted, found in rows.items():
        page = text(client, f"/ui/executions?status={wanted}")
        assert {state for state in ("running", "failed", "timed_out", "success") if f"Job {state}" in page} == found
    assert "Job failed" in text(client, "/ui/executions?q=user1")
    assert "Job success" not in text(client, "/ui/executions?q=job+fail")
    assert "Job running" in text(client, f"/ui/executions?q={Execution.objects.get(status='running').pk}")
    assert "fits these filters" in text(client, f"/ui/executions?workflow={uuid4()}")
    assert "no status" in text(client, "/ui/executions?status=odd")
    assert "workflow's id" in text(client, "/ui/executions?workflow=odd").replace("&#x27;", "'")


def test_the_list_has_pages_that_keep_the_filter() -> None:
    for _ in range(30):
        started(customer())
    client = visitor()
    page = text(client, "/ui/executions?status=pending")
    assert "1–25 of 30" in page
    assert "?status=pending&amp;page=2" in page
    assert "26–30 of 30" in text(client, "/ui/executions?status=pending&page=2")
    assert "26–30 of 30" in text(client, "/ui/executions?page=99")


def test_home_shows_what_runs_waits_and_failed() -> None:
    asked = gate(slug="acme")
    failed = started(customer())
    Execution.objects.filter(pk=failed.pk).update(
        status="failed", name="Broken", ended_at=datetime.now(UTC), errors=["the disk is full"]
    )
    old = started(customer())
    Execution.objects.filter(pk=old.pk).update(
        status="failed", name="Ancient", ended_at=datetime.now(UTC) - timedelta(days=9)
    )
    page = text(visitor(Role.APPROVER), "/")
    assert f'id="approve-{asked.pk}"' in page
    assert "the disk is full" in page
    assert "Ancient" not in page
    assert "2 ended, 2 failed" in page
    assert "No workers" in page


def test_an_empty_home_says_what_to_do_next() -> None:
    page = text(visitor(), "/")
    assert "no workflow yet" in page
    assert "No run has ended yet" in page
    for path in ("/", "/ui/workflows", "/ui/executions"):  # a viewer is not told to do what viewers may not
        body = text(visitor(), path)
        assert "POST /workflows" not in body
        assert "Choose a workflow" not in body
    assert "Choose a workflow" in text(visitor(Role.OPERATOR), "/ui/executions")
    assert "POST /workflows" in text(visitor(Role.EDITOR), "/")
    assert "POST /workflows" in text(visitor(Role.EDITOR), "/ui/workflows")


def test_an_address_with_a_slash_leads_to_the_page_without_it() -> None:
    client = visitor()
    for path, reached in (
        ("/ui/", "/"),
        ("/ui", "/"),
        ("/ui/executions/?status=failed", "/ui/executions?status=failed"),
        ("/ui///evil.example/", "/ui/evil.example"),
    ):
        answer = client.get(path)
        assert (answer.status_code, answer["Location"]) == (301, reached), path


def test_an_unknown_address_is_a_page_for_browsers_and_json_for_programs() -> None:
    accepted = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
    page = Client().get("/nosuch", headers={"accept": accepted})
    assert (page.status_code, page["Content-Type"]) == (404, "text/html; charset=utf-8")
    for accept in ("*/*", "application/json"):
        answer = Client().get("/nosuch", headers={"accept": accept})
        assert (answer.status_code, answer.json()) == (404, {"error": "Not found"})


@pytest.mark.parametrize(
    "seconds, said",
    [(0, "just now"), (-5399, "in 1 h 29 min"), (-6660, "in 1 h 51 min"), (-7200, "in 2 h"), (-93600, "in 1 d 2 h"),
     (-90, "in 1 min"), (5399, "1 h ago")],
)  # fmt: skip
def test_what_is_ahead_is_said_to_the_minute(seconds: int, said: str) -> None:
    assert relative(timedelta(seconds=seconds)) == said


def test_what_is_to_come_did_not_happen_just_now() -> None:
    assert ">due now<" in str(ahead(datetime.now(UTC) + timedelta(seconds=2)))
    assert ">in 1 h" in str(ahead(datetime.now(UTC) + timedelta(minutes=65)))
    assert ">just now<" in str(ago(datetime.now(UTC) - timedelta(seconds=2)))


def test_a_workflow_offers_its_inputs() -> None:
    drawn = [node("a", value="${workflow.input.colour}")]
    workflow = saved(signed_in(member(customer(), Role.ADMIN)), nodes=drawn, edges=[])["id"]
    page = text(visitor(Role.OPERATOR), f"/ui/workflows/{workflow}")
    assert "&quot;colour&quot;: &quot;&quot;" in page
    assert 'id="run"' in page
    assert 'id="run"' not in text(visitor(Role.VIEWER), f"/ui/workflows/{workflow}")


@pytest.mark.django_db(transaction=True)  # the log is read on threads of its own
def test_the_log_comes_as_a_file() -> None:
    execution = started(customer())
    for number in range(3):
        LogEntry.objects.create(
            execution=execution, node_id="Say", level="info", message=f"line {number}", fields={"token": "abc"}, tx=5
        )
    answer = visitor().get(f"/ui/executions/{execution.pk}/log.txt")
    assert answer["Content-Type"].startswith("text/plain")
    assert "attachment" in answer["Content-Disposition"]

    async def whole() -> bytes:
        return b"".join([piece async for piece in answer])  # type: ignore[attr-defined]

    lines = async_to_sync(whole)().decode().splitlines()
    said = [line for line in lines if " Say: " in line]
    assert [line.split(": ", 1)[1] for line in said] == [f'line {n} {{"token":"***"}}' for n in range(3)]


def test_a_theme_that_was_chosen_is_in_the_page() -> None:
    client = visitor()
    assert "data-theme" not in text(client, "/")
    client.cookies["theme"] = "dark"
    assert 'data-theme="dark"' in text(client, "/")
    client.cookies["theme"] = '"><script>'
    assert "data-theme" not in text(client, "/")


def test_a_page_costs_the_same_queries_however_much_it_shows() -> None:
    def queries(path: str) -> int:
        with CaptureQueriesContext(connection) as counted:
            assert client.get(path).status_code == 200
        return len(counted)

    client = visitor(Role.APPROVER)
    api = signed_in(member(customer(), Role.ADMIN))
    run = gate(slug="acme").execution_id
    workflow = saved(api, nodes=[node("a")], edges=[])["id"]
    paths = ["/", "/ui/workflows", "/ui/executions", f"/ui/executions/{run}", f"/ui/workflows/{workflow}"]
    few = {path: queries(path) for path in paths}
    for number in range(6):
        asked = gate(slug="acme")
        saved(api, name=f"w{number}", nodes=[node("a")], edges=[])
        broken = started(customer())
        Execution.objects.filter(pk=broken.pk).update(status="failed", ended_at=datetime.now(UTC), errors=["x"])
        Execution.objects.filter(pk=asked.execution_id).update(parent=run)
    assert {path: queries(path) for path in paths} == few
