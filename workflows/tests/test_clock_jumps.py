"""Clocks that are set while work is under way: the database's, by which leases count, and a worker's, for display.

The database's own ``now()`` is replaced by one that can be set, for every connection of the engine.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

import pytest
from django.conf import settings
from django.db import connection

from workflows.engine import driver, line, outcomes, waits
from workflows.engine.store import direct_connection
from workflows.models import Branch, Process
from workflows.tests.pumping import Engine, eventually, ran, runs_of, story

HOUR = timedelta(hours=1)


@pytest.fixture
def set_clock(engine: Engine) -> Iterator[Callable[[timedelta], None]]:
    """Sets the database's clock ahead, or back, for the connections made from now on."""
    database = connection.settings_dict["NAME"]
    with direct_connection() as link:
        link.execute("CREATE SCHEMA skewed")
        link.execute("CREATE TABLE skewed.clock AS SELECT interval '0' AS ahead")
        link.execute(
            "CREATE FUNCTION skewed.now() RETURNS timestamptz LANGUAGE sql STABLE "
            "AS 'SELECT pg_catalog.now() + ahead FROM skewed.clock'"
        )
        link.execute(f'ALTER DATABASE "{database}" SET search_path = skewed, public, pg_catalog')
        connection.close()
        connection.close_pool()  # type: ignore[attr-defined]
        yield lambda ahead: link.execute("UPDATE skewed.clock SET ahead = %s", (ahead,)) and None
        engine.stop()
        link.execute(f'ALTER DATABASE "{database}" RESET search_path')
        connection.close()
        connection.close_pool()  # type: ignore[attr-defined]
        link.execute("DROP SCHEMA skewed CASCADE")


def task(resource: str, name: str = "A", **parameters: Any) -> dict[str, Any]:
    return {"name": name, "type": "Task", "resource": resource, "parameters": parameters}


def spec(*states: dict[str, Any]) -> dict[str, Any]:
    return {"name": "clocks", "states": list(states)}


@pytest.mark.parametrize("jump", [HOUR, -HOUR], ids=["ahead", "back"])
def test_a_database_clock_that_is_set_takes_no_work_from_living_workers(
    engine: Engine, set_clock: Callable[[timedelta], None], monkeypatch: pytest.MonkeyPatch, jump: timedelta
) -> None:
    """Every lease looks long expired, or good for another hour; the steps under way end where they are."""
    monkeypatch.setattr(settings, "POIMEN_LEASE_SECONDS", 4.0)
    engine.pump()
    engine.clock()
    execution = engine.start(spec(task("SleepActivity", seconds=3), task("EchoActivity", "B", value=1)))
    branch = engine.is_running(execution, "A")
    leads = Process.objects.filter(kind="clock", details__leads=True)
    eventually(leads.exists, "the clock leads, and has seen the time before")
    set_clock(jump)
    assert engine.ended(execution).status == "success", story(execution)
    assert ran(execution) == [("A", "success", 1), ("B", "success", 1)], story(execution)
    ended = Branch.objects.get(pk=branch.pk).ended_at
    assert ended is not None
    assert abs(ended - datetime.now(UTC) - jump) < timedelta(minutes=1), "it is the database's clock that was set"
    assert engine.run(spec({"name": "W", "type": "Wait", "duration": "100ms"})).status == "success", "timers count on"


def test_a_timer_goes_by_the_database_clock(engine: Engine, set_clock: Callable[[timedelta], None]) -> None:
    engine.pump()
    engine.clock()
    execution = engine.start(spec({"name": "W", "type": "Wait", "duration": "30m"}))
    engine.waits(execution, "timer")
    set_clock(HOUR)
    assert engine.ended(execution).status == "success", story(execution)


@pytest.mark.parametrize("wrong_by", [HOUR, -HOUR], ids=["ahead", "behind"])
def test_a_worker_whose_clock_is_wrong_waits_and_retries_as_long_as_any_other(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, wrong_by: timedelta
) -> None:
    class Wrong(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            return datetime.now(tz) + wrong_by

    for module in (driver, line, outcomes, waits):
        monkeypatch.setattr(module, "datetime", Wrong)
    engine.pump()
    engine.clock()
    again = {"retry": {"maxAttempts": 2, "initialInterval": "100ms"}}
    began = datetime.now(UTC)
    execution = engine.run(spec(
        {"name": "W", "type": "Wait", "duration": "200ms"}, task("FailActivity", failures=1) | again,
        task("SleepActivity", "B", seconds=0.1) | {"timeout": "10s"},
    ))  # fmt: skip
    assert ran(execution.pk) == [("W", "success", 1), ("A", "failed", 1), ("A", "success", 2), ("B", "success", 1)]
    assert execution.started_at is not None
    assert execution.ended_at is not None
    took = execution.ended_at - execution.started_at
    assert timedelta(seconds=0.4) <= took < timedelta(seconds=15)
    assert abs(execution.ended_at - datetime.now(UTC)) < timedelta(minutes=1), "what counts is the database's clock"
    (shown,) = (run.started_at for run in runs_of(execution.pk, "B"))
    assert abs(shown - began - wrong_by) < timedelta(minutes=1), "what is shown of a step is the worker's"
