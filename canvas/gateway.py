"""Runs under names of the caller's own choosing, for clients that speak of workflow ids and run ids.

Owns how such a name is kept: as the idempotency key of the newest run that has it; older runs have their own id behind
it. So the database lets one run at a time have a name. The caller's own idempotency key is kept, as a digest, at the
head of the request hash. Source: contract-rest-api 4.
"""

import re
from typing import Any, Final
from uuid import UUID

from django.db import connection, transaction
from django.db.models import OuterRef, Q, QuerySet, Subquery

from canvas.saving import WorkflowNotFound
from canvas.starting import start_workflow
from workflows.models import Customer, Execution, ExecutionStatus, Workflow, WorkflowStatus
from workflows.sent_specs import start_spec
from workflows.submission import IdempotencyConflict, checksum_of

DEFAULT_NAMESPACE: Final = "poimen-harness"
TASK_QUEUE: Final = "poimen-taskqueue"
MAX_NAME_LENGTH: Final = 128
TERMINATED: Final = "terminated"
_KEY: Final = "gateway/{}/"
_HALF: Final = 32  # digits of a request hash, of 64: first those of the key, then those of what was asked for
_NAME: Final = re.compile(r"[^\x00-\x1f\x7f#/]+")

STATUS: Final = {
    ExecutionStatus.SUCCESS: "COMPLETED",
    ExecutionStatus.FAILED: "FAILED",
    ExecutionStatus.CANCELLED: "CANCELED",
    ExecutionStatus.TIMED_OUT: "TIMED_OUT",
}
STATUSES: Final = ("RUNNING", *STATUS.values(), "TERMINATED", "CONTINUED_AS_NEW")


class AlreadyRunning(Exception):
    """A run of that name is under way; ``run`` is it."""

    def __init__(self, run: Execution) -> None:
        super().__init__(f"a run of this workflow_id is under way: {run.pk}")
        self.run = run


class RunNotFound(LookupError):
    """The customer has no such run."""


def is_name(text: str) -> bool:
    """Whether ``text`` can name a run or a namespace: one line without ``/`` and ``#``."""
    return len(text) <= MAX_NAME_LENGTH and bool(text.strip()) and bool(_NAME.fullmatch(text))


def start_run(
    customer: Customer,
    namespace: str,
    name: str,
    *,
    workflow_type: str,
    input: dict[str, Any],
    idempotency_key: str | None = None,
    by: str,
) -> tuple[Execution, bool]:
    """Start a run called ``name``: of the spec in ``input["spec"]``, else of the saved workflow ``workflow_type``.

    Returns the run and whether it is new: with an ``idempotency_key`` the same request sent again gets the run of the
    first, also after its end, and another one ``IdempotencyConflict``. Raises :class:`AlreadyRunning`,
    ``WorkflowNotFound``, ``NotValid``, ``SpecNotValid`` and ``LimitExceeded`` too.
    """
    key = f"{_KEY.format(namespace)}{name}"
    key_hash = checksum_of(["gateway", idempotency_key])[:_HALF] if idempotency_key else ""
    request_hash = key_hash and key_hash + checksum_of([key, workflow_type, input])[:_HALF]
    with transaction.atomic():
        if request_hash and (known := _started_by(customer, key_hash)) is not None:
            if known.request_hash != request_hash:
                raise IdempotencyConflict(f"the idempotency key was used for run {known.pk} with another request")
            return known, False
        current = Execution.objects.select_for_update().filter(customer=customer, idempotency_key=key).first()
        if current is not None:
            if (newest := _continued(current)).ended_at is None:
                raise AlreadyRunning(newest)
            Execution.objects.filter(pk=current.pk).update(idempotency_key=f"{key}#{current.pk}")
        try:
            if "spec" in input:
                inputs = input.get("inputs") or {}
                run, is_new = start_spec(input["spec"], customer, inputs=inputs, idempotency_key=key, by=by)
            else:
                workflow = _workflow_called(workflow_type, customer)
                run, is_new = start_workflow(workflow, customer, inputs=input, idempotency_key=key, by=by)
        except IdempotencyConflict:  # somebody else was quicker
            is_new = False
        if not is_new:
            raise AlreadyRunning(Execution.objects.get(customer=customer, idempotency_key=key))
        if request_hash:
            Execution.objects.filter(pk=run.pk).update(request_hash=request_hash)
    return run, True


def _started_by(customer: Customer, key_hash: str) -> Execution | None:
    """The run that a request with that idempotency key started; one at a time may look, until it has committed."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"{customer.pk}/{key_hash}",))
    rows = Execution.objects.filter(customer=customer, idempotency_key__startswith="gateway/")
    return rows.filter(request_hash__startswith=key_hash).order_by("created_at").first()


def runs_of(customer: Customer, namespace: str) -> QuerySet[Execution]:
    """Return the runs in a namespace; runs that were not started here are all in the default one."""
    follower = Execution.objects.filter(continued_from=OuterRef("pk")).order_by("created_at").values("pk")[:1]
    rows = Execution.objects.filter(customer=customer).select_related("workflow").defer("inputs", "output")
    rows = rows.annotate(continued_as_id=Subquery(follower))
    inside = Q(idempotency_key__startswith=_KEY.format(namespace))
    if namespace == DEFAULT_NAMESPACE:
        inside |= Q(idempotency_key=None) | ~Q(idempotency_key__startswith="gateway/")
    return rows.filter(inside)


def run_of(customer: Customer, namespace: str, name: str, run_id: UUID | None = None) -> Execution:
    """Return the newest run called ``name``, or the run ``run_id`` if it is called so. Raises :class:`RunNotFound`.

    Runs without a name of their own are called by their id. A run that continued as another stands for that one,
    unless it is asked for by ``run_id``.
    """
    rows = runs_of(customer, namespace)
    if run_id is not None:
        found = rows.filter(pk=run_id).first()
        if found is None or name_of(found) != name:
            raise RunNotFound(name)
        return found
    found = rows.filter(idempotency_key=f"{_KEY.format(namespace)}{name}").first() or _by_id(rows, name)
    if found is None:
        raise RunNotFound(name)
    return _continued(found)


def name_of(run: Execution) -> str:
    """Return what the run is called."""
    key = run.idempotency_key or ""
    return key.split("/", 2)[2].partition("#")[0] if key.startswith("gateway/") and key.count("/") == 2 else str(run.pk)


def status_of(run: Execution) -> str:
    """Return ``WORKFLOW_EXECUTION_STATUS_...``; ``continued_as_id`` must be annotated."""
    word = STATUS.get(ExecutionStatus(run.status), "RUNNING")
    if word == "CANCELED" and run.cancel_reason.startswith(TERMINATED):
        word = "TERMINATED"
    if word == "COMPLETED" and getattr(run, "continued_as_id", None) is not None:
        word = "CONTINUED_AS_NEW"
    return f"WORKFLOW_EXECUTION_STATUS_{word}"


def with_status(rows: QuerySet[Execution], word: str) -> QuerySet[Execution]:
    """Return the rows whose :func:`status_of` is ``word``."""
    match word:
        case "RUNNING":
            return rows.filter(ended_at=None)
        case "TERMINATED":
            return rows.filter(status=ExecutionStatus.CANCELLED, cancel_reason__startswith=TERMINATED)
        case "CANCELED":
            return rows.filter(status=ExecutionStatus.CANCELLED).exclude(cancel_reason__startswith=TERMINATED)
        case "CONTINUED_AS_NEW":
            return rows.filter(status=ExecutionStatus.SUCCESS, continued_as__isnull=False)
        case "COMPLETED":
            return rows.filter(status=ExecutionStatus.SUCCESS, continued_as=None)
    return rows.filter(status=next(status for status, known in STATUS.items() if known == word))


def _workflow_called(text: str, customer: Customer) -> UUID:
    """The id of a workflow that is not archived, by name or id; of several of one name the newest change."""
    rows = Workflow.objects.filter(customer=customer).exclude(status=WorkflowStatus.ARCHIVED)
    try:
        by_id = Q(pk=UUID(text))
    except ValueError:
        by_id = Q()
    found = rows.filter(Q(name=text) | by_id if by_id else Q(name=text)).order_by("-updated_at").values_list("pk")
    row = found.first()
    if row is None:
        raise WorkflowNotFound(text)
    pk: UUID = row[0]
    return pk


def _continued(run: Execution) -> Execution:
    """The run that ``run`` goes on as, as far as it has continued."""
    while (following := run.continued_as.order_by("created_at").first()) is not None:
        run = following
    return run


def _by_id(rows: QuerySet[Execution], name: str) -> Execution | None:
    try:
        found = rows.filter(pk=UUID(name)).first()
    except ValueError:
        return None
    return found if found is not None and name_of(found) == str(found.pk) else None
