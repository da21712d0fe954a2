"""Says everything that is wrong with a CronWorkflowSpec at once (contract-workflow-spec 8.8, 9).

Owns the rules of the schedule; what runs is judged like any WorkflowSpec. Never raises, whatever it is given.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from workflows.schedules.cron import Cron, CronError, next_runs, parse_cron, start_of_search
from workflows.schedules.readings import reading_of
from workflows.schedules.zones import UnknownZone, zone_names, zone_of
from workflows.spec.activity_rules import ActivityInfo
from workflows.spec.cron_schema import CronWorkflowSpec, flow_of
from workflows.spec.document import read_document
from workflows.spec.durations import EXPECTED, format_duration, parse_duration, parse_moment
from workflows.spec.report import Findings, SpecReport, shown
from workflows.spec.schema import WorkflowSpec
from workflows.spec.shapes import check_shape
from workflows.spec.validator import check_flow

LONGEST_CATCH_UP: Final = timedelta(days=366)
LONGEST_JITTER: Final = timedelta(hours=24)
DEFAULT_CATCH_UP: Final = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class CronSpecReport(SpecReport):
    """The outcome; ``spec`` is what runs each time and ``cron`` the whole, both there if and only if it is valid."""

    cron: CronWorkflowSpec | None = None
    reading: str = ""
    next_runs: tuple[datetime, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """As of any spec, and ``schedule: {reading, nextRuns}`` if it is valid."""
        body = SpecReport.as_json(self)
        if not self.valid:
            return body
        runs = [moment.isoformat().replace("+00:00", "Z") for moment in self.next_runs]
        return {**body, "schedule": {"reading": self.reading, "nextRuns": runs}}


def validate_cron_spec(
    document: object,
    *,
    activities: Mapping[str, ActivityInfo] | None = None,
    workflow_names: Collection[str] | None = None,
    now: datetime | None = None,
) -> CronSpecReport:
    """Return every problem of ``document``, as ``workflows.spec.validator.validate_spec`` does for a WorkflowSpec.

    Runs are looked for from ``now`` on, five years far.
    """
    findings = Findings()
    plain = read_document(document, findings)
    if plain is None:
        return _report(findings, None, None)
    cron_spec = check_shape(plain, findings, CronWorkflowSpec)
    flow = flow_of(plain)
    before = len(findings.problems)
    check_flow(flow, "", 1, findings, activities, workflow_names)
    for index, problem in enumerate(findings.problems[before:], before):
        if problem.path == "startAt":
            findings.problems[index] = replace(problem, path="startState")
    cron, runs = _check_schedule(plain, now or datetime.now(UTC), findings)
    spec = None
    if cron_spec is not None and not any(problem.severity == "error" for problem in findings.problems):
        spec = check_shape(flow, findings, WorkflowSpec)
    report = _report(findings, spec, cron_spec)
    if report.valid and cron is not None and cron_spec is not None:
        return replace(report, reading=reading_of(cron, cron_spec.zone), next_runs=tuple(runs))
    return report


def catch_up_window(value: Any) -> timedelta:
    """Return how far back ``catchUp`` reaches: nothing for false, 24 h for true, else what the duration says.

    Raises ``ValueError`` for anything else.
    """
    if value is None or value is False:
        return timedelta()
    if value is True:
        return DEFAULT_CATCH_UP
    window = parse_duration(value)
    if window > LONGEST_CATCH_UP:
        raise ValueError(f"{shown(value)} is too long; at most {format_duration(LONGEST_CATCH_UP)} are allowed")
    return window


def _report(findings: Findings, spec: WorkflowSpec | None, cron: CronWorkflowSpec | None) -> CronSpecReport:
    report = findings.report(spec)
    return CronSpecReport(report.problems, report.spec, cron if report.spec is not None else None)


def _check_schedule(raw: dict[str, Any], now: datetime, findings: Findings) -> tuple[Cron | None, list[datetime]]:
    """Check the keys of the schedule; returns the cron text that was read, and its next runs."""
    zone = _check_zone(raw, findings)
    start, end = _moment(raw, "startAt", findings), _moment(raw, "endAt", findings)
    if start is not None and end is not None and end <= start:
        findings.add("endAt", "out-of-range", "endAt must be after startAt")
    _check_durations(raw, findings)
    if not isinstance(raw.get("schedule"), str):
        return None, []
    try:
        cron = parse_cron(raw["schedule"])
    except CronError as error:
        findings.add("schedule", "bad-cron", str(error))
        return None, []
    if zone is None:
        return cron, []
    runs = next_runs(cron, zone, after=start_of_search(now, start), anchor=start or now)
    if not runs:
        findings.add("schedule", "never-runs", f"{shown(cron.text)} never runs within the next 5 years")
    elif end is not None and runs[0] >= end:
        findings.add("endAt", "never-runs", f"the schedule ends before its first run, at {runs[0]:%Y-%m-%dT%H:%M:%SZ}")
    return cron, [moment for moment in runs if end is None or moment < end]


def _check_zone(raw: dict[str, Any], findings: Findings) -> str | None:
    key = "timezone" if raw.get("timezone") is not None else "cronTimezone"
    if raw.get("timezone") is not None and raw.get("cronTimezone") not in (None, raw["timezone"]):
        findings.add("cronTimezone", "exactly-one", "cronTimezone is another name of timezone; give one of them")
    name = raw.get(key)
    if name is None:
        return "UTC"
    if not isinstance(name, str):
        return None
    try:
        zone_of(name)
    except UnknownZone as error:
        findings.add(key, "unknown-zone", str(error), given=name, candidates=zone_names())
        return None
    return name


def _moment(raw: dict[str, Any], key: str, findings: Findings) -> datetime | None:
    text = raw.get(key)
    if not isinstance(text, str):
        return None
    try:
        return parse_moment(text)
    except ValueError as error:
        hint = "; the state to start with is startState here" if key == "startAt" else ""
        findings.add(key, "bad-time", f"{shown(text)} {error}{hint}")
        return None


def _check_durations(raw: dict[str, Any], findings: Findings) -> None:
    jitter, catch_up = raw.get("jitter"), raw.get("catchUp")
    if isinstance(jitter, str):
        try:
            if parse_duration(jitter) > LONGEST_JITTER:
                most = format_duration(LONGEST_JITTER)
                findings.add("jitter", "duration-out-of-range", f"{shown(jitter)} is too long; at most {most}")
        except ValueError:
            findings.add("jitter", "bad-duration", f"{shown(jitter)} is not a duration; {EXPECTED}")
    if catch_up is not None and not isinstance(catch_up, bool | str):
        findings.add("catchUp", "wrong-type", f"this must be true, false or a duration, not {shown(catch_up)}")
    elif isinstance(catch_up, str):
        try:
            catch_up_window(catch_up)
        except ValueError as error:
            long = "too long" in str(error)
            message = str(error) if long else f"{shown(catch_up)} is not a duration; {EXPECTED}"
            findings.add("catchUp", "duration-out-of-range" if long else "bad-duration", message)
