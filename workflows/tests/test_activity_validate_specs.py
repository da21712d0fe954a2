"""The activities that judge specs: what is wrong is their output, for whatever they are given."""

import json
from pathlib import Path
from typing import Any

import pytest

from workflows.tests.activity_case import Case
from workflows.tests.pumping import Engine, output_of, task

ECHO: dict[str, Any] = {"name": "x", "states": [{"name": "A", "type": "Task", "resource": "EchoActivity"}]}
CRON = {**ECHO, "schedule": "30 7 * * MON-FRI", "timezone": "Europe/Berlin"}


def judged(home: Path, name: str, spec: Any) -> Any:
    return Case(home).run(f"Validate{name}Activity", {"spec": spec})


def test_a_valid_spec_as_an_object_or_as_text(tmp_path: Path) -> None:
    for spec in (ECHO, json.dumps(ECHO)):
        assert judged(tmp_path, "WorkflowSpec", spec) == {"valid": True, "errors": [], "warnings": []}


def test_a_cron_spec_says_when_it_runs(tmp_path: Path) -> None:
    verdict = judged(tmp_path, "CronWorkflowSpec", CRON)
    assert (verdict["valid"], verdict["reading"]) == (True, "At 07:30, Monday through Friday, in Europe/Berlin")
    assert len(verdict["nextRuns"]) == 5


@pytest.mark.parametrize("rubbish", [None, 5, "x", [], {}, "{", {"name": "x", "states": [1]}])
def test_whatever_is_no_spec_is_said_not_raised(tmp_path: Path, rubbish: Any) -> None:
    for name in ("WorkflowSpec", "CronWorkflowSpec"):
        verdict = judged(tmp_path, name, rubbish)
        assert verdict["valid"] is False
        assert verdict["errors"]
        assert "reading" not in verdict


def test_what_is_wrong_has_its_place(tmp_path: Path) -> None:
    broken = {
        "name": "x",
        "states": [{"name": "A", "type": "Task", "resource": "EchActivity"}],
        "schedule": "61 * * * *",
    }
    (error,) = judged(tmp_path, "WorkflowSpec", {k: v for k, v in broken.items() if k != "schedule"})["errors"]
    assert 'did you mean "EchoActivity"' in error
    assert judged(tmp_path, "CronWorkflowSpec", broken)["errors"][-1] == 'schedule: minute: "61" is not 0 to 59'


def test_a_workflow_judges_what_a_state_before_made(engine: Engine) -> None:
    engine.pump()
    made = {"name": "Make", "type": "Pass", "result": {"spec": CRON}}
    judge = task("ValidateCronWorkflowSpecActivity", "Judge", spec="${Make.output.spec}")
    execution = engine.run({"name": "judging", "states": [made, judge]})
    assert output_of(execution.pk, "Judge")["valid"] is True
