"""What is counted: every run and execution once, while rows are moved into the tallies and after they are deleted."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.db import connection as django_connection

from workflows.engine import retention
from workflows.engine.store import connection_parameters
from workflows.metrics import figures, tallies
from workflows.models import BranchStatus, MetricTally, StateRun
from workflows.tests.people import ECHO, customer, started
from workflows.tests.pumping import Engine

FAILING: dict[str, Any] = {"name": "broken", "states": [{"name": "No", "type": "Fail", "error": "Nope"}]}


@pytest.fixture
def raw() -> Iterator[psycopg.Connection]:
    with psycopg.connect(**connection_parameters()) as made:
        yield made


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the lag: what has been committed counts."""
    monkeypatch.setattr(tallies, "_LOCK", tallies._LOCK.replace("'10 seconds'", "'0 seconds'"))


def totals() -> Counter[str]:
    found: Counter[str] = Counter()
    for item in figures.read().counters:
        found[f"{item.metric} {item.label} {item.status}".strip()] += item.count
    return found


def run_some(engine: Engine) -> None:
    made = [started(customer(), spec) for spec in (ECHO, ECHO, FAILING)]
    engine.pump()
    for execution in made:
        engine.ended(execution.pk)


def test_everything_is_counted_once_before_while_and_after_it_is_tallied(
    engine: Engine, raw: psycopg.Connection
) -> None:
    run_some(engine)
    expected = {
        "started echo": 2, "started broken": 1, "ended echo success": 2, "ended broken failed": 1,
        "run EchoActivity success": 2, "run  failed": 1,
    }  # fmt: skip
    assert dict(totals()) == expected
    tally = tallies.Tally()
    tally.advance(raw)
    assert dict(totals()) == expected, "the first time it only learns where the runs end"
    tally.advance(raw)
    assert MetricTally.objects.filter(metric="run").exists()
    assert dict(totals()) == expected
    tally.advance(raw)
    assert dict(totals()) == expected
    retention.prune(raw, days=-1)
    assert not StateRun.objects.exists()
    assert dict(totals()) == expected, "counters never fall"
    run_some(engine)
    tally.advance(raw)
    tally.advance(raw)
    assert dict(totals()) == {name: count * 2 for name, count in expected.items()}


def test_two_leaders_count_nothing_twice(engine: Engine, raw: psycopg.Connection) -> None:
    run_some(engine)
    expected = dict(totals())
    first, second = tallies.Tally(), tallies.Tally()
    for tally in (first, second, first, second, first, second):
        tally.advance(raw)
    assert dict(totals()) == expected


def test_many_runs_are_counted_in_pieces(
    engine: Engine, raw: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_some(engine)
    expected = dict(totals())
    monkeypatch.setattr(tallies, "MOST_RUNS", 1)
    tally = tallies.Tally()
    for _ in range(10):
        tally.advance(raw)
    kept = {f"{row.metric} {row.label} {row.status}".strip() for row in MetricTally.objects.exclude(metric="watermark")}
    assert kept == set(expected)
    assert dict(totals()) == expected


def test_workflows_beyond_the_limit_are_counted_together(
    engine: Engine, raw: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tallies, "_ADD", tallies._ADD.replace(f"< {tallies.MOST_LABELS}", "< 1"))
    tally = tallies.Tally()
    started(customer(), ECHO)
    tally.advance(raw)
    tally.advance(raw)
    for name in ("a", "b"):
        started(customer(), ECHO | {"name": name})
    tally.advance(raw)
    assert dict(MetricTally.objects.filter(metric="started").values_list("label", "count")) == {
        "echo": 1, tallies.OTHERS: 2,
    }  # fmt: skip


@pytest.mark.django_db(transaction=True)
def test_how_things_stand_is_read_from_the_rows(quickly_emptied: None) -> None:
    started(customer(), ECHO)
    branch = started(customer(), ECHO).branches.get()
    with django_connection.cursor() as cursor:
        cursor.execute(
            "UPDATE workflows_branch SET status = %s, lease_owner = gen_random_uuid() WHERE id = %s",
            (BranchStatus.RUNNING, branch.pk),
        )
        cursor.execute("UPDATE workflows_branch SET ready_at = now() - interval '90 seconds' WHERE status = 'ready'")
    read = figures.read()
    assert (read.ready_branches, read.running_branches) == (1, 1)
    assert 90 <= read.queue_age < 100
    assert read.open_executions == {"pending": 2}
    assert [(c.label, c.count) for c in read.counters if c.metric == "running"] == [("EchoActivity", 1)]
