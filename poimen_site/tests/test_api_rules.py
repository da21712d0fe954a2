"""Rules that hold for every endpoint, each as a table of all of them: what is not there, pages, types, the log."""

import logging.config
from collections.abc import Iterable
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from rest_framework.test import APIClient

from canvas.api.urls import urlpatterns as canvas_paths
from canvas.tests.asking import saved
from canvas.tests.drawing import node
from poimen_site.tests.test_api_docs import methods_of, rest_routes
from poimen_site.tests.test_api_permissions import Things
from workflows.api.urls import urlpatterns as workflow_paths
from workflows.api_keys import create_key
from workflows.models import Role, Scope
from workflows.schedules.changes import create_schedule
from workflows.tests.people import ECHO, customer, member, signed_in
from workflows.tests.test_approvals import gate

pytestmark = pytest.mark.django_db

HOURLY = {"name": "hourly", "schedule": "0 * * * *", "spec": ECHO}
PAST = {"start": "2026-01-01T00:00:00Z", "end": "2026-01-01T03:00:00Z"}
# Every path with an id: route, methods with the body that would be right, what a 404 says there is none of.
WITH_ID: list[tuple[str, dict[str, Any], str]] = [
    ("workflows/<str:workflow_id>", {"get": None, "put": {"name": "x"}, "patch": {}, "delete": None}, "Workflow"),
    ("workflows/<str:workflow_id>/draft", {"get": None, "put": {"baseVersion": 1}, "delete": None}, "Workflow"),
    ("workflows/<str:workflow_id>/execute", {"post": {}}, "Workflow"),
    ("workflows/<str:workflow_id>/executions", {"get": None}, "Workflow"),
    ("workflows/<str:workflow_id>/versions", {"get": None}, "Workflow"),
    ("workflows/<str:workflow_id>/versions/<int:version>", {"get": None}, "Workflow"),
    ("workflows/<str:workflow_id>/relations/<path:edge_id>/versions", {"get": None}, "Workflow"),
    ("executions/<str:execution_id>", {"get": None}, "Execution"),
    ("executions/<str:execution_id>/cancel", {"post": {}}, "Execution"),
    ("executions/<str:execution_id>/pause", {"post": {}}, "Execution"),
    ("executions/<str:execution_id>/resume", {"post": {}}, "Execution"),
    ("executions/<str:execution_id>/signal", {"post": {"name": "go"}}, "Execution"),
    ("executions/<str:execution_id>/rerun", {"get": None, "post": {}}, "Execution"),
    ("executions/<str:execution_id>/states", {"get": None}, "Execution"),
    ("executions/<str:execution_id>/logs", {"get": None}, "Execution"),
    ("executions/<str:execution_id>/artifacts", {"get": None}, "Execution"),
    ("executions/<str:execution_id>/artifacts/<path:name>", {"get": None}, "Execution"),
    ("api-keys/<str:key_id>", {"get": None, "delete": None}, "API key"),
    ("schedules/<str:schedule_id>", {"get": None, "put": HOURLY, "patch": {}, "delete": None}, "Schedule"),
    ("schedules/<str:schedule_id>/pause", {"post": {}}, "Schedule"),
    ("schedules/<str:schedule_id>/resume", {"post": {}}, "Schedule"),
    ("schedules/<str:schedule_id>/trigger", {"post": {}}, "Schedule"),
    ("schedules/<str:schedule_id>/backfill", {"post": PAST}, "Schedule"),
    ("schedules/<str:schedule_id>/executions", {"get": None}, "Schedule"),
    ("approvals/<str:gate_id>", {"get": None}, "Approval"),
    ("approvals/<str:gate_id>/approve", {"post": {}}, "Approval"),
    ("approvals/<str:gate_id>/reject", {"post": {"reason": "no"}}, "Approval"),
]
# Every list with a limit, and the most it gives.
LISTS: list[str] = [
    "/external-tasks", "/cached-results", "/workflows", "/workflows/{workflow}/executions",
    "/workflows/{workflow}/versions",
    "/executions", "/approvals",
    "/api-keys", "/executions/{execution}/artifacts", "/schedules", "/schedules/{schedule}/executions",
    "/executions/{execution}/states", "/executions/{execution}/logs",
]  # fmt: skip
PAGED = LISTS[:11]
# Every GET there is, but for the two that are not ours: their own parameters are drf-spectacular's.
READ = sorted(route for route, view in rest_routes() if "get" in methods_of(view) and route not in ("schema", "docs"))
TEXT: tuple[Any, ...] = (5, 1.5, True, [], {}, ["x"], {"a": "b"})
WORKFLOW_TEXTS = ("name", "description", "status", "changeReason")
SCHEDULE_TEXTS = (
    "name", "description", "schedule", "timezone", "workflowId", "overlapPolicy", "jitter", "startAt", "endAt",
)  # fmt: skip
SCHEDULE_NUMBERS = ("priority", "maxRuns", "workflowVersion")
API_KEY = {"name": "x", "scopes": ["read"]}
# Every field of every body: method, path, the rest of the body, field, values of another type.
TYPED: list[tuple[str, str, dict[str, Any], str, Iterable[Any]]] = [
    ("post", "/auth/token", {"password": "x"}, "username", TEXT),
    ("post", "/auth/token", {"username": "x"}, "password", TEXT),
    ("post", "/auth/token", {"username": "x", "password": "x"}, "customer", TEXT),
    ("post", "/auth/refresh", {}, "refresh", TEXT),
    *(("post", "/workflows", {"name": "x"}, field, TEXT) for field in WORKFLOW_TEXTS),
    *(("post", "/workflows", {"name": "x"}, field, (5, True, "x", {"a": 1}, [5])) for field in ("nodes", "edges")),
    *(("put", "/workflows/{workflow}", {}, field, TEXT) for field in WORKFLOW_TEXTS),
    ("put", "/workflows/{workflow}", {}, "version", ("1", True, 1.5, [])),
    ("post", "/workflows/validate", {"nodes": [], "edges": []}, "name", TEXT),
    ("post", "/workflows/validate", {"nodes": [], "edges": []}, "status", TEXT),
    ("post", "/workflows/{workflow}/execute", {}, "inputs", (5, True, "x", [1])),
    ("post", "/workflows/{workflow}/execute", {}, "priority", ("1", True, 1.5, [])),
    *(("post", f"/executions/{{execution}}/{ask}", {}, "reason", TEXT) for ask in ("cancel", "pause", "resume")),
    ("post", "/executions/{execution}/signal", {}, "name", TEXT),
    ("post", "/executions/{execution}/signal", {"name": "go"}, "dedupeKey", TEXT),
    ("post", "/executions/{execution}/rerun", {}, "fromState", TEXT),
    *(("post", "/schedules", HOURLY, field, TEXT) for field in SCHEDULE_TEXTS),
    *(("post", "/schedules", HOURLY, field, (5, True, "x", [1])) for field in ("spec", "inputs")),
    *(("post", "/schedules", HOURLY, field, ("1", True, 1.5, [])) for field in SCHEDULE_NUMBERS),
    ("post", "/schedules", HOURLY, "enabled", ("yes", 1, [], {})),
    ("post", "/schedules", HOURLY, "catchUp", (5, 1.5, [], {})),
    ("patch", "/schedules/{schedule}", {}, "name", TEXT),
    ("put", "/schedules/{schedule}", HOURLY, "name", TEXT),
    *(("post", f"/schedules/{{schedule}}/{ask}", {}, "reason", TEXT) for ask in ("pause", "resume")),
    *(("post", "/schedules/{schedule}/backfill", PAST, field, TEXT) for field in PAST),
    *(("post", "/schedules/preview", {"schedule": "@daily"}, field, TEXT) for field in ("schedule", "timezone")),
    ("post", "/cached-results/forget", {}, "all", ("true", 1, [], {})),
    *(("post", "/cached-results/forget", {}, field, TEXT) for field in ("activity", "workflowId", "id")),
    ("post", "/route", {}, "message", TEXT),
    ("post", "/route", {"message": "x"}, "context", (5, True, [], ["x"])),
    ("post", "/route", {"message": "x"}, "dryRun", (5, "true", [], {})),
    ("post", "/api-keys", {"scopes": ["read"]}, "name", TEXT),
    *(("post", "/api-keys", API_KEY, field, TEXT) for field in ("role", "user", "expiresAt")),
    ("post", "/api-keys", {"name": "x"}, "scopes", (5, True, "read", {}, [])),
    *(("post", f"/approvals/{{gate}}/{vote}", {}, "reason", TEXT) for vote in ("approve", "reject")),
]  # fmt: skip


def admin(slug: str = "acme") -> APIClient:
    return signed_in(member(customer(slug), Role.ADMIN))


def ids(slug: str = "acme") -> dict[str, str]:
    """A workflow, an execution, a gate, an API key and a schedule of that customer."""
    asked = gate(slug=slug)
    key, _ = create_key(customer(slug), name="ci", scopes=[Scope.READ], role=Role.VIEWER)
    workflow = saved(admin(slug), nodes=[node("a")], edges=[])["id"]
    schedule = create_schedule(customer(slug), HOURLY, by="")
    found = {"execution": asked.execution_id, "gate": asked.pk, "key": key.pk, "schedule": schedule.pk}
    return {"workflow": workflow, **{name: str(pk) for name, pk in found.items()}}


def call(client: APIClient, method: str, path: str, body: Any) -> Any:
    return getattr(client, method)(path, **({} if body is None else {"data": body, "format": "json"}))


def test_the_tables_have_every_path() -> None:
    routes = [str(path.pattern) for path in (*canvas_paths, *workflow_paths)]
    assert sorted(route for route in routes if "<" in route) == sorted(route for route, *_ in WITH_ID)


@pytest.mark.parametrize("whose", ["unknown", "foreign", "malformed"])
@pytest.mark.parametrize("route, methods, thing", WITH_ID, ids=[route for route, *_ in WITH_ID])
def test_what_is_not_ones_own_is_not_found_by_name(route: str, methods: dict[str, Any], thing: str, whose: str) -> None:
    foreign = ids("other")
    given = {
        "unknown": dict.fromkeys(foreign, str(uuid4())),
        "foreign": foreign,
        "malformed": dict.fromkeys(foreign, "x"),
    }
    wanted = given[whose]
    path = "/" + (
        route.replace("<str:workflow_id>", wanted["workflow"])
        .replace("<str:execution_id>", wanted["execution"])
        .replace("<str:gate_id>", wanted["gate"])
        .replace("<str:key_id>", wanted["key"])
        .replace("<str:schedule_id>", wanted["schedule"])
        .replace("<int:version>", "1")
        .replace("<path:edge_id>", "a-b")
        .replace("<path:name>", "report.md")
    )
    for method, body in methods.items():
        answer = call(admin(), method, path, body)
        assert (answer.status_code, answer.json()) == (404, {"error": f"{thing} not found"}), method


def test_a_version_that_never_was_is_named() -> None:
    for version in ("2", "0", "99999999999999999999"):
        answer = admin().get(f"/workflows/{ids()['workflow']}/versions/{version}")
        assert (answer.status_code, answer.json()) == (404, {"error": "Version not found"})


@pytest.mark.parametrize("path", LISTS)
def test_every_list_has_one_rule_for_its_limit(path: str) -> None:
    client, address = admin(), path.format(**ids())
    for wrong in ("0", "-1", "x", "1.5", "9" * 2000):
        answer = client.get(address, {"limit": wrong})
        assert answer.status_code == 400, wrong
        assert answer.json()["error"] == "limit: expected a whole number of at least 1"
    for right in ("1", "100", "101", "10001", "99999999999999999999"):
        assert client.get(address, {"limit": right}).status_code == 200, right


@pytest.mark.parametrize("path", PAGED)
def test_every_list_has_one_rule_for_its_page(path: str) -> None:
    client, address = admin(), path.format(**ids())
    for wrong in ("0", "-1", "x", "100001", "9" * 2000):
        answer = client.get(address, {"page": wrong})
        assert (answer.status_code, answer.json()["error"]) == (400, "page: expected a whole number from 1 to 100,000")
    assert client.get(address, {"page": "100000"}).status_code == 200


@pytest.mark.parametrize("route", READ)
def test_an_unknown_parameter_is_refused_by_name(route: str) -> None:
    address = Things("acme").path(route)
    for name in ("nonsense", "\u0130d"):
        answer = admin().get(address, {name: "1"})
        assert answer.status_code == 400, answer.content
        assert answer.json()["error"].startswith(f"{name}: unknown parameter"), answer.json()
        assert list(answer.json()["details"]) == [name]
    answer = admin().get(address, {"format": "nonsense"})
    assert (answer.status_code, list(answer.json()["details"])) == (400, ["format"]), answer.content


def test_a_misspelt_parameter_is_told_what_it_may_have_been() -> None:
    for wrong, right in (("limti", "limit"), ("Status", "status"), ("create_by", "createdBy")):
        error = admin().get("/executions", {wrong: "1"}).json()["error"]
        assert error.startswith(f'{wrong}: unknown parameter (did you mean "{right}"?); known are: page, limit, '), (
            error
        )
    assert admin().get("/activities?x=1").json()["error"] == "x: unknown parameter; known are: none"
    body = admin().post("/api-keys", {"name": "x", "scope": ["read"]}, format="json").json()
    assert body["error"].startswith('scope: unknown key (did you mean "scopes"?)')


@pytest.mark.parametrize(
    "method, path, rest, field, wrong", TYPED, ids=[f"{path} {field}" for _, path, _, field, _ in TYPED]
)
def test_a_value_of_another_type_is_refused_with_its_field(
    method: str, path: str, rest: dict[str, Any], field: str, wrong: Iterable[Any]
) -> None:
    client, address = admin(), path.format(**ids())
    for value in wrong:
        answer = call(client, method, address, {**rest, field: value})
        assert answer.status_code == 400, value
        assert answer.json()["error"].startswith(field), answer.json()
        assert next(iter(answer.json()["details"])).startswith(field)


@pytest.mark.parametrize("method, path", sorted({(method, path) for method, path, *_ in TYPED}))
def test_a_body_that_is_no_object_is_refused(method: str, path: str) -> None:
    client, address = admin(), path.format(**ids())
    for body in ([], [1], 5, "x", True):
        answer = call(client, method, address, body)
        assert answer.status_code == 400, body
        assert "object" in answer.json()["error"], answer.json()


def test_no_refusal_prints_a_traceback(settings: Any, capfd: pytest.CaptureFixture[str]) -> None:
    viewer, made = signed_in(member(customer(), Role.VIEWER)), ids()
    staff = Client(enforce_csrf_checks=True)
    staff.force_login(member(customer(), Role.VIEWER, is_staff=True))
    capfd.readouterr()
    root = logging.getLogger()
    before = root.handlers[:]
    logging.config.dictConfig(settings.LOGGING)
    try:
        codes = [
            answer.status_code
            for answer in (
                call(viewer, "post", "/workflows", {"name": "x"}),
                viewer.get("/workflows", headers={"X-Customer": "nobody"}),
                call(viewer, "post", f"/approvals/{made['gate']}/approve", {}),
                staff.get("/admin/auth/user/"),
                staff.get("/admin/workflows/workflow/add/"),
                staff.post("/admin/logout/"),
                staff.get("/admin/nowhere/"),
                viewer.get("/nowhere"),
                Client().get("/workflows"),
                Client(headers={"Host": "evil.example"}).get("/health/live"),
                Client().post("/admin/login/", {"username": "x" * 5_000_000}),
                Client().post("/admin/login/", {str(number): "" for number in range(2000)}),
            )
        ]
        printed = "".join(capfd.readouterr())
    finally:
        root.handlers[:] = before
    assert codes == [403, 403, 403, 403, 403, 403, 404, 404, 401, 400, 413, 400]
    assert "evil.example" in printed
    assert "Traceback" not in printed
