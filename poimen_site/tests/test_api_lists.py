"""Every list can be narrowed and ordered, refuses what it cannot order by, and pages through each row once."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from canvas.tests.drawing import node
from workflows.models import Execution, Role
from workflows.tests.people import ECHO, customer, member, signed_in, started
from workflows.tests.test_approvals import gate

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
pytestmark = pytest.mark.django_db


def client() -> Any:
    return signed_in(member(customer(), Role.ADMIN))


def names(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.json()
    rows = answer.json()
    return [row["name"] for row in (rows["workflows"] if isinstance(rows, dict) else rows)]


def test_executions_are_ordered_and_narrowed() -> None:
    for name, priority, by in (("b", 1, "ann"), ("a", 3, "bob"), ("c", 2, "ann")):
        run = started(customer(), {**ECHO, "name": name}, by=by)
        at = NOON + timedelta(seconds=Execution.objects.count())  # within a transaction there is one now
        Execution.objects.filter(pk=run.pk).update(priority=priority, created_at=at)
    ask = client().get
    assert names(ask("/executions")) == ["c", "a", "b"]
    assert names(ask("/executions?ordering=createdAt")) == ["b", "a", "c"]
    assert names(ask("/executions?ordering=name")) == ["a", "b", "c"]
    assert names(ask("/executions?ordering=-priority")) == ["a", "c", "b"]
    assert names(ask("/executions?createdBy=ann&ordering=name")) == ["b", "c"]
    assert names(ask("/executions?name=a")) == ["a"]
    middle = Execution.objects.get(name="a").created_at.isoformat().replace("+", "%2B")
    assert names(ask(f"/executions?createdAfter={middle}")) == ["c", "a"]
    assert names(ask(f"/executions?createdBefore={middle}")) == ["b"]
    assert names(ask("/executions?name=nothing")) == []


def test_those_that_have_not_ended_come_last() -> None:
    runs = [started(customer(), {**ECHO, "name": name}) for name in "abc"]
    asked = client()
    for seconds, run in enumerate(runs[:2]):
        asked.post(f"/executions/{run.pk}/cancel", {}, format="json")
        Execution.objects.filter(pk=run.pk).update(ended_at=NOON + timedelta(seconds=seconds))
    assert names(asked.get("/executions?ordering=completedAt")) == ["a", "b", "c"]
    assert names(asked.get("/executions?ordering=-completedAt")) == ["b", "a", "c"]


def test_workflows_are_ordered_and_found_by_a_part_of_their_name() -> None:
    asked = client()
    for name in ("Nightly check", "release", "CHECKOUT"):
        asked.post("/workflows", {"name": name, "nodes": [node("a")], "edges": []}, format="json")
    assert names(asked.get("/workflows?ordering=name")) == sorted(
        ["Nightly check", "release", "CHECKOUT"], key=str.lower
    )
    assert names(asked.get("/workflows?name=check&ordering=createdAt")) == ["Nightly check", "CHECKOUT"]
    assert asked.get("/workflows?name=check").json()["total"] == 2


def test_equal_rows_are_paged_through_once_each() -> None:
    for _ in range(7):
        started(customer())
    seen: list[str] = []
    for page in (1, 2, 3):
        answer = client().get(f"/executions?ordering=name&limit=3&page={page}")
        assert answer.headers["X-Total-Count"] == "7"
        seen += [row["id"] for row in answer.json()]
    assert len(set(seen)) == len(seen) == 7


def test_gates_by_expiry() -> None:
    first, second = gate(), gate()
    asked = [row["id"] for row in client().get("/approvals?ordering=-expiresAt").json()]
    assert asked == [str(second.pk), str(first.pk)]


@pytest.mark.parametrize("path", ["/executions", "/workflows", "/approvals", "/api-keys"])
@pytest.mark.parametrize("wrong", ["id", "customer", "created_at", "--createdAt", "createdAt,name"])
def test_what_cannot_be_ordered_by_is_refused(path: str, wrong: str) -> None:
    answer = client().get(path, {"ordering": wrong})
    assert answer.status_code == 400
    assert answer.json()["error"].startswith("ordering")
