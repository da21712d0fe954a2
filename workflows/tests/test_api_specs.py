"""Specs sent whole: judged without a trace, run once per idempotency key, refused with every problem."""

import threading
from typing import Any

import pytest
from django.db import connection

from workflows.models import Execution, Role, Secret, SpecDocument
from workflows.tests.people import ECHO, customer, member, signed_in
from workflows.tests.pumping import Engine

BROKEN = {"name": "x", "states": [{"name": "A", "type": "Task", "resource": "NoSuchActivity"}]}


def client(role: Role = Role.OPERATOR) -> Any:
    return signed_in(member(customer(), role))


def test_a_spec_runs_and_its_answer_is_that_of_any_start(engine: Engine) -> None:
    caller = client()
    answer = caller.post("/specs/execute", {"spec": ECHO, "inputs": {"a": 1}, "priority": 5}, format="json")
    assert answer.status_code == 201, answer.json()
    body = answer.json()
    assert (body["name"], body["workflowId"], body["version"]) == ("echo", None, None)
    assert (body["inputs"], body["outputs"], body["logs"], body["priority"]) == ({"a": 1}, {}, [], 5)
    engine.pump()
    engine.ended(body["id"])
    assert caller.get(f"/executions/{body['id']}").json()["outputs"]["status"] == "COMPLETED"


@pytest.mark.django_db
def test_a_spec_is_judged_without_leaving_a_trace() -> None:
    caller = client(Role.VIEWER)
    assert caller.post("/specs/validate", {"spec": ECHO}, format="json").json()["valid"] is True
    report = caller.post("/specs/validate", {"spec": BROKEN}, format="json")
    assert report.status_code == 200
    assert report.json()["valid"] is False
    assert report.json()["problems"][0]["code"] == "unknown-activity"
    assert "NoSuchActivity" in report.json()["errors"][0]
    rubbishes: list[Any] = [None, 5, "x", [], {}, {"states": "x"}, {"name": 1, "states": [1, None]}]
    for rubbish in rubbishes:
        answer = caller.post("/specs/validate", {"spec": rubbish}, format="json")
        assert (answer.status_code, answer.json()["valid"]) == (200, False), rubbish
    assert SpecDocument.objects.count() == Execution.objects.count() == 0


@pytest.mark.django_db
def test_a_spec_with_errors_does_not_run_and_all_of_them_are_told() -> None:
    answer = client().post("/specs/execute", {"spec": BROKEN}, format="json")
    assert answer.status_code == 422
    assert "1 error" in answer.json()["error"]
    assert [problem["code"] for problem in answer.json()["details"]] == ["unknown-activity"]
    assert Execution.objects.count() == 0


@pytest.mark.django_db
@pytest.mark.parametrize(
    "body, field",
    [
        ({}, "spec"),
        ({"spec": None}, "spec"),
        ({"spec": []}, "spec"),
        ({"spec": ECHO, "inputs": []}, "inputs"),
        ({"spec": ECHO, "inputs": {"a": "x" * 1_100_000}}, "inputs"),
        ({"spec": ECHO, "priority": "5"}, "priority"),
        ({"spec": ECHO, "priority": 1001}, "priority"),
        ({"spec": ECHO, "dryRun": True}, "dryRun"),
    ],
)
def test_a_wrong_start_is_refused_with_its_field(body: Any, field: str) -> None:
    answer = client().post("/specs/execute", body, format="json")
    assert answer.status_code == 400
    assert field in answer.json()["details"]


@pytest.mark.django_db
def test_a_secret_in_a_spec_is_kept_as_a_handle() -> None:
    state = {"name": "Get", "type": "Task", "resource": "HttpRequestActivity"}
    parameters = {"url": "https://example.org", "headers": {"Authorization": "Bearer canary-7781"}}
    spec = {"name": "call", "states": [state | {"parameters": parameters}]}
    caller = client()
    caller.post("/specs/validate", {"spec": spec}, format="json")
    assert Secret.objects.count() == 0
    answer = caller.post("/specs/execute", {"spec": spec}, format="json")
    assert answer.status_code == 201, answer.json()
    assert "canary-7781" not in str(SpecDocument.objects.get().document)
    assert Secret.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_ten_starts_with_one_key_at_once_are_one_execution(quickly_emptied: None) -> None:
    caller = client()
    answers: list[Any] = []

    def start(key: str = "k-1", **more: Any) -> Any:
        return caller.post("/specs/execute", {"spec": ECHO, **more}, format="json", headers={"Idempotency-Key": key})

    def start_once() -> None:
        answers.append(start())
        connection.close()

    threads = [threading.Thread(target=start_once) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(answer.status_code for answer in answers) == [200] * 9 + [201]
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert start(inputs={"b": 1}).status_code == 409
    assert start(" ").status_code == 400
