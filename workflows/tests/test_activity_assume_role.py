"""Tokens of an authorization server: what is asked where, what comes back as a handle, and that nothing leaks."""

import json
import os
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.db import connection
from pytest_django import Settings

from poimen_site.embedded_postgres import EmbeddedPostgres
from workflows import secrets
from workflows.errors import ActivityError, InvalidInput, PermanentError, WorkflowError
from workflows.models import LogEntry, NotificationRecord, Secret, StateRun
from workflows.tests.activity_case import Case
from workflows.tests.people import customer, started
from workflows.tests.pumping import Engine

TOKEN = "t0k3n-of-the-server"
SECRET = "c1i3nt-s3cret"


class Server:
    """A real authorization server on loopback that answers as it is told; other paths say what they were sent."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Any]] = []
        self.authorizations: list[str] = []
        self.status = 200
        self.body: bytes = json.dumps({"access_token": TOKEN, "expires_in": 900, "token_type": "Bearer"}).encode()
        self.trickles = False
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                content = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                kind = self.headers.get("Content-Type", "")
                server.asked.append((self.path, json.loads(content) if "json" in kind else parse_qs(content)))
                server.authorizations.append(self.headers.get("Authorization", ""))
                is_token = self.path == "/oauth/token"
                self.send_response(server.status if is_token else 200)
                self.send_header("Location", "http://127.0.0.1/elsewhere")
                self.end_headers()
                try:
                    self.wfile.write(server.body if is_token else b"thanks")
                    while server.trickles:
                        self.wfile.write(b" ")
                        threading.Event().wait(0.02)
                except OSError:
                    return  # they hung up

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()

    def stop(self) -> None:
        self.trickles = False
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def server(settings: Settings) -> Iterator[Server]:
    server = Server()
    settings.POIMEN_AUTHORIZATION = {
        "server": server.url, "others": [], "client_id": "poimen", "client_secret": SECRET,
    }  # fmt: skip
    yield server
    server.stop()


@pytest.fixture
def case(tmp_path: Path, db: None) -> Case:
    return Case(tmp_path, customer=str(customer().pk))


def assume(case: Case, **parameters: Any) -> dict[str, Any]:
    output: dict[str, Any] = case.run("AssumeRoleActivity", {"identity": "ann", "scope": "llm:read"} | parameters)
    return output


def test_a_token_comes_back_as_a_handle_that_expires_with_it(case: Case, server: Server) -> None:
    output = assume(case, durationSeconds=600)
    assert server.asked == [
        (
            "/oauth/token",
            {
                "grant_type": "client_credentials", "client_id": "poimen", "client_secret": SECRET,
                "scope": "llm:read", "subject": "ann", "duration_seconds": 600, "expires_in": 600,
            },
        )
    ]  # fmt: skip
    assert (output["expiresIn"], output["tokenType"]) == (900, "Bearer")
    assert abs(output["expiresAt"] - time.time() - 900) < 60
    row = Secret.objects.get()
    assert output["token"] == f"secret:{row.pk}"
    assert row.expires_at is not None
    assert int(row.expires_at.timestamp()) == output["expiresAt"]
    assert secrets.reveal(f"Bearer {output['token']}", case.customer) == f"Bearer {TOKEN}"
    assert TOKEN not in case.said + json.dumps(output) + row.name
    assert SECRET not in case.said


def test_a_form_is_sent_where_it_is_asked_for(case: Case, server: Server) -> None:
    assume(case, encoding="form", scope="a b&c")
    assert server.asked[0][1]["scope"] == ["a b&c"]
    assert server.asked[0][1]["grant_type"] == ["client_credentials"]


def test_the_same_token_again_is_one_secret(case: Case, server: Server) -> None:
    assert assume(case)["token"] == assume(case)["token"]
    assert Secret.objects.count() == 1


def test_more_than_a_day_counts_as_a_day(case: Case, server: Server) -> None:
    assume(case, durationSeconds=10**9)
    assert server.asked[0][1]["duration_seconds"] == 86_400
    assert "86400 is the most" in case.said


@pytest.mark.parametrize(
    "status, body, message, retryable",
    [
        (401, {"error": "invalid_client", "error_description": TOKEN}, r"answered 401 \(invalid_client\)$", False),
        (400, {"error": f"odd {TOKEN}"}, "answered 400$", False),
        (403, "<html>", "answered 403$", False),
        (307, {}, "answered 307$", False),
        (429, {}, "answered 429$", True),
        (500, {"error": "server_error"}, "answered 500", True),
        (201, {"access_token": TOKEN}, "answered 201$", False),
    ],
)
def test_a_refusal_is_told_by_its_status_and_code_alone(
    case: Case, server: Server, status: int, body: Any, message: str, retryable: bool
) -> None:
    server.status, server.body = status, (body if isinstance(body, str) else json.dumps(body)).encode()
    with pytest.raises(ActivityError, match=message) as failed:
        assume(case)
    assert (failed.value.name, failed.value.retryable) == ("TokenRefused", retryable)
    assert TOKEN not in failed.value.message
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"", b"<html>", b"[]", b"null", b"{}", b'{"access_token": ""}', b'{"access_token": 7}', b"[" * 30_000,
        b'{"access_token": "a b"}', b'{"access_token": "a\\r\\nX: y"}', b'{"access_token": "x", "expires_in": -1}',
        b'{"access_token": "x", "expires_in": "never"}', b'{"access_token": "x", "expires_in": true}',
        b'{"access_token": "x", "expires_in": 1e99}', b'{"access_token": "x", "expires_in": NaN}',
    ],
)  # fmt: skip
def test_what_is_no_answer_may_be_asked_again_and_stores_nothing(case: Case, server: Server, body: bytes) -> None:
    server.body = body
    with pytest.raises(ActivityError) as failed:
        assume(case)
    assert (failed.value.name, failed.value.retryable) == ("TokenRefused", True)
    assert not Secret.objects.exists()


def test_huge_and_slow_servers_are_bounded(case: Case, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.body = b" " * 70_000
    with pytest.raises(PermanentError, match="more than 64 KiB"):
        assume(case)
    server.body, server.trickles = b"", True
    monkeypatch.setattr("workflows.activities.assume_role.SECONDS", 0.4)
    with pytest.raises(ActivityError, match=r"did not answer within 0.4 s") as failed:
        assume(case)
    assert failed.value.retryable


def test_only_servers_that_the_operator_named_are_asked(case: Case, server: Server, settings: Settings) -> None:
    other = Server()
    try:
        similar = (f"{server.url}.evil.example", f"{server.url}@evil.example", f"{server.url}/..")
        for url in (other.url, "http://169.254.169.254", "file:///etc/passwd", *similar):
            with pytest.raises(WorkflowError, match="authServerUrl") as refused:
                assume(case, authServerUrl=url, clientId="me", clientSecret="mine-alone")
            assert (refused.value.name, refused.value.retryable) == ("ForbiddenTarget", False)
        assert not other.asked
        settings.POIMEN_AUTHORIZATION["others"] = [other.url]
        for given in ({}, {"clientId": "me"}):
            with pytest.raises(PermanentError, match="not provided"):
                assume(case, authServerUrl=other.url, **given)
        assert not other.asked  # the operator's secret stays with the operator's server
        assume(case, authServerUrl=f"{other.url}/", clientId="me", clientSecret="mine-alone")
        assert (other.asked[0][1]["client_id"], other.asked[0][1]["client_secret"]) == ("me", "mine-alone")
        assert "mine-alone" not in case.said
    finally:
        other.stop()


@pytest.mark.parametrize(
    "setting, field, variable",
    [
        ("server", "authServerUrl", "AUTH_SERVER_URL"),
        ("client_id", "clientId", "OAUTH_CLIENT_ID"),
        ("client_secret", "clientSecret", "OAUTH_CLIENT_SECRET"),
    ],
)
def test_what_is_not_configured_is_named(
    case: Case, server: Server, settings: Settings, setting: str, field: str, variable: str
) -> None:
    settings.POIMEN_AUTHORIZATION |= {setting: ""}
    with pytest.raises(PermanentError, match=f"{field}: not provided, and {variable} is not set"):
        assume(case)


@pytest.mark.parametrize(
    "wrong", [{"identity": ""}, {"scope": ""}, {"durationSeconds": 0}, {"encoding": "xml"}, {"identity": 7}]
)
def test_wrong_inputs_are_named(case: Case, server: Server, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        assume(case, **wrong)
    assert not server.asked


def test_the_handle_opens_doors_for_other_activities_and_the_token_is_nowhere(
    server: Server, engine: Engine, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In processes of their own, as in an installation: they find database and settings in their environment."""
    installed = os.environ.get("DATABASE_URL") or EmbeddedPostgres(settings.POIMEN_HOME).url
    database = urlsplit(installed)._replace(path=f"/{connection.settings_dict['NAME']}").geturl()
    host = server.url.removeprefix("http://")
    settings.POIMEN_ALLOWED_PRIVATE_HOSTS = [host]
    for name, value in {
        "DATABASE_URL": database, "AUTH_SERVER_URL": server.url,
        "OAUTH_CLIENT_ID": "poimen", "OAUTH_CLIENT_SECRET": SECRET, "POIMEN_ALLOWED_PRIVATE_HOSTS": host,
        "POIMEN_SECRET_KEY": settings.SECRET_KEY,
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    bearer = {"Authorization": "Bearer ${Role.output.token}"}
    spec = {
        "name": "role",
        "states": [
            {"name": "Role", "type": "Task", "resource": "AssumeRoleActivity",
             "parameters": {"identity": "ann", "scope": "llm:read"}, "next": "Call"},
            {"name": "Call", "type": "Task", "resource": "HttpRequestActivity",
             "parameters": {"method": "POST", "url": f"{server.url}/call", "headers": bearer, "body": {"a": 1}},
             "next": "Tell"},
            {"name": "Tell", "type": "Task", "resource": "NotifyStatusActivity",
             "parameters": {"channel": "webhook", "status": "success", "message": "done",
                            "url": f"{server.url}/hook/${{Role.output.token}}"}},
        ],
    }  # fmt: skip
    execution = started(customer(), spec)
    engine.pump()
    ended = engine.ended(execution.pk, seconds=60)
    assert ended.status == "success", ended.errors
    assert server.authorizations[1] == f"Bearer {TOKEN}"
    assert server.asked[2][0] == f"/hook/{TOKEN}"
    assert NotificationRecord.objects.get().status == "delivered"
    rows = str([list(model.objects.values()) for model in (StateRun, LogEntry, NotificationRecord, Secret)])
    assert TOKEN not in rows
    assert SECRET not in rows
    assert StateRun.objects.filter(state="Role", output__token=f"secret:{Secret.objects.get().pk}").exists()
