"""What becomes of the instants at which a schedule was due: started, queued, or skipped and why.

Owns the rules of overlap, missed runs and limits. Writes nothing: looked at again, all comes out the same.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from workflows.models import Overlap, RunOutcome, RunTrigger, Schedule
from workflows.schedules.timing import due_after, fires_at
from workflows.spec.durations import format_duration

PUNCTUAL: Final = timedelta(seconds=60)
MOST_AT_ONCE: Final = 1000
MOST_MISSED: Final = 100
MOST_QUEUED: Final = 100


@dataclass(slots=True)
class Decision:
    """What becomes of one instant."""

    due_at: datetime
    outcome: RunOutcome
    trigger: RunTrigger = RunTrigger.CLOCK
    reason: str = ""
    late: timedelta = timedelta()


@dataclass(slots=True)
class Plan:
    """What becomes of all instants that are due, and when the schedule is due next."""

    decisions: list[Decision] = field(default_factory=list)
    due_at: datetime | None = None
    fires_at: datetime | None = None
    runs: int = 0
    cancels: bool = False


def decide(
    schedule: Schedule,
    now: datetime,
    *,
    is_busy: bool,
    queued: int,
    obstacle: str = "",
    working_since: datetime | None = None,
) -> Plan:
    """Return what becomes of the instants of ``schedule`` up to ``now``; at most a thousand, the rest comes next.

    ``is_busy``: an execution of it runs; ``queued``: so many wait for that; ``obstacle``: why it cannot start at all;
    ``working_since``: from when on clocks have done nothing but deal with what was due, which nothing is late by.
    """
    plan = Plan(runs=schedule.runs)
    looked = min(now, working_since or now)
    due = _pass_over_missed(schedule, looked, plan)
    starts: list[Decision] = []
    while due is not None and len(plan.decisions) < MOST_AT_ONCE:
        fires = fires_at(schedule, due)
        if fires > now:
            break
        decision = _on_time_or_not(schedule, due, looked - fires)
        decision.late = now - fires
        plan.decisions.append(decision)
        if decision.outcome == RunOutcome.STARTED:
            if obstacle:
                decision.outcome, decision.reason = RunOutcome.FAILED, obstacle
            else:
                outcome, reason = _overlap(schedule, is_busy=is_busy or bool(starts), queued=queued)
                decision.outcome, decision.reason = outcome, reason or decision.reason
                queued += outcome == RunOutcome.QUEUED
                if outcome != RunOutcome.SKIPPED:
                    schedule.runs += 1
                    starts.append(decision)
        due = due_after(schedule, due)
    plan.runs = schedule.runs
    if schedule.overlap == Overlap.CANCEL_OTHER and starts:
        plan.cancels = is_busy
        for replaced in starts[:-1]:
            replaced.outcome, replaced.reason = RunOutcome.SKIPPED, "a later run was due as well, and cancels this one"
    plan.due_at = due
    plan.fires_at = fires_at(schedule, due) if due is not None else None
    return plan


def _pass_over_missed(schedule: Schedule, looked: datetime, plan: Plan) -> datetime | None:
    """Record what was missed for good, the first hundred one by one, and return the first instant that was not."""
    due = schedule.due_at
    limit = looked - max(schedule.catch_up, PUNCTUAL) - schedule.jitter
    while due is not None and due < limit:
        if len(plan.decisions) >= MOST_MISSED:
            plan.decisions[-1].reason += f"; neither were all others until {limit:%Y-%m-%dT%H:%M:%SZ}"
            return due_after(schedule, limit)
        plan.decisions.append(_missed(due, looked - fires_at(schedule, due)))
        due = due_after(schedule, due)
    return due


def _on_time_or_not(schedule: Schedule, due: datetime, late: timedelta) -> Decision:
    if late <= PUNCTUAL:
        return Decision(due, RunOutcome.STARTED)
    if late <= schedule.catch_up:
        return Decision(due, RunOutcome.STARTED, RunTrigger.CATCH_UP, f"caught up {_span(late)} late")
    return _missed(due, late)


def _missed(due: datetime, late: timedelta) -> Decision:
    return Decision(due, RunOutcome.SKIPPED, reason=f"missed: no clock ran, and {_span(late)} later is not caught up")


def _overlap(schedule: Schedule, *, is_busy: bool, queued: int) -> tuple[RunOutcome, str]:
    """What the overlap policy makes of a run that is about to start, and why."""
    if schedule.overlap == Overlap.SKIP and is_busy:
        return RunOutcome.SKIPPED, "the run before it had not ended"
    if schedule.overlap == Overlap.QUEUE and queued >= MOST_QUEUED:
        return RunOutcome.SKIPPED, f"{MOST_QUEUED} runs are queued already"
    if schedule.overlap == Overlap.QUEUE and (is_busy or queued):
        return RunOutcome.QUEUED, ""
    return RunOutcome.STARTED, ""


def _span(late: timedelta) -> str:
    return format_duration(timedelta(seconds=round(late.total_seconds())))
