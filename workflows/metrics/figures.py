"""What one scrape reads: the counters so far, what ended since they were counted, and how things stand now.

Refuses to scan tables: every query goes by an index, over rows that are few or bounded, and under a time limit.
"""

from dataclasses import dataclass, field

from django.conf import settings
from django.db import connection, transaction

from workflows.metrics.tallies import FIRST, LAST, MOST_RUNS, counting, last_run

TIMEOUT_MS = 3000

_MARK = "(SELECT until FROM mark)"
_RUN = "(SELECT run FROM mark)"
_LAST_RUN = last_run(_RUN, str(2**62), str(MOST_RUNS))
# One statement, so one snapshot: what is counted moves from the rows to the tallies without being seen twice. What
# runs is part of it, since a run has started before it has ended.
_COUNTERS = f"""
WITH kept AS (SELECT count AS run, until FROM workflows_metrictally WHERE metric = 'watermark'), mark AS (
    SELECT COALESCE((SELECT run FROM kept), 0) AS run, COALESCE((SELECT until FROM kept), '{FIRST}') AS until
)
SELECT metric, label, kind, status, bucket, count, again, seconds
FROM workflows_metrictally WHERE metric <> 'watermark'
UNION ALL {counting(run=_RUN, to_run=f"({_LAST_RUN})", until=_MARK, to=f"'{LAST}'::timestamptz")}
UNION ALL (
    SELECT 'running', activity, 'Task', '', 0, count(*), count(*) FILTER (WHERE attempt > 1), 0
    FROM workflows_branch WHERE status = 'running' AND lease_owner IS NOT NULL AND activity <> '' GROUP BY 2
)
"""  # noqa: S608 - put together from constants
_NOW = """
SELECT
    (SELECT count(*) FROM workflows_branch WHERE status = 'ready'),
    (SELECT extract(epoch FROM now() - min(ready_at)) FROM workflows_branch WHERE status = 'ready'),
    (SELECT count(*) FROM workflows_branch WHERE status = 'running' AND lease_owner IS NOT NULL),
    (SELECT count(*) FROM workflows_approvalgate WHERE status = 'pending' AND expires_at IS NOT NULL),
    (SELECT pg_database_size(current_database())),
    (SELECT count(*) FROM workflows_schedule WHERE paused_at IS NULL AND fires_at IS NOT NULL),
    (SELECT extract(epoch FROM now() - min(fires_at)) FROM workflows_schedule
        WHERE paused_at IS NULL AND fires_at IS NOT NULL),
    (SELECT count(*) FROM workflows_schedulerun WHERE outcome = 'queued')
"""
_OPEN = "SELECT status, count(*) FROM workflows_execution WHERE ended_at IS NULL GROUP BY 1"
_ALIVE = """
SELECT kind, count(*), extract(epoch FROM now() - max(heartbeat_at)),
    COALESCE(sum((details->>'running')::int), 0), COALESCE(sum((details->>'capacity')::int), 0)
FROM workflows_process WHERE heartbeat_at > now() - %s * interval '1 second' GROUP BY 1
"""


@dataclass(frozen=True, slots=True)
class Counter:
    """One counter: ``metric`` is ``run``, ``started`` or ``ended``, or ``running`` for what runs now (MetricTally)."""

    metric: str
    label: str
    kind: str
    status: str
    bucket: int
    count: int
    again: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Figures:
    """How things stand; durations in seconds."""

    counters: list[Counter]
    ready_branches: int
    queue_age: float
    running_branches: int
    pending_approvals: int
    database_bytes: int
    active_schedules: int
    schedule_delay: float
    queued_runs: int
    open_executions: dict[str, int] = field(default_factory=dict)
    processes: dict[str, int] = field(default_factory=dict)
    capacity: dict[str, int] = field(default_factory=dict)  # of the pumps: running, capacity


def read() -> Figures:
    """Return the figures of this moment. Raises ``DatabaseError`` if the database is away or slower than 3 s."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL statement_timeout = {TIMEOUT_MS}")
        cursor.execute(_COUNTERS)
        counters = [Counter(*row) for row in cursor.fetchall()]
        cursor.execute(_NOW)
        ready, age, running, pending, size, active, late, queued = cursor.fetchone()
        cursor.execute(_OPEN)
        executions = dict(cursor.fetchall())
        cursor.execute(_ALIVE, (settings.POIMEN_LEASE_SECONDS,))
        alive = cursor.fetchall()
    pumps = next((row for row in alive if row[0] == "pump"), ("pump", 0, None, 0, 0))
    return Figures(
        counters=counters, ready_branches=ready, queue_age=max(float(age or 0), 0.0), running_branches=running,
        pending_approvals=pending, database_bytes=size, active_schedules=active,
        schedule_delay=max(float(late or 0), 0.0), queued_runs=queued, open_executions=executions,
        processes={row[0]: row[1] for row in alive}, capacity={"running": pumps[3], "capacity": pumps[4]},
    )  # fmt: skip
