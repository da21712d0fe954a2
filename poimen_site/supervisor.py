"""Keeps the processes of one home running: starts, restarts, labels their output, and ends them in time.

One loop, which nothing may hold up. Refuses to know what the processes do; that is the business of the ``up`` command.
"""

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

# A process started with this in its environment ends when the supervisor does: manage.py and the guard see to it.
from poimen_site.supervisor_guard import SUPERVISED

COLOURS = (36, 35, 33, 32, 34)
NEVER = float("inf")  # as ``start_at``: not before ``Supervisor.start``
BACKOFF_SECONDS = (0.2, 1.0, 2.0, 5.0, 10.0)
STABLE_SECONDS = 30.0  # a process that ran this long starts its backoff afresh
GRACE_SECONDS = 5.0  # with the database after it, everything is gone within ten seconds


@dataclass
class Service:
    """One process to keep running. ``environment`` is added to the supervisor's; ``fds`` stay open in it."""

    name: str
    argv: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    fds: Sequence[int] = ()
    process: "subprocess.Popen[bytes] | None" = None
    started_at: float = 0.0
    failures: int = 0
    start_at: float = 0.0
    pending: bytes = b""

    @property
    def is_running(self) -> bool:
        """Whether the process is there."""
        return self.process is not None and self.process.poll() is None


@dataclass
class _Duty:
    seconds: float
    work: Callable[[], Any]
    aside: bool
    done_at: float = 0.0
    thread: threading.Thread | None = None


class Supervisor:
    """``run`` blocks until ``stop`` is called (a signal handler may) and every process has ended."""

    def __init__(self, services: Sequence[Service], *, output: IO[str] = sys.stdout) -> None:
        self._services = list(services)
        self._output = output
        self._selector = selectors.DefaultSelector()
        self._stopping = False
        self._duties: list[_Duty] = []
        self._complaint = ""
        self._width = max(len(service.name) for service in services) if services else 4
        self._coloured = output.isatty() and not os.environ.get("NO_COLOR")

    def every(self, seconds: float, duty: Callable[[], Any], *, aside: bool = False) -> None:
        """Call ``duty`` about every ``seconds``; what it raises is printed, not fatal.

        ``aside``: in a thread of its own, never twice at once, because it may have to wait for something.
        """
        self._duties.append(_Duty(seconds, duty, aside))

    def stop(self, *_: Any) -> None:
        """End everything; fit to be a signal handler."""
        self._stopping = True

    def start(self, name: str) -> None:
        """Start a service now, also before ``run``."""
        service = self._named(name)
        if service.process is None:
            self._start(service)

    def end(self) -> None:
        """End what runs; ``run`` does so by itself."""
        if any(service.process is not None for service in self._services):
            self._end_all()

    def replace(self, name: str) -> None:
        """Kill a service and all it started; it starts again like one that died by itself."""
        _signal(self._named(name), signal.SIGKILL)

    def seconds_up(self, name: str) -> float:
        """For how long the service's process has been running; 0 while there is none."""
        service = self._named(name)
        return time.monotonic() - service.started_at if service.is_running else 0.0

    def _named(self, name: str) -> Service:
        return next(service for service in self._services if service.name == name)

    def say(self, text: str, name: str = "poimen") -> None:
        """Print lines under a label."""
        colour = COLOURS[hash(name) % len(COLOURS)]
        for position, service in enumerate(self._services):
            if service.name == name:
                colour = COLOURS[position % len(COLOURS)]
        label = f"{name:<{self._width}} |"
        if self._coloured:
            label = f"\x1b[{colour}m{label}\x1b[0m"
        for line in text.splitlines() or [""]:
            with contextlib.suppress(OSError, ValueError):  # a closed terminal must not stop the work
                print(label, line, file=self._output, flush=True)

    def run(self) -> None:
        """Start everything and keep it running until told to stop."""
        try:
            while not self._stopping:
                self._start_due()
                self._read(0.1)
                self._reap()
                self._do_duties()
        finally:
            self._end_all()

    def _start_due(self) -> None:
        now = time.monotonic()
        for service in self._services:
            if service.process is None and now >= service.start_at:
                self._start(service)

    def _start(self, service: Service) -> None:
        environment = os.environ | {SUPERVISED: str(os.getpid()), "PYTHONUNBUFFERED": "1"} | dict(service.environment)
        service.process = subprocess.Popen(
            service.argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            pass_fds=tuple(service.fds),
            start_new_session=True,  # Ctrl-C goes to the supervisor, which ends the others in order
        )
        service.started_at = time.monotonic()
        assert service.process.stdout is not None
        os.set_blocking(service.process.stdout.fileno(), False)
        self._selector.register(service.process.stdout, selectors.EVENT_READ, service)

    def _read(self, timeout: float) -> None:
        for key, _ in self._selector.select(timeout):
            self._drain(key.data)

    def _drain(self, service: Service, most: int = 1) -> None:
        """Print what the service has said, at most ``most`` chunks of it, so that no service can drown the others."""
        assert service.process is not None
        assert service.process.stdout is not None
        for _ in range(most):
            try:
                chunk = os.read(service.process.stdout.fileno(), 65536)
            except BlockingIOError:
                return
            if not chunk:
                with contextlib.suppress(KeyError):
                    self._selector.unregister(service.process.stdout)
                return
            *lines, service.pending = (service.pending + chunk).split(b"\n")
            for line in lines:
                self.say(line.decode("utf-8", "replace").rstrip("\r"), service.name)

    def _reap(self) -> None:
        for service in self._services:
            if service.process is None or service.process.poll() is None:
                continue
            code = service.process.returncode
            self._forget(service)
            if self._stopping:
                continue
            if time.monotonic() - service.started_at > STABLE_SECONDS:
                service.failures = 0
            wait = BACKOFF_SECONDS[min(service.failures, len(BACKOFF_SECONDS) - 1)]
            service.failures += 1
            service.start_at = time.monotonic() + wait
            self.say(f"{service.name} ended ({_described(code)}); starting it again in {wait:g} s")

    def _forget(self, service: Service) -> None:
        assert service.process is not None
        assert service.process.stdout is not None
        self._drain(service, most=64)
        if service.pending:
            self.say(service.pending.decode("utf-8", "replace"), service.name)
        with contextlib.suppress(KeyError):
            self._selector.unregister(service.process.stdout)
        service.process.stdout.close()
        service.process, service.pending = None, b""

    def _do_duties(self) -> None:
        now = time.monotonic()
        for duty in self._duties:
            if now - duty.done_at < duty.seconds or (duty.thread is not None and duty.thread.is_alive()):
                continue
            duty.done_at = now
            if duty.aside:
                duty.thread = threading.Thread(target=self._do, args=[duty.work], daemon=True)
                duty.thread.start()
            else:
                self._do(duty.work)

    def _do(self, work: Callable[[], Any]) -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001 - a duty that fails is tried again
            complaint = f"{type(error).__name__}: {error}"
            if complaint != self._complaint:  # once, not with every attempt
                self.say(traceback.format_exc())
            self._complaint = complaint

    def _end_all(self) -> None:
        """Ask every process to end, wait, kill what stays."""
        self.say("stopping")
        for service in self._services:
            _signal(service, signal.SIGTERM)
        deadline = time.monotonic() + GRACE_SECONDS
        while any(service.is_running for service in self._services) and time.monotonic() < deadline:
            self._read(0.05)
        for service in self._services:
            if service.is_running:
                self.say(f"{service.name} did not end in {GRACE_SECONDS:g} s; killing it")
            _signal(service, signal.SIGKILL)  # the group: nothing that it started may stay
            if service.process is not None:
                service.process.wait()
                self._forget(service)


def _signal(service: Service, number: signal.Signals) -> None:
    if service.process is None:
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if number == signal.SIGKILL:
            os.killpg(service.process.pid, number)
        else:
            service.process.send_signal(number)


def _described(code: int) -> str:
    if code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return f"exit code {code}"
