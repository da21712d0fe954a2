"""Running other programs for an activity: argument lists, little environment, bounded time and output.

Refuses shells, and leaves nothing running: what a program started is killed with it (contract-activities 16.4).
"""

import contextlib
import os
import selectors
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import IO

import psutil

from workflows.errors import ActivityTimeout, Canceled, PermanentError

MARK = "POIMEN_SUBPROCESS"
# By these the caller's own keeper finds what must be killed with it; a tool that becomes a daemon keeps them.
INHERITED = ("POIMEN_ACTIVITY_TOKEN",)
DEFAULT_OUTPUT_CAP = 4 * 1024 * 1024
CHUNK = 64 * 1024
LOOK_EVERY = 0.2  # seconds between looks at the clock, the cancellation and ``watch``
LINGER = 1.0  # seconds that a finished program's children may keep its pipes open


@dataclass(frozen=True)
class Finished:
    """How a program ended. Output is decoded leniently; ``truncated`` when some of it was over the cap and dropped."""

    returncode: int
    stdout: str
    stderr: str
    truncated: bool


@dataclass
class _Capped:
    cap: int
    data: bytearray = field(default_factory=bytearray)
    truncated: bool = False

    def add(self, chunk: bytes) -> None:
        room = self.cap - len(self.data)
        self.data += chunk[:room]
        self.truncated = self.truncated or len(chunk) > room

    def text(self) -> str:
        return self.data.decode("utf-8", errors="replace")


class _Watchdog:
    """Decides whether a program may go on; looks at most every ``LOOK_EVERY`` seconds, however much it prints."""

    def __init__(
        self, program: str, timeout: timedelta, cancelled: Callable[[], bool], watch: Callable[[], None] | None
    ) -> None:
        self.program, self.timeout, self.cancelled, self.watch = program, timeout, cancelled, watch
        self.deadline = time.monotonic() + timeout.total_seconds()
        self.next_look = 0.0

    def look(self) -> None:
        now = time.monotonic()
        if now < self.next_look:
            return
        self.next_look = now + LOOK_EVERY
        if self.cancelled():
            raise Canceled(f"stopped while {self.program} ran")
        if now > self.deadline:
            limit = self.timeout.total_seconds()
            raise ActivityTimeout(f"{self.program} did not end within {limit:g} s and was killed")
        if self.watch is not None:
            self.watch()


def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    home: Path,
    timeout: timedelta,
    env: Mapping[str, str] | None = None,
    output_cap: int = DEFAULT_OUTPUT_CAP,
    cancelled: Callable[[], bool] = lambda: False,
    watch: Callable[[], None] | None = None,
) -> Finished:
    """Run ``argv`` (no shell) in ``cwd`` and return how it ended, whatever its exit code.

    Its environment is PATH, HOME (``home``), LANG and ``env``; standard input is empty; ``output_cap`` bounds each
    of stdout and stderr in bytes. ``watch`` is called a few times a second and may raise to stop the program.
    Raises :class:`ActivityTimeout` after ``timeout``, :class:`Canceled` once ``cancelled()``, and
    :class:`PermanentError` when there is no such program; the program and all it started are killed first.

    The program stays in the caller's process group, so that killing an activity's group takes its tools along. Those
    are found for killing by a mark in their environment, which daemons keep when they leave their parent.
    """
    mark = uuid.uuid4().hex
    stdout, stderr = _Capped(output_cap), _Capped(output_cap)
    watchdog = _Watchdog(Path(argv[0]).name, timeout, cancelled, watch)
    try:
        process = subprocess.Popen(
            list(argv),
            cwd=cwd,
            env=_environment(home) | dict(env or {}) | {MARK: mark},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    except (FileNotFoundError, PermissionError):
        raise PermanentError(
            f"the program {argv[0]!r} is not installed, or may not be run", name="MissingTool"
        ) from None
    assert process.stdout is not None
    assert process.stderr is not None
    pipes: dict[IO[bytes], _Capped] = {process.stdout: stdout, process.stderr: stderr}
    try:
        with selectors.DefaultSelector() as selector:
            for pipe in pipes:
                selector.register(pipe, selectors.EVENT_READ)
            ended_at: float | None = None
            while selector.get_map():
                for key, _ in selector.select(LOOK_EVERY):
                    pipe = key.fileobj  # type: ignore[assignment]
                    if chunk := os.read(key.fd, CHUNK):
                        pipes[pipe].add(chunk)
                    else:
                        selector.unregister(pipe)
                if ended_at is None and process.poll() is not None:
                    ended_at = time.monotonic()
                if ended_at is not None and time.monotonic() > ended_at + LINGER:
                    break  # a child of the program holds on to the pipes
                watchdog.look()
        while process.poll() is None:  # it closed its output and goes on
            time.sleep(LOOK_EVERY / 4)
            watchdog.look()
        if ended_at is not None and time.monotonic() > ended_at + LINGER:
            _kill_marked(mark)
    except BaseException:
        process.kill()
        _kill_marked(mark)
        process.wait()
        raise
    finally:
        for pipe in pipes:
            pipe.close()
    return Finished(process.returncode, stdout.text(), stderr.text(), stdout.truncated or stderr.truncated)


def _environment(home: Path) -> dict[str, str]:
    # The programs that came with Poimen (ruff, bandit) first, then the machine's.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
    return inherited | {"PATH": path, "HOME": str(home), "LANG": "C.UTF-8"}


def _kill_marked(mark: str) -> None:
    """Kill every process with ``mark`` in its environment, until a look finds none (they may be forking)."""
    for _ in range(20):
        found = [process for process in psutil.process_iter() if _marked(process, mark)]
        if not found:
            return
        for process in found:
            with contextlib.suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(found, timeout=0.2)


def _marked(process: psutil.Process, mark: str) -> bool:
    try:
        return process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE
    except (psutil.Error, OSError):
        return False
