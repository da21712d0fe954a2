"""Walks a claimed branch from state to state until it waits, ends, or is no longer ours.

One commit per transition; states without side effects ride along with the next commit. Knows no threads: what takes
time is handed to the pump, which calls ``resume`` with the result.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import psycopg
from django.db import InterfaceError, OperationalError, connections

from workflows import secrets
from workflows.activities.context import ActivityContext, Report, Resumption, Suspended
from workflows.activities.registry import Activity, registry
from workflows.engine import cached_results, composite, ending, outcomes, plugins, waits
from workflows.engine.line import Line, LineScope
from workflows.engine.outcomes import BranchEnd, Goes, Outcome, Retry
from workflows.engine.store import StaleLease, Stopping, Store
from workflows.errors import LimitExceeded, PermanentError, WorkerLost, WorkflowError
from workflows.spec import schema

log = logging.getLogger(__name__)

MAX_INTERRUPTIONS = 20
MOST_RIDING_ALONG = 100  # states without side effects that one commit may take along

# What doing a state gives: an outcome to commit, or whether the line is still held (an activity runs) or not.
Result = Outcome | ending.ContinueAsNew | waits.WithSignal | bool


@dataclass(frozen=True, slots=True)
class Finished:
    """What a handed-out activity came to: its output or its error."""

    given: Any
    started: datetime
    output: Any = None
    error: BaseException | None = None
    signal: waits.TakenSignal | None = None


class Host(Protocol):
    """What the driver needs of the pump."""

    store: Store

    def launch(self, line: Line, activity: Activity, parameters: Any, run: "Launch") -> None:
        """Run an activity that takes time; later call ``resume(line, Finished)`` on a driver thread."""

    def is_stopping(self) -> bool:
        """Whether branches should be given back at their next boundary."""

    def adopt(self, line: Line) -> None:
        """Drive a branch whose lease came with the end of its sibling."""

    def wake(self) -> None:
        """Look for ready branches: some were made just now."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A handed-out run: its recorded input, start, timeout and what woke it."""

    given: Any
    started: datetime
    timeout: timedelta
    heartbeat: timedelta | None
    resumed: Resumption | None
    signal: waits.TakenSignal | None
    config: Mapping[str, Any] | None = None  # of the activity's plugin


class Driver:
    """Drives lines for one pump."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.store = host.store

    def drive(self, line: Line) -> bool:
        """Walk the line as far as it goes; returns whether it is still held (an activity was launched)."""
        return self._guarded(line, lambda: self._enter(line))

    def resume(self, line: Line, finished: Finished) -> bool:
        """Go on with the result of a launched activity; returns as :meth:`drive`."""
        return self._guarded(line, lambda: self._finish(line, finished))

    def _guarded(self, line: Line, first: Callable[[], Result]) -> bool:
        try:
            with self.store.session():
                outcome = first()
                while not isinstance(outcome, bool):
                    outcome = self._commit(line, outcome)
                if not outcome and line.stop:
                    self.host.wake()  # to be ended, if it was about to wait
                return outcome
        except StaleLease:
            log.info("branch %s is someone else's now", line.id)
        except waits.SignalGone:
            line.runs, line.logs = [], []
            self.store.release(line)
            self.host.wake()
        except Stopping:
            log.info("stopping with branch %s uncommitted", line.id)
        return False

    # -- one state ----------------------------------------------------------------------------------------------

    def _enter(self, line: Line) -> Result:
        """Do what the state under the cursor says. True: still held; False: not ours any more."""
        started = datetime.now(UTC)
        try:
            if line.stop:
                return outcomes.stopped(line, started)
            if line.interruptions > MAX_INTERRUPTIONS:
                raise WorkerLost(f"{line.state} was interrupted {line.interruptions} times by dying workers")
            self._check_budget(line)
            if line.seq == 0 and (body := line.program.bodies[line.body]).when is not None:
                if not body.when.resolve(LineScope(line)):
                    line.log(
                        "info",
                        "branch.skipped",
                        f"{line.name} is skipped: its condition is not met",
                    )
                    return BranchEnd("skipped")
            return self._execute(line, started)
        except WorkflowError as error:
            return outcomes.failed(line, error, started=started)
        except (StaleLease, Stopping):
            raise
        except Exception as error:
            # A fault of ours must not take the pump down, nor leave the branch to be tried for ever.
            log.exception("state %s of %s failed in the engine", line.state, line.execution.id)
            fault = PermanentError(f"{type(error).__name__}: {error}", name="EngineError")
            return outcomes.failed(line, fault, started=started)

    def _execute(self, line: Line, started: datetime) -> Result:
        step = line.step
        match step.state:
            case schema.TaskState():
                return self._task(line, started)
            case schema.PassState():
                scope = LineScope(line)
                chosen = step.templates.get("result") or step.templates.get("parameters")
                output = chosen.resolve(scope) if chosen is not None else line.previous
                return outcomes.succeeded(line, output, started=started)
            case schema.ChoiceState():
                return self._choice(line, step.state, started)
            case schema.SucceedState():
                return self._succeed(line, step.state, started)
            case schema.FailState():
                cause = step.templates["cause"].resolve(LineScope(line)) if "cause" in step.templates else ""
                raise PermanentError(
                    str(cause or "the workflow says so"),
                    name=step.state.error or "Fail",
                )
            case schema.WaitState():
                return waits.enter_wait(self.store, line, started)
            case schema.WaitForSignalState():
                return waits.enter_signal(self.store, line, started)
            case schema.WorkflowState():
                return composite.enter_child(self.host, line, started)
            case schema.ParallelState() | schema.MapState():
                return composite.enter_children(self.host, line, started)

    def _choice(self, line: Line, state: schema.ChoiceState, started: datetime) -> Outcome:
        templates, scope = line.step.templates, LineScope(line)
        for index, rule in enumerate(state.choices):
            if templates[f"when.{index}"].resolve(scope):
                assign = templates.get(f"assign.{index}")
                assigned = assign.resolve(scope) if assign is not None else None
                return outcomes.succeeded(
                    line,
                    line.previous,
                    started=started,
                    next_state=rule.next,
                    assigned=assigned,
                )
        if state.default is None:
            raise PermanentError("no rule of the choice holds and it has no default", name="NoChoice")
        return outcomes.succeeded(line, line.previous, started=started, next_state=state.default)

    def _succeed(self, line: Line, state: schema.SucceedState, started: datetime) -> Result:
        scope = LineScope(line)
        template = line.step.templates.get("output")
        output = template.resolve(scope) if template is not None else line.previous
        outcome = outcomes.succeeded(line, output, started=started)
        if state.continue_as_new is not None and isinstance(outcome, BranchEnd):
            return ending.ContinueAsNew(outcome, line.step.templates["input"].resolve(scope))
        return outcome

    # -- activities ---------------------------------------------------------------------------------------------

    def _task(self, line: Line, started: datetime) -> Result:
        step = line.step
        activity = step.activity
        parameters = step.templates["parameters"].resolve(LineScope(line))
        given = secrets.mask(parameters)
        line.hidden = {}
        parameters, line.hidden = secrets.reveal_for(activity, parameters, line.execution.customer)
        config = None
        if activity.plugin:
            config, concealed = plugins.configuration(self.store, activity)
            line.hidden = {**line.hidden, **concealed}
        signal = waits.awaited_signal(self.store, line)
        resumed = None
        if line.waiting_for == "activity":
            if signal is None and not line.is_due:
                return waits.park_again(self.store, line)
            resumed = Resumption(signal.payload if signal else None, expired=signal is None)
            started = line.entered_at
        if activity.isolation == "inline":
            return self._finish(
                line,
                self._call_inline(line, activity, parameters, given, started, resumed, signal, config),
            )
        assert isinstance(step.state, schema.TaskState)
        if step.state.cache is not None:
            found = cached_results.look_up(self.store, line, parameters, config)
            if found is not None:
                return found if isinstance(found, bool) else self._finish(line, Finished(given, started, found.output))
        self._announce(line)
        if line.runs or line.logs:
            # What comes before a long activity must be seen, and kept, while it runs.
            if self._boundary(line, self.store.advance(line)) is not None:
                return False
        heartbeat = waits.duration(step.state.heartbeat) if step.state.heartbeat else None
        timeout = step.timeout or activity.timeout
        launch = Launch(given, started, timeout, heartbeat, resumed, signal, config)
        self.host.launch(line, activity, parameters, launch)
        return True

    def _call_inline(
        self, line: Line, activity: Activity, parameters: Any, given: Any, started: datetime,
        resumed: Resumption | None, signal: waits.TakenSignal | None, config: Mapping[str, Any] | None,
    ) -> Finished:  # fmt: skip
        def keep(report: Report) -> None:
            if report.percent is not None and line.logs and line.logs[-1]["event"] == report.event:
                line.logs.pop()  # all of it is written with the result: of progress, the newest says enough
            line.log(report.level, report.event, report.message, **report.content)

        context = ActivityContext(
            line.identity,
            home=waits.home(),
            sink=keep,
            resumed=resumed,
            cancelled=line.cancelled,
            config=config,
        )
        try:
            output = activity.dump_output(activity.function(activity.parse_input(parameters), context))
            return Finished(given, started, output=output, signal=signal)
        except BaseException as error:
            # Not even SystemExit may end a driver thread.
            return Finished(given, started, error=error, signal=signal)
        finally:
            if connections["default"].connection is not None:
                connections["default"].close()  # back into the pool; driver threads are many

    def _finish(self, line: Line, finished: Finished) -> Result:
        """Turn what an activity came to into an outcome."""
        error = finished.error
        given, started = finished.given, finished.started
        if line.claim is not None and (line.stop or error is not None):
            cached_results.give_up(self.store, line)
        if line.stop:
            return outcomes.stopped(line, started)
        if error is None and isinstance(finished.output, Suspended):
            return waits.park_for_signal(
                self.store,
                line,
                finished.output.signal,
                wake_at=finished.output.until,
                waiting_for="activity",
                taken=finished.signal,
            )
        if isinstance(error, OperationalError | InterfaceError) and line.attempt <= MAX_INTERRUPTIONS:
            # The activity works with our database, which went away: no fault of the state.
            outcomes.interrupted(line, started, f"the database was away: {error}")
            self.store.release(line, lost_attempts=1)
            self.host.wake()
            return False
        if line.hidden and error is not None:
            error = _concealed(error, line.hidden)
        try:
            if error is None:
                output = secrets.seal(secrets.conceal(finished.output, line.hidden), line.execution.customer)
                if line.claim is not None:
                    cached_results.keep(self.store, line, output)
                outcome = outcomes.succeeded(line, output, given=given, started=started)
                if finished.signal is not None:
                    return waits.WithSignal(outcome, finished.signal)
                return outcome
        except WorkflowError as failure:
            error = failure
        if line.step.activity.plugin:
            plugins.failed(self.store, line.step.activity, outcomes.failure_of(error))
        if not isinstance(error, WorkflowError):
            log.info("activity %s raised", line.step.resource, exc_info=error)
        return outcomes.failed(line, outcomes.failure_of(error), given=given, started=started)

    def _announce(self, line: Line) -> None:
        if not line.is_announced:
            line.log("info", "state.started", f"{line.state} started")
            line.is_announced = True

    # -- transitions --------------------------------------------------------------------------------------------

    def _commit(self, line: Line, outcome: Outcome | ending.ContinueAsNew | waits.WithSignal) -> Result:
        """Write the outcome where it must be written, and go on."""
        also = None
        if isinstance(outcome, waits.WithSignal):
            also = outcome.consume(line)
            outcome = outcome.outcome
        try:
            match outcome:
                case Goes():
                    return self._go_on(line, also)
                case Retry(delay) if delay.total_seconds() <= 0:
                    return self._continue(line, self.store.advance(line, also=also))
                case Retry(delay):
                    self.store.advance(line, status="waiting", waiting_for="retry", wake_in=delay, also=also)
                    return False
                case BranchEnd() | ending.ContinueAsNew():
                    ending.end_branch(self.host, line, outcome, also)
                    return False
        except psycopg.DataError as error:
            # PostgreSQL refuses the value: the state fails with that, instead of being tried for ever.
            return self._refused(line, PermanentError(f"the result cannot be stored: {error}", name="InvalidOutput"))
        except WorkflowError as error:
            return self._refused(line, error)
        raise AssertionError(outcome)

    def _go_on(self, line: Line, also: Callable[[Any], None] | None) -> Result:
        """The cursor has moved on: commit that, or let it ride along with the next commit."""
        if line.program.spec.continue_as_new and ending.must_continue(line):
            ending.continue_as_new(self.host, line, also)
            return False
        step = line.step
        if step.is_pure and also is None and not line.stop and len(line.runs) < MOST_RIDING_ALONG:
            return self._enter(line)
        activity = registry.all().get(step.resource)
        if activity is not None and activity.isolation != "inline":
            self._announce(line)
        if activity is not None and activity.max_concurrency is not None:
            self._boundary(line, self.store.advance(line, status="ready", also=also))  # whoever claims keeps the limit
            self.host.wake()
            return False
        return self._continue(line, self.store.advance(line, also=also))

    def _continue(self, line: Line, status: str) -> Result:
        """After a commit: enter the state under the cursor, unless the branch is not to be driven further."""
        left = self._boundary(line, status)
        return left if left is not None else self._enter(line)

    def _refused(self, line: Line, error: WorkflowError) -> Outcome:
        """What was to be committed cannot be: the state it came from fails."""
        if line.runs:
            line.state, line.visit, line.attempt = (line.runs[-1][key] for key in ("state", "visit", "attempt"))
        line.runs, line.logs = [], []
        return outcomes.failed(line, error, started=datetime.now(UTC))

    def _boundary(self, line: Line, status: str) -> bool | None:
        """After a commit: None to go on, False if the branch is not to be driven further."""
        if status == "held":
            waits.settle(self.store, line)
            return False
        if status != "running":
            return False
        if self.host.is_stopping():
            self.store.release(line)
            return False
        return None

    def _check_budget(self, line: Line) -> None:
        most = line.program.spec.max_transitions
        made = line.seq + len(line.runs)
        every = max(1, min(100, most // 10))
        if line.seq and line.seq % every == 0:
            line.others_transitions = self.store.transitions_of_others(line)
        if made + line.others_transitions >= most:
            raise LimitExceeded(f"the execution has made {most:,} transitions, which is its limit (maxTransitions)")


def _concealed(error: BaseException, hidden: Mapping[str, str]) -> WorkflowError:
    """The failure without the secrets that the activity was given."""
    failure = outcomes.failure_of(error)
    failure.message = secrets.conceal(failure.message, hidden)
    failure.details = secrets.conceal(failure.details, hidden)
    failure.args = (failure.message,)
    return failure
