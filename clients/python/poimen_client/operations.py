"""What can be done with a server, as steps (see ``steps``): starting, waiting, following, deciding.

Refuses to start twice: whatever starts something carries an idempotency key, one of its own if none is given.
"""

import math
import time
from collections.abc import Mapping
from typing import Any, Literal, cast
from uuid import UUID, uuid4

from poimen_client.errors import (
    ConnectionFailed,
    ExecutionFailed,
    InvalidArgument,
    NotFound,
    TooManyRequests,
    Unavailable,
    WaitTimeout,
)
from poimen_client.polling import Polling
from poimen_client.steps import Call, Give, Pause, Steps, Stream, Talk
from poimen_client.types import (
    ExecutionAnswer,
    ExecutionInList,
    ExecutionOutputs,
    GateAnswer,
    LogPage,
    RouteAnswer,
    ScheduleAnswer,
    ScheduleInList,
    SignalTaken,
)

Level = Literal["debug", "info", "warn", "error"]
ENDED = frozenset({"success", "failed", "cancelled", "timed_out"})
LINES = 1000  # of a log in one answer


def submit(
    talk: Talk,
    workflow: str | None,
    spec: Mapping[str, Any] | None,
    inputs: Mapping[str, Any] | None,
    priority: int,
    idempotency_key: str | None,
) -> Steps[ExecutionAnswer]:
    """Start a saved workflow (name or id) or a spec; raises :class:`InvalidArgument` unless one of them is given."""
    if (workflow is None) == (spec is None):
        raise InvalidArgument("give a workflow or a spec, one of the two")
    body: dict[str, Any] = {"inputs": dict(inputs or {}), "priority": priority}
    headers = {"Idempotency-Key": idempotency_key or str(uuid4())}
    if workflow is None:
        path, body = "/specs/execute", {"spec": dict(spec or {}), **body}
    else:
        pk = workflow if _is_id(workflow) else (yield from _workflow_called(talk, workflow))
        path = f"/workflows/{pk}/execute"
    answer = yield from talk.answer(Call("POST", path, body=body, headers=headers, is_repeatable=True))
    return cast("ExecutionAnswer", answer)


def read(talk: Talk, execution_id: str, logs: int = 0, until: float | None = None) -> Steps[ExecutionAnswer]:
    """Read an execution with its newest ``logs`` lines."""
    call = Call("GET", f"/executions/{_quoted(execution_id)}", {"logs": logs}, is_repeatable=True)
    return cast("ExecutionAnswer", (yield from talk.answer(call, until=until)))


def wait(talk: Talk, execution_id: str, timeout: float | None, polling: Polling) -> Steps[ExecutionAnswer]:
    """Ask until the execution, or the last one that continues it, has ended; the server may be away meanwhile.

    Raises :class:`WaitTimeout`.
    """
    ends = math.inf if timeout is None else time.monotonic() + timeout
    seen: ExecutionAnswer | None = None
    pauses = polling.pauses()
    while True:
        # A server that has answered before is waited for; one that never did may be the wrong one.
        until = ends if seen is not None else min(ends, time.monotonic() + talk.retry_for)
        try:
            seen = yield from read(talk, execution_id, until=until)
        except (ConnectionFailed, TooManyRequests, Unavailable) as error:
            if until < ends:
                raise
            raise WaitTimeout(execution_id, timeout or 0, seen) from error
        following = seen.get("continuedAs")
        if following is not None:
            execution_id = following
        elif seen["status"] in ENDED:
            return seen
        else:
            left = ends - time.monotonic()
            if left <= 0:
                raise WaitTimeout(execution_id, timeout or 0, seen)
            yield Pause(min(next(pauses), left))


def follow(
    talk: Talk, execution_id: str, after: str | None, level: Level, node: str | None, polling: Polling
) -> Stream:
    """Give every line once and in order until the execution has ended; the server may be away meanwhile."""
    path = f"/executions/{_quoted(execution_id)}/logs"
    has_ended = False
    pauses = polling.pauses()
    while True:
        call = Call("GET", path, {"after": after, "limit": LINES, "level": level}, is_repeatable=True)
        page = cast("LogPage", (yield from talk.answer(call)))
        for line in page["logs"]:
            after = line["cursor"]
            if node is None or line["nodeId"] == node:
                yield Give(line)
        if page["logs"]:
            pauses = polling.pauses()
        if page["more"]:
            if not page["logs"]:
                yield Pause(next(pauses))
            continue
        if has_ended:
            return
        # Seen to have ended before the lines are asked for again: then these are all.
        has_ended = (yield from read(talk, execution_id))["status"] in ENDED
        if not has_ended:
            yield Pause(next(pauses))


def executions(talk: Talk, **query: Any) -> Steps[list[ExecutionInList]]:
    """List executions, the newest first."""
    answer = yield from talk.answer(Call("GET", "/executions", query, is_repeatable=True))
    return cast("list[ExecutionInList]", answer)


def ask(talk: Talk, execution_id: str, what: str, reason: str, *, is_repeatable: bool) -> Steps[ExecutionAnswer]:
    """Cancel, pause or resume."""
    path = f"/executions/{_quoted(execution_id)}/{what}"
    answer = yield from talk.answer(Call("POST", path, body={"reason": reason}, is_repeatable=is_repeatable))
    return cast("ExecutionAnswer", answer)


def signal(talk: Talk, execution_id: str, name: str, payload: Any, dedupe_key: str | None) -> Steps[SignalTaken]:
    """Send a signal, once."""
    body = {"name": name, "payload": payload, "dedupeKey": dedupe_key or str(uuid4())}
    path = f"/executions/{_quoted(execution_id)}/signal"
    return cast("SignalTaken", (yield from talk.answer(Call("POST", path, body=body, is_repeatable=True))))


def rerun(talk: Talk, execution_id: str, from_state: str | None, idempotency_key: str | None) -> Steps[ExecutionAnswer]:
    """Run an ended execution again."""
    body = {} if from_state is None else {"fromState": from_state}
    headers = {"Idempotency-Key": idempotency_key or str(uuid4())}
    path = f"/executions/{_quoted(execution_id)}/rerun"
    answer = yield from talk.answer(Call("POST", path, body=body, headers=headers, is_repeatable=True))
    return cast("ExecutionAnswer", answer)


def approvals(talk: Talk, **query: Any) -> Steps[list[GateAnswer]]:
    """List approvals, the oldest first."""
    return cast("list[GateAnswer]", (yield from talk.answer(Call("GET", "/approvals", query, is_repeatable=True))))


def vote(talk: Talk, approval_id: str, what: Literal["approve", "reject"], reason: str) -> Steps[GateAnswer]:
    """Approve or reject."""
    path = f"/approvals/{_quoted(approval_id)}/{what}"
    return cast("GateAnswer", (yield from talk.answer(Call("POST", path, body={"reason": reason}))))


def schedules(talk: Talk, **query: Any) -> Steps[list[ScheduleInList]]:
    """List schedules."""
    answer = yield from talk.answer(Call("GET", "/schedules", query, is_repeatable=True))
    return cast("list[ScheduleInList]", answer)


def read_schedule(talk: Talk, schedule_id: str) -> Steps[ScheduleAnswer]:
    """Read one with its next runs."""
    call = Call("GET", f"/schedules/{_quoted(schedule_id)}", is_repeatable=True)
    return cast("ScheduleAnswer", (yield from talk.answer(call)))


def create_schedule(talk: Talk, body: Mapping[str, Any]) -> Steps[ScheduleAnswer]:
    """Make one; not repeated once it was sent, for nothing would tell the two apart."""
    return cast("ScheduleAnswer", (yield from talk.answer(Call("POST", "/schedules", body=dict(body)))))


def ask_schedule(talk: Talk, schedule_id: str, what: Literal["pause", "resume"], reason: str) -> Steps[ScheduleAnswer]:
    """Pause or resume."""
    call = Call("POST", f"/schedules/{_quoted(schedule_id)}/{what}", body={"reason": reason}, is_repeatable=True)
    return cast("ScheduleAnswer", (yield from talk.answer(call)))


def trigger_schedule(talk: Talk, schedule_id: str) -> Steps[ExecutionAnswer]:
    """Start it now; not repeated once it was sent."""
    call = Call("POST", f"/schedules/{_quoted(schedule_id)}/trigger", body={})
    return cast("ExecutionAnswer", (yield from talk.answer(call)))


def delete_schedule(talk: Talk, schedule_id: str) -> Steps[None]:
    """Delete it."""
    yield from talk.answer(Call("DELETE", f"/schedules/{_quoted(schedule_id)}"))


def route(talk: Talk, message: str, context: str | Mapping[str, Any] | None, *, save: bool) -> Steps[RouteAnswer]:
    """Turn a sentence into a spec; only what saves nothing is repeated."""
    body = {"message": message, "context": context, "dryRun": not save}
    return cast("RouteAnswer", (yield from talk.answer(Call("POST", "/route", body=body, is_repeatable=not save))))


def succeeded(execution: ExecutionAnswer) -> ExecutionOutputs:
    """Return what came of an execution that ended well; raises :class:`ExecutionFailed` for others."""
    if execution["status"] != "success":
        raise ExecutionFailed(execution)
    return execution["outputs"]


def _workflow_called(talk: Talk, name: str) -> Steps[str]:
    """The id of the one workflow that is called exactly so."""
    page = 1
    found: list[str] = []
    while True:
        query = {"name": name, "limit": 100, "page": page}
        answer = yield from talk.answer(Call("GET", "/workflows", query, is_repeatable=True))
        rows = answer["workflows"]
        found += [row["id"] for row in rows if row["name"] == name and row["status"] != "archived"]
        if page * 100 >= answer["total"] or not rows:
            break
        page += 1
    if len(found) == 1:
        return found[0]
    if found:
        raise InvalidArgument(f"several workflows are called {name!r}; take one of their ids: {', '.join(found)}")
    raise NotFound(404, f"there is no workflow called {name!r}")


def _is_id(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def _quoted(text: str) -> str:
    """An id as a part of a path; raises :class:`InvalidArgument` for what cannot be one."""
    try:
        return str(UUID(str(text)))
    except ValueError:
        raise InvalidArgument(f"{str(text)[:100]!r} is no id; expected a UUID, as the server gives them") from None
