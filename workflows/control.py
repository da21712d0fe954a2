"""What the outside may ask of a running execution: cancel, pause, resume, signal.

Each call is one transaction under the execution's row lock, so that asking twice, or two people asking at once, has
one outcome. Running branches learn of it through their next commit or heartbeat (subsystem-pause).
"""

from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.utils import timezone

from workflows import audit, secrets
from workflows.engine import hints
from workflows.engine.statements import LOCK_EXECUTION
from workflows.models import (
    Branch,
    BranchStatus,
    Execution,
    ExecutionStatus,
    LogEntry,
    Signal,
)
from workflows.models.execution import TERMINAL

IDLE = (
    BranchStatus.BLOCKED,
    BranchStatus.QUEUED,
    BranchStatus.READY,
    BranchStatus.WAITING,
    BranchStatus.HELD,
)


class NotPossible(Exception):
    """The execution is not in a state in which this can be asked; the message says why."""


def request_cancel(execution_id: UUID, *, by: str, reason: str = "") -> Execution:
    """Cancel an execution and its children. Branches that wait end now, running ones when their activity has ended.

    Asking again is harmless; raises :class:`NotPossible` once the execution has ended another way.
    """
    with transaction.atomic():
        execution = _locked(execution_id)
        if execution.status == ExecutionStatus.CANCELLED or execution.cancel_requested_at:
            return execution
        _refuse_ended(execution, "cancelled")
        execution.cancel_requested_at = timezone.now()
        execution.cancel_reason, execution.cancelled_by = reason, by
        execution.save(update_fields=["cancel_requested_at", "cancel_reason", "cancelled_by"])
        _say(
            execution,
            "warn",
            "run.cancelling",
            f"cancel requested by {by or 'the system'}",
            reason=reason or None,
        )
        with connection.cursor() as cursor:
            stop_branches(cursor, execution.pk, "cancel")
            finish_if_stopped(cursor, execution.pk)
        _audit(execution, "cancelled", by, reason=reason)
    return Execution.objects.get(pk=execution_id)


def request_pause(execution_id: UUID, *, by: str, reason: str = "") -> Execution:
    """Pause at the next state boundary of every branch; steps that run are let finish. Idempotent."""
    with transaction.atomic():
        execution = _locked(execution_id)
        _refuse_ended(execution, "paused")
        if execution.cancel_requested_at:
            raise NotPossible("the execution is being cancelled")
        if execution.pause_requested_at is None:
            execution.pause_requested_at = timezone.now()
            execution.resumed_at = None
            execution.pause_reason, execution.paused_by = reason, by
            execution.save(
                update_fields=[
                    "pause_requested_at",
                    "resumed_at",
                    "pause_reason",
                    "paused_by",
                ]
            )
            Branch.objects.filter(execution=execution, status=BranchStatus.READY).update(status=BranchStatus.HELD)
            _say(
                execution,
                "info",
                "run.pausing",
                f"pause requested by {by or 'the system'}",
                reason=reason or None,
            )
            with connection.cursor() as cursor:
                settle_status(cursor, execution.pk)
            _audit(execution, "paused", by, reason=reason)
    return Execution.objects.get(pk=execution_id)


def request_resume(execution_id: UUID, *, by: str, reason: str = "") -> Execution:
    """Go on exactly where the pause stopped; raises :class:`NotPossible` if the execution is not paused."""
    with transaction.atomic():
        execution = _locked(execution_id)
        _refuse_ended(execution, "resumed")
        if execution.pause_requested_at is None:
            raise NotPossible("the execution is not paused")
        execution.pause_requested_at = execution.paused_at = None
        execution.resumed_at = timezone.now()
        execution.save(update_fields=["pause_requested_at", "paused_at", "resumed_at"])
        Branch.objects.filter(execution=execution, status=BranchStatus.HELD).update(
            status=BranchStatus.READY, ready_at=timezone.now()
        )
        _say(
            execution,
            "info",
            "run.resumed",
            f"resumed by {by or 'the system'}",
            reason=reason or None,
        )
        with connection.cursor() as cursor:
            settle_status(cursor, execution.pk)
            hints.notify_ready(cursor)
        _audit(execution, "resumed", by, reason=reason)
    return Execution.objects.get(pk=execution_id)


def send_signal(
    execution_id: UUID,
    name: str,
    payload: Any = None,
    *,
    dedupe_key: str | None = None,
    by: str = "",
    is_told: bool = True,
) -> tuple[Signal, bool]:
    """Give the execution a signal; it waits until a branch asks for it. Returns it and whether it is new.

    With a ``dedupe_key`` the same signal sent twice arrives once. ``is_told`` is off for a signal that tells of an act
    which has a log line and an audit record of its own. Raises :class:`NotPossible` after the end.
    """
    with transaction.atomic():
        execution = _locked(execution_id)
        if dedupe_key is not None:
            known = Signal.objects.filter(execution=execution, dedupe_key=dedupe_key).first()
            if known is not None:
                return known, False
        _refuse_ended(execution, "signalled")
        signal = Signal.objects.create(
            execution=execution,
            name=name,
            payload=secrets.seal(payload, execution.customer_id),
            dedupe_key=dedupe_key,
            sent_by=by,
        )
        waiting = (
            Branch.objects.filter(execution=execution, status=BranchStatus.WAITING, wait_signal=name)
            .order_by("state_entered_at", "id")
            .first()
        )
        if waiting is not None:
            with connection.cursor() as cursor:
                wake_branches(cursor, [waiting.pk])
        if is_told:
            _say(
                execution,
                "info",
                "signal.received",
                f"signal {name} received" + (f" from {by}" if by else ""),
            )
            _audit(execution, "signalled", by, signal=name)
    return signal, True


# -- shared with the engine: raw cursors, part of the caller's transaction ---------------------------------------


def wake_branches(cursor: Any, branches: list[UUID]) -> None:
    """Make waiting branches ready, or held if their execution is paused, and hint."""
    cursor.execute(
        "UPDATE workflows_branch b SET status = CASE WHEN e.pause_requested_at IS NULL THEN 'ready' ELSE 'held' END, "
        "ready_at = now() FROM workflows_execution e "
        "WHERE e.id = b.execution_id AND b.id = ANY(%s) AND b.status = 'waiting'",
        (branches,),
    )
    hints.notify_ready(cursor)


def stop_branches(cursor: Any, execution: UUID, why: str, *, under: UUID | None = None) -> int:
    """End what is idle and ask what runs to stop, in the execution or below the branch ``under``.

    Child executions of what ended are cancelled too. Returns how many direct children of ``under`` ended.
    """
    # One statement for both: between two, a branch could go from running to waiting or back and be missed.
    cursor.execute(
        "UPDATE workflows_branch SET stop = CASE WHEN stop = '' THEN %(why)s ELSE stop END, "
        "  status = CASE WHEN status = 'running' THEN status ELSE 'cancelled' END, "
        "  ended_at = CASE WHEN status = 'running' THEN ended_at ELSE now() END, "
        "  wake_at = CASE WHEN status = 'running' THEN wake_at END "
        "WHERE execution_id = %(execution)s AND status = ANY(%(open)s) "
        "AND (%(under)s::uuid IS NULL OR %(under)s::uuid = ANY(ancestors)) "
        "RETURNING id, parent_id, waiting_for, status",
        {
            "why": why,
            "execution": execution,
            "open": [status.value for status in (*IDLE, BranchStatus.RUNNING)],
            "under": under,
        },
    )
    ended = [row for row in cursor.fetchall() if row[3] == BranchStatus.CANCELLED]
    hints.notify_stop(cursor)
    parents_of_executions = [row[0] for row in ended if row[2] == "execution"]
    if parents_of_executions:
        cancel_children(cursor, parents_of_executions)
    return sum(1 for row in ended if row[1] == under)


def cancel_children(cursor: Any, branches: list[UUID]) -> None:
    """Cancel the running child executions that ``branches`` wait for, and theirs."""
    cursor.execute(
        "UPDATE workflows_execution SET cancel_requested_at = now(), cancel_reason = 'the parent was stopped' "
        "WHERE parent_branch = ANY(%s) AND ended_at IS NULL AND cancel_requested_at IS NULL RETURNING id",
        (branches,),
    )
    for (child,) in cursor.fetchall():
        stop_branches(cursor, child, "cancel")
        finish_if_stopped(cursor, child)


def finish_if_stopped(cursor: Any, execution: UUID) -> bool:
    """End an execution that was asked to stop once none of its branches runs; returns whether it has ended now.

    One that passed its timeout was asked to stop by its error being set.
    """
    cursor.execute(
        "SELECT cancel_requested_at IS NOT NULL, error, parent_branch, parent_visit, parent_attempt "
        "FROM workflows_execution WHERE id = %s AND ended_at IS NULL "
        "AND (cancel_requested_at IS NOT NULL OR error IS NOT NULL) FOR NO KEY UPDATE",
        (execution,),
    )
    row = cursor.fetchone()
    if row is None:
        return False
    cursor.execute(
        "SELECT 1 FROM workflows_branch WHERE execution_id = %s AND status = 'running' LIMIT 1",
        (execution,),
    )
    if cursor.fetchone() is not None:
        return False
    status = ExecutionStatus.CANCELLED if row[0] else ExecutionStatus.TIMED_OUT
    message = "the execution was cancelled" if row[0] else "the execution passed its timeout"
    cursor.execute(
        "UPDATE workflows_execution SET status = %s, ended_at = now(), "
        "error = COALESCE(error, jsonb_build_object('name', %s::text, 'message', %s::text)), "
        "errors = errors || to_jsonb(%s::text) WHERE id = %s",
        (
            status.value,
            "Canceled" if row[0] else "Timeout",
            message,
            message,
            execution,
        ),
    )
    cursor.execute(
        "INSERT INTO workflows_logentry (execution_id, node_id, level, event, message) VALUES (%s, '', %s, %s, %s)",
        (execution, "warn", "run.finished", message),
    )
    hints.notify_logged(cursor, [execution])
    cancel_gates(cursor, execution)
    if row[2] is not None:
        wake_parent(cursor, row[2], row[3], row[4])
    return True


def wake_parent(cursor: Any, branch: UUID, visit: int, attempt: int) -> None:
    """Make the branch that waits for a child execution ready, if it still waits for that one."""
    cursor.execute(
        "SELECT id FROM workflows_branch WHERE id = %s AND visit = %s AND attempt = %s AND status = 'waiting' "
        "AND waiting_for = 'execution'",
        (branch, visit, attempt),
    )
    if cursor.fetchone() is not None:
        wake_branches(cursor, [branch])


def cancel_gates(cursor: Any, execution: UUID) -> None:
    """Close the approval gates nobody waits for any more."""
    cursor.execute(
        "UPDATE workflows_approvalgate SET status = 'cancelled', decided_at = now() "
        "WHERE execution_id = %s AND status = 'pending'",
        (execution,),
    )


def settle_status(cursor: Any, execution: UUID) -> None:
    """Let the execution's status say what its branches do: running, waiting, or paused once all stand still."""
    cursor.execute(
        "SELECT 1 FROM workflows_execution WHERE id = %s FOR NO KEY UPDATE",
        (execution,),
    )
    # A branch that stopped for a pause just when that was taken back.
    cursor.execute(
        "UPDATE workflows_branch b SET status = 'ready', ready_at = now() FROM workflows_execution e "
        "WHERE e.id = %s AND e.pause_requested_at IS NULL AND b.execution_id = e.id AND b.status = 'held'",
        (execution,),
    )
    if cursor.rowcount:
        hints.notify_ready(cursor)
    cursor.execute(
        "WITH now_is AS (SELECT CASE "
        "  WHEN e.started_at IS NULL AND e.pause_requested_at IS NULL THEN 'pending' "
        "  WHEN EXISTS (SELECT 1 FROM workflows_branch b WHERE b.execution_id = e.id AND b.status = 'running') "
        "    THEN 'running' "
        "  WHEN e.pause_requested_at IS NOT NULL THEN 'paused' "
        "  WHEN EXISTS (SELECT 1 FROM workflows_branch b WHERE b.execution_id = e.id AND (b.status = 'ready' "
        "    OR (b.status = 'waiting' AND b.waiting_for IN ('retry', 'cache')))) THEN 'running' "
        "  ELSE 'waiting' END AS status FROM workflows_execution e WHERE e.id = %s) "
        "UPDATE workflows_execution e SET status = now_is.status, "
        "  paused_at = CASE WHEN now_is.status = 'paused' THEN COALESCE(e.paused_at, now()) END "
        "FROM now_is WHERE e.id = %s AND e.ended_at IS NULL AND e.status <> now_is.status",
        (execution, execution),
    )


def _locked(execution_id: UUID) -> Execution:
    """The execution, locked together with those it is a child of; raises ``Execution.DoesNotExist``."""
    with connection.cursor() as cursor:
        cursor.execute(LOCK_EXECUTION, {"id": execution_id})
    return Execution.objects.get(pk=execution_id)


def _refuse_ended(execution: Execution, what: str) -> None:
    if execution.status in TERMINAL:
        raise NotPossible(f"the execution has ended ({execution.status}) and cannot be {what}")


def _audit(execution: Execution, what: str, by: str, **details: Any) -> None:
    """Record what was asked for; the last thing in its transaction."""
    audit.record(
        execution.customer_id,
        f"execution.{what}",
        target=("execution", execution.pk),
        actor=by,
        execution=execution.pk,
        workflow=execution.workflow_id,
        details={key: value for key, value in details.items() if value},
    )


def _say(execution: Execution, level: str, event: str, message: str, **fields: Any) -> None:
    kept = {key: value for key, value in fields.items() if value is not None}
    LogEntry.objects.create(
        execution=execution,
        level=level,
        event=event,
        message=message,
        fields=kept or None,
    )
    with connection.cursor() as cursor:
        hints.notify_logged(cursor, [execution.pk])
