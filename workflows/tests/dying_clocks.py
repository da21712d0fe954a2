"""Runs several clocks on the database named by ``POIMEN_TEST_DATABASE`` and kills one after the other, for ever.

Each believes that it leads, as two do during a fail-over that went wrong. A line on stdout for every kill;
ends with the parent. The seed of the moments at which they die is the first argument.
"""

import ctypes
import os
import random
import signal
import sys
import time
from types import ModuleType

import django

PR_SET_PDEATHSIG = 1
CLOCKS = 4
LIVES = (0.3, 1.2)  # seconds from one death to the next


def main() -> None:
    """Fork, kill, and fork again."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    django.setup()
    from django.db import connections

    from workflows.engine import clock  # before any is born: their lives are short

    connections["default"].settings_dict["NAME"] = os.environ["POIMEN_TEST_DATABASE"]
    chance = random.Random(int(sys.argv[1]))
    alive: list[int] = []
    while True:
        while len(alive) < CLOCKS:
            alive.append(_start(clock, chance.randrange(1_000_000_000)))
        time.sleep(chance.uniform(*LIVES))
        victim = alive.pop(chance.randrange(CLOCKS))
        os.kill(victim, signal.SIGKILL)
        os.waitpid(victim, 0)
        print(f"clock {victim} was killed", flush=True)


def _start(clock: ModuleType, lock: int) -> int:
    """Start a clock whose lead nobody else holds; returns its process id."""
    pid = os.fork()
    if pid:
        return pid
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    clock.LEADER_LOCK = lock  # type: ignore[attr-defined]
    clock.Clock().run()
    os._exit(0)


if __name__ == "__main__":
    main()
