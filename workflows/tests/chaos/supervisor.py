"""Keeps processes of an installation running: what dies is started again, as an init system would.

Knows nothing of why something died.
"""

import subprocess
import threading
from typing import Self

import psutil

from workflows.tests.chaos.installation import Installation

STOP_SECONDS = 30


class Supervisor:
    """Runs one process per entry of ``commands`` while it is entered."""

    def __init__(self, installation: Installation, *commands: str) -> None:
        self._installation = installation
        self._commands = commands
        self._stopping = threading.Event()
        self._running: list[subprocess.Popen[bytes]] = []
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.restarts = 0

    def __enter__(self) -> Self:
        self._running = [self._installation.start(command) for command in self._commands]
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()
        for process in self._running:
            process.terminate()
        for process in self._running:
            process.wait(STOP_SECONDS)

    def _watch(self) -> None:
        while not self._stopping.wait(0.1):
            for place, process in enumerate(self._running):
                if process.poll() is not None:
                    self._running[place] = self._installation.start(self._commands[place])
                    self.restarts += 1

    def family(self) -> list[psutil.Process]:
        """The supervised processes and everything below them."""
        found: list[psutil.Process] = []
        for process in list(self._running):
            try:
                leader = psutil.Process(process.pid)
                found += [leader, *leader.children(recursive=True)]
            except psutil.Error:
                continue
        return found
