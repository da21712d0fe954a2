"""Specs that programs send whole, without a canvas: judged, and started (contract-rest-api 2.9).

Owns the way from a document to an execution. Refuses one with errors, and keeps no secret of it in the open.
"""

from collections.abc import Mapping
from typing import Any

from workflows import secrets
from workflows.activities.registry import registry
from workflows.engine.json_text import dumps
from workflows.models import Customer, Execution, Workflow, WorkflowStatus
from workflows.spec.cron_schema import is_cron_document
from workflows.spec.cron_validator import CronSpecReport, validate_cron_spec
from workflows.spec.report import SpecReport
from workflows.spec.validator import validate_spec
from workflows.submission import start_execution, store_spec


class SpecNotValid(Exception):
    """The spec has errors; ``report`` has them all."""

    def __init__(self, report: SpecReport) -> None:
        super().__init__("the spec has errors")
        self.report = report


def judge_spec(document: Any, customer: Customer) -> SpecReport:
    """Return everything that is wrong with ``document`` for this customer; stores nothing.

    A document with the key ``schedule`` is judged as a CronWorkflowSpec.
    """
    if is_cron_document(document):
        return judge_cron_spec(document, customer)
    return _judged(secrets.seal_nowhere(document), customer)


def judge_cron_spec(document: Any, customer: Customer) -> CronSpecReport:
    """As :func:`judge_spec`, for what is to be a CronWorkflowSpec, whatever it is."""
    document = secrets.seal_nowhere(document)
    names = _workflow_names(document, customer)
    return validate_cron_spec(document, activities=registry.all(), workflow_names=names)


def start_spec(
    document: Any,
    customer: Customer,
    *,
    inputs: Mapping[str, Any],
    priority: int = 0,
    idempotency_key: str | None = None,
    by: str = "",
) -> tuple[Execution, bool]:
    """Start an execution of ``document``; returns it and whether it is new. Its secrets become handles.

    Raises :class:`SpecNotValid`, ``workflows.submission.IdempotencyConflict`` and ``workflows.errors.LimitExceeded``
    for too large inputs.
    """
    report = _judged(secrets.seal_nowhere(document), customer)
    if report.spec is None:
        raise SpecNotValid(report)
    return start_execution(
        customer=customer,
        spec=store_spec(secrets.seal(document, customer)),
        inputs=inputs,
        name=report.spec.name,
        priority=priority,
        idempotency_key=idempotency_key,
        created_by=by,
    )


def _judged(document: Any, customer: Customer) -> SpecReport:
    names = _workflow_names(document, customer)
    return validate_spec(document, activities=registry.all(), workflow_names=names)


def _workflow_names(document: Any, customer: Customer) -> set[str] | None:
    """The names and ids that the document's Workflow states may have; None if there are no such states."""
    if '"Workflow"' not in dumps(document):
        return None
    rows = Workflow.objects.filter(customer=customer).exclude(status=WorkflowStatus.ARCHIVED)
    return {text for name, pk in rows.values_list("name", "pk") for text in (name, str(pk))}
