"""A rerun reads the files that what it reuses left, a clone or a report; nobody else does, and they stay as long."""

import subprocess
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from workflows.engine.retention import prune
from workflows.engine.store import direct_connection
from workflows.models import Execution
from workflows.reruns import rerun_execution
from workflows.tests.pumping import Engine, age, output_of, story, task


@pytest.fixture
def repository() -> Path:
    made = Path(settings.POIMEN_HOME) / "sources" / "shop"
    if not made.exists():
        made.mkdir(parents=True)
        (made / "a.py").write_text("def f(x):\n    return eval(x)\n")
        git = ["git", "-c", "user.name=Example", "-c", "user.email=example@example.org", "-C", str(made)]
        for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "Begin"]):
            subprocess.run([*git, *command], check=True)
    return made


def check_up(repository: Path) -> dict[str, Any]:
    analyse = {"states": [task("AnalyzeCodeActivity", "Analyse", path="${Clone.output.path}")]}
    scan = {"states": [task("SecurityScanActivity", "Scan", path="${Clone.output.path}")]}
    return {
        "name": "check-up",
        "states": [
            task("CloneRepoActivity", "Clone", repo=str(repository)),
            {"name": "Look", "type": "Parallel", "branches": [analyse, scan]},
            task("GenerateReportActivity", "Report", analysisResult="${Analyse.output}", format="html"),
            task("ArchiveResultsActivity", "Keep", reportPath="${Report.output.reportPath}", destination="kept/"),
        ],
    }


def again(engine: Engine, source: Execution, state: str) -> Execution:
    ended = engine.ended(rerun_execution(source.pk, from_state=state).pk)
    assert ended.status == "success", story(ended.pk)
    return ended


def test_steps_that_read_a_clone_or_a_report_run_again_and_again(engine: Engine, repository: Path) -> None:
    engine.pump()
    first = engine.run(check_up(repository))
    assert first.status == "success", story(first.pk)
    second = again(engine, first, "Scan")
    third = again(engine, second, "Analyse")
    for kept in (first, third):
        assert again(engine, kept, "Keep").output == kept.output


def test_who_only_knows_the_path_reads_nothing(engine: Engine, repository: Path) -> None:
    engine.pump()
    first = engine.run(check_up(repository))
    clone = output_of(first.pk, "Clone")["path"]
    stranger = engine.run({"name": "look", "states": [task("AnalyzeCodeActivity", "Analyse", path=clone)]})
    assert "outside the allowed directories" in str(stranger.error)
    # A rerun from the start reuses nothing.
    anew = {"name": "look", "states": [task("AnalyzeCodeActivity", "Analyse", path="${workflow.input.path}")]}
    failed = engine.run(anew, {"path": clone})
    assert "outside" in str(engine.ended(rerun_execution(failed.pk).pk).error)


def test_what_is_reused_stays_until_the_rerun_has_ended(engine: Engine, repository: Path) -> None:
    engine.pump()
    first = engine.run(check_up(repository))
    second = again(engine, first, "Scan")
    for old in (first, second):
        age(old.pk, timedelta(days=40))
    engine.stop()
    third = rerun_execution(second.pk, from_state="Analyse")
    with direct_connection() as connection:
        assert prune(connection, days=30) == 0
        engine.pump()
        assert engine.ended(third.pk).status == "success", story(third.pk)
        assert prune(connection, days=30) == 2
    assert list(Execution.objects.values_list("pk", flat=True)) == [third.pk]
    assert not (Path(settings.POIMEN_HOME) / "workspaces" / str(first.pk)).exists()
