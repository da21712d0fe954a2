#!/usr/bin/env python
"""Entry point of every Poimen command: web, worker, clock, migrations.

It refuses to outlive the supervisor that started it.
"""

import gc
import importlib
import os
import sys
from typing import NoReturn


def main() -> None:
    """Run the command; what is wrong with the settings or the database is told in a sentence."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "poimen_site.settings")
    _end_with_supervisor()
    from poimen_site.environment import EXIT_CODE, SettingError
    from poimen_site.postgres_account import AccountError

    try:
        importlib.import_module(os.environ["DJANGO_SETTINGS_MODULE"])
    except (SettingError, AccountError) as error:
        _give_up(str(error), EXIT_CODE)
    import psycopg
    from django.core.management import execute_from_command_line
    from django.db.utils import OperationalError

    try:
        if sys.argv[1:2] == ["up"]:
            from poimen_site.management.commands.up import Command

            Command().run_from_argv(sys.argv)  # it loads Django itself, once others are on their way
        else:
            execute_from_command_line(sys.argv)
        gc.freeze()  # the interpreter ends at once instead of collecting everything three times before it does
    except (OperationalError, psycopg.OperationalError):
        from poimen_site.database_outage import explain_outage

        outage = explain_outage()
        if outage is None:
            raise
        _give_up(*outage)


def _give_up(reason: str, code: int) -> NoReturn:
    sys.stderr.write(f"{reason}\n")
    sys.exit(code)


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
