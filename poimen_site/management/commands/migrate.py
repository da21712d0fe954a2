"""``manage.py migrate``: Django's, one at a time.

Every web process of a rollout may ask for it; the first does the work, the others wait and find nothing to do.
"""

import time
from typing import Any

import psycopg
from django.core.management.commands.migrate import Command as DjangoMigrate
from django.db import connections

from workflows.engine.store import connection_parameters

_PAUSE_SECONDS = 0.2
_LOCK = 0x706F6D69  # one number for every process that migrates this database


class Command(DjangoMigrate):
    """Takes Django's arguments."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Migrate while holding the lock, which ends with its connection."""
        if connections[options["database"]].vendor != "postgresql":
            super().handle(*args, **options)
            return
        with psycopg.connect(**connection_parameters()) as connection:
            # Asked for again and again: a statement that waits would be waited for by CREATE INDEX CONCURRENTLY.
            while connection.execute("SELECT pg_try_advisory_lock(%s)", (_LOCK,)).fetchone() != (True,):
                time.sleep(_PAUSE_SECONDS)
            super().handle(*args, **options)
