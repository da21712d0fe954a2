"""Runs one pump after the other on the database named by ``POIMEN_TEST_DATABASE``, each in a process of its own.

A line on stdout for every one that was killed; ends with the first that stops by itself, or with the parent.
"""

import ctypes
import os
import signal

import django

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Fork, wait, and fork again: what a supervisor does, without the seconds that a start takes."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    django.setup()
    from django.db import connections

    connections["default"].settings_dict["NAME"] = os.environ["POIMEN_TEST_DATABASE"]
    from workflows.engine.pump import Pump
    from workflows.tests import engine_activities

    with engine_activities.registered():
        while True:
            pid = os.fork()
            if pid == 0:
                ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
                Pump(threads=2).run()
                os._exit(0)
            _, status = os.waitpid(pid, 0)
            if not os.WIFSIGNALED(status):
                return
            print(f"worker {pid} died of signal {os.WTERMSIG(status)}", flush=True)


if __name__ == "__main__":
    main()
