"""Secrets that are drawn in the open: encrypted when the canvas is saved, shown nowhere, and still there for a run."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from canvas.tests.asking import client, post, saved
from canvas.tests.drawing import edge, edges, node, start
from canvas.tests.reading import tables_with
from workflows.models import Execution, Role, Secret, Workflow, WorkflowVersion
from workflows.tests.people import customer
from workflows.tests.pumping import Engine

CANARY = "c4n4ry-5ecret-value"
NIL = "secret:00000000-0000-0000-0000-000000000000"
TABLES = ("workflows_workflow", "workflows_workflowversion", "workflows_specdocument", "canvas_relation",
          "canvas_relationversion", "workflows_execution", "workflows_staterun", "workflows_logentry")  # fmt: skip


@pytest.fixture
def server() -> Iterator[tuple[str, list[str]]]:
    """A server, and the credentials it was sent."""
    seen: list[str] = []

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers.get("Authorization", ""))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            return

    made = HTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{made.server_port}", seen
    made.shutdown()
    made.server_close()


def calling(url: str, credential: str = f"Bearer {CANARY}") -> dict[str, Any]:
    return node("call", "HttpRequestActivity", url=url, headers={"Authorization": credential, "Accept": "*/*"})


def test_a_drawn_secret_reaches_the_server_and_nobody_else(
    engine: Engine, server: tuple[str, list[str]], settings: Settings
) -> None:
    url, seen = server
    settings.POIMEN_ALLOWED_PRIVATE_HOSTS = ["127.0.0.1"]
    ann = client(Role.ADMIN)
    drawn = {
        "name": "drawn",
        "status": "active",
        "nodes": [start(password=CANARY), calling(url), node("say", value={"apiKey": CANARY, "n": 1})],
        "edges": [*edges("start call"), edge("call", "say", clientSecret=CANARY)],
    }
    first = post(ann, "/workflows", drawn)
    assert first.status_code == 201, first.content
    pk = first.json()["id"]
    answers = [first, post(ann, f"/workflows/{pk}/execute")]
    assert answers[1].status_code == 201, answers[1].content
    engine.pump()
    assert engine.ended(answers[1].json()["id"]).status == "success"
    assert seen == [f"Bearer {CANARY}"]

    paths = ("", "/versions", "/versions/1", "/executions", "/relations/call-say/versions")
    answers += [ann.get(f"/workflows/{pk}{path}") for path in paths]
    answers += [ann.get("/workflows"), *(ann.get(f"/executions/{row.pk}/states") for row in Execution.objects.all())]
    root = Client()
    root.force_login(User.objects.create_superuser("root"))
    version = WorkflowVersion.objects.get(workflow=pk)
    answers.append(root.get(f"/admin/workflows/workflow/{pk}/change/"))
    answers.append(root.get(f"/admin/workflows/workflowversion/{version.pk}/change/"))
    for answer in answers:
        assert answer.status_code in (200, 201)
        assert CANARY not in answer.content.decode(), answer.request["PATH_INFO"]
    assert tables_with(CANARY, TABLES) == []


@pytest.mark.django_db
def test_the_answer_says_what_was_sealed_and_where() -> None:
    body = saved(client(), nodes=[calling("https://example.org/"), node("b")], edges=edges("call b"))
    (warning,) = [item for item in body["validation"]["warnings"] if item["code"] == "sealed-secret"]
    assert warning["nodeId"] == "call"
    assert warning["message"].startswith('"call", data.config.headers.Authorization: this is a secret')
    assert body["validation"]["valid"] is True
    handle = body["nodes"][0]["data"]["config"]["headers"]["Authorization"]
    assert handle == f"secret:{Secret.objects.get().pk}"


@pytest.mark.django_db
def test_what_was_read_can_be_saved_again_and_again() -> None:
    ann = client()
    odd = {"selected": True, "measured": {"width": 1.5}, "tokens": [1], "x-token": ""}
    body = saved(ann, nodes=[calling("https://example.org/") | odd, node("b")], edges=edges("call b"))
    again = ann.put(f"/workflows/{body['id']}", body, format="json").json()
    assert (again["nodes"], again["edges"]) == (body["nodes"], body["edges"])
    assert "sealed-secret" not in {item["code"] for item in again["validation"]["warnings"]}
    assert {key: again["nodes"][0][key] for key in odd} == odd
    # The same value typed anew is the same secret.
    third = ann.put(f"/workflows/{body['id']}", {"nodes": [calling("https://example.org/"), node("b")]}, format="json")
    assert third.json()["nodes"][0]["data"] == body["nodes"][0]["data"]
    assert Secret.objects.count() == 1


@pytest.mark.django_db
def test_a_flat_node_keeps_its_secret_nowhere_and_is_told_once() -> None:
    flat = {"id": "a", "type": "http-request", "data": {"url": "https://example.org/", "headers": {"token": CANARY}}}
    body = saved(client(), nodes=[flat], edges=[])
    assert tables_with(CANARY, TABLES) == []
    assert [item["code"] for item in body["validation"]["warnings"]].count("sealed-secret") == 1


@pytest.mark.django_db
def test_references_and_handles_are_no_secrets_in_the_open() -> None:
    for credential in ("${workflow.input.token}", "{% 'Bearer ' & workflow.input.token %}", f"Bearer {NIL}"):
        body = saved(client(), nodes=[calling("https://example.org/", credential)], edges=[])
        assert body["nodes"][0]["data"]["config"]["headers"]["Authorization"] == credential
    assert Secret.objects.count() == 0


@pytest.mark.django_db
def test_a_refused_save_leaves_no_secret_behind() -> None:
    nodes = [calling("https://example.org/"), node("b", "Nope")]
    drawn = {"name": "x", "status": "active", "nodes": nodes, "edges": edges("call b")}
    answer = post(client(), "/workflows", drawn)
    assert answer.status_code == 422
    assert answer.json()["error"] == "an active workflow must be valid, and this one has 1 error."
    assert CANARY not in answer.content.decode()
    assert Secret.objects.count() == 0


@pytest.mark.django_db
def test_judging_a_canvas_stores_nothing_and_repeats_no_secret() -> None:
    nodes: list[Any] = [calling("https://example.org/"), {"data": {"password": [CANARY]}}, 7, [{"token": CANARY}]]
    answer = post(client(), "/workflows/validate", {"nodes": nodes, "edges": "none"})
    assert answer.status_code == 200
    assert CANARY not in answer.content.decode()
    codes = [item["code"] for item in answer.json()["warnings"]]
    assert codes.count("sealed-secret") == 3
    valid = post(client(), "/workflows/validate", {"nodes": [calling("https://example.org/")], "edges": []}).json()
    assert valid["spec"]["states"][0]["parameters"]["headers"]["Authorization"] == NIL
    assert Secret.objects.count() == 0


@pytest.mark.django_db
def test_a_secret_in_the_open_from_before_is_masked_and_its_mask_is_not_saved_over_it() -> None:
    ann = client()
    pk = saved(ann, nodes=[calling("https://example.org/")], edges=[])["id"]
    for row in (Workflow.objects.get(pk=pk), WorkflowVersion.objects.get(workflow=pk)):
        row.nodes[0]["data"]["config"]["headers"]["Authorization"] = CANARY
        row.save()
    for path in ("", "/versions/1"):
        answer = ann.get(f"/workflows/{pk}{path}")
        assert CANARY not in answer.content.decode()
    read = ann.get(f"/workflows/{pk}").json()
    back = ann.put(f"/workflows/{pk}", read, format="json").json()
    assert [item["code"] for item in back["validation"]["errors"]] == ["masked-secret"]
    assert '"call", data.config.headers.Authorization: ***' in back["validation"]["errors"][0]["message"]
    assert post(ann, f"/workflows/{pk}/execute").status_code in (403, 422)
    assert WorkflowVersion.objects.get(workflow=pk, version=2).spec is None


@pytest.mark.django_db
def test_a_password_that_is_drawn_in_an_address_is_sealed_and_its_mask_is_not_saved_over_it() -> None:
    ann = client()
    cloning = node("clone", "CloneRepoActivity", repo=f"https://ann:{CANARY}@example.org/x.git")
    body = saved(ann, nodes=[cloning], edges=[], status="active")
    assert tables_with(CANARY, TABLES) == []
    (warning,) = [item for item in body["validation"]["warnings"] if item["code"] == "sealed-secret"]
    assert warning["message"].startswith('"clone", data.config.repo: this is a secret')
    handle = f"secret:{Secret.objects.get().pk}"
    assert body["nodes"][0]["data"]["config"]["repo"] == f"https://ann:{handle}@example.org/x.git"
    again = ann.put(f"/workflows/{body['id']}", body, format="json").json()
    assert again["nodes"] == body["nodes"]
    hidden = [node("clone", "CloneRepoActivity", repo="https://ann:***@example.org/x.git")]
    hidden += [node("tell", "NotifyStatusActivity", channel="tgram://***", status="info", message="done")]
    refused = ann.put(f"/workflows/{body['id']}", {"nodes": hidden}, format="json")
    assert refused.status_code == 422
    assert "masked-secret" in {item["code"] for item in refused.json()["details"]}


@pytest.mark.django_db
def test_another_customers_canvas_gets_a_handle_of_its_own() -> None:
    for slug in ("acme", "other"):
        saved(client(slug=slug), nodes=[calling("https://example.org/")], edges=[])
    assert set(Secret.objects.values_list("customer", flat=True)) == {customer("acme").pk, customer("other").pk}


@pytest.mark.django_db
def test_a_canvas_is_told_where_a_handle_cannot_stand() -> None:
    own = NIL.replace("0000-", "0001-")
    drawn = [node("scan", "SecurityScanActivity", path=own), node("call", "HttpRequestActivity", url=f"https://{own}/")]
    answer = post(client(), "/workflows/validate", {"nodes": drawn, "edges": edges("scan call")}).json()
    found = {item["nodeId"]: item for item in answer["errors"]}
    assert {item["code"] for item in found.values()} == {"secret-not-allowed"}
    assert found["scan"]["message"] == (
        f'"scan", data.config.path: {own} cannot be used here: SecurityScanActivity takes no secrets'
    )
    assert "data.config.url" in found["call"]["message"]
    assert found["call"]["message"].endswith(
        "HttpRequestActivity takes secrets only in the user information and the query of url, headers, body"
    )
    assert json.dumps(answer).count(own) == 2
