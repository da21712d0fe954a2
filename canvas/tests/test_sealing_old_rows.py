"""Secrets an earlier version kept in the open are found by ``manage.py seal_secrets`` and sealed where they are."""

from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from canvas.models import Draft, Relation
from canvas.tests.asking import client, saved
from canvas.tests.drawing import node
from canvas.tests.reading import tables_with
from workflows import secrets
from workflows.models import Branch, Execution, LogEntry, Secret, Signal, StateRun, Workflow, WorkflowVersion
from workflows.submission import checksum_of, start_execution, store_spec
from workflows.tests.people import customer, started
from workflows.tests.pumping import Engine

CANARY = "c4n4ry-5ecret-value"
ADDRESS = f"https://ann:{CANARY}@example.org/x.git"
TABLES = (
    "workflows_workflow", "workflows_workflowversion", "canvas_draft", "canvas_relation", "canvas_relationversion",
    "workflows_execution", "workflows_branch", "workflows_staterun", "workflows_signal", "workflows_logentry",
)  # fmt: skip
SPEC: dict[str, Any] = {
    "name": "old",
    "states": [
        {"name": "Say", "type": "Task", "resource": "EchoActivity", "parameters": {"value": "x"}},
        {"name": "Go", "type": "WaitForSignal", "signal": "go", "end": True},
    ],
}


def told(**options: Any) -> str:
    out = StringIO()
    call_command("seal_secrets", stdout=out, **options)
    return out.getvalue()


def kept_in_the_open(engine: Engine) -> Execution:
    """An execution that has ended, and a workflow, with a password in every column that may hold one."""
    execution = started(customer(), SPEC, note="plain")
    engine.pump()
    engine.reaches(execution.pk, "waiting")
    Signal.objects.create(execution=execution, name="other", payload={"at": ADDRESS})
    from workflows import control

    control.send_signal(execution.pk, "go", {"fine": True}, by="ann")
    engine.ended(execution.pk)
    engine.stop()
    value = {"repo": ADDRESS, "deep": [{"token": CANARY}]}
    Execution.objects.update(inputs=value, output=value, error={"message": ADDRESS}, errors=[ADDRESS])
    Branch.objects.update(variables=value, output=value)
    StateRun.objects.update(input=value, output=value, error={"message": f"no: {ADDRESS}"}, assigned=value)
    LogEntry.objects.filter(pk=LogEntry.objects.earliest("pk").pk).update(message=f"from {ADDRESS}", fields=value)
    workflow = saved(client(), nodes=[node("a"), node("b")], edges=[{"id": "e", "source": "a", "target": "b"}])["id"]
    for row in (Workflow.objects.get(pk=workflow), WorkflowVersion.objects.get(workflow=workflow)):
        row.nodes[0]["data"]["config"]["repo"] = ADDRESS
        row.save()
    person = User.objects.create(username="drawing")
    Draft.objects.create(workflow_id=workflow, user=person, base_version=1, nodes=[node("a", repo=ADDRESS)])
    Relation.objects.update(relation_wording={"verb": ADDRESS})
    open_spec = store_spec({**SPEC, "description": ADDRESS})
    WorkflowVersion.objects.update(spec=open_spec)
    Execution.objects.update(spec=open_spec)
    return Execution.objects.get(pk=execution.pk)


def test_what_was_kept_in_the_open_is_sealed_and_means_the_same(engine: Engine) -> None:
    execution = kept_in_the_open(engine)
    before = tables_with(CANARY, TABLES)
    assert set(TABLES) - set(before) == {"canvas_relationversion"}
    said = told()
    assert "Nothing was changed" in said
    assert tables_with(CANARY, TABLES) == before
    for table in before:
        assert f"{table}: " in said

    told(write=True)
    assert tables_with(CANARY, TABLES) == []
    execution.refresh_from_db()
    assert secrets.reveal(execution.inputs, customer()) == {"repo": ADDRESS, "deep": [{"token": CANARY}]}
    run = StateRun.objects.filter(execution=execution).earliest("pk")
    assert secrets.reveal(run.output, customer())["repo"] == ADDRESS
    line = LogEntry.objects.earliest("pk")
    assert line.message == "from https://ann:***@example.org/x.git"
    version = WorkflowVersion.objects.get()
    assert version.checksum == checksum_of({"nodes": version.nodes, "edges": version.edges})
    for row in (version, execution):
        assert row.spec is not None
        assert CANARY not in str(row.spec.document)
        assert row.spec.pk == checksum_of(row.spec.document)
    count = Secret.objects.count()
    assert told(write=True) == "No secrets are kept in the open.\n"
    assert Secret.objects.count() == count


@pytest.mark.django_db
def test_the_spec_of_what_still_runs_stays_until_it_has_ended() -> None:
    spec = store_spec({**SPEC, "description": ADDRESS})
    execution, _ = start_execution(customer=customer(), spec=spec, inputs={}, name="old")
    assert "1 of them belong to executions that have not ended" in told(write=True)
    execution.refresh_from_db()
    assert execution.spec_id == spec.pk
    Execution.objects.update(status="failed")
    assert "workflows_specdocument: 1 sealed" in told(write=True)
    execution.refresh_from_db()
    assert CANARY not in str(execution.spec.document)


@pytest.mark.django_db
def test_an_installation_without_any_is_told_so() -> None:
    started(customer())
    assert told() == "No secrets are kept in the open.\n"
