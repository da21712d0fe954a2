"""What the end of an attempt means: the next state, a retry, a catch, or the end of the branch.

Changes the line in memory and its unwritten history only; the driver commits.
"""

import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from workflows import secret_texts, secrets
from workflows.engine import artifacts
from workflows.engine.json_text import dumps, tellable
from workflows.engine.line import Line, LineScope
from workflows.engine.program import Step
from workflows.errors import ActivityError, ActivityTimeout, Canceled, WorkflowError
from workflows.spec import schema


@dataclass(frozen=True, slots=True)
class Retry:
    """Run the state again after ``delay``."""

    delay: timedelta


@dataclass(frozen=True, slots=True)
class BranchEnd:
    """The branch is over: with ``output``, or with ``error``."""

    status: str
    output: Any = None
    error: dict[str, Any] | None = None


class Goes:
    """The cursor has moved on to ``line.state``."""


GOES = Goes()
Outcome = Retry | BranchEnd | Goes


def succeeded(
    line: Line,
    output: Any,
    *,
    given: Any = None,
    started: datetime,
    next_state: str | None = None,
    **extra: Any,
) -> Outcome:
    """The state is done with ``output``: apply ``assign`` and ``output``, record the run, move on.

    In both templates ``${result}`` is what the state gave, before ``output`` replaces it.

    ``given`` is the input to record; ``next_state`` overrides the step's successor (Choice). Raises
    :class:`WorkflowError` if a template fails, or the output is too large or no JSON; nothing is recorded then.
    """
    step = line.step
    templates = step.templates
    assigned: dict[str, Any] | None = None
    if "assign" in templates:
        assigned = templates["assign"].resolve(LineScope(line, result=output))
    if "output" in templates and not isinstance(step.state, schema.SucceedState):
        output = templates["output"].resolve(LineScope(line, result=output))
    if extra.get("assigned"):
        assigned = {**(assigned or {}), **extra["assigned"]}
    stored = artifacts.keep_small(line.execution.id, output)
    following = next_state if next_state is not None else step.next
    _record(
        line,
        step,
        "success",
        given=given,
        output=stored,
        started=started,
        next_state=following,
        assigned=assigned,
    )
    if assigned:
        dumps(assigned)  # what cannot be stored is this state's failure, not that of the commit
        line.variables = {**line.variables, **assigned}
    if step.name in line.program.referenced:
        line.outputs[step.name] = {"output": output}
    line.previous = stored
    if following is None:
        line.log(
            "info",
            "state.succeeded",
            f"{step.name} succeeded",
            **_timing(line, started),
        )
        return BranchEnd("success", output=stored)
    line.log("info", "state.succeeded", f"{step.name} succeeded", **_timing(line, started))
    move(line, following)
    return GOES


def failed(line: Line, error: WorkflowError, *, given: Any = None, started: datetime) -> Outcome:
    """The attempt failed: retry if the policy allows, else go where a ``catch`` says, else end the branch.

    Under ``errorHandling: continue`` an uncaught failure is recorded and the branch goes on (contract 5).
    """
    step = line.step
    line.failures += 1
    body = secrets.mask(tellable({**error.as_json(), "state": step.name, "attempt": line.attempt}))
    status = "timed_out" if isinstance(error, ActivityTimeout) else "failed"
    if not isinstance(error, Canceled) and step.policy.allows(error, line.failures):
        delay = step.policy.delay_before(line.failures + 1, random.random)
        _record(
            line,
            step,
            status,
            given=given,
            error=body,
            started=started,
            next_state=step.name,
        )
        again = f"trying again in {delay.total_seconds():g}s"
        line.log(
            "warn",
            "state.retrying",
            f"{step.name} failed: {error.message}; {again}",
            error=error.name,
            **_timing(line, started),
        )
        line.attempt += 1
        return Retry(delay)
    mode = line.program.spec.error_handling
    caught = None if isinstance(error, Canceled) else _catch(step, error.name, mode)
    if caught is not None:
        assigned = {caught.result_path: body} if caught.result_path else None
        _record(
            line,
            step,
            status,
            given=given,
            error=body,
            started=started,
            next_state=caught.next,
            assigned=assigned,
        )
        line.log(
            "warn",
            "state.caught",
            f"{step.name} failed: {error.message}; going to {caught.next}",
            error=error.name,
        )
        line.variables = {**line.variables, **(assigned or {})}
        line.caught = body
        if step.name in line.program.referenced:
            line.outputs[step.name] = {"error": body}
        move(line, caught.next)
        return GOES
    goes_on = mode == "continue" and not isinstance(error, Canceled) and step.next is not None
    _record(
        line,
        step,
        status,
        given=given,
        error=body,
        started=started,
        next_state=step.next if goes_on else None,
    )
    line.log(
        "error",
        "state.failed",
        f"{step.name} failed: {error.message}",
        error=error.name,
        **_timing(line, started),
    )
    if goes_on and step.next is not None:
        if step.name in line.program.referenced:
            line.outputs[step.name] = {"error": body}
        move(line, step.next)
        return GOES
    return BranchEnd("failed", error=body)


def failure_of(error: BaseException) -> WorkflowError:
    """Whatever an activity raised, as the failure of its state; what others answered may be quoted, tokens not."""
    if isinstance(error, WorkflowError):
        error.message = secret_texts.masked_forms(error.message)
        error.args = (error.message,)
        return error
    try:
        text = str(error)
    except Exception:
        text = "its text cannot be had"
    return ActivityError(secret_texts.masked_forms(f"{type(error).__name__}: {text}"))


def interrupted(line: Line, started: datetime, why: str) -> None:
    """Record that the attempt ended without a result, through no fault of the state."""
    _record(
        line,
        line.step,
        "interrupted",
        error={"name": "Interrupted", "message": why},
        started=started,
    )


def stopped(line: Line, started: datetime) -> BranchEnd:
    """The branch was asked to stop: record the attempt as cancelled and end."""
    message = {
        "sibling": "another branch failed",
        "timeout": "the execution passed its timeout",
    }.get(line.stop, "the execution was cancelled")
    error = {**Canceled(message).as_json(), "state": line.state}
    _record(line, line.step, "cancelled", error=error, started=started)
    line.log("warn", "state.cancelled", f"{line.state} was stopped: {message}")
    return BranchEnd("cancelled", error=error)


def move(line: Line, state: str) -> None:
    """Put the cursor on ``state`` as a fresh visit."""
    line.state = state
    line.visit += 1
    line.attempt = 1
    line.failures = line.interruptions = 0
    line.is_announced = False
    line.waiting_for = line.wait_signal = ""
    line.wake_at = None
    line.entered_at = datetime.now(UTC)


def _catch(step: Step, name: str, mode: str) -> schema.Catch | None:
    if not isinstance(step.state, schema.FailingState):
        return None
    for clause in step.state.catch:
        if name in clause.errors or ("*" in clause.errors and mode != "fail-fast"):
            return clause
    return None


def _record(
    line: Line,
    step: Step,
    status: str,
    *,
    started: datetime,
    given: Any = None,
    output: Any = None,
    error: Any = None,
    next_state: str | None = None,
    assigned: Any = None,
) -> None:
    line.runs.append(
        {
            "state": step.name,
            "visit": line.visit,
            "attempt": line.attempt,
            "type": step.state.type,
            "activity": step.resource,
            "status": status,
            "input": given,
            "output": output,
            "error": error,
            "next_state": next_state or "",
            "assigned": assigned,
            "started_at": started.isoformat(),
            "ended_at": datetime.now(UTC).isoformat(),
        }
    )


def _timing(line: Line, started: datetime) -> dict[str, Any]:
    elapsed = (datetime.now(UTC) - started).total_seconds() * 1000
    fields: dict[str, Any] = {"durationMs": round(elapsed, 1)}
    if line.attempt > 1:
        fields["attempt"] = line.attempt
    return fields
