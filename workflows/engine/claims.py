"""Leasing ready branches, and making of a leased row the line that a driver walks.

Limits on customers and activities are kept here. Refuses to write history: that is the store's.
"""

import threading
import time
from typing import TYPE_CHECKING, Any
from uuid import UUID

import psycopg

from workflows.activities.registry import registry
from workflows.engine import statements
from workflows.engine.line import ExecutionFacts, Line
from workflows.engine.program import Program, compile_program

if TYPE_CHECKING:
    from workflows.engine.store import Store

CLAIM_LOCK = 0x706F696D  # serialises claims under concurrency limits
_LIMITS_SECONDS = 1.0  # how long a new limit on a customer may go unnoticed
_MOST_FACTS = 512
_MOST_PROGRAMS = 256
_PROGRAMS: dict[str, Program] = {}  # by checksum; shared by every pump of the process


class Claims:
    """One pump's claims. Thread-safe."""

    def __init__(self, store: "Store") -> None:
        self._store = store
        self._facts: dict[UUID, ExecutionFacts] = {}
        self._lock = threading.Lock()
        self._limits_checked_at = 0.0
        self._customers_limited = False

    @property
    def lease(self) -> dict[str, Any]:
        """What statements that lease a branch need to know: for whom and for how long."""
        return {"owner": self._store.owner, "lease": self._store.lease}

    def claim(self, limit: int) -> list[Line]:
        """Lease up to ``limit`` ready branches, those of higher priority first."""
        parameters: dict[str, Any] = {"limit": limit, **self.lease}
        if not self.are_limited():
            rows = self._store.rows(statements.CLAIM, parameters)
        else:
            activities = _activity_limits()
            parameters |= {"activities": list(activities), "activity_limits": list(activities.values())}

            def claim(cursor: psycopg.Cursor[Any]) -> list[tuple[Any, ...]]:
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", (CLAIM_LOCK,))
                return cursor.execute(statements.CLAIM_WITHIN_LIMITS, parameters).fetchall()

            rows = self._store.transaction(claim)
        return [line for row in rows if (line := self.line(row)) is not None]

    def are_limited(self) -> bool:
        """Whether any customer or activity has a limit, so that claims must be counted."""
        if _activity_limits():
            return True
        now = time.monotonic()
        if now - self._limits_checked_at > _LIMITS_SECONDS:
            self._customers_limited = self._store.rows(statements.HAS_CUSTOMER_LIMITS)[0][0]
            self._limits_checked_at = now
        return self._customers_limited

    def line(self, row: tuple[Any, ...]) -> Line | None:
        """The line of a row of ``TAKEN_COLUMNS``; None if its execution is gone."""
        (id, execution, body, name, index, ancestors, parent, parent_visit, parent_attempt, item, state, visit,
         attempt, failures, interruptions, variables, previous, caught, waiting_for, wait_signal, wake_at, is_due,
         stop, epoch, seq, entered_at) = row[: statements.BRANCH_COLUMN_COUNT]  # fmt: skip
        facts = self._facts_of(execution, row[statements.BRANCH_COLUMN_COUNT :])
        if facts is None:
            return None
        return Line(
            execution=facts, id=id, body=body, name=name, index=index, ancestors=list(ancestors), parent=parent,
            parent_visit=parent_visit, parent_attempt=parent_attempt, item=item, state=state, visit=visit,
            attempt=attempt, failures=failures, interruptions=interruptions, variables=variables,
            first_previous=previous, caught=caught, waiting_for=waiting_for, wait_signal=wait_signal, wake_at=wake_at,
            is_due=is_due, stop=stop, epoch=epoch, seq=seq, others_transitions=0, entered_at=entered_at,
            load=self._store.load_outputs, load_previous=self._store.load_previous, stored_variables=variables,
            was_waiting=bool(waiting_for) or caught is not None,
        )  # fmt: skip

    def _facts_of(self, execution: UUID, came_along: tuple[Any, ...]) -> ExecutionFacts | None:
        """The unchanging part of an execution: from memory, from what came with the branch, or looked up."""
        with self._lock:
            known = self._facts.get(execution)
        if known is not None:
            return known
        if came_along[0] is None:
            rows = self._store.rows(statements.EXECUTION_FACTS, (execution,))
            if not rows:
                return None
            came_along = rows[0]
        *facts, rerun_of, checksum = came_along
        if rerun_of is not None:
            facts.append(tuple(row[0] for row in self._store.rows(statements.REUSED, (rerun_of,))))
        made = ExecutionFacts(self.program(checksum), *facts)
        with self._lock:
            if len(self._facts) >= _MOST_FACTS:
                self._facts.pop(next(iter(self._facts)))
            self._facts[execution] = made
        return made

    def program(self, checksum: str) -> Program:
        """The compiled spec of that checksum."""
        program = _PROGRAMS.get(checksum)
        if program is None:
            document = self._store.rows(statements.SPEC, (checksum,))[0][0]
            program = compile_program(document, checksum)
            if len(_PROGRAMS) >= _MOST_PROGRAMS:
                _PROGRAMS.pop(next(iter(_PROGRAMS)), None)
            _PROGRAMS[checksum] = program
        return program


def _activity_limits() -> dict[str, int]:
    return {a.name: a.max_concurrency for a in registry.all().values() if a.max_concurrency}
