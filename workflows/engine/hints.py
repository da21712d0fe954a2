"""Hints that something may run: NOTIFY to pumps that are up, django-q2 tasks to start pumps that are not.

Losing, repeating or reordering a hint changes speed, never results (design 1.2).
"""

from typing import Any

READY_CHANNEL = "poimen_ready"
STOP_CHANNEL = "poimen_stop"
PUMP_TASK = "workflows.engine.pump.run_pump"


def notify_ready(cursor: Any) -> None:
    """Tell every pump, when this transaction commits, that branches became ready."""
    cursor.execute("SELECT pg_notify(%s, '')", (READY_CHANNEL,))


def notify_stop(cursor: Any) -> None:
    """Tell every pump, when this transaction commits, that running branches were asked to stop."""
    cursor.execute("SELECT pg_notify(%s, '')", (STOP_CHANNEL,))


def request_pumps(count: int) -> int:
    """Put ``count`` pump tasks into the django-q2 queue, less those that wait there already; returns how many."""
    from django_q.brokers import get_broker
    from django_q.tasks import async_task

    missing = max(0, count - get_broker().queue_size())
    for _ in range(missing):
        async_task(PUMP_TASK, task_name="pump")
    return int(missing)
