"""A real engine for tests: pumps and clocks on threads of this process, against the test's own PostgreSQL.

It refuses to sleep and hope: every wait polls a condition and fails, saying what it saw, at a deadline.
"""

import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID, uuid4

from django.db import connection

from workflows.engine.clock import Clock
from workflows.engine.pump import Pump
from workflows.models import Branch, Customer, Execution, LogEntry, StateRun
from workflows.submission import start_execution, store_spec

T = TypeVar("T")
PATIENCE = 20.0  # seconds; only failing tests wait that long
ENDED = ("success", "failed", "cancelled", "timed_out")


def eventually(condition: Callable[[], T | None], what: str, *, seconds: float = PATIENCE) -> T:
    """Return the first true value of ``condition``; fails after ``seconds``, naming ``what`` and the last value."""
    deadline = time.monotonic() + seconds
    pause = 0.005
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:g}s: {what}; last seen: {value!r}")
        time.sleep(pause)
        pause = min(pause * 1.3, 0.05)


def task(resource: str, name: str = "A", **parameters: Any) -> dict[str, Any]:
    """A Task state."""
    return {"name": name, "type": "Task", "resource": resource, "parameters": parameters}


class Engine:
    """Starts pumps and clocks, executions for one customer, and stops everything it started."""

    def __init__(self) -> None:
        self.customer = Customer.objects.create(slug=f"c-{uuid4().hex[:12]}", name="Acme")
        self._running: list[tuple[Pump | Clock, threading.Thread]] = []

    # -- processes ----------------------------------------------------------------------------------------------

    def pump(self, **options: Any) -> Pump:
        """Run a pump until the test ends."""
        pump = Pump(**{"threads": 8, **options})
        self._run(pump)
        return pump

    def clock(self) -> Clock:
        """Run a clock until the test ends."""
        clock = Clock()
        self._run(clock)
        return clock

    def _run(self, process: Pump | Clock) -> None:
        thread = threading.Thread(target=process.run, name=type(process).__name__, daemon=True)
        thread.start()
        self._running.append((process, thread))

    def stop(self, *processes: Pump | Clock) -> None:
        """Stop these, or everything, gracefully; fails if one does not go."""
        chosen = [(p, t) for p, t in self._running if not processes or p in processes]
        for process, _ in chosen:
            process.stop()
        for process, thread in chosen:
            thread.join(timeout=15)
            assert not thread.is_alive(), f"{type(process).__name__} did not stop"
            self._running.remove((process, thread))

    @property
    def pumps(self) -> list[Pump]:
        """The pumps that run, oldest first."""
        return [process for process, _ in self._running if isinstance(process, Pump)]

    # -- executions ---------------------------------------------------------------------------------------------

    def start(self, spec: dict[str, Any], inputs: dict[str, Any] | None = None, **options: Any) -> UUID:
        """Start an execution of ``spec``; returns its id."""
        given: dict[str, Any] = {"customer": self.customer, "name": spec["name"], **options}
        return start_execution(spec=store_spec(spec), inputs=inputs or {}, **given)[0].pk

    def run(self, spec: dict[str, Any], inputs: dict[str, Any] | None = None, **options: Any) -> Execution:
        """Start an execution and wait for its end."""
        return self.ended(self.start(spec, inputs, **options))

    def ended(self, execution: UUID, *, seconds: float = PATIENCE) -> Execution:
        """Wait for the end of an execution, that of its continuations included, and return the last one."""
        while True:
            found = self.reaches(execution, *ENDED, seconds=seconds)
            following = Execution.objects.filter(continued_from=execution).first()
            if following is None:
                return found
            execution = following.pk

    def reaches(self, execution: UUID, *statuses: str, seconds: float = PATIENCE) -> Execution:
        """Wait until an execution has one of ``statuses``; fails with its history at the deadline."""
        deadline = time.monotonic() + seconds
        while (found := Execution.objects.get(pk=execution)).status not in statuses:
            assert time.monotonic() < deadline, (
                f"{found.status} after {seconds:g}s, not {' or '.join(statuses)}\n{story(execution)}"
            )
            time.sleep(0.01)
        return found

    def waits(self, execution: UUID, waiting_for: str, *, count: int = 1) -> list[Branch]:
        """Wait until ``count`` branches of the execution wait for ``waiting_for``."""

        def waiting() -> list[Branch]:
            found = list(Branch.objects.filter(execution=execution, status="waiting", waiting_for=waiting_for))
            return found if len(found) >= count else []

        return eventually(waiting, f"{count} branches waiting for {waiting_for}\n")

    def is_running(self, execution: UUID, state: str) -> Branch:
        """Wait until a branch of the execution is leased and stands on ``state``."""
        return eventually(
            lambda: Branch.objects.filter(execution=execution, status="running", state=state).first(),
            f"{state} running",
        )


def runs_of(execution: UUID, state: str | None = None) -> list[StateRun]:
    """The state runs of an execution in the order of their commits."""
    runs = StateRun.objects.filter(execution=execution).order_by("id")
    return list(runs if state is None else runs.filter(state=state))


def ran(execution: UUID) -> list[tuple[str, str, int]]:
    """``(state, status, attempt)`` of every run that the execution made itself."""
    return [(r.state, r.status, r.attempt) for r in runs_of(execution) if not r.reused]


def output_of(execution: UUID, state: str) -> Any:
    """The output of the last successful run of ``state``."""
    return StateRun.objects.filter(execution=execution, state=state, status="success").order_by("-id")[0].output


def failure_of(ended: Execution | StateRun) -> dict[str, Any]:
    """The error object of what has failed."""
    assert ended.error is not None, ended
    error: dict[str, Any] = ended.error
    return error


def messages(execution: UUID) -> list[str]:
    """The log of an execution, in the order readers see."""
    return list(LogEntry.objects.filter(execution=execution).order_by("tx", "id").values_list("message", flat=True))


def story(execution: UUID) -> str:
    """Everything known of an execution, for the message of a failing test."""
    branches = Branch.objects.filter(execution=execution).order_by("created_at")
    lines = [
        f"execution {execution}",
        *(
            f"  branch {b.body or 'root'} {b.name} {b.status} at {b.state} v{b.visit} a{b.attempt} "
            f"waits for {b.waiting_for} open {b.open_children} stop {b.stop}"
            for b in branches
        ),
        *(
            f"  run {r.state} v{r.visit}.{r.attempt} {r.status} {r.error or r.output!r:.200}"
            for r in runs_of(execution)
        ),
    ]
    lines += [f"  log {message}" for message in messages(execution)]
    return "\n".join(lines)


def overlap(runs: list[StateRun]) -> int:
    """The most of these runs that were under way at one moment."""
    moments = [(run.started_at, 1) for run in runs] + [(run.ended_at, -1) for run in runs]
    most = now = 0
    for _, change in sorted(moments):
        now += change
        most = max(most, now)
    return most


def age(execution: UUID, by: timedelta) -> None:
    """Let an ended execution have ended ``by`` earlier, as the database's clock sees it."""
    Execution.objects.filter(pk=execution).update(ended_at=_database_now() - by)


def lose_lease(branch: UUID) -> bool:
    """Let a branch look as if its worker had been silent for longer than a lease; says whether there is one."""
    return Branch.objects.filter(pk=branch).update(lease_expires_at=_database_now() - timedelta(seconds=1)) == 1


def _database_now() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT now()")
        moment: datetime = cursor.fetchone()[0]
    return moment
