"""The engine's semantics as a table: each file of engine_cases is a spec, what is done to it, and what comes of it.

``during`` happens in order, each once its ``when`` holds: ``{"waiting": what}``, ``{"running": state}`` or
``{"status": of the execution}``. ``states`` are all runs ``[state, status, attempt]`` in order, or in any order where
branches run side by side. ``log`` are parts of lines that appear in that order.
"""

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from workflows import control
from workflows.models import Execution
from workflows.spec.validator import validate_spec
from workflows.tests.pumping import Engine, messages, output_of, ran, story

CASES = sorted((Path(__file__).parent / "engine_cases").glob("*.json"))
CASE_KEYS = {"about", "spec", "inputs", "during", "expect", "invalid"}
EXPECT_KEYS = {"status", "output", "error", "errors", "states", "inAnyOrder", "outputs", "log"}


@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_case(path: Path, engine: Engine) -> None:
    case = json.loads(path.read_text())
    assert set(case) <= CASE_KEYS
    assert set(case["expect"]) <= EXPECT_KEYS
    report = validate_spec(case["spec"])
    # A spec that validation refuses must still end well, should one get past it.
    assert report.valid is not case.get("invalid", False), report.as_text()
    engine.pump()
    engine.clock()
    execution = engine.start(case["spec"], case.get("inputs"))
    for step in case.get("during", []):
        _wait_until(engine, execution, step["when"])
        _do(execution, step)
    _check(engine.ended(execution), case["expect"])


def _wait_until(engine: Engine, execution: UUID, when: dict[str, Any]) -> None:
    ((what, value),) = when.items()
    if what == "waiting":
        engine.waits(execution, value)
    elif what == "running":
        engine.is_running(execution, value)
    else:
        assert what == "status"
        engine.reaches(execution, value)


def _do(execution: UUID, step: dict[str, Any]) -> None:
    match step["do"]:
        case "signal":
            control.send_signal(execution, step["name"], step.get("payload"), dedupe_key=step.get("dedupeKey"))
        case "cancel":
            control.request_cancel(execution, by="tester", reason=step.get("reason", ""))
        case "pause":
            control.request_pause(execution, by="tester")
        case "resume":
            control.request_resume(execution, by="tester")
        case other:
            raise AssertionError(f"nobody knows how to {other}")


def _check(execution: Execution, expect: dict[str, Any]) -> None:
    what_happened = story(execution.pk)
    assert execution.status == expect["status"], what_happened
    if "output" in expect:
        assert execution.output == expect["output"], what_happened
    if "error" in expect:
        assert expect["error"].items() <= (execution.error or {}).items(), execution.error
    if "errors" in expect:
        assert execution.errors == expect["errors"], what_happened
    if "states" in expect:
        seen = [list(run) for run in ran(execution.pk)]
        wanted = expect["states"]
        if expect.get("inAnyOrder"):
            seen, wanted = sorted(seen), sorted(wanted)
        assert seen == wanted, what_happened
    for state, output in expect.get("outputs", {}).items():
        assert output_of(execution.pk, state) == output, what_happened
    lines = iter(messages(execution.pk))
    for part in expect.get("log", []):
        assert any(part in line for line in lines), f"no line {part!r} (in this order) in\n{what_happened}"
