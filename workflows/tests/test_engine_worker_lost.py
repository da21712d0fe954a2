"""A state that kills every worker which runs it: tried again on others, given up in the end, and no state forgets."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.db import connection

from workflows.engine import clock
from workflows.engine.driver import MAX_INTERRUPTIONS
from workflows.models import Branch
from workflows.tests import engine_activities
from workflows.tests.pumping import Engine, eventually, lose_lease, output_of, ran, runs_of, story, task

pytestmark = pytest.mark.usefixtures("misbehaving")

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def dead(tmp_path: Path) -> Iterator[Callable[[], int]]:
    """Workers run one after the other in processes of their own; tells how many have been killed so far."""
    report = tmp_path / "report"
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "poimen_site.settings_test",
        "POIMEN_TEST_DATABASE": connection.settings_dict["NAME"],
    }
    with report.open("w") as output:
        command = [sys.executable, "-m", "workflows.tests.dying_workers"]
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output)
    yield lambda: report.read_text().count("died of signal 9")
    process.kill()
    process.wait()


def test_a_state_that_kills_its_workers_is_given_up_and_can_be_caught(
    engine: Engine, dead: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every worker really dies; only the rest of its lease is not waited for."""
    monkeypatch.setattr(clock, "TICK_SECONDS", 0.1)
    engine.clock()
    execution = engine.start({"name": "poison", "states": [
        task("EchoActivity", "Before", value=1) | {"next": "A"},
        task("Die") | {"catch": [{"errors": ["WorkerLost"], "next": "Mend"}], "next": "Mend"},
        {"name": "Mend", "type": "Pass", "result": "${error.message}"},
    ]})  # fmt: skip
    for lost in range(1, MAX_INTERRUPTIONS + 2):
        eventually(lambda lost=lost: dead() == lost, f"death {lost}")  # type: ignore[misc]
        branch = Branch.objects.get(execution=execution)
        assert (branch.state, branch.status, branch.interruptions) == ("A", "running", lost - 1)
        lose_lease(branch.pk)
    ended = engine.ended(execution)
    assert ended.output == f"A was interrupted {MAX_INTERRUPTIONS + 1} times by dying workers"
    interrupted = [("A", "interrupted", attempt) for attempt in range(1, MAX_INTERRUPTIONS + 2)]
    assert ran(execution) == [("Before", "success", 1), *interrupted,
                              ("A", "failed", MAX_INTERRUPTIONS + 2), ("Mend", "success", 1)]  # fmt: skip


def test_losses_are_counted_for_each_state_anew(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "TICK_SECONDS", 0.1)
    execution = engine.start(
        {"name": "unlucky", "states": [task("EchoActivity", value=1), task("Hold", "B", seconds=20)]}
    )
    Branch.objects.filter(execution=execution).update(interruptions=MAX_INTERRUPTIONS)
    engine.pump()
    branch = engine.is_running(execution, "B")
    engine.clock()
    eventually(lambda: lose_lease(branch.pk) and runs_of(execution, "B"), "taken back")
    engine_activities.release.set()
    assert engine.ended(execution).status == "success", story(execution)
    assert ran(execution) == [("A", "success", 1), ("B", "interrupted", 1), ("B", "success", 2)]


def test_a_lost_worker_costs_none_of_the_attempts_that_retry_allows(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "TICK_SECONDS", 0.1)
    execution = engine.start({"name": "unlucky", "states": [
        task("FailActivity", failures=3) | {"retry": {"maxAttempts": 3, "initialInterval": "1ms"}}
    ]})  # fmt: skip
    branch = Branch.objects.get(execution=execution)
    Branch.objects.filter(pk=branch.pk).update(status="running", epoch=1, lease_owner=engine.customer.pk)
    lose_lease(branch.pk)
    engine.clock()
    eventually(lambda: runs_of(execution), "taken back")
    engine.pump()
    assert engine.ended(execution).status == "success", story(execution)
    assert ran(execution) == [("A", "interrupted", 1), ("A", "failed", 2), ("A", "failed", 3), ("A", "success", 4)]
    assert output_of(execution, "A") == {"attempt": 4}
