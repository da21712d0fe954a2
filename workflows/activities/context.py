"""What an activity sees of the execution it runs in: identity, workspace, logging, progress and cancellation.

Refuses to hand out anything that does not survive a trip into a child process.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from workflows.errors import Canceled, PermanentError

LogLevel = Literal["debug", "info", "warn", "error"]
LEVELS: tuple[LogLevel, ...] = ("debug", "info", "warn", "error")


@dataclass(frozen=True, slots=True)
class Report:
    """One thing an activity says while it runs: a log line, or its progress (``percent`` 0-100 set)."""

    level: LogLevel
    message: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    percent: float | None = None
    at: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def event(self) -> str:
        """What kind of line of the log it becomes."""
        return "activity.log" if self.percent is None else "activity.progress"

    @property
    def content(self) -> dict[str, Any]:
        """The fields of that line."""
        return dict(self.fields) if self.percent is None else {**self.fields, "percent": self.percent}


@dataclass(frozen=True, slots=True)
class Suspended:
    """Returned by an activity that waits for the outside without holding a worker.

    The branch is parked until the execution gets a signal named ``signal``, or until ``until`` (aware). Then the
    activity is called again, with the same idempotency key, and ``context.resumed`` set.
    """

    signal: str
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Resumption:
    """Why a suspended activity is called again: the signal's payload, or ``expired`` when ``until`` has passed."""

    payload: Any = None
    expired: bool = False


@dataclass(frozen=True, slots=True)
class Identity:
    """Who is running; all ids are UUID text. ``visit`` counts the states the branch has entered, from 1.

    ``reused`` are the executions whose outputs a rerun took over.
    """

    execution: str
    customer: str
    branch: str
    state: str
    visit: int
    attempt: int
    reused: tuple[str, ...] = ()

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt of one state visit: ``<execution>:<branch>:<state>:<visit>``."""
        return f"{self.execution}:{self.branch}:{self.state}:{self.visit}"


class ActivityContext:
    """Handed to every activity beside its input."""

    def __init__(
        self,
        identity: Identity,
        *,
        home: Path,
        sink: Callable[[Report], None],
        resumed: Resumption | None = None,
        cancelled: threading.Event | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        self.identity = identity
        self.config: Mapping[str, Any] = config or {}  # of the plugin, as its administrator set it
        self.resumed = resumed
        self._home = home
        self._sink = sink
        self._cancelled = cancelled or threading.Event()

    @property
    def idempotency_key(self) -> str:
        """See :attr:`Identity.idempotency_key`."""
        return self.identity.idempotency_key

    @property
    def workspace(self) -> Path:
        """A private directory of this execution, made on first use; gone when the execution is retired."""
        return _private(self._home / "workspaces" / self.identity.execution)

    @property
    def artifacts(self) -> Path:
        """Where this execution keeps results meant to be read later (reports); made on first use."""
        return _private(self._home / "artifacts" / self.identity.execution)

    @property
    def reused_places(self) -> tuple[Path, ...]:
        """Workspaces and artifacts of the executions whose outputs a rerun reuses: to be read, never written."""
        kinds = ("workspaces", "artifacts")
        return tuple(self._home / kind / execution for execution in self.identity.reused for kind in kinds)

    def log(self, level: LogLevel, message: str, **fields: Any) -> None:
        """Write one line to the execution's live log."""
        if level not in LEVELS:
            raise PermanentError(f"log level {level!r} is none of {', '.join(LEVELS)}")
        self._sink(Report(level, message, fields))

    def debug(self, message: str, **fields: Any) -> None:
        """Log at level debug."""
        self.log("debug", message, **fields)

    def info(self, message: str, **fields: Any) -> None:
        """Log at level info."""
        self.log("info", message, **fields)

    def warn(self, message: str, **fields: Any) -> None:
        """Log at level warn."""
        self.log("warn", message, **fields)

    def error(self, message: str, **fields: Any) -> None:
        """Log at level error."""
        self.log("error", message, **fields)

    def progress(self, percent: float, message: str = "") -> None:
        """Tell how far the activity is (0-100), and in words if there are some; also counts as a heartbeat.

        As often as it likes: four times a second at most, and in the end, the newest is written to the live log.
        """
        share = min(100.0, max(0.0, percent))
        self._sink(Report("info", message or f"{share:.0f} %", percent=share))

    @property
    def is_cancelled(self) -> bool:
        """Whether the activity was asked to stop."""
        return self._cancelled.is_set()

    def check_cancelled(self) -> None:
        """Raise :class:`Canceled` if the activity was asked to stop; call it between pieces of long work."""
        if self._cancelled.is_set():
            raise Canceled("the activity was asked to stop")


def _private(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    return path
