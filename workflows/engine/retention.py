"""Forgetting: executions that ended long ago go, with their history, logs, workspaces and artifacts.

Works in small batches so that it never holds locks for long. Never touches what has not ended (subsystem-history).
"""

import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
from django.conf import settings

from workflows.engine import cached_results

log = logging.getLogger(__name__)

BATCH = 200
# What other apps forget along; each is given the connection, about once a minute, and works in small batches too.
forgetting: list[Callable[[psycopg.Connection[Any]], None]] = []
SCHEDULE_BATCH = 5000

# What a rerun that has not ended reuses, be it through other reruns, stays: it reads those outputs and files.
_OLD = """
WITH RECURSIVE reused AS (
    SELECT rerun_of_id AS id FROM workflows_execution WHERE ended_at IS NULL AND rerun_of_id IS NOT NULL
    UNION
    SELECT before.id FROM workflows_execution e JOIN reused ON e.id = reused.id
    CROSS JOIN LATERAL (VALUES (e.rerun_of_id), (e.parent_id)) AS before(id) WHERE before.id IS NOT NULL
)
SELECT id FROM workflows_execution e WHERE ended_at < now() - %s * interval '1 day'
    AND NOT EXISTS (SELECT 1 FROM workflows_execution p WHERE p.id = e.parent_id)
    AND NOT EXISTS (SELECT 1 FROM reused WHERE reused.id = e.id)
ORDER BY ended_at LIMIT %s
"""
_OLD_SCHEDULE_RUNS = """
DELETE FROM workflows_schedulerun WHERE id IN (
    SELECT id FROM workflows_schedulerun WHERE decided_at < now() - %s * interval '1 day' AND outcome <> 'queued'
    ORDER BY decided_at LIMIT %s)
"""
_FAMILY = """
WITH RECURSIVE family AS (
    SELECT id FROM workflows_execution WHERE id = ANY(%s)
    UNION ALL
    SELECT e.id FROM workflows_execution e JOIN family ON e.parent_id = family.id
) SELECT id FROM family
"""
_PARTS = (
    "DELETE FROM workflows_logentry WHERE execution_id = ANY(%s)",
    "DELETE FROM workflows_staterun WHERE execution_id = ANY(%s)",
    "DELETE FROM workflows_signal WHERE execution_id = ANY(%s)",
    """DELETE FROM workflows_approvalvote
    WHERE gate_id IN (SELECT id FROM workflows_approvalgate WHERE execution_id = ANY(%s))""",
    "DELETE FROM workflows_approvalgate WHERE execution_id = ANY(%s)",
    "DELETE FROM workflows_notificationrecord WHERE execution_id = ANY(%s)",
    "DELETE FROM workflows_cachedresult WHERE is_stored AND execution_id = ANY(%s)",
    "UPDATE workflows_cachedresult SET execution_id = NULL WHERE execution_id = ANY(%s)",
    "UPDATE workflows_execution SET continued_from_id = NULL WHERE continued_from_id = ANY(%s)",
    "UPDATE workflows_execution SET rerun_of_id = NULL WHERE rerun_of_id = ANY(%s)",
    "DELETE FROM workflows_branch WHERE execution_id = ANY(%s)",
    "UPDATE workflows_execution SET parent_id = NULL WHERE id = ANY(%s)",
    "DELETE FROM workflows_execution WHERE id = ANY(%s)",
)


def prune(connection: psycopg.Connection[Any], *, days: float | None = None) -> int:
    """Delete up to one batch of executions that ended more than ``days`` ago (``POIMEN_RETENTION_DAYS``; 0: never).

    Also forgets dead processes, expired secrets and specs that nothing uses. Returns how many executions went.
    """
    keep = settings.POIMEN_RETENTION_DAYS if days is None else days
    gone: list[UUID] = []
    if keep > 0 or days is not None:
        old = [row[0] for row in connection.execute(_OLD, (keep, BATCH)).fetchall()]
        if old:
            gone = [row[0] for row in connection.execute(_FAMILY, (old,)).fetchall()]
            with connection.transaction():
                for statement in _PARTS:
                    connection.execute(statement, (gone,))
            for execution in gone:
                _remove_files(execution)
            log.info("retention removed %d executions", len(gone))
    if keep > 0 or days is not None:
        connection.execute(_OLD_SCHEDULE_RUNS, (keep, SCHEDULE_BATCH))
    connection.execute("DELETE FROM workflows_process WHERE heartbeat_at < now() - interval '10 minutes'")
    connection.execute("DELETE FROM workflows_secret WHERE expires_at < now()")
    connection.execute("DELETE FROM workflows_rememberedrequest WHERE created_at < now() - interval '7 days'")
    connection.execute(
        "DELETE FROM workflows_specdocument s WHERE s.created_at < now() - interval '1 day' "
        "AND NOT EXISTS (SELECT 1 FROM workflows_execution e WHERE e.spec_id = s.checksum) "
        "AND NOT EXISTS (SELECT 1 FROM workflows_workflowversion v WHERE v.spec_id = s.checksum) "
        "AND NOT EXISTS (SELECT 1 FROM workflows_schedule c WHERE c.spec_id = s.checksum)"
    )
    cached_results.clean(connection)
    for forget in forgetting:
        forget(connection)
    return len(gone)


def _remove_files(execution: UUID) -> None:
    for kind in ("workspaces", "artifacts"):
        path = Path(settings.POIMEN_HOME) / kind / str(execution)
        if path.exists():
            shutil.rmtree(path, ignore_errors=True)
