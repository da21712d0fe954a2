"""A log as plain text, for people and ``grep``: a line for each line, read and sent a page at a time.

Refuses to hold more than one page of it.
"""

from collections.abc import AsyncIterator
from uuid import UUID

from channels.db import database_sync_to_async

from workflows import secrets
from workflows.activities.context import LogLevel
from workflows.api import logs
from workflows.api.timestamps import rfc3339
from workflows.engine.json_text import dumps
from workflows.live.lines import Cursor, Entry

PAGE = 2_000


async def log_as_text(execution_id: UUID, after: Cursor | None, level: LogLevel) -> AsyncIterator[str]:
    """Yield the settled lines after a place, in order, as ``<time> <level> <node>: <message> <fields>``."""
    read = database_sync_to_async(logs.lines_after, thread_sensitive=False)
    more = True
    while more:
        entries, more = await read(execution_id, after, PAGE, level=level)
        if entries:
            after = Cursor(entries[-1].tx, entries[-1].id)
            yield "".join(map(text_line, entries))


def text_line(entry: Entry) -> str:
    """One line of the log; its fields, secrets masked, are JSON at the end."""
    fields = f" {dumps(secrets.mask(entry.fields))}" if entry.fields else ""
    return f"{rfc3339(entry.logged_at)} {entry.level:5} {entry.node_id or '-'}: {entry.message}{fields}\n"
