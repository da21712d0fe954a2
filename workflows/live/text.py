"""A log as plain text, for people and ``grep``: a line for each line, read and sent a page at a time.

Refuses to hold more than one page of it.
"""

import asyncio
from collections.abc import AsyncIterator
from time import monotonic
from uuid import UUID

from channels.db import database_sync_to_async

from workflows import secrets
from workflows.activities.context import LogLevel
from workflows.api import logs
from workflows.api.timestamps import rfc3339
from workflows.engine.json_text import dumps
from workflows.live.lines import Cursor, Entry

PAGE = 2_000
PATIENCE = 10.0  # seconds for the transactions that withhold lines
PAUSE = 0.1


async def log_as_text(execution_id: UUID, after: Cursor | None, level: LogLevel) -> AsyncIterator[str]:
    """Yield all lines after a place, in order, as ``<time> <level> <node>: <message> <fields>``.

    Lines that older transactions withhold are waited for; if these do not end, the last line says what is missing.
    """
    read = database_sync_to_async(logs.lines_after, thread_sensitive=False)
    more, deadline = True, monotonic() + PATIENCE
    while more:
        entries, more = await read(execution_id, after, PAGE, level=level)
        if entries:
            after, deadline = Cursor(entries[-1].tx, entries[-1].id), monotonic() + PATIENCE
            yield "".join(map(text_line, entries))
        elif more and monotonic() > deadline:
            yield "(Later lines wait for a transaction that has been open for long; ask again.)\n"
            return
        elif more:
            await asyncio.sleep(PAUSE)


def text_line(entry: Entry) -> str:
    """One line of the log; its fields, secrets masked, are JSON at the end."""
    fields = f" {dumps(secrets.mask(entry.fields))}" if entry.fields else ""
    return f"{rfc3339(entry.logged_at)} {entry.level:5} {entry.node_id or '-'}: {entry.message}{fields}\n"
