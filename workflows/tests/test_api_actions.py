"""Asking executions for something over REST: cancel, pause, resume, signals, reruns, votes; and bad input."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from workflows import control
from workflows.models import Execution, Role, Signal
from workflows.tests.people import customer, member, signed_in, started
from workflows.tests.pumping import Engine
from workflows.tests.test_approvals import gate

HOLD: dict[str, Any] = {
    "name": "hold",
    "states": [
        {"name": "First", "type": "Pass", "result": "one", "next": "Hold"},
        {"name": "Hold", "type": "WaitForSignal", "signal": "go", "next": "Last"},
        {"name": "Last", "type": "Task", "resource": "EchoActivity", "parameters": {"value": "${First.output}"}},
    ],
}


def operator(role: Role = Role.OPERATOR, name: str = "") -> Any:
    return signed_in(member(customer(), role, name))


def post(client: Any, path: str, body: Any = None) -> Any:
    return client.post(path, body if body is not None else {}, format="json")


def test_a_signal_lets_an_execution_go_on(engine: Engine) -> None:
    execution = started(customer(), HOLD)
    client = operator(name="olga")
    engine.pump()
    engine.reaches(execution.pk, "waiting")
    answer = post(client, f"/executions/{execution.pk}/signal", {"name": "go", "payload": {"x": [1]}})
    assert answer.status_code == 202
    assert answer.json()["new"] is True
    engine.ended(execution.pk)
    body = client.get(f"/executions/{execution.pk}").json()
    assert body["outputs"]["stepResults"]["Hold"] == {"x": [1]}
    assert Signal.objects.get().sent_by == "olga"


@pytest.mark.django_db
def test_a_signal_with_a_dedupe_key_arrives_once() -> None:
    execution = started(customer(), HOLD)
    client = operator()
    signal = {"name": "go", "payload": 1, "dedupeKey": "k"}
    first, second = (post(client, f"/executions/{execution.pk}/signal", signal).json() for _ in range(2))
    assert first["id"] == second["id"]
    assert (first["new"], second["new"]) == (True, False)


@pytest.mark.django_db
def test_approvals_cannot_be_forged_by_signal() -> None:
    asked = gate()
    response = post(operator(Role.ADMIN), f"/executions/{asked.execution_id}/signal", {"name": asked.signal_name})
    assert response.status_code == 400
    assert "by vote" in response.json()["error"]
    assert not Signal.objects.exists()


@pytest.mark.django_db
def test_cancel_records_who_and_why_and_may_be_repeated() -> None:
    execution = started(customer(), HOLD)
    client = operator(name="olga")
    first = post(client, f"/executions/{execution.pk}/cancel", {"reason": "wrong branch"})
    assert first.status_code == 202
    assert first.json()["status"] == "cancelled"
    assert first.json()["outputs"]["status"] == "CANCELED"
    assert post(client, f"/executions/{execution.pk}/cancel").status_code == 202
    execution = Execution.objects.get(pk=execution.pk)
    assert (execution.cancelled_by, execution.cancel_reason) == ("olga", "wrong branch")


@pytest.mark.django_db
def test_pause_and_resume() -> None:
    execution = started(customer(), HOLD)
    client = operator()
    paused = post(client, f"/executions/{execution.pk}/pause", {"reason": "lunch"})
    assert (paused.status_code, paused.json()["status"]) == (202, "paused")
    assert post(client, f"/executions/{execution.pk}/pause").status_code == 202, "asking twice is asking once"
    resumed = post(client, f"/executions/{execution.pk}/resume")
    assert resumed.status_code == 200
    assert resumed.json()["status"] in ("pending", "running")
    again = post(client, f"/executions/{execution.pk}/resume")
    assert again.status_code == 409
    assert again.json()["error"] == "the execution is not paused"


@pytest.mark.django_db
@pytest.mark.parametrize("action, body", [("pause", {}), ("resume", {}), ("signal", {"name": "go"})])
def test_what_has_ended_cannot_be_moved(action: str, body: Any) -> None:
    execution = started(customer(), HOLD)
    control.request_cancel(execution.pk, by="ann")
    response = post(operator(), f"/executions/{execution.pk}/{action}", body)
    assert response.status_code == 409
    assert "has ended (cancelled)" in response.json()["error"]


def test_a_rerun_starts_where_it_is_told_and_reuses_what_was_before(engine: Engine) -> None:
    execution = started(customer(), HOLD)
    client = operator(name="olga")
    engine.pump()
    assert post(client, f"/executions/{execution.pk}/rerun").status_code == 409, "it has not ended"
    control.send_signal(execution.pk, "go", "payload")
    engine.ended(execution.pk)
    answer = post(client, f"/executions/{execution.pk}/rerun", {"fromState": "Last"})
    assert answer.status_code == 201
    body = answer.json()
    assert (body["rerunOf"], body["createdBy"]) == (str(execution.pk), "olga")
    again = engine.ended(body["id"])
    states = client.get(f"/executions/{again.pk}/states").json()["states"]
    assert [run["state"] for run in states if not run["reused"]] == ["Last"]
    results = client.get(f"/executions/{again.pk}").json()["outputs"]["stepResults"]
    assert results == {"First": "one", "Hold": "payload", "Last": {"value": "one"}}
    missing = post(client, f"/executions/{execution.pk}/rerun", {"fromState": "Nowhere"})
    assert missing.status_code == 409
    assert "Nowhere" in missing.json()["error"]


BAD_BODIES: list[tuple[str, Any, str]] = [
    ("cancel", {"reason": 5 * ["x"]}, "reason"),
    ("cancel", {"reason": "x" * 4001}, "reason"),
    ("cancel", {"raeson": "x"}, "raeson"),
    ("cancel", ["reason"], ""),
    ("pause", "x", ""),
    ("resume", 5, ""),
    ("signal", {}, "name"),
    ("signal", {"name": ""}, "name"),
    ("signal", {"name": "x" * 129}, "name"),
    ("signal", {"name": {"a": 1}}, "name"),
    ("signal", {"name": "go", "dedupeKey": "x" * 256}, "dedupeKey"),
    ("signal", {"name": "go", "extra": 1}, "extra"),
    ("rerun", {"fromState": ["x"]}, "fromState"),
    ("rerun", {"from_state": "x"}, "from_state"),
]


@pytest.mark.django_db
@pytest.mark.parametrize("action, body, field", BAD_BODIES)
def test_bad_bodies_are_refused_with_the_field_that_is_wrong(action: str, body: Any, field: str) -> None:
    execution = started(customer(), HOLD)
    response = post(operator(), f"/executions/{execution.pk}/{action}", body)
    assert response.status_code == 400
    assert field in response.json()["error"]
    assert Execution.objects.get(pk=execution.pk).status == "pending", "nothing has happened"


@pytest.mark.django_db
@pytest.mark.parametrize(
    "text",
    [b'{"name": "go", "payload": "\\u0000"}', b'{"name": "g\\u0000o"}', b'{"name": "go", "payload": {"\\u0000": 1}}',
     b'{"name": "go", "payload": "\\ud800"}', b'{"name": "go", "payload": 1e999}', b'{"name": "go", "payload": NaN}',
     b'{"name": "go", "payload": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", b"{", b"\xff", b"[]" * 3],
)  # fmt: skip
def test_what_cannot_be_stored_is_refused(text: bytes) -> None:
    execution = started(customer(), HOLD)
    response = operator().post(f"/executions/{execution.pk}/signal", text, content_type="application/json")
    assert response.status_code == 400
    assert response.json()["error"]
    assert not Signal.objects.exists()


@pytest.mark.django_db
def test_an_empty_body_is_an_empty_object() -> None:
    execution = started(customer(), HOLD)
    assert operator().post(f"/executions/{execution.pk}/pause").status_code == 202


@pytest.mark.django_db
@pytest.mark.parametrize("method", ["put", "patch", "delete"])
def test_other_methods_are_not_allowed(method: str) -> None:
    execution = started(customer(), HOLD)
    response = getattr(operator(Role.ADMIN), method)(f"/executions/{execution.pk}")
    assert response.status_code == 405


@pytest.mark.django_db
def test_gates_are_decided_over_rest() -> None:
    asked = gate(2)
    ann, bob = operator(Role.APPROVER, "ann"), operator(Role.APPROVER, "bob")
    first = post(ann, f"/approvals/{asked.pk}/approve", {"reason": "fine"}).json()
    assert (first["status"], first["approvals"], first["requiredApprovals"]) == ("pending", 1, 2)
    assert first["votes"][0] | {"votedAt": ""} == {"user": "ann", "approve": True, "reason": "fine", "votedAt": ""}
    assert first["expiresIn"] in ("59m59s", "59m58s", "1h")
    again = post(ann, f"/approvals/{asked.pk}/approve")
    assert again.status_code == 409
    assert "voted on this already" in again.json()["error"]
    unexplained = post(bob, f"/approvals/{asked.pk}/reject")
    assert unexplained.status_code == 400
    assert unexplained.json()["error"].startswith("reason")
    decided = post(bob, f"/approvals/{asked.pk}/reject", {"reason": "red tests"}).json()
    assert (decided["status"], decided["reason"]) == ("rejected", "red tests")
    assert "expiresIn" not in decided
    assert post(ann, f"/approvals/{asked.pk}/reject", {"reason": "too"}).status_code == 409
    assert [g["id"] for g in ann.get("/approvals?status=rejected").json()] == [str(asked.pk)]
    assert ann.get("/approvals?status=pending").json() == []
    stats = ann.get("/approvals/stats").json()
    assert (stats["total"], stats["rejected"], stats["pending"]) == (1, 1, 0)
    assert stats["averageWaitSeconds"] >= 0


@pytest.mark.parametrize("decision, came_to", [("approve", "shipped"), ("reject", "stopped")])
def test_the_example_of_the_guide_waits_for_people_and_goes_where_they_say(
    engine: Engine, decision: str, came_to: str
) -> None:
    guide = Path(__file__).parents[2] / "docs" / "how-to" / "approve.md"
    ask, decide = map(json.loads, re.findall(r"```json\n(.*?)```", guide.read_text(), re.DOTALL))
    ends = [{"name": "Ship", "type": "Pass", "result": "shipped", "end": True},
            {"name": "Stop", "type": "Pass", "result": "stopped", "end": True}]  # fmt: skip
    execution = started(customer(), {"name": "release", "states": [ask, decide, *ends]}, by="olga")
    client = operator(Role.APPROVER, "ann")
    engine.pump()
    engine.reaches(execution.pk, "waiting")
    (asked,) = client.get("/approvals").json()
    assert (asked["subject"], asked["state"], asked["requiredApprovals"]) == ("Release web 1.4.2", "Ask", 2)
    post(client, f"/approvals/{asked['id']}/approve")
    post(operator(Role.APPROVER, "bob"), f"/approvals/{asked['id']}/{decision}", {"reason": "because"})
    engine.ended(execution.pk)
    outputs = client.get(f"/executions/{execution.pk}").json()["outputs"]
    assert outputs["output"] == came_to
    told = outputs["stepResults"]["Ask"]
    if decision == "approve":
        assert (told["approver"], told.get("rejectedBy")) == ("ann, bob", None)
    else:
        assert (told.get("approver"), told["rejectedBy"]) == (None, "bob")


@pytest.mark.django_db
def test_a_rerun_with_a_key_is_started_once() -> None:
    caller = signed_in(member(customer(), Role.OPERATOR))
    first, other = (started(customer()) for _ in range(2))
    for run in (first, other):
        caller.post(f"/executions/{run.pk}/cancel", {}, format="json")

    def rerun(run: Execution, key: str = "k") -> Any:
        return caller.post(f"/executions/{run.pk}/rerun", {}, format="json", headers={"Idempotency-Key": key})

    answers = [rerun(first), rerun(first)]
    assert [answer.status_code for answer in answers] == [201, 200]
    assert answers[0].json()["id"] == answers[1].json()["id"]
    assert Execution.objects.filter(rerun_of=first).count() == 1
    assert rerun(other).status_code == 409
    assert rerun(first, "another").status_code == 201
    assert rerun(first, " ").status_code == 400
