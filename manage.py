#!/usr/bin/env python
"""Entry point of every Poimen command: web, worker, clock, migrations."""

import os
import sys


def main() -> None:
    """Run the command that the arguments name."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "poimen_site.settings")
    _end_with_supervisor()
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


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
