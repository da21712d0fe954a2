"""The knowledge base and its page say what is registered, completely."""

import json
import os
import re
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from pydantic import Field

from workflows.activities import reference_pages, testing  # noqa: F401 - registers its activities
from workflows.activities.context import ActivityContext
from workflows.activities.knowledge_base import entry, knowledge_base
from workflows.activities.registry import Registry, activity, registry
from workflows.activities.shapes import Fields
from workflows.errors import InvalidInput, PermanentError
from workflows.spec.validator import validate_spec

# The table of contract-activities 0.
CONTRACT = {
    "CloneRepoActivity": ("repository", "5m", False, 1, 1.5, []),
    "AnalyzeCodeActivity": ("analysis", "10m", True, 3, 2.0, ["CloneRepoActivity"]),
    "SecurityScanActivity": ("security", "8m", False, 2, 1.5, ["CloneRepoActivity"]),
    "GenerateReportActivity": ("reporting", "2m", False, 1, 1.0, ["AnalyzeCodeActivity", "SecurityScanActivity"]),
    "ApproveWorkflowActivity": ("approval", "2h", False, 1, 1.0, []),
    "NotifyStatusActivity": ("notification", "3m", True, 3, 1.5, []),
    "AssumeRoleActivity": ("authentication", "30s", False, 2, 1.5, []),
    "DeploymentPreCheckActivity": ("deployment", "15m", True, 2, 2.0, ["CloneRepoActivity"]),
    "ArchiveResultsActivity": ("storage", "5m", True, 2, 1.5, []),
    "RetrieveMemoryActivity": ("memory", "30s", True, 2, 1.5, []),
}
INPUTS = {
    "CloneRepoActivity": {"repo": True, "branch": False, "depth": False},
    "AnalyzeCodeActivity": {"path": True, "language": False, "depth": False},
    "SecurityScanActivity": {"path": True, "severity": False},
    "GenerateReportActivity": {"analysisResult": False, "securityResult": False, "format": False},
    "ApproveWorkflowActivity": {"workflowId": True, "requiredApprovals": False, "timeoutMinutes": False},
    "AssumeRoleActivity": {"identity": True, "scope": True, "clientId": False, "durationSeconds": False},
    "DeploymentPreCheckActivity": {"path": True, "checkType": False},
    "ArchiveResultsActivity": {"reportPath": True, "destination": True, "metadata": False},
    "NotifyStatusActivity": {"channel": True, "status": True, "message": True},
    "HttpRequestActivity": {"method": False, "url": True, "headers": False, "body": False, "expectStatus": False},
    "EchoActivity": {"value": False},
}
OUTPUTS = {
    "CloneRepoActivity": {"path", "commit", "branch"},
    "AnalyzeCodeActivity": {"quality", "metrics", "issues", "summary"},
    "SecurityScanActivity": {"vulnerabilities", "securityScore", "riskLevel"},
    "GenerateReportActivity": {"report", "reportPath"},
    "ApproveWorkflowActivity": {"approved", "approver", "timestamp"},
    "AssumeRoleActivity": {"token", "expiresAt", "expiresIn", "tokenType"},
    "DeploymentPreCheckActivity": {"passed", "failures", "warnings"},
    "ArchiveResultsActivity": {"archiveUrl", "archiveSize"},
    "NotifyStatusActivity": {"notificationId", "timestamp"},
    "HttpRequestActivity": {"status", "headers", "body"},
    "EchoActivity": {"value"},
}
TYPES = {"string", "integer", "number", "boolean", "object", "array"}


def entries() -> dict[str, dict[str, Any]]:
    return {item["name"]: item for item in knowledge_base()["activities"]}


def test_the_document_counts_what_it_lists() -> None:
    document = knowledge_base()
    assert set(document) == {"version", "activities", "metadata"}
    assert document["metadata"]["totalActivities"] == len(document["activities"]) == len(list(registry))
    assert sum(document["metadata"]["categories"].values()) == len(document["activities"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", document["metadata"]["lastUpdated"])
    json.dumps(document, allow_nan=False)


@pytest.mark.parametrize("name", CONTRACT)
def test_the_limits_are_those_of_the_contract(name: str) -> None:
    limits, item = entries()[name]["constraints"], entries()[name]
    assert CONTRACT[name] == (
        item["category"], limits["defaultTimeout"], limits["isFlaky"], limits["recommendedRetries"],
        limits["retryBackoff"], limits["dependencies"],
    )  # fmt: skip


@pytest.mark.parametrize("name", INPUTS)
def test_inputs_and_outputs_are_those_of_the_contract(name: str) -> None:
    item = entries()[name]
    required = {field: facts["required"] for field, facts in item["inputs"].items()}
    assert INPUTS[name].items() <= required.items()
    assert OUTPUTS[name] <= set(item["outputs"])


def test_every_activity_and_field_is_described_and_typed() -> None:
    for name, item in entries().items():
        assert item["description"].endswith("."), name
        for field, facts in (item["inputs"] | item["outputs"]).items():
            assert facts["description"], f"{name}.{field} has no description"
            assert facts["type"] in TYPES, f"{name}.{field}"
        for facts in item["outputs"].values():
            assert "$ref" not in json.dumps(facts)
            assert "required" not in facts or facts["type"] == "array"


def test_defaults_and_choices_are_there_for_forms() -> None:
    inputs = entries()["SecurityScanActivity"]["inputs"]
    assert inputs["severity"]["default"] == "medium"
    assert inputs["severity"]["enum"] == ["low", "medium", "high", "critical"]
    found = entries()["SecurityScanActivity"]["outputs"]["vulnerabilities"]
    assert (found["type"], found["items"]["type"]) == ("array", "object")


def test_limits_types_and_the_place_for_secrets_are_there_for_forms() -> None:
    http = entries()["HttpRequestActivity"]["inputs"]
    status = {key: http["expectStatus"][key] for key in ("type", "types", "minimum", "maximum")}
    assert status == {"type": "integer", "types": ["integer", "array"], "minimum": 100, "maximum": 599}
    assert http["headers"]["additionalProperties"] == {"type": "string"}
    assert (http["url"]["maxLength"], http["url"]["secrets"], http["headers"]["secrets"]) == (8192, "url", "value")
    assert set(http["body"]["types"]) == TYPES  # anything
    approval = entries()["ApproveWorkflowActivity"]["inputs"]["timeoutMinutes"]
    assert (approval["exclusiveMinimum"], "types" in approval) == (0, False)


def test_what_is_for_tests_only_is_internal() -> None:
    hidden = {name for name, item in entries().items() if item["internal"]}
    assert hidden >= {"SleepActivity", "FailActivity", "StubbornActivity", "RecordActivity"}
    assert "EchoActivity" not in hidden


@pytest.mark.parametrize("switch, there", [("", False), ("1", True)])
def test_activities_for_testing_exist_only_where_they_are_switched_on(switch: str, there: bool) -> None:
    code = (
        "import django; django.setup()\n"
        "from workflows.activities.registry import registry\n"
        "print(sorted(a.name for a in registry))"
    )
    environment = os.environ | {
        "POIMEN_TEST_ACTIVITIES": switch or "0",
        "DJANGO_SETTINGS_MODULE": "poimen_site.settings",
    }
    said = subprocess.check_output([sys.executable, "-c", code], cwd=settings.BASE_DIR, env=environment, text=True)
    assert ("SleepActivity" in said) is there
    assert "HttpRequestActivity" in said


def test_the_page_is_what_the_registry_says() -> None:
    call_command("activity_docs", "--check")


def test_a_page_that_is_not_current_is_noticed_and_can_be_written(tmp_path: Path, settings: Any) -> None:
    (tmp_path / "docs" / "reference").mkdir(parents=True)
    settings.BASE_DIR = tmp_path
    with pytest.raises(CommandError, match="is not what the registry says"):
        call_command("activity_docs", "--check")
    call_command("activity_docs")
    call_command("activity_docs", "--check")
    index = (tmp_path / "docs/reference/activities.md").read_text()
    assert "[CloneRepoActivity](activities/CloneRepoActivity.md)" in index
    assert "SleepActivity" not in index
    page = tmp_path / "docs/reference/activities/CloneRepoActivity.md"
    page.write_text(page.read_text().replace("branch", "twig"))
    (page.parent / "GoneActivity.md").write_text("")
    with pytest.raises(CommandError, match=r"CloneRepoActivity.md, GoneActivity.md: this is not"):
        call_command("activity_docs", "--check")
    call_command("activity_docs")
    assert "`branch`" in page.read_text()
    assert not (page.parent / "GoneActivity.md").exists()


@pytest.mark.parametrize("name", sorted(activity.name for activity in registry if activity.category != "testing"))
def test_the_example_of_every_page_is_a_valid_spec_that_runs_it(name: str) -> None:
    spec = reference_pages.example(registry.get(name))
    report = validate_spec(spec, activities=registry.all())
    assert report.valid, report.errors
    assert spec["states"][-1]["resource"] == name


def test_the_pages_name_the_errors_that_the_code_raises() -> None:
    ours = [item for item in registry if item.function.__module__.startswith("workflows.activities.")]
    source = "".join(path.read_text() for path in Path(settings.BASE_DIR, "workflows").rglob("*.py"))
    told = {name for item in ours for name in reference_pages.errors_of(item)}
    assert told >= {"DeliveryFailed", "TokenRefused", "ArchiveFailed", "NotConfined", "HttpError", "GitError"}
    for name in told | set(reference_pages.ANYWHERE):
        assert f'name = "{name}"' in source or f'name="{name}"' in source, name


class Shown(Fields):
    """A required and an optional field."""

    needed: Any = Field(description="Must be there")
    extra: str | None = Field(default=None, description="May be there")


def test_none_is_a_value_for_a_required_field_and_nothing_for_an_optional_one() -> None:
    echo = registry.get("EchoActivity")
    assert echo.dump_output(echo.function(echo.parse_input({"value": None}), None)) == {"value": None}
    approve = registry.get("ApproveWorkflowActivity")
    assert "approver" not in approve.dump_output({"approved": False, "timestamp": "2026-01-01T00:00:00Z"})


def test_two_activities_of_one_name_untyped_functions_and_ones_that_could_never_run_are_refused() -> None:
    def untyped(input, context):  # type: ignore[no-untyped-def]
        return None

    def other(input: Shown, context: ActivityContext) -> Shown:
        return input

    with pytest.raises(ValueError, match="max_concurrency is at least 1"):
        activity("Never", category="testing", max_concurrency=0)(other)
    with pytest.raises(TypeError, match="must take"):
        activity("UntypedActivity", category="testing")(untyped)
    with pytest.raises(ValueError, match="two activities are called EchoActivity"):
        activity("EchoActivity", category="testing")(other)


def test_an_unknown_activity_and_a_wrong_input_are_named() -> None:
    with pytest.raises(PermanentError, match="'NoActivity'") as unknown:
        registry.get("NoActivity")
    assert unknown.value.name == "UnknownActivity"
    with pytest.raises(InvalidInput, match=r"HttpRequestActivity cannot take this input: url: Field required"):
        registry.get("HttpRequestActivity").parse_input({"method": "GET"})
    with pytest.raises(InvalidInput, match=r"input: branch: this is not a name that a branch or tag can have$"):
        registry.get("CloneRepoActivity").parse_input({"repo": "https://git.example.org/a.git", "branch": "--x"})


def test_a_package_that_cannot_be_loaded_does_not_take_the_others_down(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broken = EntryPoint("broken", "broken.package", "poimen.activities")
    monkeypatch.setattr("workflows.activities.registry.entry_points", lambda group: [broken])
    fresh = Registry()
    fresh.add(registry.get("EchoActivity"))
    assert [a.name for a in fresh] == ["EchoActivity"]
    assert "broken.package" in caplog.text


def test_the_entry_of_one_activity_stands_alone() -> None:
    assert entry(registry.get("EchoActivity")) in knowledge_base()["activities"]
