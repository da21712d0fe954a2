"""Runs the activities that take time, on one event loop beside the driver threads.

Holds the timeouts: of the whole attempt, of silence, and of the patience with code that ignores cancellation.
"""

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from django.conf import settings

from workflows.activities.context import ActivityContext
from workflows.activities.registry import Activity
from workflows.engine import driving, outcomes, waits
from workflows.engine.driver import Finished, Launch
from workflows.engine.line import Line
from workflows.engine.process_pool import ProcessPool
from workflows.engine.reports import Outbox, Reports
from workflows.engine.store import Store
from workflows.errors import ActivityError, ActivityTimeout, Canceled, WorkflowError
from workflows.spec.durations import format_duration

log = logging.getLogger(__name__)

CANCEL_PATIENCE_SECONDS = 4.0


class _TooLate(Exception):
    """The activity passed a timeout of ours, as opposed to raising ``TimeoutError`` itself."""


class _Asked(Exception):
    """The activity was asked to stop from outside."""


class Launcher:
    """Owns the loop thread. ``done`` is called on it with each result, and must not block."""

    def __init__(self, store: Store, done: Callable[[Line, Finished], None]) -> None:
        self._store = store
        self._done = done
        self._loop = asyncio.new_event_loop()
        self._tasks: dict[int, tuple[asyncio.Task[None], asyncio.Event]] = {}
        self.beat = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="launcher", daemon=True)
        self._ready = threading.Event()
        self._thread.start()
        self._ready.wait()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._processes = ProcessPool(settings.POIMEN_ACTIVITY_PROCESSES)
        self._outbox = Outbox(self._store, self._loop)
        self._beating = self._loop.create_task(self._beat_forever())
        self._loop.call_soon(self._ready.set)
        self._loop.run_forever()

    async def _beat_forever(self) -> None:
        # The pump's watchdog reads this: an activity that blocks the loop blocks every other.
        while True:
            self.beat = time.monotonic()
            await asyncio.sleep(0.5)

    def launch(self, line: Line, activity: Activity, parameters: Any, run: Launch) -> None:
        """Start an activity, from any thread."""
        self._loop.call_soon_threadsafe(self._start, line, activity, parameters, run)

    def _start(self, line: Line, activity: Activity, parameters: Any, run: Launch) -> None:
        # An event and not the task's cancellation: asked twice, or while giving up, the task must still see to the end.
        stop = asyncio.Event()
        self._tasks[id(line)] = self._loop.create_task(self._attend(line, activity, parameters, run, stop)), stop

        def ask() -> None:
            self._loop.call_soon_threadsafe(stop.set)

        line.on_stop = ask
        if line.cancelled.is_set():
            stop.set()

    async def _attend(self, line: Line, activity: Activity, parameters: Any, run: Launch, stop: asyncio.Event) -> None:
        driving.driven.set(line)  # in this task, and those it starts
        reports = self._outbox.open(line)
        work = self._loop.create_task(self._work(line, activity, parameters, run, reports))
        output: Any = None
        error: BaseException | None = None
        try:
            output = await self._in_time(work, run, reports, stop)
        except _Asked:
            await self._give_up(work)
            error = Canceled("the activity was asked to stop")
        except _TooLate as late:
            await self._give_up(work)
            error = ActivityTimeout(str(late))
        except WorkflowError as failure:
            error = failure
        except Exception as failure:
            error = failure
        await self._outbox.end(reports)
        self._tasks.pop(id(line), None)
        line.on_stop = None
        self._done(
            line,
            Finished(run.given, run.started, output=output, error=error, signal=run.signal),
        )

    async def _work(
        self,
        line: Line,
        activity: Activity,
        parameters: Any,
        run: Launch,
        reports: Reports,
    ) -> Any:
        if activity.isolation == "process":
            return await self._processes.run(
                activity.name, parameters, identity=line.identity, home=str(waits.home()), resumed=run.resumed,
                sink=reports.add,
                on_start=reports.begin,
                config=run.config,
            )  # fmt: skip
        reports.begin()
        context = ActivityContext(
            line.identity,
            home=waits.home(),
            sink=reports.add,
            resumed=run.resumed,
            cancelled=line.cancelled,
            config=run.config,
        )
        try:
            return activity.dump_output(await activity.function(activity.parse_input(parameters), context))
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise ActivityError("the activity cancelled itself") from None
        except (SystemExit, KeyboardInterrupt) as error:
            # Either would end the loop, and every other activity with it.
            raise outcomes.failure_of(error) from error

    async def _in_time(self, work: "asyncio.Task[Any]", run: Launch, reports: Reports, stop: asyncio.Event) -> Any:
        """The result of ``work``; raises :class:`_TooLate` past its timeout or its heartbeat's silence.

        Raises :class:`_Asked` once ``stop`` is set.
        """
        begun, asked = self._loop.create_task(reports.begun.wait()), self._loop.create_task(stop.wait())
        try:
            await asyncio.wait({work, begun, asked}, return_when=asyncio.FIRST_COMPLETED)
            deadline = self._loop.time() + run.timeout.total_seconds()
            silence = run.heartbeat.total_seconds() if run.heartbeat else None
            while True:
                if work.done():
                    return work.result()
                if asked.done():
                    raise _Asked
                if self._loop.time() >= deadline:
                    raise _TooLate(f"the activity did not end within {format_duration(run.timeout)}")
                if silence is not None and time.monotonic() - reports.heard_at >= silence and run.heartbeat:
                    raise _TooLate(f"the activity was silent for {format_duration(run.heartbeat)}")
                wait = deadline - self._loop.time()
                if silence is not None:
                    wait = min(wait, reports.heard_at + silence - time.monotonic())
                await asyncio.wait({work, asked}, timeout=max(0.0, wait), return_when=asyncio.FIRST_COMPLETED)
        finally:
            begun.cancel()
            asked.cancel()

    async def _give_up(self, work: "asyncio.Task[Any]") -> None:
        """Cancel ``work`` and wait a little; code that ignores cancellation is left behind and named."""
        work.cancel()
        done, _ = await asyncio.wait({work}, timeout=CANCEL_PATIENCE_SECONDS)
        if not done:
            log.error("an activity ignores its cancellation; its result will not count")
            work.add_done_callback(lambda task: task.cancelled() or task.exception())

    def close(self) -> None:
        """Cancel what runs, end the children, stop the loop."""

        async def end() -> None:
            attending = list(self._tasks.values())
            for _, stop in attending:
                stop.set()
            await self._processes.close()
            if attending:
                await asyncio.wait([task for task, _ in attending], timeout=1)
            self._beating.cancel()
            self._outbox.close()

        with contextlib.suppress(Exception):
            asyncio.run_coroutine_threadsafe(end(), self._loop).result(timeout=5)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=2)
