"""Which attempts of a run took their result from the cache, and which execution had made it: as the log tells it."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db.models import Exists, TextField
from django.db.models.functions import Cast

from workflows.models import Execution, LogEntry, SpecDocument, StateRun

DELETED = "an execution that is deleted"


def makers_of(execution: Execution, runs: Iterable[StateRun]) -> dict[int, str]:
    """Return for the ids of those of ``runs`` that took a kept result who had made it (one query).

    Each hit belongs to the attempt of its state and branch that ended nearest to it. An execution whose spec keeps no
    results has none, and its log is not looked through.
    """
    keeps = SpecDocument.objects.alias(text=Cast("document", TextField())).filter(
        pk=execution.spec_id, text__contains='"cache":'
    )
    hits = LogEntry.objects.filter(Exists(keeps), execution=execution.pk, event="cache.hit")
    made: dict[int, str] = {}
    by_place: dict[tuple[UUID | None, str], list[StateRun]] = {}
    for run in runs:
        if run.status == "success" and not run.reused:
            by_place.setdefault((run.branch_id, run.state), []).append(run)
    for branch, state, logged_at, fields in hits.values_list("branch_id", "node_id", "logged_at", "fields"):
        here = by_place.get((branch, state), [])
        if here:
            nearest = min(here, key=lambda run: abs(run.ended_at - logged_at))
            made[nearest.pk] = _maker(fields)
    return made


def _maker(fields: Any) -> str:
    found = fields.get("execution") if isinstance(fields, dict) else None
    try:
        return str(UUID(str(found)))
    except ValueError:
        return DELETED
