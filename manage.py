#!/usr/bin/env python
"""Entry point of every Poimen command: web, worker, clock, migrations.

It refuses to outlive the supervisor that started it.
"""

import gc
import os
import sys


def main() -> None:
    """Run the command; say how to start the database if it fails because the embedded one is down."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "poimen_site.settings")
    _end_with_supervisor()
    import psycopg
    from django.core.management import execute_from_command_line
    from django.db.utils import OperationalError

    try:
        execute_from_command_line(sys.argv)
        gc.freeze()  # the interpreter ends at once instead of collecting everything three times before it does
    except (OperationalError, psycopg.OperationalError):
        from django.conf import settings

        from poimen_site.embedded_postgres import EmbeddedPostgres

        if settings.DATABASE_URL or EmbeddedPostgres(settings.POIMEN_HOME).is_running():
            raise
        sys.exit(
            f"The database of {settings.POIMEN_HOME} does not run. Start everything with bin/run, or the database "
            "alone with: manage.py database start"
        )


def _end_with_supervisor() -> None:
    """Under a supervisor: be told to end when it dies, however it dies (prctl(2), Linux)."""
    supervisor = os.environ.pop("POIMEN_SUPERVISOR_PID", "")
    if not supervisor or not sys.platform.startswith("linux"):
        return
    import ctypes
    import signal

    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG
    if os.getppid() != int(supervisor):
        sys.exit("the supervisor is gone")


if __name__ == "__main__":
    main()
