"""Keeps logs readable after a restore: lines are ordered and shown by transaction ids, and those belong to one server.

A dump carries the ids of the old server. On a new one, which counts from the start, readers would wait for those
transactions as if they still ran. Refuses to touch what the present server can have written.
"""

import logging
from typing import Any

import psycopg

log = logging.getLogger(__name__)

_NEWEST = 100_000  # lines looked at to tell; far more than is written between a start and the first clock

_IS_FOREIGN = f"""
SELECT max(tx) >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint
FROM (SELECT tx FROM workflows_logentry ORDER BY id DESC LIMIT {_NEWEST}) newest
"""
# Before everything that this server writes, in the order of their ids.
_MAKE_OLD = """
UPDATE workflows_logentry SET tx = 0 WHERE tx >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint
"""


def mend_after_restore(connection: psycopg.Connection[Any]) -> int:
    """Put lines with transaction ids of another server before those of this one; returns how many there were.

    Places (``after``) that readers noted on the other server are void afterwards.
    """
    row = connection.execute(_IS_FOREIGN).fetchone()
    if row is None or not row[0]:
        return 0
    mended = connection.execute(_MAKE_OLD).rowcount
    log.warning("%d log lines come from another database server; they are shown first now", mended)
    return mended
