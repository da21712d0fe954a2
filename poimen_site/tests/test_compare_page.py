"""Two runs side by side: what differs is marked and named, the same is not, and others' runs are not to be compared."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from poimen_site.pages.comparison import compared
from poimen_site.tests.test_pages import text, visitor
from workflows.models import Branch, Execution, Role, StateRun
from workflows.tests.people import customer, started

pytestmark = pytest.mark.django_db


def ran(execution: Execution, state: str, output: Any = None, *, at: int = 0, took: float = 0.01, **more: Any) -> None:
    """One attempt of the root at ``state``, which began ``at`` seconds after the first and took ``took`` seconds."""
    branch = Branch.objects.get(execution=execution, parent=None)
    began = datetime(2026, 11, 30, tzinfo=UTC) + timedelta(seconds=at)
    given = {"type": "Task", "status": "success", "visit": at + 1, "attempt": 1} | more
    StateRun.objects.create(
        execution=execution, branch=branch, state=state, output=output,
        started_at=began, ended_at=began + timedelta(seconds=took), **given,
    )  # fmt: skip


def two_runs() -> tuple[Execution, Execution]:
    acme = customer()
    before, after = started(acme), started(acme)
    for run, slow, word in ((before, 1.0, "old"), (after, 3.0, "new")):
        ran(run, "Same", {"a": 1})
        ran(run, "Slow", {"a": 1}, at=1, took=slow)
        ran(run, "Other", {"kept": 1, "word": word}, at=5)
        ran(run, "Kept", {"$artifact": f"artifacts/{run.pk}/x", "bytes": 3, "sha256": "ff"}, at=6)
    ran(after, "Broke", at=7, status="failed", error={"name": "Boom", "message": "<b>broken</b>"})
    return before, after


def test_what_differs_is_named_and_the_same_is_not() -> None:
    before, after = two_runs()
    rows = {row.state: row for row in compared(after, before)}
    assert list(rows) == ["Same", "Slow", "Other", "Kept", "Broke"]
    assert {state: row.changed for state, row in rows.items()} == {
        "Same": (),
        "Slow": ("duration",),
        "Other": ("output",),
        "Kept": (),
        "Broke": ("only here",),
    }
    assert rows["Other"].keys == ("word",)
    assert rows["Slow"].is_slower
    assert compared(before, after)[1].is_faster


def test_the_page_compares_with_the_run_before_or_the_one_that_is_asked_for() -> None:
    before, after = two_runs()
    reader = visitor(Role.VIEWER)
    for path in (f"/ui/executions/{after.pk}/compare", f"/ui/executions/{after.pk}/compare?with={before.pk}"):
        shown = text(reader, path)
        assert "3 of 5 states differ" in shown
        assert len(re.findall('<tr class="differs" data-state=', shown)) == 3
        assert "&lt;b&gt;broken&lt;/b&gt;" in shown
    assert f'href="/ui/executions/{after.pk}/compare"' in text(reader, f"/ui/executions/{after.pk}")


def test_there_is_nothing_to_compare_with_others_or_alone() -> None:
    alone = started(customer())
    reader = visitor(Role.VIEWER)
    assert "There is no other run" in text(reader, f"/ui/executions/{alone.pk}/compare")
    foreign = started(customer("globex"))
    for wanted in (foreign.pk, uuid4(), "none"):
        assert "There is no such run" in text(reader, f"/ui/executions/{alone.pk}/compare?with={wanted}", 404)
    assert "Execution not found" in text(reader, f"/ui/executions/{foreign.pk}/compare", 404)
