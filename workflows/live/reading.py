"""Reads logs for all who follow them: news of many executions in one statement, and pages for those who catch up.

Lines come in (tx, id) order, and only those before which nothing can appear any more. A place is that of a line, never
of a transaction that was merely seen to be over: a database that crashes counts those again, and lines would be missed.
Refuses to hold more than a few connections, however many follow: the others wait for their turn.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import psycopg
from psycopg_pool import AsyncConnectionPool

from workflows.activities.context import LEVELS, LogLevel
from workflows.engine.store import connection_parameters
from workflows.live.lines import OLDEST_RUNNING, START, STATE_EVENT, Cursor, Line

CONNECTIONS = 4
WAIT_SECONDS = 20.0  # for a connection
MOST_NEWS = 500  # lines of one execution in one reading
PAGE = 500

_COLUMNS = "l.tx, l.id, l.branch_id, l.node_id, l.level, l.event, l.message, l.fields, l.logged_at"

_SETTLED = f"""
s AS MATERIALIZED (
    SELECT {OLDEST_RUNNING} AS oldest,
        pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS next
)"""

_NEWS = f"""
WITH {_SETTLED}
SELECT f.execution, e.status, e.ended_at IS NOT NULL, s.oldest, s.next,
    EXISTS (SELECT 1 FROM workflows_logentry u WHERE u.execution_id = f.execution AND u.tx >= s.oldest),
    newest.tx, newest.id, {_COLUMNS}
FROM unnest(%(executions)s::uuid[], %(txs)s::bigint[], %(ids)s::bigint[]) AS f(execution, tx, id) CROSS JOIN s
LEFT JOIN workflows_execution e ON e.id = f.execution
LEFT JOIN LATERAL (
    SELECT n.tx, n.id FROM workflows_logentry n
    WHERE f.tx IS NULL AND n.execution_id = f.execution AND n.tx < s.oldest
    ORDER BY n.tx DESC, n.id DESC LIMIT 1
) newest ON true
LEFT JOIN LATERAL (
    SELECT * FROM workflows_logentry l
    WHERE l.execution_id = f.execution AND (l.tx, l.id) > (f.tx, f.id) AND l.tx < s.oldest
    ORDER BY l.tx, l.id LIMIT {MOST_NEWS}
) l ON true
"""

_PAGE = f"""
WITH {_SETTLED}
SELECT {_COLUMNS} FROM s CROSS JOIN LATERAL (
    SELECT * FROM workflows_logentry l
    WHERE l.execution_id = %(execution)s::uuid AND (l.tx, l.id) > (%(tx)s::bigint, %(id)s::bigint) AND l.tx < s.oldest
        AND (l.event LIKE '{STATE_EVENT}%%'
            OR (l.level = ANY(%(levels)s::text[]) AND %(node)s::text IN ('', l.node_id)))
    ORDER BY l.tx, l.id LIMIT {PAGE}
) l
"""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which lines somebody wants to see: from ``level`` up, of the state ``node`` if that is given."""

    level: LogLevel = "info"
    node: str = ""

    def shows(self, line: Line) -> bool:
        """Whether the line itself is wanted; what it says about a state is told anyway."""
        return line.level in LEVELS[LEVELS.index(self.level) :] and self.node in ("", line.node_id)


@dataclass(slots=True)
class News:
    """What is new of an execution: ``status`` None if there is none. ``tail`` is the last line that is settled."""

    status: str | None
    has_ended: bool
    oldest: int  # transaction that still runs, or the next one
    next: int  # transaction to come
    is_more_to_come: bool  # lines are there that are not settled, or more than one reading takes
    tail: Cursor
    lines: list[Line] = field(default_factory=list)


class Reader:
    """Owned by one event loop."""

    def __init__(self) -> None:
        self._pool = AsyncConnectionPool(
            kwargs=connection_parameters(),
            min_size=1,
            max_size=CONNECTIONS,
            timeout=WAIT_SECONDS,
            reconnect_timeout=2,
            configure=_configure,
            open=False,
        )

    async def open(self) -> None:
        """Begin to connect; does not wait for a database that is away."""
        await self._pool.open()

    async def close(self) -> None:
        """Close the connections."""
        await self._pool.close(timeout=1)

    async def news(self, tails: Mapping[UUID, Cursor | None]) -> dict[UUID, News]:
        """What came after the tail of each execution; without a tail, where its settled lines end.

        Raises ``psycopg.Error`` or ``PoolTimeout`` while the database is away.
        """
        parameters = {
            "executions": list(tails),
            "txs": [None if tail is None else tail.tx for tail in tails.values()],
            "ids": [None if tail is None else tail.id for tail in tails.values()],
        }
        found: dict[UUID, News] = {}
        for row in await self._rows(_NEWS, parameters):
            execution, status, has_ended, oldest, following, unsettled, tx, id, *columns = row
            news = found.get(execution)
            if news is None:
                tail = tails[execution] or (START if tx is None else Cursor(tx, id))
                news = found[execution] = News(status, bool(has_ended), oldest, following, unsettled, tail)
            if columns[0] is not None:
                news.lines.append(Line(*columns))
        for news in found.values():
            _chain(news.lines, news.tail)
            if news.lines:
                news.tail = news.lines[-1].place
            if len(news.lines) == MOST_NEWS:
                news.is_more_to_come = True
        return found

    async def page(self, execution: UUID, after: Cursor, wanted: Wanted) -> tuple[list[Line], bool]:
        """Up to ``PAGE`` lines after a place, with those about states, and whether these are all that are settled.

        Raises as :meth:`news`.
        """
        rows = await self._rows(
            _PAGE,
            {
                "execution": execution,
                "tx": after.tx,
                "id": after.id,
                "levels": list(LEVELS[LEVELS.index(wanted.level) :]),
                "node": wanted.node,
            },
        )
        lines = _chain([Line(*columns) for columns in rows], after)
        return lines, len(lines) < PAGE

    async def _rows(self, sql: str, parameters: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        async with self._pool.connection() as connection:
            cursor = await connection.execute(sql, parameters)
            rows: list[tuple[Any, ...]] = await cursor.fetchall()
            return rows


def _chain(lines: list[Line], after: Cursor) -> list[Line]:
    """Put the lines in order and let each know the place before it."""
    lines.sort(key=_place)
    for line in lines:
        line.before = after
        after = line.place
    return lines


def _place(line: Line) -> tuple[int, int]:
    return line.tx, line.id


async def _configure(connection: psycopg.AsyncConnection[Any]) -> None:
    # As the engine's: every statement finds its rows through an index, also while a table is still small.
    await connection.execute("SET plan_cache_mode = force_generic_plan")
    await connection.execute("SET enable_seqscan = off")
