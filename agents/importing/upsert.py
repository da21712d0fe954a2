"""Writing tasks down: each once, however often and by however many it is imported; what is ours stays.

Refuses to let an older state of a task replace a newer one.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Max
from django.db.models.functions import Now

from agents.importing.tasks import TrackedTask
from agents.models import ExternalTask
from workflows.identifiers import new_id

BATCH = 200

_WRITE = """
INSERT INTO agents_externaltask AS t (id, customer_id, source, project, external_id, title, body, url, external_status,
    status, local_status, labels, assignee, author, milestone, priority, remote_created_at, remote_updated_at, digest,
    imported_by, first_seen_at, last_synced_at)
SELECT x.id, %(customer)s, %(source)s, %(project)s, x.external_id, x.title, x.body, x.url, x.theirs, x.status, 'open',
    x.labels, x.assignee, x.author, x.milestone, x.priority, x.created_at, x.updated_at, x.digest, %(execution)s, now(),
    now()
FROM jsonb_to_recordset(%(tasks)s::jsonb) AS x(id uuid, external_id text, title text, body text, url text, theirs text,
    status text, labels jsonb, assignee text, author text, milestone text, priority text, created_at timestamptz,
    updated_at timestamptz, digest text)
ORDER BY x.external_id
ON CONFLICT (customer_id, source, project, external_id) DO UPDATE SET title = EXCLUDED.title, body = EXCLUDED.body,
    url = EXCLUDED.url, external_status = EXCLUDED.external_status, status = EXCLUDED.status, labels = EXCLUDED.labels,
    assignee = EXCLUDED.assignee, author = EXCLUDED.author, milestone = EXCLUDED.milestone,
    priority = EXCLUDED.priority, remote_created_at = EXCLUDED.remote_created_at,
    remote_updated_at = EXCLUDED.remote_updated_at, digest = EXCLUDED.digest, imported_by = EXCLUDED.imported_by,
    last_synced_at = now()
WHERE t.digest <> EXCLUDED.digest
    AND COALESCE(EXCLUDED.remote_updated_at >= t.remote_updated_at, true)
RETURNING t.external_id, t.xmax = 0
"""


@dataclass(frozen=True, slots=True)
class Change:
    """A task that is new, or that its tracker has changed."""

    external_id: str
    title: str
    is_new: bool
    status: str
    status_before: str | None


@dataclass(slots=True)
class Written:
    """What came of an import."""

    created: int = 0
    updated: int = 0
    unchanged: int = 0
    changes: list[Change] = field(default_factory=list)


def write(
    customer: UUID, source: str, project: str, tasks: Sequence[TrackedTask], *, execution: UUID | None, into: Written
) -> None:
    """Write tasks in batches and count in ``into`` what that changed; of one id that comes twice the newest counts."""
    newest: dict[str, TrackedTask] = {}
    for task in tasks:
        known = newest.get(task.external_id)
        if known is None or (task.updated_at or "") >= (known.updated_at or ""):
            newest[task.external_id] = task
    rows = list(newest.values())
    for start in range(0, len(rows), BATCH):
        _write(customer, source, project, rows[start : start + BATCH], execution, into)


def latest(customer: UUID, source: str, project: str) -> str | None:
    """Return when the newest change that was imported was made; None before the first import."""
    rows = ExternalTask.objects.filter(customer_id=customer, source=source, project=project)
    newest = rows.aggregate(at=Max("remote_updated_at"))["at"]
    return newest.isoformat() if newest is not None else None


def _write(
    customer: UUID, source: str, project: str, tasks: list[TrackedTask], execution: UUID | None, into: Written
) -> None:
    by_id = {task.external_id: task for task in tasks}
    with transaction.atomic(), connection.cursor() as cursor:
        kept = ExternalTask.objects.filter(
            customer_id=customer, source=source, project=project, external_id__in=list(by_id)
        )
        before = dict(kept.order_by("external_id").select_for_update().values_list("external_id", "status"))
        cursor.execute(
            _WRITE,
            {
                "customer": customer, "source": source, "project": project, "execution": execution,
                "tasks": json.dumps([_row(task) for task in tasks]),
            },
        )  # fmt: skip
        changed = cursor.fetchall()
        kept.exclude(external_id__in=[id for id, _ in changed]).update(last_synced_at=Now())
    for external_id, is_new in sorted(changed):
        task = by_id[external_id]
        into.changes.append(Change(external_id, task.title, is_new, task.status, before.get(external_id)))
        into.created += is_new
        into.updated += not is_new
    into.unchanged += len(tasks) - len(changed)


def _row(task: TrackedTask) -> dict[str, object]:
    return {
        "id": str(new_id()), "external_id": task.external_id, "title": task.title, "body": task.body, "url": task.url,
        "theirs": task.theirs, "status": task.status, "labels": list(task.labels), "assignee": task.assignee,
        "author": task.author, "milestone": task.milestone, "priority": task.priority, "created_at": task.created_at,
        "updated_at": task.updated_at, "digest": task.digest,
    }  # fmt: skip
