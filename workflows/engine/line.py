"""A claimed branch in memory: where it stands, what it knows, and what it has yet to commit.

Refuses to touch the database itself: what it lacks it gets through the loader it was made with.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from workflows import secret_texts, secrets
from workflows.activities.context import Identity
from workflows.engine.program import Program, Step

_UNKNOWN: Any = object()


@dataclass(frozen=True, slots=True)
class ExecutionFacts:
    """What every branch of an execution shares and nothing changes."""

    program: Program
    id: UUID
    customer: UUID
    workflow: UUID | None
    version: int | None
    name: str
    inputs: Mapping[str, Any]
    started_at: datetime | None
    priority: int
    depth: int
    created_by: str
    parent_branch: UUID | None
    parent_visit: int | None
    parent_attempt: int | None
    reused: tuple[str, ...] = ()  # ids of the executions whose outputs it took over


@dataclass(slots=True)
class Line:
    """One line of control while a pump holds its lease."""

    execution: ExecutionFacts
    id: UUID
    body: str
    name: str
    index: int
    ancestors: list[UUID]
    parent: UUID | None
    parent_visit: int | None
    parent_attempt: int | None
    item: Any
    state: str
    visit: int
    attempt: int
    failures: int
    interruptions: int
    variables: dict[str, Any]
    first_previous: Any
    caught: Any
    waiting_for: str
    wait_signal: str
    wake_at: datetime | None
    is_due: bool
    stop: str
    epoch: int
    seq: int
    others_transitions: int
    entered_at: datetime
    load: Callable[["Line", frozenset[str]], dict[str, Any]]
    load_previous: Callable[["Line"], Any]
    stored_variables: dict[str, Any]
    was_waiting: bool  # what the row says of waits and catches must be cleared with the next transition

    outputs: dict[str, Any] = field(default_factory=dict)
    loaded: bool = False
    runs: list[dict[str, Any]] = field(default_factory=list)
    logs: list[dict[str, Any]] = field(default_factory=list)
    is_lost: bool = False
    cancelled: threading.Event = field(default_factory=threading.Event)
    on_stop: Callable[[], None] | None = None
    hidden: Mapping[str, str] = field(default_factory=dict)  # secrets the activity was given, with their handles
    is_announced: bool = False  # the log says already that the state under the cursor has started
    claim: UUID | None = None  # the cached result that this line makes
    _previous: Any = _UNKNOWN
    _texts: tuple[str, str, str] | None = None

    @property
    def previous(self) -> Any:
        """The output of the state before, which Pass, Choice, Wait and Succeed hand on."""
        if self._previous is _UNKNOWN:
            self._previous = self.first_previous if self.first_previous is not None else None
            if self.visit > 1 and (stored := self.load_previous(self)) is not None:
                self._previous = stored
        return self._previous

    @previous.setter
    def previous(self, value: Any) -> None:
        self._previous = value

    @property
    def program(self) -> Program:
        """The compiled spec."""
        return self.execution.program

    @property
    def step(self) -> Step:
        """The state the cursor is on."""
        return self.program.steps[self.state]

    @property
    def identity(self) -> Identity:
        """Who is running, as activities see it."""
        if self._texts is None:
            self._texts = (str(self.execution.id), str(self.execution.customer), str(self.id))
        return Identity(*self._texts, self.state, self.visit, self.attempt, self.execution.reused)

    def successor(
        self, id: UUID, epoch: int, seq: int, name: str, index: int, item: Any, state: str, variables: dict[str, Any]
    ) -> "Line":
        """The line of a sibling that takes over this one's worker: a fresh branch of the same parent and body."""
        return replace(
            self,
            id=id, epoch=epoch, seq=seq, name=name, index=index, item=item, state=state, variables=variables,
            stored_variables=variables, visit=1, attempt=1, failures=0, interruptions=0, first_previous=None,
            caught=None, waiting_for="", wait_signal="", wake_at=None, is_due=False, stop="", was_waiting=False,
            others_transitions=0, entered_at=datetime.now(UTC), outputs={}, loaded=False, runs=[], logs=[],
            is_lost=False, cancelled=threading.Event(), on_stop=None, is_announced=False, hidden={}, claim=None,
            _previous=_UNKNOWN, _texts=None,
        )  # fmt: skip

    def knows(self, state: str) -> Any:
        """``{output, error}`` of the last ended visit of ``state`` that is visible from here, or None."""
        found = self.outputs.get(state)
        if found is None and not self.loaded:
            self.outputs = self.load(self, self.program.bodies[self.body].needs) | self.outputs
            self.loaded = True
            found = self.outputs.get(state)
        return found

    def log(self, level: str, event: str, message: str, /, **fields: Any) -> None:
        """Add a line to what the next commit writes."""
        self.logs.append(
            {
                "node_id": self.state,
                "level": level,
                "event": event,
                "message": secret_texts.masked_forms(secrets.conceal(message, self.hidden)),
                "fields": secrets.mask(secrets.conceal(fields, self.hidden)) or None,
                "logged_at": datetime.now(UTC).isoformat(),
            }
        )

    def request_stop(self, reason: str) -> None:
        """Tell the running activity to end; ``reason`` is why the branch will."""
        self.stop = self.stop or reason
        self.cancelled.set()
        if self.on_stop is not None:
            self.on_stop()


class LineScope(Mapping[str, Any]):
    """The names a reference can start with, as seen from a line; states are loaded when first named."""

    __slots__ = ("_extra", "_line")

    def __init__(self, line: Line, **extra: Any) -> None:
        self._line = line
        self._extra = extra

    def __getitem__(self, root: str) -> Any:
        line = self._line
        if root in self._extra:
            return self._extra[root]
        if root == "vars":
            return line.variables
        if root == "workflow":
            execution = line.execution
            started = execution.started_at
            return {
                "id": str(execution.id),
                "name": execution.name,
                "input": execution.inputs,
                "startedAt": started.isoformat() if started else None,
            }
        if root in ("item", "index"):
            if line.item is None:
                raise KeyError(root)
            return line.item[root]
        if root == "error":
            if line.caught is None:
                raise KeyError(root)
            return line.caught
        known = line.knows(root)
        if known is None:
            raise KeyError(root)
        return known

    def __iter__(self) -> Iterator[str]:
        return iter(("workflow", "vars", *self._extra, *self._line.program.steps))

    def __len__(self) -> int:
        return sum(1 for _ in self)
