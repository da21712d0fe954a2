"""Counting what has ended, some seconds behind: each row once, whoever leads, and kept when retention deletes it.

Runs are counted by their ids up to one that was the newest a while ago, executions by time up to a while ago: what
was written under way then has been committed since. Refuses to read more than a bounded piece at once.
"""

from typing import Any

import psycopg

RUN_BUCKETS = (0.1, 0.5, 1.0, 5.0, 15.0, 30.0, 60.0, 300.0, 600.0, 1800.0, 7200.0)  # seconds
EXECUTION_BUCKETS = (0.5, 1.0, 5.0, 10.0, 60.0, 300.0, 900.0, 3600.0, 14_400.0, 86_400.0)
MOST_RUNS = 100_000  # ids looked at in one go
LAG_SECONDS = 10
MOST_LABELS = 300  # names of workflows that are told apart; once there are so many, new ones are counted together
OTHERS = "(others)"
FIRST = "2000-01-01T00:00:00Z"
LAST = "9999-01-01T00:00:00Z"

_RUNS = """
SELECT 'run' AS metric, activity AS label, type AS kind,
    CASE WHEN status = 'interrupted' AND error->>'message' = 'the worker was lost' THEN 'lost' ELSE status END
        AS status,
    width_bucket(extract(epoch FROM ended_at - started_at)::float8, ARRAY[{buckets}]::float8[]) AS bucket,
    count(*) AS count, count(*) FILTER (WHERE attempt > 1) AS again,
    sum(greatest(extract(epoch FROM ended_at - started_at)::float8, 0)) AS seconds
FROM workflows_staterun WHERE id > {run} AND id <= {to_run} AND NOT reused GROUP BY 1, 2, 3, 4, 5
"""
_STARTED = """
SELECT 'started' AS metric, left(name, 128) AS label, '' AS kind, '' AS status, 0 AS bucket,
    count(*) AS count, 0::bigint AS again, 0::float8 AS seconds
FROM workflows_execution WHERE id >= {from_id} AND id < {to_id} GROUP BY 2
"""
_ENDED = """
SELECT 'ended' AS metric, left(name, 128) AS label, '' AS kind, status,
    width_bucket(extract(epoch FROM ended_at - COALESCE(started_at, created_at))::float8,
        ARRAY[{buckets}]::float8[]) AS bucket,
    count(*) AS count, 0::bigint AS again,
    sum(greatest(extract(epoch FROM ended_at - COALESCE(started_at, created_at))::float8, 0)) AS seconds
FROM workflows_execution WHERE ended_at >= {until} AND ended_at < {to} GROUP BY 2, 4, 5
"""


def counting(*, run: str, to_run: str, until: str, to: str) -> str:
    """Return the query for what was written between two places, as ``MetricTally`` rows; arguments are SQL.

    Runs have ids over ``run`` up to ``to_run``; executions began, and ended, from ``until`` to before ``to``.
    """
    runs = _RUNS.format(buckets=", ".join(map(str, RUN_BUCKETS)), run=run, to_run=to_run)
    started = _STARTED.format(from_id=_id_at(until), to_id=_id_at(to))
    ended = _ENDED.format(buckets=", ".join(map(str, EXECUTION_BUCKETS)), until=until, to=to)
    return f"({runs}) UNION ALL ({started}) UNION ALL ({ended})"


def last_run(run: str, settled: str, most: str = "%(most)s") -> str:
    """Return the query for where ``most`` runs after ``run`` end, at ``settled`` at the latest; arguments are SQL.

    By rows and not by ids: where retention deleted many, there are none for long.
    """
    return (
        "SELECT max(id) FROM (SELECT id FROM workflows_staterun "  # noqa: S608
        f"WHERE id > {run} AND id <= {settled} ORDER BY id LIMIT {most}) AS piece"
    )


def _id_at(moment: str) -> str:
    """SQL for the lowest version-7 id made at ``moment``: 48 bits of milliseconds."""
    return f"(lpad(to_hex((extract(epoch FROM {moment}) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid"


_FRESH = counting(run="%(run)s", to_run="%(to_run)s", until="%(until)s::timestamptz", to="%(to)s::timestamptz")
_ADD = f"""
WITH known AS (
    SELECT DISTINCT label FROM workflows_metrictally WHERE metric IN ('started', 'ended')
), fresh AS ({_FRESH}), named AS (
    SELECT metric,
        CASE WHEN metric = 'run' OR label IN (SELECT label FROM known) OR (SELECT count(*) FROM known) < {MOST_LABELS}
            THEN label ELSE '{OTHERS}' END AS label,
        kind, status, bucket, count, again, seconds FROM fresh
)
INSERT INTO workflows_metrictally AS t (metric, label, kind, status, bucket, count, again, seconds)
SELECT metric, label, kind, status, bucket, sum(count), sum(again), sum(seconds) FROM named GROUP BY 1, 2, 3, 4, 5
ON CONFLICT (metric, label, kind, status, bucket) DO UPDATE SET
    count = t.count + EXCLUDED.count, again = t.again + EXCLUDED.again, seconds = t.seconds + EXCLUDED.seconds
"""  # noqa: S608 - put together from constants
_BEGIN = f"""
INSERT INTO workflows_metrictally (metric, label, kind, status, bucket, count, again, seconds, until)
VALUES ('watermark', '', '', '', 0, 0, 0, 0, '{FIRST}') ON CONFLICT DO NOTHING
"""  # noqa: S608
_LOCK = f"""
SELECT count, until, now() - interval '{LAG_SECONDS} seconds' FROM workflows_metrictally
WHERE metric = 'watermark' FOR UPDATE
"""  # noqa: S608
_MOVE = "UPDATE workflows_metrictally SET count = %(to_run)s, until = %(to)s WHERE metric = 'watermark'"


class Tally:
    """Counts on each :meth:`advance`; remembers which run was the newest the time before."""

    def __init__(self) -> None:
        self._settled: int | None = None

    def advance(self, connection: psycopg.Connection[Any]) -> None:
        """Count what has been settled since; the first call only learns where the runs end."""
        settled, self._settled = self._settled, _newest_run(connection)
        if settled is None:
            return
        with connection.transaction(), connection.cursor() as cursor:
            cursor.execute(_BEGIN)
            row = cursor.execute(_LOCK).fetchone()
            assert row is not None
            run, until, to = row
            if to <= until:  # the database's clock was set back
                return
            cursor.execute(last_run("%(run)s", "%(settled)s"), {"run": run, "settled": settled, "most": MOST_RUNS})
            last = cursor.fetchone()
            bounds = {"run": run, "to_run": last[0] if last and last[0] else run, "until": until, "to": to}
            cursor.execute(_ADD, bounds)
            cursor.execute(_MOVE, bounds)


def _newest_run(connection: psycopg.Connection[Any]) -> int:
    row = connection.execute("SELECT COALESCE(max(id), 0) FROM workflows_staterun").fetchone()
    return int(row[0]) if row else 0
