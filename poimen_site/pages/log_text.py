"""A log as plain text, a page of lines at a time: what the download button gives."""

from collections.abc import AsyncIterator
from uuid import UUID

from asgiref.sync import sync_to_async

from workflows import secrets
from workflows.api.logs import lines_after
from workflows.api.timestamps import rfc3339
from workflows.engine.json_text import dumps
from workflows.live.lines import Cursor, Entry

_LINES = 5_000


async def log_lines(execution_id: UUID) -> AsyncIterator[str]:
    """Yield the log in order, in pieces of up to 5,000 lines; secrets in fields are masked."""
    after: Cursor | None = None
    more = True
    while more:
        entries, more = await sync_to_async(lines_after)(execution_id, after, _LINES, level="debug")
        if entries:
            after = Cursor(entries[-1].tx, entries[-1].id)
            yield "".join(map(_line, entries))


def _line(entry: Entry) -> str:
    fields = f" {dumps(secrets.mask(entry.fields))}" if entry.fields else ""
    return f"{rfc3339(entry.logged_at)} {entry.level:5} {entry.node_id or '-'}: {entry.message}{fields}\n"
