"""The record of notifications: what was sent for which state, to whom, and whether it arrived.

Refuses to hold addresses with tokens in them: a channel is known by its kind and its host (contract-activities 6).
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from django.db.models import F

from workflows.activities.context import Identity
from workflows.models import Execution, NotificationRecord, NotificationStatus
from workflows.secret_texts import masked
from workflows.spec.retry import RetryPolicy

MOST_MESSAGE = 4_000  # characters of a message, and of an error, that are kept


def begin(
    identity: Identity, *, channel: str, recipients: Sequence[str], severity: str, message: str
) -> NotificationRecord:
    """Return the record of this visit of the state, one attempt older; made by the first attempt.

    Its status is ``delivered`` if an earlier attempt got through and only its result was lost.
    """
    record, _ = NotificationRecord.objects.get_or_create(
        idempotency_key=identity.idempotency_key,
        defaults={
            "customer_id": identity.customer,
            "execution_id": identity.execution,
            "state": identity.state,
            "channel": channel,
            "recipients": list(recipients),
            "severity": severity,
            "message": masked(message)[:MOST_MESSAGE],
        },
    )
    if record.status != NotificationStatus.DELIVERED:
        NotificationRecord.objects.filter(pk=record.pk).update(
            attempts=F("attempts") + 1, status=NotificationStatus.SENDING
        )
    return record


def arrived(record: NotificationRecord, recipient: str) -> None:
    """Note that one recipient has it; another attempt leaves them out."""
    record.delivered_to = [*record.delivered_to, recipient]
    NotificationRecord.objects.filter(pk=record.pk).update(delivered_to=record.delivered_to)


def delivered(record: NotificationRecord) -> datetime:
    """Note that everybody has it, and return when."""
    now = datetime.now(UTC)
    NotificationRecord.objects.filter(pk=record.pk).update(
        status=NotificationStatus.DELIVERED, delivered_at=now, error="", delivered_to=record.recipients
    )
    return now


def failed(record: NotificationRecord, problem: str) -> None:
    """Note why this attempt did not get through; ``problem`` holds no secrets."""
    NotificationRecord.objects.filter(pk=record.pk).update(
        status=NotificationStatus.FAILED, error=masked(problem)[:MOST_MESSAGE]
    )


def policy_of(identity: Identity) -> RetryPolicy | None:
    """Return how often the running state is tried, as its spec says; None if there is no such execution."""
    from workflows.engine.program import compile_program

    execution = Execution.objects.select_related("spec").filter(pk=identity.execution).first()
    if execution is None:
        return None
    step = compile_program(execution.spec.document, execution.spec.checksum).steps.get(identity.state)
    return step.policy if step is not None else None
