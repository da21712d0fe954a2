"""The approval activity: it opens a gate, waits without a worker, and says what was decided."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pytest_django import Settings

from workflows.activities.context import ActivityContext, Identity, Report, Resumption, Suspended
from workflows.activities.registry import registry
from workflows.approvals import expire_due_gates, vote
from workflows.errors import InvalidInput
from workflows.models import ApprovalGate, Execution, Role
from workflows.spec.validator import validate_spec
from workflows.tests.people import customer, member, started

pytestmark = pytest.mark.django_db


class Asking:
    """One state visit of a real execution that runs the activity."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.execution: Execution = started(customer())
        self.branch = str(uuid4())
        self.reports: list[Report] = []

    def run(self, *, resumed: Resumption | None = None, attempt: int = 1, **parameters: Any) -> Any:
        identity = Identity(str(self.execution.pk), str(self.execution.customer_id), self.branch, "Ask", 1, attempt)
        context = ActivityContext(identity, home=self.home, sink=self.reports.append, resumed=resumed)
        activity = registry.get("ApproveWorkflowActivity")
        typed = activity.parse_input({"workflowId": "release-7"} | parameters)
        return activity.dump_output(activity.function(typed, context))


@pytest.fixture
def asking(tmp_path: Path) -> Asking:
    return Asking(tmp_path)


def test_it_waits_for_the_gates_signal_until_the_gate_expires(asking: Asking) -> None:
    waiting = asking.run(requiredApprovals=2, timeoutMinutes=30, description="Ship it?")
    gate = ApprovalGate.objects.get()
    assert waiting == Suspended(gate.signal_name, until=gate.expires_at)
    assert (gate.subject, gate.required_approvals, gate.description) == ("release-7", 2, "Ship it?")
    assert abs(gate.expires_at - datetime.now(UTC) - timedelta(minutes=30)) < timedelta(minutes=1)


def test_another_attempt_asks_nobody_again(asking: Asking) -> None:
    assert asking.run() == asking.run(attempt=2)
    assert ApprovalGate.objects.count() == 1


def test_approved_by_enough_people_it_names_them(asking: Asking) -> None:
    asking.run(requiredApprovals=2)
    for name in ("ann", "bob"):
        vote(ApprovalGate.objects.get().pk, member(customer(), Role.APPROVER, name), approve=True)
    output = asking.run(requiredApprovals=2, resumed=Resumption(payload={"approved": True}))
    assert (output["approved"], output["approver"]) == (True, "ann, bob")
    assert "rejectedBy" not in output
    assert datetime.fromisoformat(output["timestamp"]).tzinfo is not None


def test_rejected_it_says_by_whom_and_why(asking: Asking) -> None:
    asking.run(requiredApprovals=2)
    gate = ApprovalGate.objects.get().pk
    vote(gate, member(customer(), Role.APPROVER, "ann"), approve=True)
    vote(gate, member(customer(), Role.APPROVER, "bob"), approve=False, reason="not today")
    output = asking.run(requiredApprovals=2, resumed=Resumption(payload={"approved": False}))
    assert (output["approved"], output["rejectedBy"], output["reason"]) == (False, "bob", "not today")
    assert "approver" not in output, "who approved what was rejected after all approved nothing"


def test_expired_it_is_not_approved(asking: Asking) -> None:
    asking.run(timeoutMinutes=1)
    ApprovalGate.objects.update(expires_at=datetime.now(UTC) - timedelta(seconds=1))
    expire_due_gates()
    output = asking.run(resumed=Resumption(expired=True))
    assert output["approved"] is False
    assert "expired" in output["reason"]


def test_a_signal_that_is_no_decision_makes_it_wait_on(asking: Asking) -> None:
    """What counts is the gate in the database, never what a signal claims."""
    assert asking.run(resumed=Resumption(payload={"approved": True})) == asking.run()


def test_the_wait_is_bounded_by_two_hours(asking: Asking) -> None:
    asking.run(timeoutMinutes=100_000_000)
    assert ApprovalGate.objects.get().expires_at - datetime.now(UTC) <= timedelta(minutes=120)
    said = [report.message for report in asking.reports if report.level == "warn"]
    assert said == ["timeoutMinutes is 100,000,000; 120 is the most an approval waits, and is taken"]


def test_a_wait_that_is_taken_as_asked_warns_of_nothing(asking: Asking) -> None:
    asking.run(timeoutMinutes=120)
    assert [report.level for report in asking.reports] == ["info"]


def test_a_drawn_or_written_wait_that_is_too_long_is_said_when_it_is_judged(asking: Asking) -> None:
    def judged(minutes: object) -> list[str]:
        parameters = {"workflowId": "release-7", "timeoutMinutes": minutes}
        state = {"name": "Ask", "type": "Task", "resource": "ApproveWorkflowActivity", "parameters": parameters}
        report = validate_spec({"name": "asks", "states": [state | {"end": True}]}, activities=registry.all())
        assert report.valid
        return [str(problem) for problem in report.warnings]

    warning = "states[0].parameters.timeoutMinutes: 120 is the most that counts, and will be taken for 500"
    assert judged(500) == [warning]
    assert judged(120) == judged(0.5) == judged("${workflow.input.minutes}") == []


def test_automatic_approval_is_for_development_and_says_so(asking: Asking, settings: Settings) -> None:
    settings.POIMEN_AUTO_APPROVE = True
    output = asking.run()
    assert (output["approved"], output["approver"]) == (True, "system-auto")
    assert ApprovalGate.objects.count() == 0
    assert [(r.level, "POIMEN_AUTO_APPROVE" in r.message) for r in asking.reports] == [("warn", True)]


@pytest.mark.parametrize(
    "wrong",
    [
        {"requiredApprovals": 0}, {"requiredApprovals": 21}, {"timeoutMinutes": 0}, {"timeoutMinutes": -5},
        {"timeoutMinutes": "soon"}, {"workflowId": ""}, {"description": 5},
    ],
)  # fmt: skip
def test_wrong_inputs_are_named(asking: Asking, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        asking.run(**wrong)
    assert ApprovalGate.objects.count() == 0
