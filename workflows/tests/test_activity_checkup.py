"""The built-in activities on the real engine: clone, analyse and scan in parallel, report, ask for approval."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

from django.conf import settings

from workflows.approvals import vote
from workflows.models import ApprovalGate, Role
from workflows.tests.people import member
from workflows.tests.pumping import Engine, eventually, messages, output_of, story

SPEC: dict[str, Any] = {
    "name": "check-up",
    "states": [
        {"name": "Clone", "type": "Task", "resource": "CloneRepoActivity",
         "parameters": {"repo": "${workflow.input.repo}"}, "next": "Look"},
        {"name": "Look", "type": "Parallel", "next": "Report", "branches": [
            {"name": "analysis", "states": [
                {"name": "Analyze", "type": "Task", "resource": "AnalyzeCodeActivity",
                 "parameters": {"path": "${Clone.output.path}"}}]},
            {"name": "security", "states": [
                {"name": "Scan", "type": "Task", "resource": "SecurityScanActivity",
                 "parameters": {"path": "${Clone.output.path}"}}]},
        ]},
        {"name": "Report", "type": "Task", "resource": "GenerateReportActivity", "next": "Ask", "parameters": {
            "analysisResult": "${Analyze.output}", "securityResult": "${Scan.output}", "format": "html"}},
        {"name": "Ask", "type": "Task", "resource": "ApproveWorkflowActivity",
         "parameters": {"workflowId": "check-up"}, "end": True},
    ],
}  # fmt: skip


def repository(root: Path) -> Path:
    repository = root / "project"
    repository.mkdir(parents=True)
    (repository / "a.py").write_text("import os\n\n\ndef f(x):\n    return eval(x)\n")
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", "-C", str(repository)]
    for command in (["init", "-q", "-b", "trunk"], ["add", "-A"], ["commit", "-q", "-m", "Begin"]):
        subprocess.run([*git, *command], check=True)
    return repository


def test_a_repository_is_checked_and_approved(engine: Engine) -> None:
    home = Path(settings.POIMEN_HOME) / f"checkup-{engine.customer.pk}"
    try:
        source = repository(home)
        engine.pump()
        execution = engine.start(SPEC, {"repo": str(source)})
        waiting = ApprovalGate.objects.filter(execution=execution)
        gate = eventually(waiting.first, f"a gate is open\n{story(execution)}", seconds=90)
        vote(gate.pk, member(engine.customer, Role.APPROVER, "ann"), approve=True)
        assert engine.ended(execution).status == "success", story(execution)
    finally:
        shutil.rmtree(home)
    assert output_of(execution, "Clone")["branch"] == "trunk"
    assert output_of(execution, "Analyze")["issues"] == ["a.py:1: `os` imported but unused (ruff F401)"]
    assert [found["line"] for found in output_of(execution, "Scan")["vulnerabilities"]] == [5]
    assert output_of(execution, "Ask")["approver"] == "ann"
    assert "SEC-1" in Path(output_of(execution, "Report")["reportPath"]).read_text()
    assert any("has no branch main; taking its default, trunk" in message for message in messages(execution))
