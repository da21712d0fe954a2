"""Every endpoint of the URL conf, with every role, for own and for foreign things; a new one needs a rule here."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from rest_framework.test import APIClient

from agents.models import Exchange, ExternalTask
from canvas.tests.drawing import node
from poimen_site.tests.test_api_docs import methods_of, rest_routes
from workflows.api_keys import create_key
from workflows.models import Execution, Role, Scope, StateRun, Workflow
from workflows.schedules.changes import create_schedule
from workflows.tests.people import ECHO, customer, member, signed_in
from workflows.tests.test_approvals import gate

pytestmark = pytest.mark.django_db


@dataclass(frozen=True)
class Rule:
    """Who may: the least role, what to send, and the answer for those who may."""

    role: Role
    code: int = 200
    body: Any = None
    by_key: bool = True


VIEWER, EDITOR, OPERATOR, APPROVER, ADMIN = Role
CANVAS = {"name": "x", "nodes": [], "edges": []}
KEY = {"name": "x", "scopes": ["read"]}
WORKFLOW = "workflows/<str:workflow_id>"
EXECUTION = "executions/<str:execution_id>"
SCHEDULE = "schedules/<str:schedule_id>"
HOURLY = {"name": "hourly", "schedule": "0 * * * *"}
PAST = {"start": "2026-01-01T00:00:00Z", "end": "2026-01-01T03:00:00Z"}
DESCRIBE = {"action": "DESCRIBE_WORKFLOW", "payload": {"workflow_id": "{execution}"}}

RULES: dict[tuple[str, str], Rule] = {
    ("post", "workflow"): Rule(VIEWER, 200, DESCRIBE),  # each action's own role: canvas/tests/test_gateway.py
    ("get", "workflows"): Rule(VIEWER),
    ("post", "workflows"): Rule(EDITOR, 201, CANVAS),
    ("post", "workflows/validate"): Rule(VIEWER, 200, CANVAS),
    ("post", "workflows/compatibility"): Rule(VIEWER, 200, {}),
    ("post", "workflows/draw"): Rule(VIEWER, 200, {"spec": ECHO}),
    ("get", WORKFLOW): Rule(VIEWER),
    ("put", WORKFLOW): Rule(EDITOR, 200, {"name": "y"}),
    ("patch", WORKFLOW): Rule(EDITOR, 200, {"name": "y"}),
    ("delete", WORKFLOW): Rule(EDITOR, 204),
    ("get", f"{WORKFLOW}/draft"): Rule(EDITOR, 204),  # they have none yet
    ("put", f"{WORKFLOW}/draft"): Rule(EDITOR, 200, {**CANVAS, "baseVersion": 1}),
    ("delete", f"{WORKFLOW}/draft"): Rule(EDITOR, 204),
    ("post", f"{WORKFLOW}/execute"): Rule(OPERATOR, 201, {}),
    ("get", f"{WORKFLOW}/executions"): Rule(VIEWER),
    ("get", f"{WORKFLOW}/versions"): Rule(VIEWER),
    ("get", f"{WORKFLOW}/versions/<int:version>"): Rule(VIEWER),
    ("get", f"{WORKFLOW}/relations/<path:edge_id>/versions"): Rule(VIEWER),
    ("get", "executions"): Rule(VIEWER),
    ("get", EXECUTION): Rule(VIEWER),
    ("get", f"{EXECUTION}/states"): Rule(VIEWER),
    ("get", f"{EXECUTION}/logs"): Rule(VIEWER),
    ("get", f"{EXECUTION}/artifacts"): Rule(VIEWER),
    ("get", f"{EXECUTION}/artifacts/<path:name>"): Rule(VIEWER),
    ("post", f"{EXECUTION}/cancel"): Rule(OPERATOR, 202, {}),
    ("post", f"{EXECUTION}/pause"): Rule(OPERATOR, 202, {}),
    ("post", f"{EXECUTION}/resume"): Rule(OPERATOR, 409, {}),
    ("post", f"{EXECUTION}/signal"): Rule(OPERATOR, 202, {"name": "go"}),
    ("get", f"{EXECUTION}/rerun"): Rule(OPERATOR),
    ("post", f"{EXECUTION}/rerun"): Rule(OPERATOR, 409, {}),
    ("get", f"{EXECUTION}/exchanges"): Rule(VIEWER),
    ("get", f"{EXECUTION}/usage"): Rule(VIEWER),
    ("get", "exchanges/<str:exchange_id>"): Rule(VIEWER),
    ("get", "external-tasks"): Rule(VIEWER),
    ("get", "external-tasks/<str:task_id>"): Rule(VIEWER),
    ("get", "activities"): Rule(VIEWER),
    ("get", "audit"): Rule(ADMIN),
    ("get", "cached-results"): Rule(VIEWER),
    ("post", "cached-results/forget"): Rule(OPERATOR, 200, {"all": True}),
    ("get", "approvals"): Rule(VIEWER),
    ("get", "approvals/stats"): Rule(VIEWER),
    ("get", "approvals/<str:gate_id>"): Rule(VIEWER),
    ("post", "approvals/<str:gate_id>/approve"): Rule(APPROVER, 200, {}),
    ("post", "approvals/<str:gate_id>/reject"): Rule(APPROVER, 200, {"reason": "no"}),
    ("get", "api-keys"): Rule(ADMIN, by_key=False),
    ("post", "api-keys"): Rule(ADMIN, 201, KEY, by_key=False),
    ("get", "api-keys/<str:key_id>"): Rule(ADMIN, by_key=False),
    ("delete", "api-keys/<str:key_id>"): Rule(ADMIN, 204, by_key=False),
    ("get", "schedules"): Rule(VIEWER),
    ("post", "schedules"): Rule(OPERATOR, 201, {**HOURLY, "spec": ECHO}),
    ("post", "schedules/preview"): Rule(VIEWER, 200, {"schedule": "@daily"}),
    ("get", SCHEDULE): Rule(VIEWER),
    ("put", SCHEDULE): Rule(OPERATOR, 200, {**HOURLY, "spec": ECHO}),
    ("patch", SCHEDULE): Rule(OPERATOR, 200, {"name": "y"}),
    ("delete", SCHEDULE): Rule(OPERATOR, 204),
    ("post", f"{SCHEDULE}/pause"): Rule(OPERATOR, 200, {}),
    ("post", f"{SCHEDULE}/resume"): Rule(OPERATOR, 200, {}),
    ("post", f"{SCHEDULE}/trigger"): Rule(OPERATOR, 201, {}),
    ("post", f"{SCHEDULE}/backfill"): Rule(OPERATOR, 202, PAST),
    ("get", f"{SCHEDULE}/executions"): Rule(VIEWER),
    ("get", "secrets"): Rule(EDITOR),
    ("post", "expressions/evaluate"): Rule(EDITOR, 200, {"expression": "1 + 1"}),
    ("post", "route"): Rule(EDITOR, 201, {"message": "scan https://example.org/a.git"}),
    ("post", "workflows/suggest-connections"): Rule(EDITOR, 200, {"nodes": [{"id": "a", "type": "echo"}]}),
    ("post", "specs/validate"): Rule(VIEWER, 200, {"spec": ECHO}),
    ("post", "specs/execute"): Rule(OPERATOR, 201, {"spec": ECHO}),
}
# Signing in, and the description of the API itself, are for no customer: test_sign_in.py, test_api_docs.py.
WITHOUT_CUSTOMER = {("post", "auth/token"), ("post", "auth/refresh"), ("get", "schema"), ("get", "docs")}
# What is no REST endpoint: open to probes and to those who sign in, or with rules and tests of its own.
OPEN = {
    "admin/login/", "health", "health/live", "health/ready", "workflow/health", "workflow/metrics", "metrics",
    "ui/sign-in", "ui/sign-out", "ui/customer", "docs",
}  # fmt: skip
PAGES = {
    "", "ui/workflows", "ui/workflows/<str:workflow_id>", "ui/workflows/<str:workflow_id>/edit", "ui/executions",
    "ui/executions/<str:execution_id>", "ui/executions/<str:execution_id>/compare",
    "ui/executions/<str:execution_id>/runs/<int:run_id>", "ui/executions/<str:execution_id>/log.txt",
    "ui/executions/<str:execution_id>/artifacts/<path:name>", "ui/executions/<str:execution_id>/attempts",
    "ui/executions/<str:execution_id>/places", "ui/exchanges/<str:exchange_id>", "ui/<path:rest>",
    "ui/route", "ui/schedules", "ui/schedules/new",
    "ui/schedules/<str:schedule_id>", "ui/schedules/<str:schedule_id>/edit",
}  # fmt: skip
LEAD_HOME = {"ui", "ui/"}
ENDPOINTS = sorted(RULES)
OBJECTS = [(method, route) for method, route in ENDPOINTS if "<" in route] + [("post", "workflow")]


class Things:
    """A workflow, an execution, a gate, an API key, a schedule, an exchange and an ended attempt of one customer."""

    def __init__(self, slug: str) -> None:
        asked = gate(slug=slug)
        run = Execution.objects.get(pk=asked.execution_id)
        key, _ = create_key(customer(slug), name="ci", scopes=[Scope.READ], role=Role.VIEWER)
        editor = signed_in(member(customer(slug), Role.EDITOR))
        drawn = editor.post("/workflows", {"name": "w", "nodes": [node("a")], "edges": []}, format="json")
        scheduled = create_schedule(customer(slug), {**HOURLY, "spec": ECHO}, by="")
        now = datetime.now(UTC)
        exchange = Exchange.objects.create(
            customer=customer(slug), execution=run.pk, state="A", alias="reasoning", model="reasoning", started_at=now,
            expires_at=now, prompt_tokens=5, request={"messages": []},
        )  # fmt: skip
        task = ExternalTask.objects.create(
            customer=customer(slug), source="github", project="o/r", external_id="1", title="x", status="open",
            last_synced_at=now,
        )  # fmt: skip
        kept = Path(settings.POIMEN_HOME, "artifacts", str(run.pk), "report.md")
        kept.parent.mkdir(parents=True)
        kept.write_text("# Fine")
        self.values = {
            "<str:workflow_id>": drawn.json()["id"],
            "<str:execution_id>": str(run.pk),
            "<str:gate_id>": str(asked.pk),
            "<str:key_id>": str(key.pk),
            "<str:schedule_id>": str(scheduled.pk),
            "<str:exchange_id>": str(exchange.pk),
            "<str:task_id>": str(task.pk),
            "<int:version>": "1",
            "<path:edge_id>": "a-b",
            "<int:run_id>": "1",
            "<path:name>": "report.md",
            "<path:rest>": "nowhere",
        }

    def path(self, route: str) -> str:
        for placeholder, value in self.values.items():
            route = route.replace(placeholder, value)
        assert "<" not in route, f"{route}: say in Things what stands there"
        return f"/{route}"

    def call(self, client: APIClient, method: str, route: str) -> Any:
        rule = RULES[method, route]
        if rule.body is None:
            return getattr(client, method)(self.path(route))
        body = rule.body
        if body is DESCRIBE:
            body = {**DESCRIBE, "payload": {"workflow_id": self.values["<str:execution_id>"]}}
        return getattr(client, method)(self.path(route), body, format="json")


def all_routes() -> set[str]:
    found: set[str] = set()
    pending: list[tuple[str, Any]] = [("", get_resolver())]
    while pending:
        prefix, item = pending.pop()
        route = prefix + re.sub(r"^\^/?", "", str(item.pattern))
        if isinstance(item, URLPattern):
            found.add(route)
        elif isinstance(item, URLResolver) and route != "admin/":  # the admin's own: workflows/tests/test_admin_*.py
            pending += [(route, inner) for inner in item.url_patterns]
    return found


def test_every_endpoint_has_a_rule() -> None:
    served = {(method, route) for route, view in rest_routes() for method in methods_of(view)}
    assert served - WITHOUT_CUSTOMER == set(RULES)
    others = all_routes() - {route for _, route in served}
    assert others == (OPEN | PAGES | LEAD_HOME) - {route for _, route in served}


@pytest.mark.parametrize("method, route", ENDPOINTS)
def test_each_role_may_do_its_share_and_no_more(method: str, route: str) -> None:
    rule, things = RULES[method, route], Things("acme")
    for role in Role:
        before = transaction.savepoint()
        answer = things.call(signed_in(member(customer("acme"), role)), method, route)
        transaction.savepoint_rollback(before)
        if role.covers(rule.role):
            assert answer.status_code == rule.code, (role, answer.content)
        else:
            assert answer.status_code == 403, role
            assert f"role {rule.role.value}" in answer.json()["error"]


@pytest.mark.parametrize("method, route", ENDPOINTS)
def test_nobody_gets_in_without_signing_in(method: str, route: str) -> None:
    things = Things("acme")
    answer = things.call(APIClient(), method, route)
    assert answer.status_code == 401
    assert "error" in answer.json()


@pytest.mark.parametrize("method, route", OBJECTS)
def test_what_is_anothers_does_not_exist_and_stays_as_it_is(method: str, route: str) -> None:
    theirs = Things("other")
    before = (Workflow.objects.values().get(), Execution.objects.values().get(), StateRun.objects.count())
    answer = theirs.call(signed_in(member(customer("acme"), Role.ADMIN)), method, route)
    assert answer.status_code == 404
    assert answer.json()["error"].endswith("not found")
    assert (Workflow.objects.values().get(), Execution.objects.values().get(), StateRun.objects.count()) == before


@pytest.mark.parametrize("method, route", ENDPOINTS)
def test_a_key_may_do_what_its_scopes_say(method: str, route: str) -> None:
    rule, things = RULES[method, route], Things("acme")
    only_looks = method == "get" or rule.role == VIEWER
    for scopes in ([Scope.READ], [Scope.WRITE, Scope.RUN, Scope.APPROVE]):
        user = member(customer("acme"), Role.ADMIN)
        _, text = create_key(customer("acme"), name="x", scopes=scopes, role=Role.ADMIN, user=user)
        client = APIClient()
        client.credentials(HTTP_X_API_KEY=text)
        answer = things.call(client, method, route)
        if rule.by_key and only_looks == (scopes == [Scope.READ]):
            assert answer.status_code == rule.code, answer.content
        else:
            assert answer.status_code == 403


@pytest.mark.parametrize("route", sorted(PAGES | LEAD_HOME))
def test_pages_want_a_sign_in_and_show_nothing_of_others(route: str) -> None:
    theirs = Things("other")
    path = theirs.path(route)
    assert Client().get(path).status_code == 302
    visitor = Client()
    visitor.force_login(member(customer("acme"), Role.ADMIN))
    answer = visitor.get(path)
    assert answer.status_code == (301 if route in LEAD_HOME else 404 if "<" in route else 200)
    for secret in ("<str:workflow_id>", "<str:execution_id>"):
        assert theirs.values[secret] not in answer.content.decode().replace(path, "")
