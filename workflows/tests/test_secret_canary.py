"""A value under a secret name, put through everything: nobody sees it again, in no answer, page, log line or row."""

import json
import logging
import threading
from base64 import b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.storage import default_storage
from django.db import connection
from django.test import Client
from pytest_django import Settings

from workflows import secrets
from workflows.models import ApprovalGate, Execution, LogEntry, Role, Secret, StateRun
from workflows.tests.people import customer, member, signed_in, started
from workflows.tests.pumping import Engine

CANARY = "c4n4ry-5ecret-value"
LISTS = ("execution", "staterun", "logentry", "branch", "signal", "secret", "approvalgate", "approvalvote")


@pytest.fixture
def echoing_server() -> Iterator[tuple[str, list[str]]]:
    """A server that gives back, under harmless names, the credentials it is sent; and what it has seen."""
    seen: list[str] = []

    class Echo(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            given = self.headers.get("Authorization", "")
            seen.append(given)
            body = json.dumps({"youSent": given, "note": f"hello {given}!"}).encode()
            self.send_response(500 if self.path == "/fails" else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("X-Echo", given)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            return

    server = HTTPServer(("127.0.0.1", 0), Echo)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", seen
    server.shutdown()
    server.server_close()


def spec_for(url: str) -> dict[str, Any]:
    bearer = {"Authorization": "Bearer ${workflow.input.token}"}
    return {
        "name": "canary",
        "states": [
            {
                "name": "Call",
                "type": "Task",
                "resource": "HttpRequestActivity",
                "parameters": {"method": "GET", "url": url, "headers": bearer},
                "next": "Say",
            },
            {
                "name": "Say",
                "type": "Task",
                "resource": "EchoActivity",
                "parameters": {"value": {"plain": "${workflow.input.token}", "nested": [{"password": CANARY}]}},
                "assign": {"kept": "${workflow.input.token}"},
                "next": "Fetch",
            },
            {
                "name": "Fetch",
                "type": "Task",
                "resource": "HttpRequestActivity",
                "parameters": {"method": "GET", "url": "${workflow.input.repo}"},
                "assign": {"fetched": "${workflow.input.repo}", "drawn": f"ftp://bob:{CANARY}@files.example/"},
                "next": "Quote",
            },
            {
                "name": "Quote",
                "type": "Task",
                "resource": "EchoActivity",
                "parameters": {
                    "value": {
                        "where": "${workflow.input.repo}",
                        "also": ["see ${workflow.input.repo}", "${workflow.input.filler}"],
                    }
                },
                "next": "Cry",
            },
            {
                "name": "Cry",
                "type": "Task",
                "resource": "FailActivity",
                "parameters": {"message": "{% 'no way: https://eve:' & 'c4n4ry-5ecret' & '-value@example.org/' %}"},
                "catch": [{"next": "Fail"}],
            },
            {
                "name": "Fail",
                "type": "Task",
                "resource": "HttpRequestActivity",
                "parameters": {"method": "GET", "url": f"{url}/fails", "headers": bearer},
                "retry": {"maxAttempts": 1},
                "catch": [{"next": "Raise", "resultPath": "why"}],
            },
            {
                "name": "Raise",
                "type": "Task",
                "resource": "FailActivity",
                "parameters": {"message": "refused: ${workflow.input.token} is no good", "error": "Nope"},
                "catch": [{"next": "Ask"}],
            },
            {
                "name": "Ask",
                "type": "Task",
                "resource": "ApproveWorkflowActivity",
                "parameters": {"workflowId": "with ${workflow.input.token}", "description": "${workflow.input.token}"},
                "next": "Last",
            },
            {"name": "Last", "type": "Pass", "parameters": {"api_key": "${Say.output.value.plain}"}, "end": True},
        ],
    }


def test_a_canary_is_never_seen_again(
    engine: Engine,
    echoing_server: tuple[str, list[str]],
    settings: Settings,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    url, seen = echoing_server
    settings.POIMEN_ALLOWED_PRIVATE_HOSTS = ["127.0.0.1"]
    acme = customer()
    caplog.set_level(logging.DEBUG)
    repo = f"{url.replace('://', f'://ann:{CANARY}@')}/x.git"
    spec = secrets.seal(spec_for(url), acme)
    execution = started(acme, spec, token=CANARY, note="plain", repo=repo, filler="x" * 300_000)
    engine.pump()
    engine.reaches(execution.pk, "waiting")
    program, person, root = signed_in(member(acme, Role.ADMIN)), Client(), Client()
    person.force_login(member(acme, Role.ADMIN, is_staff=True))
    root.force_login(User.objects.create_superuser("root"))
    asked = ApprovalGate.objects.get(execution=execution)
    answers: list[Any] = [program.post(f"/approvals/{asked.pk}/approve", {"reason": "fine"}, format="json")]
    engine.ended(execution.pk)
    assert Execution.objects.get(pk=execution.pk).status == "success"
    basic = f"Basic {b64encode(f'ann:{CANARY}'.encode()).decode()}"
    assert seen == [f"Bearer {CANARY}", basic, f"Bearer {CANARY}"], "the activity got the real value"

    rerun = program.post(f"/executions/{execution.pk}/rerun", {"fromState": "Say"}, format="json")
    answers += [rerun, program.get("/executions"), program.get("/approvals"), program.get("/activities")]
    for path in ("", "?logs=10000&level=debug", "/states", "/logs?level=debug"):
        answers.append(program.get(f"/executions/{execution.pk}{path}"))
    for client in (person, root):
        pages = ["/admin/", f"/admin/workflows/execution/{execution.pk}/change/"]
        pages += [f"/admin/workflows/{name}/" for name in LISTS]
        rows: list[Any] = [*StateRun.objects.filter(execution=execution), *LogEntry.objects.filter(execution=execution)]
        rows += [*execution.branches.all(), *execution.signals.all(), *Secret.objects.all(), asked]
        pages += [f"/admin/workflows/{row._meta.model_name}/{row.pk}/change/" for row in rows]
        answers += [*map(client.get, pages)]
    assert {answer.status_code for answer in answers} <= {200, 201}
    for answer in answers:
        assert CANARY not in answer.content.decode(), answer.request["PATH_INFO"]

    kept = program.get(f"/executions/{execution.pk}/artifacts").json()
    assert [file["name"].partition("/")[0] for file in kept] == ["outputs"], "what is too large for a row"
    for file in kept:
        assert CANARY not in default_storage.open(f"{execution.pk}/{file['name']}").read().decode()

    with connection.cursor() as cursor:
        for table in (
            "execution",
            "branch",
            "staterun",
            "logentry",
            "signal",
            "secret",
            "approvalgate",
            "specdocument",
        ):
            cursor.execute(f"SELECT count(*) FROM workflows_{table} AS row WHERE row::text LIKE %s", [f"%{CANARY}%"])
            assert cursor.fetchone() == (0,), table
    printed = capfd.readouterr()
    assert CANARY not in caplog.text + printed.out + printed.err
    assert all("c4n4ry" not in repr(row) for row in Secret.objects.all())


def test_a_token_that_others_repeat_is_in_no_line_and_no_error(
    engine: Engine, echoing_server: tuple[str, list[str]], settings: Settings
) -> None:
    """Nobody gave it to the activity as a secret; only its form tells what it is."""
    token = "ghp_" + "x7Kq" * 9
    settings.POIMEN_ALLOWED_PRIVATE_HOSTS = ["127.0.0.1"]
    url = f"{echoing_server[0]}/{token}"
    states = [
        {"name": "Say", "type": "Task", "resource": "HttpRequestActivity", "parameters": {"url": url}, "next": "Fail"},
        {
            "name": "Fail", "type": "Task", "resource": "FailActivity",
            "parameters": {"message": f"the server answered: {token} is revoked", "retryable": False},
        },
    ]  # fmt: skip
    engine.pump()
    run = engine.run({"name": "t", "states": states})
    assert run.status == "failed"
    lines = list(LogEntry.objects.filter(execution=run).values_list("message", flat=True))
    errors = json.dumps([run.error, list(StateRun.objects.filter(execution=run).values_list("error", flat=True))])
    assert token not in "\n".join(lines)
    assert token not in errors
    assert "the server answered: ghp_*** is revoked" in errors
    assert any(line.startswith("GET http://") and "ghp_***" in line for line in lines)
