"""Hints that something may run: NOTIFY to pumps that are up, django-q2 tasks to start pumps that are not.

Losing, repeating or reordering a hint changes speed, never results (design 1.2).
"""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

READY_CHANNEL = "poimen_ready"
STOP_CHANNEL = "poimen_stop"
LOG_CHANNEL = "poimen_log"
LOG_GROUP = "poimen.log"  # the same through the channel layer, in messages of this type
LOG_MESSAGE = "log.written"
_IDS_A_NOTICE = 200  # of 36 characters and a comma each; PostgreSQL takes 8,000 bytes
PUMP_TASK = "workflows.engine.pump.run_pump"


def notify_ready(cursor: Any) -> None:
    """Tell every pump, when this transaction commits, that branches became ready."""
    cursor.execute("SELECT pg_notify(%s, '')", (READY_CHANNEL,))


def notify_stop(cursor: Any) -> None:
    """Tell every pump, when this transaction commits, that running branches were asked to stop."""
    cursor.execute("SELECT pg_notify(%s, '')", (STOP_CHANNEL,))


def notify_logged(cursor: Any, executions: Iterable[UUID], *, alone: bool = False) -> None:
    """Tell who follows logs, when this transaction commits, that these executions have said or become something.

    ``alone``: there is nothing else in the transaction, which is then not worth a flush of the disk.
    """
    ids = [str(execution) for execution in executions]
    notices = [",".join(ids[start : start + _IDS_A_NOTICE]) for start in range(0, len(ids), _IDS_A_NOTICE)]
    lightly = "set_config('synchronous_commit', 'off', true), " if alone else ""
    cursor.execute(f"SELECT {lightly}pg_notify(%s, notice) FROM unnest(%s::text[]) AS notice", (LOG_CHANNEL, notices))


def request_pumps(count: int) -> int:
    """Put ``count`` pump tasks into the django-q2 queue, less those that wait there already; returns how many."""
    from django_q.brokers import get_broker
    from django_q.tasks import async_task

    missing = max(0, count - get_broker().queue_size())
    for _ in range(missing):
        async_task(PUMP_TASK, task_name="pump")
    return int(missing)
