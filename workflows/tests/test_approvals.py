"""Gates are decided by distinct, authorised people, in time, once; and a decision wakes whoever waits for it."""

import threading
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.db import connection

from workflows import approvals, control
from workflows.activities.context import Identity
from workflows.approvals import VoteRefused, gate_outcome, open_gate, vote
from workflows.errors import Canceled, InvalidInput
from workflows.models import ApprovalGate, ApprovalVote, Execution, LogEntry, Role, Signal
from workflows.models.approval import GateStatus
from workflows.tests.people import customer, member, started

HOUR = timedelta(hours=1)


def identity_of(execution: Execution, state: str = "Ask", visit: int = 1) -> Identity:
    return Identity(
        execution=str(execution.pk), customer=str(execution.customer_id), branch=str(uuid4()), state=state,
        visit=visit, attempt=1,
    )  # fmt: skip


def gate(quorum: int = 1, *, by: str = "", expires_in: timedelta = HOUR, slug: str = "acme") -> ApprovalGate:
    return open_gate(
        identity=identity_of(started(customer(slug), by=by)), workflow_id="release-7", required_approvals=quorum,
        expires_in=expires_in, description="Ship it?",
    )  # fmt: skip


def approver(name: str = "", slug: str = "acme") -> User:
    return member(customer(slug), Role.APPROVER, name)


def refusal(error: pytest.ExceptionInfo[VoteRefused]) -> str:
    return error.value.code


@pytest.mark.django_db
def test_one_approval_decides_a_gate_that_asks_for_one() -> None:
    asked = gate()
    assert asked.status == GateStatus.PENDING
    decided = vote(asked.pk, approver("ann"), approve=True, reason="looks right")
    assert decided.status == GateStatus.APPROVED
    outcome = gate_outcome(asked.pk)
    assert outcome.approved
    assert outcome.approvers == ["ann"]
    assert outcome.reason == "looks right"
    assert outcome.decided_at is not None


@pytest.mark.django_db
def test_a_quorum_of_two_needs_two_people() -> None:
    asked = gate(2)
    ann = approver("ann")
    assert vote(asked.pk, ann, approve=True).status == GateStatus.PENDING
    assert gate_outcome(asked.pk).decided_at is None
    with pytest.raises(VoteRefused, match="voted on this already") as again:
        vote(asked.pk, ann, approve=True)
    assert refusal(again) == "voted"
    assert vote(asked.pk, approver("bob"), approve=True).status == GateStatus.APPROVED
    assert gate_outcome(asked.pk).approvers == ["ann", "bob"]


@pytest.mark.django_db
def test_one_rejection_rejects_whatever_was_approved_before() -> None:
    asked = gate(3)
    vote(asked.pk, approver("ann"), approve=True)
    vote(asked.pk, approver("bob"), approve=False, reason="the tests are red")
    outcome = gate_outcome(asked.pk)
    assert not outcome.approved
    assert outcome.approvers == ["ann"]
    assert outcome.rejected_by == "bob"
    assert outcome.reason == "the tests are red"


@pytest.mark.django_db
def test_the_log_tells_every_vote_with_its_reason() -> None:
    asked = gate(2)
    vote(asked.pk, approver("ann"), approve=True, reason="looks right")
    vote(asked.pk, approver("bob"), approve=True)
    refused = gate(2)
    vote(refused.pk, approver("cleo"), approve=False, reason="not on a Friday")
    expired = gate(2)
    approvals.expire_due_gates(expired.expires_at + timedelta(seconds=1))
    for one, told in (
        (asked, ["approved by ann: looks right (1 of 2)", "approved by bob (2 of 2)"]),
        (refused, ["rejected by cleo: not on a Friday"]),
        (expired, ["expired with 0 of 2 approvals"]),
    ):
        lines = LogEntry.objects.filter(execution=one.execution, event__in=("approval", "signal.received"))
        assert list(lines.order_by("pk").values_list("message", flat=True)) == told
        assert {line.node_id for line in lines} == {"Ask"}


@pytest.mark.django_db
@pytest.mark.parametrize("reason", ["", "  \n "])
def test_a_rejection_needs_a_reason(reason: str) -> None:
    asked = gate()
    with pytest.raises(VoteRefused, match="reason") as error:
        vote(asked.pk, approver(), approve=False, reason=reason)
    assert refusal(error) == "reason"
    assert not ApprovalVote.objects.exists()


@pytest.mark.django_db
def test_a_decision_is_final() -> None:
    asked = gate()
    vote(asked.pk, approver("ann"), approve=False, reason="no")
    with pytest.raises(VoteRefused, match="decided already: rejected") as error:
        vote(asked.pk, approver("bob"), approve=True)
    assert refusal(error) == "decided"
    assert not gate_outcome(asked.pk).approved


@pytest.mark.django_db
@pytest.mark.parametrize("role", [Role.VIEWER, Role.EDITOR, Role.OPERATOR])
def test_lesser_roles_have_no_vote(role: Role) -> None:
    asked = gate()
    with pytest.raises(VoteRefused, match="role approver") as error:
        vote(asked.pk, member(customer(), role), approve=True)
    assert refusal(error) == "not-allowed"


@pytest.mark.django_db
def test_neither_strangers_nor_retired_members_have_a_vote() -> None:
    asked = gate()
    retired = approver()
    retired.is_active = False
    retired.save()
    for user in (approver(slug="other"), retired, AnonymousUser()):
        with pytest.raises(VoteRefused) as error:
            vote(asked.pk, user, approve=True)
        assert refusal(error) == "not-allowed"
    assert vote(asked.pk, User.objects.create_superuser("root"), approve=True).status == GateStatus.APPROVED


@pytest.mark.django_db
def test_an_unknown_gate_says_so() -> None:
    with pytest.raises(VoteRefused) as error:
        vote(uuid4(), approver(), approve=True)
    assert refusal(error) == "unknown"


@pytest.mark.django_db
def test_who_started_it_may_approve_alone_but_not_as_one_of_several() -> None:
    ann = approver("ann")
    assert vote(gate(1, by="ann").pk, ann, approve=True).status == GateStatus.APPROVED
    shared = gate(2, by="ann")
    with pytest.raises(VoteRefused, match="you started this execution") as error:
        vote(shared.pk, ann, approve=True)
    assert refusal(error) == "not-allowed"
    assert vote(shared.pk, ann, approve=False, reason="I changed my mind").status == GateStatus.REJECTED


@pytest.mark.django_db
def test_exactly_at_its_expiry_a_gate_is_still_open_and_a_moment_later_it_is_not() -> None:
    at_last = gate()
    assert vote(at_last.pk, approver(), approve=True, now=at_last.expires_at).status == GateStatus.APPROVED
    too_late = gate()
    with pytest.raises(VoteRefused, match="expired at") as error:
        vote(too_late.pk, approver(), approve=True, now=too_late.expires_at + timedelta(microseconds=1))
    assert refusal(error) == "expired"
    too_late.refresh_from_db()
    assert too_late.status == GateStatus.EXPIRED, "the late vote is what noticed"
    assert not too_late.votes.exists()


@pytest.mark.django_db
def test_the_sweep_expires_what_is_due_and_nothing_else() -> None:
    soon, later = gate(2, expires_in=timedelta(minutes=1)), gate()
    vote(soon.pk, approver(), approve=True)
    assert approvals.expire_due_gates(soon.expires_at) == 0, "at its expiry it is still open"
    assert approvals.expire_due_gates(soon.expires_at + timedelta(seconds=1)) == 1
    assert approvals.expire_due_gates(soon.expires_at + timedelta(seconds=1)) == 0
    assert gate_outcome(soon.pk).reason == "expired with 1 of 2 approvals"
    assert Signal.objects.filter(execution=soon.execution, name=soon.signal_name).count() == 1
    assert gate_outcome(later.pk).decided_at is None


@pytest.mark.django_db
def test_asking_for_the_outcome_notices_an_expiry() -> None:
    asked = gate()
    outcome = gate_outcome(asked.pk, now=asked.expires_at + timedelta(seconds=1))
    assert not outcome.approved
    assert outcome.reason == "expired with 0 of 1 approvals"
    assert outcome.decided_at is not None


@pytest.mark.django_db
def test_a_decision_sends_the_waiting_branch_its_signal() -> None:
    asked = gate()
    vote(asked.pk, approver("ann"), approve=True, reason="fine")
    signal = Signal.objects.get(execution=asked.execution, name=asked.signal_name)
    assert signal.sent_by == "ann"
    assert signal.payload is not None
    assert signal.payload["approved"] is True
    assert signal.payload["approvers"] == ["ann"]
    assert signal.payload["status"] == "approved"


@pytest.mark.django_db
def test_a_state_visit_opens_one_gate_however_often_it_runs() -> None:
    execution = started(customer())
    identity = identity_of(execution)

    def ask() -> ApprovalGate:
        return open_gate(identity=identity, workflow_id="w", required_approvals=1, expires_in=HOUR, description="")

    first = ask()
    vote(first.pk, approver(), approve=True)
    assert ask().pk == first.pk
    assert ask().status == GateStatus.APPROVED


@pytest.mark.django_db
@pytest.mark.parametrize("quorum", [0, -1, 21])
def test_a_quorum_must_be_1_to_20(quorum: int) -> None:
    with pytest.raises(InvalidInput, match="1 to 20"):
        gate(quorum)


@pytest.mark.django_db
def test_a_gate_must_be_given_time() -> None:
    with pytest.raises(InvalidInput, match="more than 0"):
        gate(expires_in=timedelta(0))


@pytest.mark.django_db
def test_cancelling_an_execution_closes_its_gates_and_opens_no_more() -> None:
    asked = gate()
    control.request_cancel(asked.execution_id, by="ann")
    asked.refresh_from_db()
    assert asked.status == GateStatus.CANCELLED
    with pytest.raises(VoteRefused, match="decided already: cancelled"):
        vote(asked.pk, approver(), approve=True)
    with pytest.raises(Canceled):
        open_gate(
            identity=identity_of(asked.execution),
            workflow_id="w",
            required_approvals=1,
            expires_in=HOUR,
            description="",
        )


@pytest.mark.django_db
def test_a_paused_execution_can_be_decided_and_goes_on_when_resumed() -> None:
    asked = gate()
    control.request_pause(asked.execution_id, by="ann")
    assert vote(asked.pk, approver(), approve=True).status == GateStatus.APPROVED
    assert Signal.objects.filter(name=asked.signal_name, consumed_at=None).exists()


@pytest.mark.django_db
def test_statistics_count_and_average_what_people_decided() -> None:
    before = approvals.stats(customer().pk)
    assert (before.total, before.average_wait) == (0, None)
    for approve in (True, False):
        vote(gate().pk, approver(), approve=approve, reason="because")
    approvals.expire_due_gates(gate().expires_at + HOUR)
    gate()
    gate(slug="other")
    ApprovalGate.objects.filter(status="approved").update(
        created_at=datetime(2026, 1, 1, 12, tzinfo=UTC), decided_at=datetime(2026, 1, 1, 12, 1, tzinfo=UTC)
    )
    ApprovalGate.objects.filter(status="rejected").update(
        created_at=datetime(2026, 1, 1, 12, tzinfo=UTC), decided_at=datetime(2026, 1, 1, 12, 3, tzinfo=UTC)
    )
    found = approvals.stats(customer().pk)
    assert (found.total, found.pending, found.approved, found.rejected, found.expired) == (4, 1, 1, 1, 1)
    assert found.average_wait == timedelta(minutes=2)


@pytest.mark.django_db(transaction=True)
def test_ten_people_voting_at_once_make_one_decision() -> None:
    """Quorum 3: exactly three votes count, the others are told that it is decided; one signal is sent."""
    asked = gate(3)
    people = [approver() for _ in range(10)]
    start, told = threading.Barrier(len(people)), []

    def cast(user: User) -> None:
        try:
            start.wait(10)
            vote(asked.pk, user, approve=True)
            told.append("counted")
        except VoteRefused as error:
            told.append(error.code)
        finally:
            connection.close()

    threads = [threading.Thread(target=cast, args=(user,)) for user in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(told) == ["counted"] * 3 + ["decided"] * 7
    assert asked.votes.count() == 3
    assert Signal.objects.filter(name=asked.signal_name).count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_double_click_counts_once() -> None:
    asked = gate(2)
    ann = approver()
    start, told = threading.Barrier(2), []

    def cast() -> None:
        try:
            start.wait(10)
            vote(asked.pk, ann, approve=True)
            told.append("counted")
        except VoteRefused as error:
            told.append(error.code)
        finally:
            connection.close()

    threads = [threading.Thread(target=cast) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(told) == ["counted", "voted"]


@pytest.mark.django_db(transaction=True)
def test_votes_and_cancellations_at_once_neither_lock_up_nor_disagree() -> None:
    """Whoever is first wins: the gate ends approved or cancelled, and nobody gets a database error."""
    ann = approver()
    for _ in range(15):
        asked = gate()
        start = threading.Barrier(2)
        problems: list[Exception] = []

        def cast(
            asked: ApprovalGate = asked, start: threading.Barrier = start, problems: list[Exception] = problems
        ) -> None:
            try:
                start.wait(10)
                vote(asked.pk, ann, approve=True)
            except VoteRefused as error:
                if error.code != "decided":
                    problems.append(error)
            except Exception as error:  # noqa: BLE001 - whatever it is, the test shows it
                problems.append(error)
            finally:
                connection.close()

        def cancel(
            asked: ApprovalGate = asked, start: threading.Barrier = start, problems: list[Exception] = problems
        ) -> None:
            try:
                start.wait(10)
                control.request_cancel(asked.execution_id, by="bob")
            except Exception as error:  # noqa: BLE001 - as above
                problems.append(error)
            finally:
                connection.close()

        threads = [threading.Thread(target=cast), threading.Thread(target=cancel)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert problems == []
        asked.refresh_from_db()
        assert asked.status in (GateStatus.APPROVED, GateStatus.CANCELLED)
