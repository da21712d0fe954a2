"""Calling an activity the way the engine does, without an engine: typed input in, plain JSON data out."""

import asyncio
import inspect
import threading
from pathlib import Path
from typing import Any

from workflows.activities.context import ActivityContext, Identity, Report, Resumption
from workflows.activities.registry import registry


class Case:
    """One execution with a home of its own; ``reports`` collects what its activities said."""

    def __init__(
        self, home: Path, execution: str = "018f0000-0000-7000-8000-000000000001", customer: str = "customer"
    ) -> None:
        self.home = home
        self.customer = customer
        self.execution = execution
        self.reports: list[Report] = []
        self.cancelled = threading.Event()

    def context(
        self, *, state: str = "State", visit: int = 1, attempt: int = 1, resumed: Resumption | None = None
    ) -> ActivityContext:
        """Return a context of this execution, as the engine would make it."""
        identity = Identity(self.execution, self.customer, "branch", state, visit, attempt)
        return ActivityContext(
            identity, home=self.home, sink=self.reports.append, cancelled=self.cancelled, resumed=resumed
        )

    def run(self, name: str, parameters: dict[str, Any], **context: Any) -> Any:
        """Run one activity and return its output as JSON data; its errors come out as they are."""
        activity = registry.get(name)
        made = self.context(**context)
        result = activity.function(activity.parse_input(parameters), made)
        if inspect.iscoroutine(result):
            result = asyncio.run(result)
        return activity.dump_output(result)

    @property
    def said(self) -> str:
        """Everything that was logged, fields included, as one text."""
        return "\n".join(f"{r.level} {r.message} {dict(r.fields)}" for r in self.reports)
