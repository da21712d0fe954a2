"""Forgetting: old exchanges go after ``POIMEN_LLM_RETENTION_DAYS``; what was used stays, added up by day.

Works in small batches on the clock's own connection. Calls whose process died are ended, so that none runs for ever.
"""

from typing import Any

import psycopg
from django.conf import settings

BATCH = 1000

_OLD = """
DELETE FROM agents_exchange WHERE id IN (
    SELECT id FROM agents_exchange WHERE started_at < now() - %s * interval '1 day' AND status <> 'running'
    ORDER BY started_at LIMIT %s
)
"""
_LOST = """
UPDATE agents_exchange SET status = 'cancelled', ended_at = expires_at, error_name = 'WorkerLost',
    error = 'the process that made this call is gone'
WHERE id IN (SELECT id FROM agents_exchange WHERE status = 'running' AND expires_at < now() LIMIT %s)
"""


def forget(connection: psycopg.Connection[Any]) -> None:
    """End up to a batch of lost calls, and delete up to a batch of old ones."""
    connection.execute(_LOST, (BATCH,))
    keep = settings.POIMEN_LLM_RETENTION_DAYS
    if keep > 0:
        connection.execute(_OLD, (keep, BATCH))
