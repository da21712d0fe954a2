"""The client that awaits: ``async with AsyncClient("http://127.0.0.1:8080", token=...) as poimen: ...``.

Does what ``client`` does, step for step; refuses to block the loop.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

from poimen_client import operations
from poimen_client.operations import Level
from poimen_client.polling import Polling
from poimen_client.steps import Give, Got, Pause, Send, Steps, Stream, Talk
from poimen_client.types import (
    ExecutionAnswer,
    ExecutionInList,
    ExecutionOutputs,
    GateAnswer,
    LogLine,
    RouteAnswer,
    ScheduleAnswer,
    ScheduleInList,
    SignalTaken,
)

T = TypeVar("T")
_POLLING = Polling()
_LOG_POLLING = Polling(0.2, 1.0)


class AsyncClient:
    """As :class:`~poimen_client.client.Client`, with methods to await; ``stream_logs`` is for ``async for``."""

    def __init__(
        self,
        base_url: str,
        *,
        token: str | None = None,
        api_key: str | None = None,
        username: str | None = None,
        password: str | None = None,
        customer: str | None = None,
        timeout: float = 30.0,
        retry_for: float = 60.0,
    ) -> None:
        self._talk = Talk(
            base_url,
            token=token,
            api_key=api_key,
            username=username,
            password=password,
            customer=customer,
            retry_for=retry_for,
        )
        self._http = httpx.AsyncClient(timeout=timeout)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    # -- start and wait ---------------------------------------------------------------------------------------------

    async def submit(
        self,
        workflow: str | None = None,
        *,
        spec: Mapping[str, Any] | None = None,
        inputs: Mapping[str, Any] | None = None,
        priority: int = 0,
        idempotency_key: str | None = None,
    ) -> ExecutionAnswer:
        """Start a saved ``workflow`` (name or id) or a ``spec`` and return at once.

        With an ``idempotency_key`` a program that was interrupted can ask again and gets the execution it started.
        """
        return await self._run(operations.submit(self._talk, workflow, spec, inputs, priority, idempotency_key))

    async def submit_and_wait(
        self,
        workflow: str | None = None,
        *,
        spec: Mapping[str, Any] | None = None,
        inputs: Mapping[str, Any] | None = None,
        priority: int = 0,
        idempotency_key: str | None = None,
        timeout: float | None = None,
        polling: Polling = _POLLING,
    ) -> ExecutionAnswer:
        """As :meth:`submit`, then :meth:`wait_for_completion`."""
        begun = await self.submit(
            workflow, spec=spec, inputs=inputs, priority=priority, idempotency_key=idempotency_key
        )
        return await self.wait_for_completion(begun["id"], timeout=timeout, polling=polling)

    async def wait_for_completion(
        self, execution_id: str, *, timeout: float | None = None, polling: Polling = _POLLING
    ) -> ExecutionAnswer:
        """Return the execution once it has ended, well or not, or the last one that continues it.

        Raises :class:`~poimen_client.errors.WaitTimeout` after ``timeout`` seconds; the execution goes on.
        """
        return await self._run(operations.wait(self._talk, execution_id, timeout, polling))

    async def get_status(self, execution_id: str, *, logs: int = 0) -> ExecutionAnswer:
        """Return the execution as it is now, with its newest ``logs`` lines."""
        return await self._run(operations.read(self._talk, execution_id, logs))

    def result(self, execution: ExecutionAnswer) -> ExecutionOutputs:
        """Return what came of an execution; raises :class:`~poimen_client.errors.ExecutionFailed` for a failed one."""
        return operations.succeeded(execution)

    async def list_executions(
        self, *, status: str | None = None, name: str | None = None, page: int = 1, limit: int = 10
    ) -> list[ExecutionInList]:
        """Return a page of executions, the newest first."""
        return await self._run(operations.executions(self._talk, status=status, name=name, page=page, limit=limit))

    def stream_logs(
        self,
        execution_id: str,
        *,
        after: str | None = None,
        level: Level = "info",
        node: str | None = None,
        polling: Polling = _LOG_POLLING,
    ) -> AsyncIterator[LogLine]:
        """Yield every line once, in order, as it is written, until the execution has ended.

        ``after`` is the ``cursor`` of the last line that a program has seen before.
        """
        return self._give(operations.follow(self._talk, execution_id, after, level, node, polling))

    # -- steer ------------------------------------------------------------------------------------------------------

    async def cancel(self, execution_id: str, reason: str = "") -> ExecutionAnswer:
        """Ask it to stop."""
        return await self._run(operations.ask(self._talk, execution_id, "cancel", reason, is_repeatable=True))

    async def pause(self, execution_id: str, reason: str = "") -> ExecutionAnswer:
        """Pause it at its next state boundary."""
        return await self._run(operations.ask(self._talk, execution_id, "pause", reason, is_repeatable=True))

    async def resume(self, execution_id: str, reason: str = "") -> ExecutionAnswer:
        """Let it go on."""
        return await self._run(operations.ask(self._talk, execution_id, "resume", reason, is_repeatable=False))

    async def signal(
        self, execution_id: str, name: str, payload: Any = None, *, dedupe_key: str | None = None
    ) -> SignalTaken:
        """Send a signal, once however often the connection is lost."""
        return await self._run(operations.signal(self._talk, execution_id, name, payload, dedupe_key))

    async def rerun(
        self, execution_id: str, *, from_state: str | None = None, idempotency_key: str | None = None
    ) -> ExecutionAnswer:
        """Run an ended execution again, from the start or from a state; returns the new one."""
        return await self._run(operations.rerun(self._talk, execution_id, from_state, idempotency_key))

    # -- decide -----------------------------------------------------------------------------------------------------

    async def list_approvals(
        self, *, status: str | None = "pending", execution_id: str | None = None, page: int = 1, limit: int = 100
    ) -> list[GateAnswer]:
        """Return a page of what waits for decisions, the oldest first."""
        return await self._run(
            operations.approvals(self._talk, status=status, executionId=execution_id, page=page, limit=limit)
        )

    async def approve(self, approval_id: str, reason: str = "") -> GateAnswer:
        """Vote for it; returns the approval as it is then."""
        return await self._run(operations.vote(self._talk, approval_id, "approve", reason))

    async def reject(self, approval_id: str, reason: str) -> GateAnswer:
        """Vote against it, which decides it."""
        return await self._run(operations.vote(self._talk, approval_id, "reject", reason))

    # -- schedule and route -----------------------------------------------------------------------------------------

    async def list_schedules(
        self, *, status: str | None = None, page: int = 1, limit: int = 10
    ) -> list[ScheduleInList]:
        """Return a page of schedules."""
        return await self._run(operations.schedules(self._talk, status=status, page=page, limit=limit))

    async def read_schedule(self, schedule_id: str) -> ScheduleAnswer:
        """Return a schedule with its next five runs."""
        return await self._run(operations.read_schedule(self._talk, schedule_id))

    async def create_schedule(self, **settings: Any) -> ScheduleAnswer:
        """Make one, with the keys of ``POST /schedules``: ``spec`` or ``workflowId``, ``schedule`` and others."""
        return await self._run(operations.create_schedule(self._talk, settings))

    async def pause_schedule(self, schedule_id: str, reason: str = "") -> ScheduleAnswer:
        """Let nothing start by the clock until it is resumed."""
        return await self._run(operations.ask_schedule(self._talk, schedule_id, "pause", reason))

    async def resume_schedule(self, schedule_id: str, reason: str = "") -> ScheduleAnswer:
        """Let it start by the clock again."""
        return await self._run(operations.ask_schedule(self._talk, schedule_id, "resume", reason))

    async def trigger_schedule(self, schedule_id: str) -> ExecutionAnswer:
        """Start an execution of it now."""
        return await self._run(operations.trigger_schedule(self._talk, schedule_id))

    async def delete_schedule(self, schedule_id: str) -> None:
        """Delete it with its history; its executions stay."""
        await self._run(operations.delete_schedule(self._talk, schedule_id))

    async def route(
        self, message: str, *, context: str | Mapping[str, Any] | None = None, save: bool = False
    ) -> RouteAnswer:
        """Turn a sentence into a spec or questions; nothing runs. ``save`` keeps its drawing as a draft."""
        return await self._run(operations.route(self._talk, message, context, save=save))

    # -- doing the steps --------------------------------------------------------------------------------------------

    async def _run(self, steps: Steps[T]) -> T:
        got: Got = None
        while True:
            try:
                step = steps.send(got)
            except StopIteration as end:
                result: T = end.value
                return result
            got = await self._done(step)

    async def _give(self, stream: Stream) -> AsyncIterator[Any]:
        got: Got = None
        while True:
            try:
                step = stream.send(got)
            except StopIteration:
                return
            if isinstance(step, Give):
                yield step.item
                got = None
            else:
                got = await self._done(step)

    async def _done(self, step: Send | Pause) -> Got:
        if isinstance(step, Pause):
            await asyncio.sleep(step.seconds)
            return None
        try:
            return await self._http.send(step.request)
        except httpx.TransportError as error:
            return error
