"""Warm child processes that evaluate JSONata which could run away, and are killed when it does.

Owns the children: started when first needed, a few at most, restarted after a kill, gone with their parent. Safe to
use from any number of threads, and after a fork.
"""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from workflows.errors import ExpressionError
from workflows.spec import limits
from workflows.spec.sandbox_child import LENGTH

_MEMORY_BYTES = 768 * 1024 * 1024
_START_SECONDS = 20.0
_MAX_CHILDREN = 4
# Sending and reading a document is not the expression's own time, but it is bounded too.
_SECONDS_PER_MEGABYTE = 0.15
_GRACE_SECONDS = 0.6
_ROOT = Path(__file__).resolve().parents[2]
_BOOT = "import sys; sys.path.append(sys.argv.pop(1)); from workflows.spec.sandbox_child import main; main()"


class _Gone(Exception):
    """The child ended while it had a request."""


class _Child:
    """One process and our end of its socket."""

    def __init__(self) -> None:
        self._connection, theirs = socket.socketpair()
        with theirs:
            self._process: subprocess.Popen[bytes] = subprocess.Popen(
                [sys.executable, "-I", "-c", _BOOT, str(_ROOT), str(_MEMORY_BYTES)],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={},
                cwd="/",
            )
        try:
            self._connection.settimeout(_START_SECONDS)
            self._receive(LENGTH.size, time.monotonic() + _START_SECONDS)
        except (OSError, _Gone) as error:
            self.kill()
            raise RuntimeError(f"the process that evaluates expressions does not start: {error}") from error

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    def is_alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.poll() is None

    def ask(self, payload: bytes, seconds: float) -> dict[str, Any]:
        """Send one request and return its answer; raises ``TimeoutError`` or ``_Gone``."""
        deadline = time.monotonic() + seconds
        self._connection.settimeout(seconds)
        try:
            self._connection.sendall(LENGTH.pack(len(payload)) + payload)
        except (BrokenPipeError, ConnectionError) as error:
            raise _Gone from error
        (size,) = LENGTH.unpack(self._receive(LENGTH.size, deadline))
        answer: dict[str, Any] = json.loads(self._receive(size, deadline))
        return answer

    def _receive(self, size: int, deadline: float) -> bytearray:
        received = bytearray()
        while len(received) < size:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self._connection.settimeout(left)
            try:
                chunk = self._connection.recv(min(size - len(received), 1 << 20))
            except ConnectionError as error:
                raise _Gone from error
            if not chunk:
                raise _Gone
            received += chunk
        return received

    def kill(self) -> int:
        """End the process; return its exit status (minus the signal, if one ended it)."""
        self._process.kill()
        self._connection.close()
        return self._process.wait()

    def ended_by(self) -> int:
        """Wait for the end of a process that closed its socket and return its exit status."""
        try:
            return self._process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            return self.kill()
        finally:
            self._connection.close()

    def abandon(self) -> None:
        """Let go of a child that belongs to the process we were forked from."""
        self._connection.close()
        self._process.returncode = 0  # its parent reaps it; ours must not try


class Sandbox:
    """A small pool of children."""

    def __init__(self, size: int = _MAX_CHILDREN) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._free = threading.Semaphore(size)
        self._idle: list[_Child] = []

    def evaluate(self, text: str, document: dict[str, Any]) -> Any:
        """Return the value of the expression ``text`` on ``document``; raises :class:`ExpressionError`."""
        return self._ask(
            {
                "text": text,
                "document": document,
                "seconds": limits.EXPRESSION_SECONDS,
                "depth": limits.EXPRESSION_DEPTH,
                "max_bytes": limits.EXPRESSION_RESULT_BYTES,
            }
        )["value"]

    def analyse(self, text: str) -> dict[str, Any]:
        """Parse ``text`` under the bounds and return the fields of its analysis; raises :class:`ExpressionError`."""
        analysis: dict[str, Any] = self._ask({"text": text, "seconds": limits.EXPRESSION_SECONDS})["analysis"]
        return analysis

    def pids(self) -> list[int]:
        """Process ids of the idle children."""
        with self._lock:
            return [child.pid for child in self._idle]

    def close(self) -> None:
        """End the idle children; the next evaluation starts new ones."""
        with self._lock:
            idle, self._idle = self._idle, []
        for child in idle:
            child.kill()

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        payload = json.dumps(request).encode()
        seconds = limits.EXPRESSION_SECONDS + _GRACE_SECONDS + _SECONDS_PER_MEGABYTE * len(payload) / (1 << 20)
        with self._free:
            child = self._take()
            try:
                answer = child.ask(payload, seconds)
            except TimeoutError:
                child.kill()
                raise ExpressionError(_TOO_LONG) from None
            except _Gone:
                raise ExpressionError(_explain_end(child.ended_by())) from None
            except BaseException:
                child.kill()
                raise
            if answer.pop("is_spent"):
                child.kill()
            else:
                self._give_back(child)
        if "error" in answer:
            raise ExpressionError(answer["error"])
        return answer

    def _take(self) -> _Child:
        while True:
            with self._lock:
                child = self._idle.pop() if self._idle else None
            if child is None:
                return _Child()
            if child.is_alive():
                return child
            child.kill()

    def _give_back(self, child: _Child) -> None:
        with self._lock:
            self._idle.append(child)

    def forget(self) -> None:
        """Start afresh in a forked process: the children are the parent's."""
        for child in self._idle:
            child.abandon()
        self.__init__(self._size)  # type: ignore[misc]


_TOO_LONG = f"it takes longer than {limits.EXPRESSION_SECONDS:g} s"


def _explain_end(status: int) -> str:
    if status == -14:
        return _TOO_LONG
    if status == -11:
        return "it nests or calls itself too deeply"
    return "it needs more time or memory than an expression may use"


sandbox = Sandbox()
os.register_at_fork(after_in_child=sandbox.forget)
