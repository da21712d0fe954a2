"""The rows by which processes say that they are there: one upsert for pumps, clusters and clocks alike."""

import json
import os
import socket
from typing import Any
from uuid import UUID

from workflows.models import ProcessKind

_SIGN_IN = """
INSERT INTO workflows_process (id, kind, host, pid, started_at, heartbeat_at, details)
VALUES (%s, %s, %s, %s, now(), now(), %s::jsonb)
ON CONFLICT (id) DO UPDATE SET heartbeat_at = now(), details = EXCLUDED.details
RETURNING extract(epoch FROM now())::float
"""


def sign_in(connection: Any, id: UUID, kind: ProcessKind, **details: Any) -> float:
    """Leave a heartbeat of this process; returns the database's time in seconds since 1970."""
    row = connection.execute(
        _SIGN_IN, (id, kind.value, socket.gethostname(), os.getpid(), json.dumps(details))
    ).fetchone()
    return float(row[0])


def sign_off(connection: Any, id: UUID) -> None:
    """Say that the process has gone by itself."""
    connection.execute("DELETE FROM workflows_process WHERE id = %s", (id,))
