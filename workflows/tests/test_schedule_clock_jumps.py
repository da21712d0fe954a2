"""The database's clock is set ahead and back under schedules: what is due runs once, and nothing sleeps for ever."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from workflows.engine import clock
from workflows.models import Execution, Schedule
from workflows.schedules.firing import mend_ahead
from workflows.tests.pumping import Engine, eventually
from workflows.tests.scheduling import HOUR, fire_all, outcomes, schedule_of
from workflows.tests.test_clock_jumps import set_clock  # noqa: F401 - a fixture


def test_set_ahead_and_back_an_instant_runs_once(
    engine: Engine,
    set_clock: Callable[[timedelta], None],  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clock, "MEND_SECONDS", 0.2)
    schedule = schedule_of(engine.customer, overlapPolicy="allow")
    first = schedule.due_at
    assert first is not None
    set_clock(HOUR + timedelta(seconds=3))
    engine.clock()
    eventually(lambda: outcomes(schedule) == ["started"], "it is due, by the clock that was set ahead")
    set_clock(timedelta(0))
    eventually(
        lambda: Schedule.objects.get(pk=schedule.pk).due_at == first, "planned again, by the true time", seconds=40
    )
    set_clock(HOUR + timedelta(seconds=6))
    eventually(lambda: Schedule.objects.get(pk=schedule.pk).due_at == first + HOUR, "and dealt with again")
    assert outcomes(schedule) == ["started"]
    assert Execution.objects.filter(schedule=schedule).count() == 1


def test_set_ahead_by_a_day_what_lies_between_was_missed_and_what_was_missed_can_still_run(
    engine: Engine,
    set_clock: Callable[[timedelta], None],  # noqa: F811
) -> None:
    schedule = schedule_of(engine.customer, overlapPolicy="allow")
    set_clock(5 * HOUR + timedelta(minutes=30))
    assert fire_all() == 1
    assert outcomes(schedule) == ["skipped"] * 5
    set_clock(timedelta(0))
    assert mend_ahead() == 1
    set_clock(HOUR + timedelta(seconds=3))
    assert fire_all() == 1
    assert outcomes(schedule) == ["started", *["skipped"] * 4], "the true hour has come after all"
