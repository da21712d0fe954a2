"""Starting a drawn workflow over REST: at once, once per key, with few queries, and not at all if it cannot run."""

import threading
import time
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pydantic import BaseModel

from canvas import catalogue
from canvas.tests.asking import CHAIN, client, post, saved
from canvas.tests.drawing import edges, node
from workflows.activities.context import ActivityContext
from workflows.activities.registry import activity, registry
from workflows.models import Execution, Role, SpecDocument, WorkflowVersion
from workflows.tests.people import customer, member, signed_in
from workflows.tests.pumping import Engine, output_of

pytestmark = pytest.mark.django_db


def operator(slug: str = "acme") -> Any:
    return client(Role.OPERATOR, slug)


def test_a_start_answers_with_the_execution_and_it_runs(engine: Engine) -> None:
    ann = signed_in(member(engine.customer, Role.OPERATOR, name="ann"))
    made = saved(ann, nodes=[node("a", value="${workflow.input.who}"), node("b", value="${a.output.value}")])
    response = post(ann, f"/workflows/{made['id']}/execute", {"inputs": {"who": "world"}, "priority": 3})
    assert response.status_code == 201
    body = response.json()
    assert body["workflowId"] == made["id"]
    assert body["status"] in ("pending", "running")
    assert (body["inputs"], body["outputs"], body["logs"]) == ({"who": "world"}, {}, [])
    assert "completedAt" not in body
    assert "errors" not in body
    engine.pump()
    ended = engine.ended(body["id"])
    assert (ended.status, ended.priority, ended.created_by) == ("success", 3, "ann")
    assert ended.workflow_version is not None
    assert ended.workflow_version.version == 1
    assert output_of(ended.pk, "b") == {"value": "world"}


@pytest.mark.parametrize("body", [None, {}, {"inputs": None}, {"inputs": {}}])
def test_a_start_needs_no_body(body: Any) -> None:
    ann = operator()
    made = saved(ann)
    assert post(ann, f"/workflows/{made['id']}/execute", body).status_code == 201
    assert ann.post(f"/workflows/{made['id']}/execute").status_code == 201


@pytest.mark.parametrize(
    "body, says",
    [
        ({"inputs": [1]}, "inputs: expected an object"),
        ({"inputs": "x"}, "inputs: expected an object"),
        ({"priority": "high"}, "priority: expected a whole number"),
        ({"priority": True}, "priority: expected a whole number"),
        ({"priority": 10**9}, "priority: expected a number from"),
        ({"input": {}}, "input: unknown key"),
        ([], "must be a JSON object"),
    ],
)
def test_a_wrong_start_is_answered_with_the_field(body: Any, says: str) -> None:
    ann = operator()
    response = post(ann, f"/workflows/{saved(ann)['id']}/execute", body)
    assert response.status_code == 400
    assert says in response.json()["error"]
    assert not Execution.objects.exists()


def test_inputs_past_their_bound_are_refused() -> None:
    ann = operator()
    response = post(ann, f"/workflows/{saved(ann)['id']}/execute", {"inputs": {"x": "y" * 1_100_000}})
    assert response.status_code == 400
    assert "inputs" in response.json()["error"]


def test_a_canvas_with_errors_does_not_start() -> None:
    ann = operator()
    made = saved(ann, nodes=[node("a"), node("b", "Nope")])
    response = post(ann, f"/workflows/{made['id']}/execute")
    assert response.status_code == 422
    (problem,) = response.json()["details"]
    assert (problem["code"], problem["nodeId"]) == ("unknown-activity", "b")
    assert not Execution.objects.exists()


def test_a_draft_that_is_only_unfinished_does_not_start_either() -> None:
    ann = operator()
    made = saved(ann, nodes=[node("a"), node("b"), node("c")])
    response = post(ann, f"/workflows/{made['id']}/execute")
    assert response.status_code == 422
    assert [p["code"] for p in response.json()["details"]] == ["isolated-node"]


@pytest.mark.parametrize("which", ["archived", "foreign", "unknown", "malformed"])
def test_what_is_not_there_for_you_does_not_start(which: str) -> None:
    ann = operator()
    made = {"unknown": str(uuid4()), "malformed": "x"}.get(which, "")
    if which == "archived":
        made = saved(ann, status="archived")["id"]
    elif which == "foreign":
        made = saved(operator("other"))["id"]
    response = post(ann, f"/workflows/{made}/execute", {})
    assert (response.status_code, response.json()) == (404, {"error": "Workflow not found"})


def test_an_editor_does_not_start() -> None:
    made = saved(client())
    response = post(client(), f"/workflows/{made['id']}/execute")
    assert response.status_code == 403
    assert "operator" in response.json()["error"]


def test_a_start_runs_the_newest_save() -> None:
    ann = operator()
    made = saved(ann)
    ann.put(f"/workflows/{made['id']}", {"nodes": [node("z")], "edges": []}, format="json")
    body = post(ann, f"/workflows/{made['id']}/execute").json()
    execution = Execution.objects.get(pk=body["id"])
    assert execution.spec.document["startAt"] == "z"
    assert execution.workflow_version is not None
    assert execution.workflow_version.version == body["version"] == 2


# -- inputs that parameters need --------------------------------------------------------------------------------


class Wanted(BaseModel):
    """An input that must be given."""

    word: str


@pytest.fixture
def wanting() -> Any:
    """An activity that needs ``word``; gone after the test."""

    @activity("WantingActivity", category="testing", isolation="inline")
    def want(input: Wanted, context: ActivityContext) -> Wanted:
        """Give the word back."""
        return input

    yield want
    registry._activities.pop("WantingActivity", None)


def test_a_required_parameter_can_come_with_the_start(wanting: Any, engine: Engine) -> None:
    ann = signed_in(member(engine.customer, Role.OPERATOR))
    made = saved(ann, nodes=[node("w", "wanting")], edges=[])
    assert [e["code"] for e in made["validation"]["errors"]] == ["missing-parameter"]
    response = post(ann, f"/workflows/{made['id']}/execute", {"inputs": {"other": 1}})
    assert response.status_code == 422
    (problem,) = response.json()["details"]
    assert (problem["code"], problem["nodeId"], problem["parameter"]) == ("missing-parameter", "w", "word")
    response = post(ann, f"/workflows/{made['id']}/execute", {"inputs": {"word": "given"}})
    assert response.status_code == 201
    engine.pump()
    ended = engine.ended(response.json()["id"])
    assert (ended.status, output_of(ended.pk, "w")) == ("success", {"word": "given"})


def test_a_spec_is_compiled_again_when_its_activities_have_changed(wanting: Any) -> None:
    ann = operator()
    made = saved(ann, nodes=[node("w", "wanting", word="x")], edges=[], status="active")
    path = f"/workflows/{made['id']}/execute"
    before = SpecDocument.objects.get()
    assert post(ann, path).status_code == 201
    assert SpecDocument.objects.count() == 1

    class More(BaseModel):
        word: str
        second: int

    registry._activities.pop("WantingActivity")

    @activity("WantingActivity", category="testing", isolation="inline")
    def want_more(input: More, context: ActivityContext) -> More:
        """Give both back."""
        return input

    response = post(ann, path)
    assert response.status_code == 422
    assert [(p["code"], p["parameter"]) for p in response.json()["details"]] == [("missing-parameter", "second")]
    assert post(ann, path, {"inputs": {"second": 2}}).status_code == 201
    version = WorkflowVersion.objects.get()
    assert version.spec_id != before.pk
    registry._activities.pop("WantingActivity")
    assert [p["code"] for p in post(ann, path).json()["details"]] == ["unknown-activity"]


# -- once per key -----------------------------------------------------------------------------------------------


def test_the_same_key_is_the_same_execution() -> None:
    ann = operator()
    path = f"/workflows/{saved(ann)['id']}/execute"
    first = post(ann, path, {"inputs": {"n": 1}}, HTTP_IDEMPOTENCY_KEY="k1")
    again = post(ann, path, {"inputs": {"n": 1}}, HTTP_IDEMPOTENCY_KEY="k1")
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["id"] == again.json()["id"]
    other = post(ann, path, {"inputs": {"n": 2}}, HTTP_IDEMPOTENCY_KEY="k1")
    assert other.status_code == 409
    assert "idempotency key" in other.json()["error"]
    assert post(ann, path, {"inputs": {"n": 2}}, HTTP_IDEMPOTENCY_KEY="k2").status_code == 201
    assert Execution.objects.count() == 2


def test_a_key_belongs_to_its_customer() -> None:
    ann, eve = operator(), operator("other")
    first = post(ann, f"/workflows/{saved(ann)['id']}/execute", HTTP_IDEMPOTENCY_KEY="k").json()
    second = post(eve, f"/workflows/{saved(eve)['id']}/execute", HTTP_IDEMPOTENCY_KEY="k").json()
    assert first["id"] != second["id"]


@pytest.mark.parametrize("key", ["", "   ", "x" * 256, "a\x00b"])
def test_a_key_that_is_none_is_refused(key: str) -> None:
    ann = operator()
    response = post(ann, f"/workflows/{saved(ann)['id']}/execute", HTTP_IDEMPOTENCY_KEY=key)
    assert response.status_code == 400


@pytest.mark.django_db(transaction=True)
def test_twenty_starts_with_one_key_at_once_are_one_execution() -> None:
    user = member(customer(), Role.OPERATOR)
    path = f"/workflows/{saved(signed_in(user))['id']}/execute"
    answers: list[tuple[int, str]] = []

    def begin() -> None:
        response = post(signed_in(user), path, {"inputs": {"n": 1}}, HTTP_IDEMPOTENCY_KEY="only one")
        answers.append((response.status_code, response.json()["id"]))
        connection.close()

    threads = [threading.Thread(target=begin) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(code for code, _ in answers) == [200] * 19 + [201]
    assert len({execution for _, execution in answers}) == 1
    assert Execution.objects.count() == 1


# -- speed ------------------------------------------------------------------------------------------------------


def test_a_start_takes_few_queries() -> None:  # two of them are its record in the audit trail
    ann = operator()
    path = f"/workflows/{saved(ann)['id']}/execute"
    post(ann, path)
    with CaptureQueriesContext(connection) as queries:
        assert post(ann, path, {"inputs": {"n": 1}}, HTTP_IDEMPOTENCY_KEY="k").status_code == 201
    assert len(queries) <= 5, [q["sql"][:100] for q in queries]


def test_a_start_of_a_large_canvas_is_no_slower_for_its_size() -> None:
    ann = operator()
    names = [f"n{i}" for i in range(500)]
    made = saved(ann, nodes=[node(name) for name in names], edges=edges(" ".join(names)))
    path = f"/workflows/{made['id']}/execute"
    assert post(ann, path).status_code == 201
    with CaptureQueriesContext(connection) as queries:
        before = time.thread_time()
        assert post(ann, path).status_code == 201
        spent = time.thread_time() - before
    assert not any('"document"' in q["sql"] or '"nodes"' in q["sql"] for q in queries), "the canvas stays where it is"
    assert spent < 0.1


def test_the_catalogue_is_built_once() -> None:
    assert catalogue.current_catalogue() is catalogue.current_catalogue()


# -- the executions of a workflow -------------------------------------------------------------------------------


def test_the_executions_of_a_workflow_are_listed_newest_first() -> None:
    ann = operator()
    made, other = saved(ann), saved(ann, name="other")
    path = f"/workflows/{made['id']}"
    ids = [post(ann, f"{path}/execute", {"inputs": {"n": n}}).json()["id"] for n in range(12)]
    post(ann, f"/workflows/{other['id']}/execute")
    response = ann.get(f"{path}/executions")
    assert isinstance(response.json(), list)
    assert response.headers["X-Total-Count"] == "12"
    assert [e["id"] for e in response.json()] == ids[:1:-1]
    assert [e["id"] for e in ann.get(f"{path}/executions?page=2").json()] == ids[1::-1]
    Execution.objects.filter(pk=ids[3]).update(status="failed")
    failed = ann.get(f"{path}/executions?status=failed")
    assert ([e["id"] for e in failed.json()], failed.headers["X-Total-Count"]) == ([ids[3]], "1")
    assert ann.get(f"{path}/executions?status=odd").status_code == 400
    assert ann.get(f"{path}/executions?page=0").status_code == 400
    with CaptureQueriesContext(connection) as queries:
        ann.get(f"{path}/executions")
    assert len(queries) <= 5


def test_the_executions_of_a_workflow_that_is_not_yours() -> None:
    made = saved(operator("other"))
    for pk in (made["id"], uuid4(), "x"):
        response = operator().get(f"/workflows/{pk}/executions")
        assert (response.status_code, response.json()) == (404, {"error": "Workflow not found"})


def test_a_workflow_never_run_has_an_empty_list() -> None:
    ann = operator()
    assert ann.get(f"/workflows/{saved(ann, **CHAIN)['id']}/executions").json() == []
