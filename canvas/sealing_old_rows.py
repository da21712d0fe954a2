"""Seals what was kept in the open before it was known as a secret: a version did not look for it yet.

Owns which columns may hold secrets. Refuses to change what an execution that has not ended runs on: its spec.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F, Manager

from canvas.models import Draft, Relation, RelationVersion
from workflows import address_passwords, secrets
from workflows.models import Branch, Execution, LogEntry, Signal, SpecDocument, StateRun, Workflow, WorkflowVersion
from workflows.models.execution import TERMINAL
from workflows.submission import checksum_of, store_spec

BATCH = 500


@dataclass(frozen=True, slots=True)
class Columns:
    """Where a table may hold secrets: values of ``sealed`` get handles, those of ``masked`` are for people to read."""

    rows: Manager[Any]
    customer: str
    sealed: tuple[str, ...] = ()
    masked: tuple[str, ...] = ()

    @property
    def table(self) -> str:
        """Its name in the database."""
        return str(self.rows.model._meta.db_table)


@dataclass(frozen=True, slots=True)
class Sealed:
    """How many rows of a table held secrets in the open, and how many of those were left as they are."""

    table: str
    rows: int
    left: int = 0


PLACES = (
    Columns(Workflow.objects, "customer_id", ("nodes", "edges")),
    Columns(WorkflowVersion.objects, "workflow__customer_id", ("nodes", "edges")),
    Columns(Draft.objects, "workflow__customer_id", ("nodes", "edges")),
    Columns(Relation.objects, "workflow__customer_id", ("relation_wording",)),
    Columns(RelationVersion.objects, "workflow__customer_id", ("relation_wording",)),
    Columns(Execution.objects, "customer_id", ("inputs", "output"), ("error", "errors")),
    Columns(Branch.objects, "customer_id", ("item", "previous", "variables", "caught", "output"), ("error",)),
    Columns(StateRun.objects, "execution__customer_id", ("output", "assigned"), ("input", "error")),
    Columns(Signal.objects, "execution__customer_id", ("payload",)),
    Columns(LogEntry.objects, "execution__customer_id", (), ("message", "fields")),
)


def seal_old_rows(*, write: bool) -> Iterator[Sealed]:
    """Yield what was found in each table; with ``write`` it is sealed, a row a transaction. Safe to repeat.

    The product may run meanwhile: a row that somebody changes at the same time is sealed as it is then.
    """
    for place in PLACES:
        yield Sealed(place.table, _in_table(place, write))
    yield _specs(write)


def _in_table(place: Columns, write: bool) -> int:
    found, last = 0, None
    columns = (*place.sealed, *place.masked)
    rows = place.rows.annotate(owner=F(place.customer)).order_by("pk")
    while page := list((rows if last is None else rows.filter(pk__gt=last)).values("pk", "owner", *columns)[:BATCH]):
        last = page[-1]["pk"]
        for known in page:
            if not _changes(place, known, owner=None):
                continue
            found += 1
            if write:
                with transaction.atomic():
                    row = place.rows.filter(pk=known["pk"])
                    for current in row.select_for_update(no_key=True).values(*columns):
                        row.update(**_changes(place, current, owner=known["owner"]))
    return found


def _changes(place: Columns, row: dict[str, Any], *, owner: UUID | None) -> dict[str, Any]:
    """The columns that hold a secret, without it; without an owner nothing is stored."""
    without = {
        **{
            name: secrets.seal_nowhere(row[name]) if owner is None else secrets.seal(row[name], owner)
            for name in place.sealed
        },
        **{name: _masked(row[name]) for name in place.masked},
    }
    changes = {name: value for name, value in without.items() if value is not row[name]}
    if changes and place.rows.model is WorkflowVersion:
        changes["checksum"] = checksum_of({"nodes": without["nodes"], "edges": without["edges"]})
    return changes


def _masked(value: Any) -> Any:
    return address_passwords.masked(value) if isinstance(value, str) else secrets.mask(value)


def _specs(write: bool) -> Sealed:
    """Specs are shared and named by their content: who uses one gets another. Retention drops what nobody uses."""
    found = left = 0
    for rows, owner, are_all_done in (
        (WorkflowVersion.objects.all(), "workflow__customer_id", True),
        (Execution.objects.all(), "customer_id", False),
    ):
        users = rows.exclude(spec=None).order_by().values_list("spec_id", owner).distinct()
        for checksum, customer in list(users):
            document = SpecDocument.objects.get(pk=checksum).document
            if secrets.seal_nowhere(document) is document:
                continue
            using: Any = rows.filter(spec=checksum, **{owner: customer})
            ended = using if are_all_done else using.filter(status__in=TERMINAL)
            found, left = found + using.count(), left + using.count() - ended.count()
            if write:
                ended.update(spec=store_spec(secrets.seal(document, customer)))
    return Sealed(SpecDocument._meta.db_table, found, left)
