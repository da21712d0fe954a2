"""What people ask of executions: cancel, pause, resume, rerun, start once; and what follows for children."""

from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings
from django.utils import timezone

from workflows import control
from workflows.engine.retention import prune
from workflows.engine.store import direct_connection
from workflows.models import (
    Branch,
    Customer,
    Execution,
    LogEntry,
    Signal,
    SpecDocument,
    StateRun,
    Workflow,
    WorkflowVersion,
)
from workflows.reruns import NotRerunnable, rerun_execution
from workflows.spec import limits
from workflows.submission import IdempotencyConflict, store_spec
from workflows.tests import engine_activities
from workflows.tests.pumping import Engine, age, eventually, failure_of, output_of, ran, runs_of, story, task


def echo(name: str, value: Any) -> dict[str, Any]:
    return task("EchoActivity", name, value=value)


def spec(*states: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": "work", **more, "states": list(states)}


HOUR = {"name": "W", "type": "Wait", "duration": "1h"}


# -- cancel ----------------------------------------------------------------------------------------------------------


def test_cancelling_reaches_children_and_their_children(engine: Engine) -> None:
    engine.pump()
    inner = {"name": "inner", "states": [task("SleepActivity", seconds=60)]}
    middle = {"name": "middle", "states": [{"name": "Deep", "type": "Workflow", "spec": inner}]}
    execution = engine.start(spec({"name": "Kid", "type": "Workflow", "spec": middle}, echo("B", 1)))
    eventually(lambda: Branch.objects.filter(state="A", status="running").exists(), "the innermost running")
    control.request_cancel(execution, by="tester")
    assert engine.ended(execution).status == "cancelled"
    eventually(lambda: Execution.objects.filter(status="cancelled").count() == 3, "the whole family cancelled")
    assert not StateRun.objects.filter(state="B").exists()


def test_a_cancelled_child_fails_the_state_of_its_parent(engine: Engine) -> None:
    engine.pump()
    kid = {"name": "Kid", "type": "Workflow", "spec": {"name": "kid", "states": [HOUR]}}
    execution = engine.start(spec(kid | {"catch": [{"errors": ["Canceled"], "next": "B"}], "next": "B"}, echo("B", 1)))
    child = eventually(lambda: Execution.objects.filter(parent=execution).first(), "the child")
    engine.waits(child.pk, "timer")
    control.request_cancel(child.pk, by="tester")
    assert engine.ended(execution).status == "success", story(execution)


def test_cancelling_an_execution_nobody_has_started_yet(engine: Engine) -> None:
    execution = engine.start(spec(echo("A", 1)))
    assert control.request_cancel(execution, by="tester").status == "cancelled"
    engine.pump()
    engine.run(spec(echo("A", 1)))
    assert ran(execution) == []


def test_cancelling_while_items_queue(engine: Engine) -> None:
    engine.pump(threads=2)
    execution = engine.start(
        spec({"name": "Each", "type": "Map", "items": list(range(20)), "maxConcurrency": 2,
              "states": [task("SleepActivity", seconds=30)]})
    )  # fmt: skip
    eventually(lambda: Branch.objects.filter(execution=execution, status="running").count() == 2, "two items running")
    control.request_cancel(execution, by="tester")
    assert engine.ended(execution).status == "cancelled"
    assert not Branch.objects.filter(execution=execution, ended_at=None).exists()


def test_cancelling_while_an_inline_activity_runs(engine: Engine, misbehaving: None) -> None:
    engine.pump()
    execution = engine.start(spec(task("Hold", seconds=20), echo("B", 1)))
    engine.is_running(execution, "A")
    control.request_cancel(execution, by="tester", reason="enough")
    engine_activities.release.set()
    ended = engine.ended(execution)
    assert (ended.status, ended.cancel_reason, ended.cancelled_by) == ("cancelled", "enough", "tester")
    assert ("B", "success", 1) not in ran(execution)


def test_cancelling_at_any_moment_ends_everything(engine: Engine) -> None:
    """Many executions are cancelled while their branches start, join, wait and end."""
    engine.pump()
    engine.pump()
    engine.clock()
    busy = spec(
        {"name": "Each", "type": "Map", "items": list(range(6)), "maxConcurrency": 2,
         "states": [echo("A", 1), {"name": "T", "type": "Wait", "duration": "10ms"}]},
        {"name": "Fan", "type": "Parallel", "branches": [
            {"name": "a", "states": [echo("B", 1)]}, {"name": "b", "dependsOn": ["a"], "states": [echo("C", 1)]},
            {"name": "c", "states": [{"name": "Kid", "type": "Workflow",
                                      "spec": {"name": "kid", "states": [echo("K", 1)]}}]}]},
    )  # fmt: skip
    executions = []
    for _ in range(25):
        executions.append(engine.start(busy))
        if len(executions) > 4:
            _cancel_if_running(executions[-5])
    for execution in executions:
        _cancel_if_running(execution)
    for execution in executions:
        assert engine.ended(execution).status in ("cancelled", "success"), story(execution)
    assert not Branch.objects.filter(ended_at=None).exists()
    assert not Execution.objects.filter(ended_at=None).exists()


def _cancel_if_running(execution: UUID) -> None:
    try:
        control.request_cancel(execution, by="tester")
    except control.NotPossible:
        assert Execution.objects.get(pk=execution).status in ("success", "cancelled")


def test_what_has_ended_cannot_be_cancelled_paused_or_signalled(engine: Engine) -> None:
    engine.pump()
    execution = engine.run(spec(echo("A", 1))).pk
    for ask in (control.request_cancel, control.request_pause, control.request_resume):
        with pytest.raises(control.NotPossible, match="has ended"):
            ask(execution, by="tester")
    with pytest.raises(control.NotPossible, match="has ended"):
        control.send_signal(execution, "go")


# -- pause -----------------------------------------------------------------------------------------------------------


def test_an_execution_paused_before_it_started_starts_with_the_resume(engine: Engine) -> None:
    execution = engine.start(spec(echo("A", 1)))
    assert control.request_pause(execution, by="tester").status == "paused"
    engine.pump()
    engine.run(spec(echo("A", 1)))
    assert ran(execution) == []
    control.request_resume(execution, by="tester")
    assert engine.ended(execution).status == "success"


def test_pausing_and_resuming_at_any_moment_loses_nothing(engine: Engine) -> None:
    engine.pump()
    engine.pump()
    engine.clock()
    busy = spec(
        *(echo(f"S{n}", n) for n in range(4)),
        {"name": "T", "type": "Wait", "duration": "10ms"},
        {"name": "Each", "type": "Map", "items": list(range(5)), "maxConcurrency": 2, "states": [echo("I", "${item}")]},
    )
    executions = [engine.start(busy) for _ in range(8)]
    for _ in range(12):
        for execution in executions:
            try:
                control.request_pause(execution, by="tester")
                control.request_resume(execution, by="tester")
            except control.NotPossible:
                assert Execution.objects.get(pk=execution).status == "success"
    for execution in executions:
        assert engine.ended(execution).status == "success", story(execution)
        assert len(ran(execution)) == 4 + 1 + 5 + 1


# -- children --------------------------------------------------------------------------------------------------------


def _saved(engine: Engine, name: str, document: dict[str, Any]) -> Workflow:
    workflow = Workflow.objects.create(customer=engine.customer, name=name, status="active")
    WorkflowVersion.objects.create(workflow=workflow, version=1, name=name, spec=store_spec(document), checksum="")
    return workflow


def test_a_saved_workflow_runs_as_a_child_by_name(engine: Engine) -> None:
    engine.pump()
    saved = _saved(engine, "greeting", {"name": "greeting", "states": [echo("G", "hello ${workflow.input.who}")]})
    execution = engine.run(spec({"name": "Kid", "type": "Workflow", "workflow": "greeting", "input": {"who": "Ada"}}))
    child = Execution.objects.get(parent=execution)
    assert execution.output == {"executionId": str(child.pk), "output": {"value": "hello Ada"}}
    assert (child.workflow, child.depth) == (saved, 1)


def test_neither_an_archived_workflow_nor_that_of_another_customer_runs_as_a_child(engine: Engine) -> None:
    engine.pump()
    document = {"name": "kid", "states": [echo("K", 1)]}
    _saved(engine, "old", document)
    theirs = _saved(engine, "theirs", document)
    Workflow.objects.filter(name="old").update(status="archived")
    Workflow.objects.filter(name="theirs").update(customer=Customer.objects.create(slug="other", name="Other"))
    for wanted in ("old", "theirs", str(theirs.pk)):
        ended = engine.run(spec({"name": "Kid", "type": "Workflow", "workflow": wanted}))
        assert failure_of(ended)["name"] == "UnknownWorkflow", story(ended.pk)


def test_a_child_that_is_late_is_cancelled(engine: Engine) -> None:
    engine.pump()
    engine.clock()
    kid = {"name": "Kid", "type": "Workflow", "timeout": "100ms", "spec": {"name": "kid", "states": [HOUR]}}
    execution = engine.run(spec(kid))
    assert failure_of(execution)["name"] == "Timeout"
    assert engine.ended(Execution.objects.get(parent=execution).pk).status == "cancelled"


def test_a_child_that_somebody_cancelled_is_not_tried_again(engine: Engine) -> None:
    engine.pump()
    engine.clock()
    kid = {"name": "kid", "states": [{"name": "S", "type": "WaitForSignal", "signal": "go"}]}
    execution = engine.start(
        spec({"name": "Kid", "type": "Workflow", "spec": kid, "retry": {"maxAttempts": 2, "initialInterval": "1ms"}})
    )
    first = eventually(lambda: Execution.objects.filter(parent=execution).first(), "the first child")
    engine.waits(first.pk, "signal")
    control.request_cancel(first.pk, by="tester")
    assert failure_of(engine.ended(execution))["name"] == "Canceled"
    assert Execution.objects.filter(parent=execution).count() == 1


def test_a_workflow_cannot_contain_itself(engine: Engine) -> None:
    engine.pump()
    document = {"name": "ouroboros", "states": [{"name": "Kid", "type": "Workflow", "workflow": "ouroboros"}]}
    workflow = _saved(engine, "ouroboros", document)
    ended = engine.run(document, workflow=workflow)
    assert ended.status == "failed"
    assert "cannot contain itself" in failure_of(ended)["message"]
    assert Execution.objects.count() == 1


def test_children_nest_only_so_deep(engine: Engine) -> None:
    engine.pump()
    document: dict[str, Any] = {"name": "bottom", "states": [echo("Bottom", 1)]}
    for level in range(limits.MAX_CHILD_DEPTH + 1):
        document = {"name": f"level{level}", "states": [{"name": f"K{level}", "type": "Workflow", "spec": document}]}
    ended = engine.run(document)
    assert ended.status == "failed"
    assert "nested 8 deep" in str(ended.error)
    assert Execution.objects.count() == limits.MAX_CHILD_DEPTH + 1


def test_a_child_that_continues_as_new_reports_to_its_parent_at_the_end(engine: Engine) -> None:
    engine.pump()
    child = {"name": "kid", "input": {"n": 0}, "states": [
        {"name": "C", "type": "Choice", "choices": [{"when": "{% workflow.input.n >= 2 %}", "next": "Done"}],
         "default": "Again"},
        {"name": "Again", "type": "Succeed", "continueAsNew": {"input": {"n": "{% workflow.input.n + 1 %}"}}},
        {"name": "Done", "type": "Succeed", "output": "${workflow.input.n}"}]}  # fmt: skip
    execution = engine.run(spec({"name": "Kid", "type": "Workflow", "spec": child}))
    assert execution.status == "success", story(execution.pk)
    assert output_of(execution.pk, "Kid")["output"] == 2
    assert Execution.objects.filter(continued_from__isnull=False).count() == 2


# -- rerun and start -------------------------------------------------------------------------------------------------


def test_a_rerun_from_a_state_reuses_what_was_before_it(engine: Engine) -> None:
    engine.pump()
    document = spec(
        echo("A", "a") | {"assign": {"kept": "${result.value}"}},
        {"name": "Each", "type": "Map", "items": [1, 2], "states": [echo("I", "${item}")]},
        task("FailActivity", "F") | {"catch": [{"errors": ["*"], "next": "End"}], "next": "End"},
        {"name": "End", "type": "Pass", "result": ["${A.output.value}", "${vars.kept}", "${Each.output[1].value}"]},
    )
    document["states"][0]["next"], document["states"][1]["next"] = "Each", "F"
    first = engine.run(document)
    assert first.output == ["a", "a", 2]
    again = rerun_execution(first.pk, from_state="F", by="tester")
    ended = engine.ended(again.pk)
    assert ended.output == first.output, story(again.pk)
    assert ended.rerun_of == first
    assert ran(again.pk) == [("F", "failed", 1), ("End", "success", 1)]
    assert {run.state for run in runs_of(again.pk) if run.reused} == {"A", "Each"}


def test_a_rerun_from_a_state_that_was_not_reached_is_refused(engine: Engine) -> None:
    engine.pump()
    first = engine.run(spec(echo("A", 1), task("FailActivity", "F"), echo("B", 2)))
    assert first.status == "failed"
    with pytest.raises(NotRerunnable, match="B did not run"):
        rerun_execution(first.pk, from_state="B")


def test_a_rerun_can_be_rerun_from_what_it_had_reused(engine: Engine) -> None:
    engine.pump()
    first = engine.run(spec(echo("A", 1), echo("B", 2), echo("C", 3)))
    second = engine.ended(rerun_execution(first.pk, from_state="C").pk)
    third = engine.ended(rerun_execution(second.pk, from_state="B").pk)
    assert ran(third.pk) == [("B", "success", 1), ("C", "success", 1)], story(third.pk)
    assert {run.state for run in runs_of(third.pk) if run.reused} == {"A"}


def test_a_rerun_from_the_start_runs_everything_again(engine: Engine) -> None:
    engine.pump()
    first = engine.run(spec(echo("A", "${workflow.input.x}")), {"x": 3})
    again = engine.ended(rerun_execution(first.pk, by="tester").pk)
    assert again.output == {"value": 3}
    assert ran(again.pk) == [("A", "success", 1)]


def test_a_rerun_from_a_state_that_hands_on_what_came_before_it(engine: Engine) -> None:
    engine.pump()
    document = spec(echo("A", "a"), {"name": "P", "type": "Pass"}, echo("B", 1), {"name": "Q", "type": "Pass"})
    first = engine.run(document)
    again = engine.ended(rerun_execution(first.pk, from_state="P", by="tester").pk)
    assert output_of(again.pk, "P") == {"value": "a"}, story(again.pk)


def test_a_rerun_from_a_state_in_a_loop_starts_with_its_last_visit(engine: Engine) -> None:
    engine.pump()
    document = spec(
        {"name": "Zero", "type": "Pass", "assign": {"i": 0}, "next": "Body"},
        echo("Body", "${vars.i}") | {"assign": {"i": "{% vars.i + 1 %}"}, "next": "Again"},
        {"name": "Again", "type": "Choice", "choices": [{"when": "{% vars.i < 3 %}", "next": "Body"}],
         "default": "Done"},
        {"name": "Done", "type": "Succeed", "output": "${vars.i}"},
    )  # fmt: skip
    first = engine.run(document)
    assert first.output == 3
    again = engine.ended(rerun_execution(first.pk, from_state="Body", by="tester").pk)
    assert ran(again.pk) == [("Body", "success", 1), ("Again", "success", 1), ("Done", "success", 1)], story(again.pk)


def test_what_continues_as_new_hands_on_what_came_before_it(engine: Engine) -> None:
    engine.pump()
    tasks = [echo(f"S{n}", n) for n in range(11)]
    document = spec(*tasks, {"name": "P", "type": "Pass"}, continueAsNew={"limit": 10})
    ended = engine.run(document)
    assert ended.continued_from is not None
    assert ran(ended.pk) == [("P", "success", 1)]
    assert ended.output == {"value": 10}, story(ended.pk)


def test_what_cannot_be_rerun_is_refused(engine: Engine) -> None:
    execution = engine.start(spec(echo("A", 1)))
    with pytest.raises(NotRerunnable, match="still running"):
        rerun_execution(execution)
    engine.pump()
    engine.ended(execution)
    with pytest.raises(NotRerunnable, match="no state 'Nope'"):
        rerun_execution(execution, from_state="Nope")


def test_a_start_with_the_same_key_happens_once(engine: Engine) -> None:
    engine.pump()
    first = engine.start(spec(echo("A", 1)), {"x": 1}, idempotency_key="k")
    assert engine.start(spec(echo("A", 1)), {"x": 1}, idempotency_key="k") == first
    assert Execution.objects.count() == 1
    with pytest.raises(IdempotencyConflict, match="another request"):
        engine.start(spec(echo("A", 1)), {"x": 2}, idempotency_key="k")
    with pytest.raises(IdempotencyConflict, match="another request"):
        engine.start(spec(echo("A", 1)), {"x": 1}, idempotency_key="k", priority=1)
    assert engine.ended(first).status == "success"


# -- signals whose hint was lost, retention ---------------------------------------------------------------------------


def test_the_clock_finds_a_signal_whose_hint_was_lost(engine: Engine) -> None:
    engine.pump()
    execution = engine.start(spec({"name": "S", "type": "WaitForSignal", "signal": "go"}))
    engine.waits(execution, "signal")
    Signal.objects.create(execution_id=execution, name="go", payload=7)
    engine.clock()
    assert engine.ended(execution).output == 7


def test_retention_removes_old_executions_with_their_files_and_nothing_else(engine: Engine, misbehaving: None) -> None:
    engine.pump()
    large = spec(task("Give", kind="large"))
    old, young = engine.run(large).pk, engine.run(large).pk
    parent = engine.run(spec({"name": "Kid", "type": "Workflow", "spec": {"name": "kid", "states": [echo("K", 1)]}})).pk
    open_one = engine.start(spec({"name": "S", "type": "WaitForSignal", "signal": "go"}))
    engine.waits(open_one, "signal")
    child = Execution.objects.get(parent=parent).pk
    files = {e: Path(settings.POIMEN_HOME) / "artifacts" / str(e) for e in (old, young)}
    assert all(path.exists() for path in files.values())
    for execution in (old, parent, child):
        age(execution, timedelta(days=40))
    with direct_connection() as connection:
        assert prune(connection, days=30) == 3
        assert prune(connection, days=30) == 0
    assert set(Execution.objects.values_list("pk", flat=True)) == {young, open_one}
    assert not files[old].exists()
    assert output_of(young, "A")
    assert files[young].exists()
    for model in (StateRun, LogEntry, Branch):
        assert set(model.objects.values_list("execution", flat=True)) <= {young, open_one}


def test_retention_of_no_days_keeps_everything(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "POIMEN_RETENTION_DAYS", 0)
    engine.pump()
    execution = engine.run(spec(echo("A", 1))).pk
    age(execution, timedelta(days=4000))
    with direct_connection() as connection:
        assert prune(connection) == 0
    assert Execution.objects.filter(pk=execution).exists()


def test_retention_forgets_specs_that_nothing_uses(engine: Engine) -> None:
    saved = _saved(engine, "kept", {"name": "kept", "states": [echo("K", 1)]})
    unused = store_spec({"name": "unused", "states": [echo("U", 1)]})
    SpecDocument.objects.update(created_at=timezone.now() - timedelta(days=2))
    with direct_connection() as connection:
        prune(connection)
    assert not SpecDocument.objects.filter(pk=unused.pk).exists()
    assert WorkflowVersion.objects.get(workflow=saved).spec is not None
