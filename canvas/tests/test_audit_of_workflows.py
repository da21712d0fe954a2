"""Every save and deletion of a workflow leaves a record in the audit trail of its customer."""

import json

import pytest

from canvas.changes import read_changes
from canvas.saving import NotValid, create_workflow, delete_workflow, update_workflow
from workflows.models import AuditRecord
from workflows.tests.people import customer


@pytest.mark.django_db
def test_saves_and_deletions_of_workflows_are_recorded() -> None:
    acme = customer()
    made = create_workflow(acme, read_changes({"name": "Ship"}), by="ann").workflow
    update_workflow(made.pk, acme, {"description": "now told"}, by="bob")
    with pytest.raises(NotValid):
        update_workflow(made.pk, acme, {"status": "active"}, by="dan")
    pk = made.pk
    delete_workflow(pk, acme, by="cleo")
    trail = list(AuditRecord.objects.filter(customer_id=acme.pk, workflow_id=pk).order_by("seq"))
    told = [f"{row.actor}: {row.action}" for row in trail]
    assert told == ["ann: workflow.created", "bob: workflow.saved", "cleo: workflow.deleted"]
    assert [json.loads(row.details)["version"] for row in trail] == [1, 2, 2]
