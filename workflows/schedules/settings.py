"""The settings of a schedule as people write them: checked together, and put on the row.

Owns what may be set and which settings go together. Refuses, naming every field, what is wrong or could never run.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from workflows import secrets
from workflows.engine.json_text import dumps
from workflows.models import Overlap, Schedule, Workflow, WorkflowStatus, WorkflowVersion
from workflows.schedules.cron import CronError, next_runs, parse_cron, start_of_search
from workflows.schedules.zones import UnknownZone, zone_of
from workflows.sent_specs import SpecNotValid, judge_cron_spec, judge_spec
from workflows.spec.cron_schema import SCHEDULE_KEYS, flow_of, is_cron_document
from workflows.spec.cron_validator import LONGEST_JITTER, catch_up_window
from workflows.spec.durations import format_duration, parse_duration, parse_moment
from workflows.spec.report import shown
from workflows.submission import MAX_INPUT_BYTES, store_spec

# What can be set, by its key in the API, and where it is on the row.
COLUMNS: Final = {
    "name": "name",
    "description": "description",
    "workflowId": "workflow_id",
    "workflowVersion": "workflow_version",
    "spec": "spec_id",
    "inputs": "inputs",
    "priority": "priority",
    "schedule": "cron",
    "timezone": "zone",
    "overlapPolicy": "overlap",
    "catchUp": "catch_up",
    "jitter": "jitter",
    "maxRuns": "max_runs",
    "startAt": "starts_at",
    "endAt": "ends_at",
}
DEFAULTS: Final[dict[str, Any]] = {
    "description": "",
    "workflowVersion": None,
    "inputs": None,
    "priority": 0,
    "timezone": "UTC",
    "enabled": True,
    "overlapPolicy": Overlap.SKIP.value,
    "catchUp": False,
    "jitter": None,
    "maxRuns": None,
    "startAt": None,
    "endAt": None,
}
TIMING: Final = frozenset({"schedule", "timezone", "jitter", "maxRuns", "startAt", "endAt"})
_FROM_SPEC: Final = SCHEDULE_KEYS - {"cronTimezone", "startState"}


class Refused(Exception):
    """Settings that are wrong: ``problems`` has a sentence for each field."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__("; ".join(f"{field}: {message}" for field, message in problems.items()))
        self.problems = dict(problems)


def with_spec_settings(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``wanted`` with what a CronWorkflowSpec under ``spec`` says of when it runs, unless ``wanted`` says that.

    Its name names the schedule too. What is no CronWorkflowSpec changes nothing.
    """
    spec = wanted.get("spec")
    if not is_cron_document(spec) or not isinstance(spec, Mapping):
        return dict(wanted)
    found = {key: spec[key] for key in _FROM_SPEC if spec.get(key) is not None}
    if spec.get("cronTimezone") is not None:
        found.setdefault("timezone", spec["cronTimezone"])
    return {"name": spec.get("name"), **found, **wanted}


def apply(schedule: Schedule, wanted: Mapping[str, Any], *, now: datetime) -> set[str]:
    """Put ``wanted`` on ``schedule``, which is not saved; returns the keys whose values have changed.

    Raises :class:`Refused`, and ``workflows.sent_specs.SpecNotValid``.
    """
    before = {key: getattr(schedule, column) for key, column in COLUMNS.items()}
    problems: dict[str, str] = {}
    for key in ("name", "description", "priority", "maxRuns"):
        if key in wanted:
            setattr(schedule, COLUMNS[key], wanted[key])
    _apply_target(schedule, wanted, problems)
    _apply_inputs(schedule, wanted, problems)
    _apply_times(schedule, wanted, problems)
    if not schedule.name.strip():
        problems["name"] = "this must not be empty"
    if problems:
        raise Refused(problems)
    changed = {key for key, column in COLUMNS.items() if getattr(schedule, column) != before[key]}
    if "schedule" in changed:
        schedule.anchor = schedule.starts_at or now
    if changed & TIMING or schedule._state.adding:  # noqa: SLF001 - documented by Django
        _check_runs(schedule, now)
    return changed


def _apply_target(schedule: Schedule, wanted: Mapping[str, Any], problems: dict[str, str]) -> None:
    workflow, spec = wanted.get("workflowId"), wanted.get("spec")
    if workflow is not None and spec is not None:
        problems["spec"] = "give workflowId or spec, not both"
    elif spec is not None:
        schedule.spec = store_spec(secrets.seal(_judged(spec, schedule), schedule.customer))
        schedule.workflow = schedule.workflow_version = None
    elif workflow is not None:
        _apply_workflow(schedule, workflow, problems)
    elif schedule.spec_id is None and schedule.workflow_id is None and schedule._state.adding:  # noqa: SLF001
        problems["workflowId"] = "give workflowId, the workflow to start, or spec"
    if "workflowVersion" in wanted:
        _apply_version(schedule, wanted["workflowVersion"], problems)


def _judged(document: Any, schedule: Schedule) -> Any:
    """The WorkflowSpec in ``document``, which may be a CronWorkflowSpec; raises ``SpecNotValid``."""
    is_cron = is_cron_document(document)
    report = judge_cron_spec(document, schedule.customer) if is_cron else judge_spec(document, schedule.customer)
    if report.spec is None:
        raise SpecNotValid(report)
    return flow_of(document) if is_cron else document


def _apply_workflow(schedule: Schedule, pk: UUID, problems: dict[str, str]) -> None:
    found = Workflow.objects.filter(pk=pk, customer=schedule.customer).exclude(status=WorkflowStatus.ARCHIVED).first()
    if found is None:
        problems["workflowId"] = "there is no such workflow"
        return
    if schedule.workflow_id != found.pk:
        schedule.workflow_version = None
    schedule.workflow, schedule.spec = found, None


def _apply_version(schedule: Schedule, version: int | None, problems: dict[str, str]) -> None:
    if version is not None and schedule.workflow_id is None:
        problems.setdefault("workflowVersion", "only a workflow has versions")
    elif version is not None:
        found = WorkflowVersion.objects.filter(workflow=schedule.workflow_id, version=version)
        spec = found.values_list("spec_id", flat=True).first()
        if not found.exists():
            problems["workflowVersion"] = f"the workflow has no version {version}"
        elif spec is None:
            problems["workflowVersion"] = f"version {version} has errors and cannot run"
    schedule.workflow_version = version


def _apply_inputs(schedule: Schedule, wanted: Mapping[str, Any], problems: dict[str, str]) -> None:
    if "inputs" not in wanted:
        return
    inputs = wanted["inputs"] or {}
    if len(dumps(inputs).encode()) > MAX_INPUT_BYTES:
        problems["inputs"] = f"inputs may hold {MAX_INPUT_BYTES // 1024} KiB"
    else:
        schedule.inputs = secrets.seal(dict(inputs), schedule.customer)


def _apply_times(schedule: Schedule, wanted: Mapping[str, Any], problems: dict[str, str]) -> None:
    def read(key: str, reader: Any, empty: Any) -> None:
        if key not in wanted:
            return
        value = wanted[key]
        try:
            setattr(schedule, COLUMNS[key], empty if value is None else reader(value))
        except (CronError, UnknownZone, ValueError) as error:
            named = isinstance(error, CronError | UnknownZone)
            problems[key] = str(error) if named else _sentence(value, error)

    read("schedule", lambda text: parse_cron(text).text, None)
    read("timezone", lambda name: zone_of(name).key, "UTC")
    read("overlapPolicy", lambda name: Overlap(name).value, Overlap.SKIP.value)
    read("catchUp", catch_up_window, timedelta())
    read("jitter", _jitter, timedelta())
    read("startAt", _moment, None)
    read("endAt", _moment, None)
    if not schedule.cron and "schedule" not in problems:
        problems["schedule"] = "this is missing: cron text such as 30 7 * * MON-FRI"
    if schedule.starts_at is not None and schedule.ends_at is not None and schedule.ends_at <= schedule.starts_at:
        problems.setdefault("endAt", "this must be after startAt")


def _sentence(value: Any, error: Exception) -> str:
    """What is wrong with ``value``, which some of these errors name themselves."""
    text = str(error)
    return text if text.startswith(("'", '"')) else f"{shown(value)} {text}"


def _jitter(text: Any) -> timedelta:
    jitter = parse_duration(text)
    if jitter > LONGEST_JITTER:
        raise ValueError(f"is too long; at most {format_duration(LONGEST_JITTER)} are allowed")
    return jitter


def _moment(value: Any) -> datetime:
    return value if isinstance(value, datetime) else parse_moment(value)


def _check_runs(schedule: Schedule, now: datetime) -> None:
    """Refuse what never runs: by its cron text, or within its bounds."""
    start = start_of_search(now, schedule.starts_at)
    runs = next_runs(parse_cron(schedule.cron), schedule.zone, after=start, most=1, anchor=schedule.anchor)
    if not runs:
        raise Refused({"schedule": f'"{schedule.cron}" never runs within the next 5 years'})
    if schedule.ends_at is not None and runs[0] >= schedule.ends_at:
        raise Refused({"endAt": f"the schedule ends before its next run, at {runs[0]:%Y-%m-%dT%H:%M:%SZ}"})
