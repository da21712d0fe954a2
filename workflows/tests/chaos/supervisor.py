"""Keeps processes of an installation running: what dies is started again, as an init system would.

Knows nothing of why something died.
"""

import subprocess
import threading
from collections.abc import Sequence
from typing import Self

import psutil

from workflows.tests.chaos.installation import Installation

STOP_SECONDS = 30


class Supervisor:
    """Runs one process per entry of ``commands``, and a web process per port, while it is entered."""

    def __init__(self, installation: Installation, *commands: str, ports: Sequence[int] = ()) -> None:
        self._installation = installation
        self._places: list[tuple[str, dict[str, str]]] = [(command, {}) for command in commands]
        self._places += [("web", {"PORT": str(port)}) for port in ports]
        self._stopping = threading.Event()
        self._running: list[subprocess.Popen[bytes]] = []
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.restarts = 0

    def __enter__(self) -> Self:
        self._running = [self._installation.start(command, **settings) for command, settings in self._places]
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
                    command, settings = self._places[place]
                    self._running[place] = self._installation.start(command, **settings)
                    self.restarts += 1

    def family(self) -> list[psutil.Process]:
        """The supervised processes and everything below them."""
        return [process for family in self.families() for process in family]

    def families(self, *commands: str) -> list[list[psutil.Process]]:
        """For each supervised process of these commands (of all, if none is named) it and everything below it."""
        found: list[list[psutil.Process]] = []
        for (command, _), process in zip(self._places, list(self._running), strict=True):
            if commands and command not in commands:
                continue
            try:
                leader = psutil.Process(process.pid)
                found.append([leader, *leader.children(recursive=True)])
            except psutil.Error:
                continue
        return found
