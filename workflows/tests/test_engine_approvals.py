"""A workflow that asks people: quorum, rejection, expiry and cancelling, with no worker held meanwhile."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.utils import timezone

from workflows import approvals, control
from workflows.models import ApprovalGate, Role
from workflows.tests.people import member
from workflows.tests.pumping import Engine, ran, story


def gated(**parameters: Any) -> dict[str, Any]:
    return {"name": "release", "states": [
        {"name": "Ask", "type": "Task", "resource": "ApproveWorkflowActivity",
         "parameters": {"workflowId": "release 1.0", **parameters}},
        {"name": "Then", "type": "Pass", "result": "${Ask.output.approved}"},
    ]}  # fmt: skip


ECHO = {"name": "echo", "states": [{"name": "E", "type": "Task", "resource": "EchoActivity", "parameters": {}}]}


def asked(engine: Engine, execution: UUID) -> ApprovalGate:
    engine.waits(execution, "activity")
    return ApprovalGate.objects.get(execution=execution)


def test_a_quorum_approves_while_the_only_thread_does_other_work(engine: Engine) -> None:
    engine.pump(threads=1, capacity=1)
    execution = engine.start(gated(requiredApprovals=2), created_by="starter")
    gate = asked(engine, execution)
    first, second = (member(engine.customer, Role.APPROVER) for _ in range(2))
    approvals.vote(gate.pk, first, approve=True)
    assert engine.run(ECHO).status == "success"
    engine.waits(execution, "activity")
    approvals.vote(gate.pk, second, approve=True)
    ended = engine.ended(execution)
    assert ended.output is True, story(execution)
    assert ran(execution) == [("Ask", "success", 1), ("Then", "success", 1)]


def test_one_rejection_decides(engine: Engine) -> None:
    engine.pump()
    execution = engine.start(gated(requiredApprovals=2))
    approvals.vote(asked(engine, execution).pk, member(engine.customer, Role.APPROVER), approve=False, reason="no")
    assert engine.ended(execution).output is False


def test_a_gate_that_nobody_decides_expires(engine: Engine) -> None:
    engine.pump()
    execution = engine.start(gated())
    gate = asked(engine, execution)
    ApprovalGate.objects.filter(pk=gate.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    engine.clock()
    assert engine.ended(execution).output is False
    assert ApprovalGate.objects.get(pk=gate.pk).status == "expired"


def test_cancelling_closes_the_gate(engine: Engine) -> None:
    engine.pump()
    execution = engine.start(gated())
    gate = asked(engine, execution)
    control.request_cancel(execution, by="tester")
    assert engine.ended(execution).status == "cancelled"
    assert ApprovalGate.objects.get(pk=gate.pk).status == "cancelled"
