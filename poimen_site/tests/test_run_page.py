"""The page of a run: where it stands comes first, Maps in a line each, and long histories a page at a time."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from poimen_site.pages import timeline
from workflows.models import Branch, Execution, LogEntry, Role, StateRun
from workflows.tests.people import customer, member, started

pytestmark = pytest.mark.django_db

RED = "\x1b[31mred alert\x1b[0m"


@pytest.fixture
def client() -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(member(customer(), Role.VIEWER))
    return client


def page(client: Client, execution: Execution, more: str = "", code: int = 200) -> str:
    answer = client.get(f"/ui/executions/{execution.pk}{more}")
    assert answer.status_code == code
    return answer.content.decode()


def run_of(branch: Branch, state: str, place: int, **more: Any) -> StateRun:
    """An attempt that began ``place`` seconds after the first."""
    began = datetime(2026, 11, 30, tzinfo=UTC) + timedelta(seconds=place)
    given = {
        "type": "Pass",
        "status": "success",
        "epoch": 1,
        "visit": place + 1,
        "attempt": 1,
        "started_at": began,
        "ended_at": began,
    } | more
    return StateRun.objects.create(execution_id=branch.execution_id, branch=branch, state=state, **given)


def with_items() -> tuple[Execution, list[Branch]]:
    """A run that waits, after a Map over three items inside which a Parallel ran; the second item failed."""
    execution = started(customer())
    root = Branch.objects.get(execution=execution)
    Branch.objects.filter(pk=root.pk).update(state="Rest", status="waiting", waiting_for="timer")
    run_of(root, "Each", 1)

    def below(parent: Branch, body: str, **more: Any) -> Branch:
        return Branch.objects.create(
            execution=execution, customer_id=execution.customer_id, parent=parent, body=body,
            ancestors=[*parent.ancestors, parent.pk], depth=parent.depth + 1, **more,
        )  # fmt: skip

    items = []
    for index in range(3):
        has_failed = index == 1
        item = below(root, "Each/*", name=str(index), index=index, status="failed" if has_failed else "success")
        failed = {"status": "failed", "error": {"name": "Boom", "message": RED}} if has_failed else {}
        run_of(item, "Step", 2 + index, **failed)
        items += [item, below(item, "Each/*/Fan/left", name="left", status="success")]
        run_of(items[-1], "Leaf", 10 + index)
    return execution, items


def test_where_it_stands_comes_before_what_it_did(client: Client) -> None:
    execution, _ = with_items()
    shown = page(client, execution)
    assert shown.index(">Now<") < shown.index(">Rest<") < shown.index(">So far<") < shown.index(">Each<")


def test_the_items_of_a_map_are_one_line_that_opens_with_the_failures_first(client: Client) -> None:
    execution, _ = with_items()
    shown = page(client, execution)
    assert ">2 success<" in shown
    assert ">1 failed<" in shown
    assert ">Step<" not in shown
    inside = page(client, execution, "/attempts?inside=Each/*")
    assert inside.count(">Step<") == inside.count(">Leaf<") == 3
    assert inside.index("Each[1]") < inside.index("Each[0]") < inside.index("Each[2]")
    assert "Each[2]/Fan/left" in inside
    assert "red alert" in inside
    assert "\x1b" not in inside


def test_long_histories_come_a_page_at_a_time(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "PAGE", 4)
    execution = started(customer())
    root = Branch.objects.get(execution=execution)
    for number in range(15):
        run_of(root, f"S{number:02}", number)
    seen: list[str] = []
    shown, first = page(client, execution), 8
    while True:
        seen = [f"S{number:02}" for number in range(15) if f">S{number:02}<" in shown] + seen
        if f"before={first}" not in shown:
            break
        shown, first = page(client, execution, f"/attempts?before={first}"), first - 4
    assert seen == [f"S{number:02}" for number in range(15)]


def test_more_items_than_a_page_come_a_page_at_a_time(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "ITEMS_PAGE", 4)
    execution, _ = with_items()
    first = page(client, execution, "/attempts?inside=Each/*")
    assert "from=4" in first
    rest = page(client, execution, "/attempts?inside=Each/*&from=4")
    assert "from=" not in rest
    assert (first + rest).count('class="state"') == 6


def test_a_line_of_the_log_can_be_told_to_be_of_its_item(client: Client) -> None:
    execution, items = with_items()
    LogEntry.objects.create(execution=execution, branch_id=items[2].pk, node_id="Step", level="info", message="x")
    answer = client.get(f"/ui/executions/{execution.pk}/places?of={items[2].pk},{items[3].pk},{uuid4()},odd")
    assert answer.json() == {str(items[2].pk): ["[1]", "Each[1]"], str(items[3].pk): ["[1] left", "Each[1]/Fan/left"]}


def test_neither_attempts_nor_places_are_told_of_others_runs(client: Client) -> None:
    foreign = started(customer("other"))
    page(client, foreign, "/attempts?before=9", 404)
    page(client, foreign, f"/places?of={Branch.objects.get(execution=foreign).pk}", 404)


def test_terminal_sequences_are_left_out_of_what_a_page_says(client: Client) -> None:
    execution, _ = with_items()
    Execution.objects.filter(pk=execution.pk).update(
        status="failed", ended_at=datetime.now(UTC), errors=[RED], error={"name": "Boom", "message": RED}
    )
    for path in (f"/ui/executions/{execution.pk}", "/ui/executions", "/"):
        shown = client.get(path).content.decode()
        assert "red alert" in shown, path
        assert "\x1b" not in shown, path
