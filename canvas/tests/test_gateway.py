"""The action gateway: runs under names of the caller's choosing, one at a time, and all eight actions on them."""

import threading
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

from canvas.tests.drawing import node
from workflows.api_keys import create_key
from workflows.models import Execution, Role, Scope
from workflows.tests.people import ECHO, customer, member, signed_in, started
from workflows.tests.pumping import Engine, eventually

WAITS = {"name": "waits", "states": [{"name": "Hold", "type": "WaitForSignal", "signal": "go", "timeout": "1h"}]}


class Caller:
    def __init__(self, role: Role = Role.OPERATOR, slug: str = "acme") -> None:
        self.client: Any = signed_in(member(customer(slug), role))

    def ask(self, action: str, payload: Any = None, **more: Any) -> Any:
        return self.client.post("/workflow", {"action": action, "payload": payload or {}, **more}, format="json")

    def start(self, name: str | None = None, spec: Any = WAITS, **more: Any) -> Any:
        payload = {"workflow_type": "OrchestratorWorkflow", "task_queue": "poimen-taskqueue", "input": {"spec": spec}}
        return self.ask("START_WORKFLOW", payload | ({"workflow_id": name} if name else {}), **more)

    def status(self, name: str, run_id: str | None = None) -> str:
        answer = self.ask("DESCRIBE_WORKFLOW", {"workflow_id": name, "run_id": run_id})
        assert answer.status_code == 200, answer.json()
        text: str = answer.json()["status"]
        return text.removeprefix("WORKFLOW_EXECUTION_STATUS_")


def test_a_run_is_started_described_signalled_queried_and_told(engine: Engine) -> None:
    caller = Caller()
    answer = caller.start("order-7")
    assert answer.status_code == 201, answer.json()
    run = answer.json()["run_id"]
    assert caller.status("order-7") == "RUNNING"
    engine.pump()
    engine.waits(Execution.objects.get(pk=run).pk, "signal")
    standing = caller.ask("QUERY_WORKFLOW", {"workflow_id": "order-7", "query_type": "current_states"})
    assert standing.json()["result"] == ["Hold"]
    sent = caller.ask("SIGNAL_WORKFLOW", {"workflow_id": "order-7", "signal_name": "go", "input": {"by": "ann"}})
    assert sent.status_code == 202
    engine.ended(Execution.objects.get(pk=run).pk)
    assert caller.status("order-7") == "COMPLETED"
    described = caller.ask("DESCRIBE_WORKFLOW", {"workflow_id": "order-7"}).json()
    assert (described["run_id"], described["workflow_type"], described["namespace"]) == (run, "waits", "poimen-harness")
    assert described["close_time"] >= described["start_time"]
    result = caller.ask("QUERY_WORKFLOW", {"workflow_id": "order-7", "query_type": "result"}).json()["result"]
    assert result["status"] == "COMPLETED"
    asked = {"workflow_id": "order-7", "query_type": "state_output", "args": {"state": "Hold"}}
    assert caller.ask("QUERY_WORKFLOW", asked).json()["result"] == result["stepResults"]["Hold"]

    types: list[str] = []
    token = None

    def is_told() -> bool:
        nonlocal token
        page = {"workflow_id": "order-7", "page_size": 2, "next_page_token": token}
        told = caller.ask("GET_WORKFLOW_HISTORY", page).json()
        assert len(told["events"]) <= 2
        types.extend(event["event_type"] for event in told["events"])
        token = told["next_page_token"]
        return token is None

    eventually(is_told, "the history is told to its end", seconds=60)
    assert types[0] == "RUN_STARTED"
    assert types[-1] == "RUN_FINISHED"
    assert types.index("STATE_WAITING") < types.index("SIGNAL_RECEIVED") < types.index("STATE_SUCCEEDED")
    assert len(types) == len(caller.ask("GET_WORKFLOW_HISTORY", {"workflow_id": "order-7"}).json()["events"])


@pytest.mark.django_db
def test_one_run_at_a_time_has_a_name_and_the_next_may_take_it_over() -> None:
    caller = Caller()
    first = caller.start("nightly").json()["run_id"]
    again = caller.start("nightly")
    assert again.status_code == 409
    assert again.json()["details"] == {"workflow_id": "nightly", "run_id": first}
    assert caller.start("nightly", namespace="other").status_code == 201
    assert caller.ask("CANCEL_WORKFLOW", {"workflow_id": "nightly", "reason": "late"}).status_code == 202
    assert caller.status("nightly") == "CANCELED"
    second = caller.start("nightly").json()["run_id"]
    assert second != first
    assert caller.status("nightly") == "RUNNING"
    assert caller.status("nightly", first) == "CANCELED"
    stopped = caller.ask("TERMINATE_WORKFLOW", {"workflow_id": "nightly", "reason": "enough"})
    assert stopped.json() == {"workflow_id": "nightly", "run_id": second}
    assert caller.status("nightly") == "TERMINATED"
    listed = caller.ask("LIST_WORKFLOWS").json()["executions"]
    assert [(row["workflow_id"], row["run_id"]) for row in listed] == [("nightly", second), ("nightly", first)]


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["nightly", None])
def test_a_start_sent_again_with_its_key_is_the_same_run_even_after_its_end(name: str | None) -> None:
    caller = Caller()

    def start(key: str, description: str = "") -> Any:
        payload: dict[str, Any] = {"workflow_type": "x", "input": {"spec": WAITS | {"description": description}}}
        body = {"action": "START_WORKFLOW", "payload": payload | ({"workflow_id": name} if name else {})}
        return caller.client.post("/workflow", body, format="json", headers={"Idempotency-Key": key})

    first = start("k1")
    assert first.status_code == 201
    for _ in range(2):
        again = start("k1")
        assert (again.status_code, again.json()) == (200, first.json())
        caller.ask("CANCEL_WORKFLOW", {"workflow_id": first.json()["workflow_id"]})
    later = start("k2")
    assert later.status_code == 201
    assert later.json()["run_id"] != first.json()["run_id"]
    assert start("k1").json() == first.json()
    assert start("k2", "something else").status_code == 409
    assert Execution.objects.count() == 2


@pytest.mark.django_db
@pytest.mark.parametrize("is_over", [False, True])
@pytest.mark.parametrize(
    "other",
    [{"workflow_id": "other"}, {"input": {"spec": WAITS | {"description": "new"}}}, {"workflow_type": "y"},
     {"workflow_id": None}],
)  # fmt: skip
def test_a_key_that_was_used_starts_nothing_else(other: dict[str, Any], is_over: bool) -> None:
    caller = Caller()
    payload = {"workflow_id": "nightly", "workflow_type": "x", "input": {"spec": WAITS}}

    def start(payload: dict[str, Any], **more: Any) -> Any:
        sent = {key: value for key, value in payload.items() if value is not None}
        body = {"action": "START_WORKFLOW", "payload": sent} | more
        return caller.client.post("/workflow", body, format="json", headers={"Idempotency-Key": "k"})

    first = start(payload).json()
    if is_over:
        caller.ask("CANCEL_WORKFLOW", {"workflow_id": "nightly"})
    for refused in (start(payload | other), start(payload, namespace="other")):
        assert refused.status_code == 409, refused.json()
        said = refused.json()["error"]
        assert said == f"the idempotency key was used for run {first['run_id']} with another request."
    assert start(payload).json() == first
    assert Execution.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_ten_starts_with_one_key_at_once_one_wins_whatever_they_ask_for() -> None:
    caller = Caller()
    codes: list[int] = []

    def start(number: int) -> None:
        payload = {"workflow_id": f"run-{number % 5}", "workflow_type": "x", "input": {"spec": ECHO}}
        body = {"action": "START_WORKFLOW", "payload": payload}
        codes.append(caller.client.post("/workflow", body, format="json", headers={"Idempotency-Key": "k"}).status_code)
        connection.close()

    threads = [threading.Thread(target=start, args=(number,)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(codes) == [200, 201] + [409] * 8
    assert Execution.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_ten_starts_of_one_name_at_once_one_wins() -> None:
    caller = Caller()
    codes: list[int] = []

    def start(number: int) -> None:
        codes.append(caller.start("race", spec={**ECHO, "description": str(number % 2)}).status_code)
        connection.close()

    threads = [threading.Thread(target=start, args=(number,)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(codes) == [201] + [409] * 9
    assert Execution.objects.count() == 1


@pytest.mark.django_db
def test_a_saved_workflow_is_started_by_its_name_or_id() -> None:
    client = signed_in(member(customer(), Role.OPERATOR))
    body = {"name": "Drawn", "nodes": [node("a")], "edges": []}
    saved = client.post("/workflows", body, format="json").json()
    caller = Caller()
    for text in ("Drawn", saved["id"]):
        answer = caller.ask("START_WORKFLOW", {"workflow_type": text, "input": {"x": 1}})
        assert answer.status_code == 201, answer.json()
        run = Execution.objects.get(pk=answer.json()["run_id"])
        assert (str(run.workflow_id), run.inputs) == (saved["id"], {"x": 1})
    assert caller.ask("START_WORKFLOW", {"workflow_type": "Undrawn"}).status_code == 404
    assert caller.ask("LIST_WORKFLOWS", {"workflow_type": "Drawn", "status": "RUNNING"}).json()["executions"][1:]


@pytest.mark.django_db
def test_runs_started_elsewhere_are_called_by_their_id_and_pages_follow_each_other() -> None:
    caller = Caller()
    runs = [str(started(customer()).pk) for _ in range(5)]
    assert caller.status(runs[0]) == "RUNNING"
    seen: list[str] = []
    token = None
    for _ in range(3):
        page = caller.ask("LIST_WORKFLOWS", {"page_size": 2, "next_page_token": token}).json()
        seen += [row["workflow_id"] for row in page["executions"]]
        token = page["next_page_token"]
    assert (seen, token) == (runs[::-1], None)


@pytest.mark.django_db
def test_what_is_not_ones_own_and_what_is_over() -> None:
    caller, other = Caller(), Caller(slug="other")
    run = other.start("theirs").json()["run_id"]
    for name, run_id in (("theirs", None), (run, None), (run, run), ("none", None), (str(uuid4()), None)):
        for action in ("DESCRIBE_WORKFLOW", "CANCEL_WORKFLOW", "TERMINATE_WORKFLOW", "GET_WORKFLOW_HISTORY"):
            answer = caller.ask(action, {"workflow_id": name, "run_id": run_id})
            assert (answer.status_code, answer.json()) == (404, {"error": "Workflow run not found"})
    assert caller.ask("LIST_WORKFLOWS").json()["executions"] == []
    caller.start("mine")
    caller.ask("CANCEL_WORKFLOW", {"workflow_id": "mine"})
    late = caller.ask("SIGNAL_WORKFLOW", {"workflow_id": "mine", "signal_name": "go"})
    assert late.status_code == 409


@pytest.mark.django_db
@pytest.mark.parametrize(
    "body, says",
    [
        ({}, "action"),
        ({"action": "DELETE_WORKFLOW"}, "action: unknown"),
        ({"action": 5}, "action"),
        ({"action": "LIST_WORKFLOWS", "namespace": "a/b"}, "namespace"),
        ({"action": "LIST_WORKFLOWS", "payload": []}, "payload"),
        ({"action": "LIST_WORKFLOWS", "payload": {"status": "DONE"}}, "payload.status"),
        ({"action": "LIST_WORKFLOWS", "payload": {"next_page_token": "x"}}, "payload.next_page_token"),
        ({"action": "GET_WORKFLOW_HISTORY", "payload": {"workflow_id": "x", "next_page_token": "y"}}, "payload.next"),
        ({"action": "DESCRIBE_WORKFLOW", "payload": {}}, "payload.workflow_id"),
        ({"action": "DESCRIBE_WORKFLOW", "payload": {"workflow_id": "a#b"}}, "payload.workflow_id"),
        (
            {"action": "START_WORKFLOW", "payload": {"workflow_type": "x", "task_queue": "default"}},
            "payload.task_queue",
        ),
        (
            {"action": "START_WORKFLOW", "payload": {"workflow_type": "x", "input": {"spec": {}, "inputs": 5}}},
            "payload",
        ),
        ({"action": "QUERY_WORKFLOW", "payload": {"workflow_id": "x", "query_type": "z"}}, "payload.query_type"),
        (
            {"action": "SIGNAL_WORKFLOW", "payload": {"workflow_id": "x", "signal_name": "approval:1"}},
            "payload.signal_name: approvals",
        ),
    ],
)
def test_a_wrong_request_is_refused_with_its_field(body: Any, says: str) -> None:
    answer = Caller().client.post("/workflow", body, format="json")
    assert answer.status_code == 400, answer.json()
    assert answer.json()["error"].startswith(says)


@pytest.mark.django_db
def test_a_spec_with_errors_is_refused_whole() -> None:
    answer = Caller().start("x", spec={"name": "x", "states": []})
    assert answer.status_code == 422
    assert answer.json()["details"]


@pytest.mark.django_db
def test_each_action_needs_its_role_and_scope() -> None:
    Caller().start("run")
    viewer = Caller(Role.VIEWER)
    looks = ("DESCRIBE_WORKFLOW", "LIST_WORKFLOWS", "GET_WORKFLOW_HISTORY", "QUERY_WORKFLOW")
    _, text = create_key(customer(), name="ci", scopes=[Scope.READ], role=Role.ADMIN)
    for action in ("START_WORKFLOW", "SIGNAL_WORKFLOW", "CANCEL_WORKFLOW", "TERMINATE_WORKFLOW", *looks):
        payload = {"workflow_id": "run"} if action != "LIST_WORKFLOWS" else {}
        if action == "QUERY_WORKFLOW":
            payload["query_type"] = "status"
        answers = [viewer.ask(action, payload)]
        viewer.client.credentials(HTTP_X_API_KEY=text)
        answers.append(viewer.ask(action, payload))
        viewer = Caller(Role.VIEWER)
        wanted = 200 if action in looks else 403
        assert [answer.status_code for answer in answers] == [wanted, wanted], action
