"""Drafts: what somebody draws between two saves, kept so that another browser can go on with it.

Owns writing them, sealed as saves are. Refuses to write over a draft that was written elsewhere meanwhile.
"""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from canvas.changes import Changes, InvalidField
from canvas.models import Draft
from canvas.saving import WorkflowNotFound
from canvas.sealing import seal_canvas
from workflows.engine.json_text import dumps
from workflows.identifiers import new_id
from workflows.models import Customer, Workflow

MAX_BYTES = 2 * 1024 * 1024


class DraftConflict(Exception):
    """The user's draft was written or dropped elsewhere in between; ``current`` is it now, None if it is gone."""

    def __init__(self, current: Draft | None) -> None:
        super().__init__(
            "your draft of this workflow was written elsewhere meanwhile, perhaps in another tab; read it first"
            if current is not None
            else "there is no draft of this workflow any more; send it without If-Match to keep a new one"
        )
        self.revision: UUID | None = current.revision if current else None
        self.updated_at: datetime | None = current.updated_at if current else None


class DraftTooLarge(ValueError):
    """The draft is larger than :data:`MAX_BYTES`; the message says so."""


def draft_of(workflow_id: UUID, customer: Customer, user: User) -> Draft | None:
    """Return the user's draft of the customer's workflow, None if there is none."""
    return Draft.objects.filter(workflow=workflow_id, workflow__customer=customer, user=user).first()


def keep_draft(
    workflow_id: UUID,
    customer: Customer,
    user: User,
    *,
    base_version: int,
    canvas: Changes,
    expected: UUID | None = None,
    must_be_new: bool = False,
) -> Draft:
    """Keep ``canvas`` as the user's draft of the workflow, with every secret in it sealed, and return it.

    What ``canvas`` leaves out is as in the workflow. ``expected`` is the revision that is written over;
    ``must_be_new`` says that there is none yet. Raises :class:`~canvas.saving.WorkflowNotFound`,
    :class:`~canvas.changes.InvalidField`, :class:`DraftTooLarge` and :class:`DraftConflict`.
    """
    if len(dumps([canvas.description, canvas.nodes, canvas.edges]).encode()) > MAX_BYTES:
        raise DraftTooLarge(f"a draft may have at most {MAX_BYTES // 1024 // 1024} MiB; save it instead")
    with transaction.atomic():
        # Not for update: a save of somebody else need not wait for a draft, nor a draft for a save.
        workflow = Workflow.objects.filter(pk=workflow_id, customer=customer).first()
        if workflow is None:
            raise WorkflowNotFound(str(workflow_id))
        if not 1 <= base_version <= workflow.version:
            raise InvalidField("baseVersion", f"expected a version of the workflow, from 1 to {workflow.version}")
        kept = Draft.objects.select_for_update().filter(workflow=workflow, user=user).first()
        if (kept and must_be_new) or (expected is not None and (kept is None or kept.revision != expected)):
            raise DraftConflict(kept)
        draft = kept or Draft(workflow=workflow, user=user)
        _fill(draft, workflow, canvas, customer)
        draft.base_version, draft.revision = base_version, new_id()
        try:
            with transaction.atomic():
                draft.save()
        except IntegrityError:  # another tab was first, or the workflow was deleted
            if not Workflow.objects.filter(pk=workflow_id).exists():
                raise WorkflowNotFound(str(workflow_id)) from None
            raise DraftConflict(draft_of(workflow_id, customer, user)) from None
    return draft


def drop_draft(workflow_id: UUID, customer: Customer, user: User, *, expected: UUID | None = None) -> None:
    """Delete the user's draft, if there is one; with ``expected`` only that revision, else :class:`DraftConflict`."""
    with transaction.atomic():
        draft = (
            Draft.objects.select_for_update()
            .filter(workflow=workflow_id, workflow__customer=customer, user=user)
            .first()
        )
        if draft is None:
            return
        if expected is not None and draft.revision != expected:
            raise DraftConflict(draft)
        draft.delete()


def _fill(draft: Draft, workflow: Workflow, canvas: Changes, customer: Customer) -> None:
    def given(field: str) -> Any:
        wanted = getattr(canvas, field)
        return getattr(workflow, field) if wanted is None else wanted

    draft.name, draft.description, draft.status = given("name"), given("description"), given("status")
    draft.nodes, draft.edges, _ = seal_canvas(given("nodes"), given("edges"), customer)
