"""ValidateWorkflowSpecActivity and ValidateCronWorkflowSpecActivity: judge a spec before something is made of it.

They say what is wrong as an output, not as a failure. Source: contract-activities 12, contract-workflow-spec 8.
"""

from typing import Any

from pydantic import BaseModel, Field

from workflows.activities.context import ActivityContext
from workflows.activities.registry import activity, registry
from workflows.activities.shapes import KEEPS_HANDLES
from workflows.spec.cron_validator import validate_cron_spec
from workflows.spec.report import SpecReport
from workflows.spec.validator import validate_spec


class SpecInput(BaseModel):
    """A spec, as an object or as JSON text; by reference, so that what it reads is not read here."""

    spec: Any = Field(description="The spec, as an object or as JSON text", json_schema_extra=KEEPS_HANDLES)


class SpecVerdict(BaseModel):
    """What is right or wrong with it."""

    valid: bool = Field(description="Whether it may run: there are no errors")
    errors: list[str] = Field(description="What keeps it from running, each with its place")
    warnings: list[str] = Field(description="What is odd, but does not")


class CronSpecVerdict(SpecVerdict):
    """The same, and when it runs."""

    reading: str | None = Field(default=None, description="Its schedule in plain English, if it is valid")
    nextRuns: list[str] | None = Field(  # noqa: N815 - the key of the contract
        default=None, description="Its next five runs (RFC 3339), if it is valid"
    )


@activity("ValidateWorkflowSpecActivity", category="workflow", timeout="30s", isolation="process", internal=True)
def validate_workflow_spec(input: SpecInput, context: ActivityContext) -> SpecVerdict:
    """Judges a WorkflowSpec against the language and the activities there are."""
    report = validate_spec(input.spec, activities=registry.all())
    return SpecVerdict(**_verdict(report))


@activity("ValidateCronWorkflowSpecActivity", category="workflow", timeout="30s", isolation="process", internal=True)
def validate_cron_workflow_spec(input: SpecInput, context: ActivityContext) -> CronSpecVerdict:
    """Judges a CronWorkflowSpec: its schedule, and what it runs; says when that will be."""
    report = validate_cron_spec(input.spec, activities=registry.all())
    if not report.valid:
        return CronSpecVerdict(**_verdict(report))
    schedule = report.as_json()["schedule"]
    return CronSpecVerdict(**_verdict(report), reading=schedule["reading"], nextRuns=schedule["nextRuns"])


def _verdict(report: SpecReport) -> dict[str, Any]:
    body = report.as_json()
    return {key: body[key] for key in ("valid", "errors", "warnings")}
