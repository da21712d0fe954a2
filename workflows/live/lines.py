"""Places in a log, lines of it, and how both are told: the keys that REST and WebSocket share.

Refuses to read anything: where lines come from is not its business.
"""

import json
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from workflows import secrets
from workflows.api.timestamps import rfc3339

_CURSOR = re.compile(r"([0-9]{1,18})-([0-9]{1,18})")

STATE_EVENT = "state."
PROGRESS_EVENT = "activity.progress"

# SQL: the oldest transaction that still runs. Lines of older ones are settled: nothing can appear before them any more.
OLDEST_RUNNING = "pg_snapshot_xmin(pg_current_snapshot())::text::bigint"


@dataclass(frozen=True, slots=True, order=True)
class Cursor:
    """A place in a log: after the line ``id`` that transaction ``tx`` wrote. As text ``<tx>-<id>``."""

    tx: int
    id: int

    def __str__(self) -> str:
        return f"{self.tx}-{self.id}"

    @classmethod
    def parse(cls, text: str) -> "Cursor":
        """Read the text form; raises ``ValueError``."""
        found = _CURSOR.fullmatch(text)
        if found is None:
            raise ValueError("not a place in a log; take the cursor of an earlier answer")
        return cls(int(found[1]), int(found[2]))


START = Cursor(0, 0)


class Entry(Protocol):
    """What a line is made of; ``LogEntry`` is one."""

    tx: Any
    id: Any
    branch_id: Any
    node_id: Any
    level: Any
    event: Any
    message: Any
    fields: Any
    logged_at: Any


def log_body(entry: Entry) -> dict[str, Any]:
    """Return one line as ``{timestamp, nodeId, level, message, branch?, event?, fields?, cursor}``; fields are masked.

    ``branch`` is the id that the states of the execution name: it tells the items of a Map apart.
    """
    body = {
        "timestamp": rfc3339(entry.logged_at),
        "nodeId": entry.node_id,
        "level": entry.level,
        "message": entry.message,
        "cursor": f"{entry.tx}-{entry.id}",
    }
    if entry.branch_id is not None:
        body["branch"] = str(entry.branch_id)
    if entry.event:
        body["event"] = entry.event
    if entry.fields:
        body["fields"] = secrets.mask(entry.fields)
    return body


@dataclass(slots=True)
class Line:
    """A line as followers get it. ``before`` is a place between it and the line before."""

    tx: int
    id: int
    branch_id: UUID | None
    node_id: str
    level: str
    event: str
    message: str
    fields: Any
    logged_at: datetime
    before: Cursor = START
    _told: str | None = None

    @property
    def place(self) -> Cursor:
        """Where one is after this line."""
        return Cursor(self.tx, self.id)

    def told(self) -> str:
        """The line's own frame: ``log``, or ``progress`` with ``percent``. Made once for all who follow."""
        if self._told is None:
            body = log_body(self)
            if self.event == PROGRESS_EVENT:
                percent = self.fields.get("percent") if isinstance(self.fields, dict) else None
                self._told = frame("progress", **body, percent=percent)
            else:
                self._told = frame("log", **body)
        return self._told

    def state(self) -> str | None:
        """The frame that says what became of a state, or None if the line is not about that.

        Its cursor is the place before the line: whoever loses the connection between the two gets both again.
        """
        if not self.event.startswith(STATE_EVENT):
            return None
        return state_frame(
            self.before,
            self.event.removeprefix(STATE_EVENT),
            node_id=self.node_id,
            timestamp=rfc3339(self.logged_at),
            branch=None if self.branch_id is None else str(self.branch_id),
        )


def frame(kind: str, **content: Any) -> str:
    """One frame as text."""
    return json.dumps({"type": kind, **content}, ensure_ascii=False, separators=(",", ":"))


def state_frame(cursor: Cursor, status: str, *, node_id: str = "", **more: Any) -> str:
    """The frame about a state, or without ``node_id`` about the execution."""
    return frame("state", cursor=str(cursor), nodeId=node_id, status=status, **more)
