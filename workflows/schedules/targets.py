"""What a schedule starts: the newest sound or a given version of a workflow, or its own spec - or why it cannot now.

Owns the look at what has become of it since the schedule was saved. Starts nothing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db import connection

from workflows.activities.registry import registry
from workflows.models import Schedule, SpecDocument, WorkflowStatus
from workflows.spec import schema
from workflows.spec.report import counted
from workflows.spec.validator import validate_spec

MOST_KEPT: Final = 1024

# Of a workflow that is being edited, the newest version that can run: what has errors is work in progress.
_VERSIONS: Final = """
SELECT s.id, w.status, v.id, v.name, v.spec_id, CASE WHEN s.workflow_version IS NULL AND v.version < w.version
    THEN format('version %%s has errors: version %%s ran', w.version, v.version) ELSE '' END
FROM workflows_schedule s JOIN workflows_workflow w ON w.id = s.workflow_id AND w.customer_id = s.customer_id
    LEFT JOIN LATERAL (
        (SELECT 1 AS place, id, version, name, spec_id FROM workflows_workflowversion
            WHERE workflow_id = w.id AND s.workflow_version IS NULL AND spec_id IS NOT NULL
            ORDER BY version DESC LIMIT 1)
        UNION ALL
        (SELECT 2, id, version, name, spec_id FROM workflows_workflowversion
            WHERE workflow_id = w.id AND version = COALESCE(s.workflow_version, w.version))
        ORDER BY place LIMIT 1
    ) v ON true
WHERE s.id = ANY(%s)
"""


@dataclass(frozen=True, slots=True)
class Target:
    """What to start."""

    spec: schema.WorkflowSpec
    checksum: str
    name: str
    workflow: UUID | None = None
    version: int | None = None
    note: str = ""  # why it is not what one might expect


class NoTarget(Exception):
    """There is nothing to start; the message says why."""


def target_of(schedule: Schedule) -> Target:
    """Return what ``schedule``, as it is saved, starts now; raises :class:`NoTarget`."""
    found = targets_of([schedule])[schedule.pk]
    if isinstance(found, str):
        raise NoTarget(found)
    return found


def targets_of(schedules: Sequence[Schedule]) -> dict[UUID, Target | str]:
    """Return for each of ``schedules``, as they are saved, what it starts now, or a sentence why it cannot start."""
    versions = _versions_of([s.pk for s in schedules if s.workflow_id is not None])
    checksums = {s.pk: s.spec_id for s in schedules if s.spec_id is not None}
    found: dict[UUID, Target | str] = {}
    for schedule in schedules:
        if schedule.spec_id is not None:
            continue
        status, version, _, checksum, _ = versions.get(schedule.pk, (None, None, "", None, ""))
        if status is None:
            found[schedule.pk] = "the workflow was deleted"
        elif status == WorkflowStatus.ARCHIVED:
            found[schedule.pk] = "the workflow is archived"
        elif version is None and schedule.workflow_version is None:
            found[schedule.pk] = "the workflow has no version"
        elif version is None:
            found[schedule.pk] = f"the workflow has no version {schedule.workflow_version} any more"
        elif checksum is None:
            found[schedule.pk] = "the workflow has errors and cannot run"
        else:
            checksums[schedule.pk] = checksum
    judged = _judged(set(checksums.values()))
    for schedule in schedules:
        checksum = checksums.get(schedule.pk)
        if checksum is None:
            continue
        spec = judged.get(checksum, "the spec is not there any more")
        if isinstance(spec, str):
            found[schedule.pk] = spec
        elif schedule.spec_id is not None:
            found[schedule.pk] = Target(spec, checksum, spec.name)
        else:
            _, version, name, _, note = versions[schedule.pk]
            found[schedule.pk] = Target(spec, checksum, name, schedule.workflow_id, version, note)
    return found


def _versions_of(schedules: list[UUID]) -> dict[UUID, tuple[Any, ...]]:
    """``(workflow's status, version's id, its name, its spec, a note)`` of what those that start a workflow start."""
    if not schedules:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_VERSIONS, [schedules])
        return {row[0]: row[1:] for row in cursor.fetchall()}


_KNOWN: dict[str, schema.WorkflowSpec | str] = {}


def _judged(checksums: Iterable[str]) -> dict[str, schema.WorkflowSpec | str]:
    """Return each stored spec, or what is wrong with it under the activities there are; judged once in a process."""
    wanted = set(checksums)
    found = {checksum: _KNOWN[checksum] for checksum in wanted if checksum in _KNOWN}
    for stored in SpecDocument.objects.filter(pk__in=wanted - set(found)):
        report = validate_spec(stored.document, activities=registry.all())
        if report.spec is not None:
            found[stored.pk] = report.spec
        else:
            more = f", and {counted(len(report.errors) - 1, 'more problem')}" if len(report.errors) > 1 else ""
            found[stored.pk] = f"the spec is not valid any more: {report.errors[0]}{more}"
        while len(_KNOWN) >= MOST_KEPT:
            _KNOWN.pop(next(iter(_KNOWN)))
        _KNOWN[stored.pk] = found[stored.pk]
    return found
