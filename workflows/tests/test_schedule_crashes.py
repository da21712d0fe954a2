"""Clocks that are killed at any moment while several fire: one row and one execution for each due instant.
None is lost, and none runs twice.
"""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection

from workflows.models import Execution, MetricTally, Schedule, ScheduleRun
from workflows.schedules.firing import database_now
from workflows.tests.pumping import Engine, eventually
from workflows.tests.scheduling import HOLD, HOUR, schedule_of

ROOT = Path(__file__).resolve().parents[2]
SCHEDULES = 400
INSTANTS = 2

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture
def killed(tmp_path: Path) -> Iterator[Callable[[], int]]:
    """Clocks in processes of their own that are killed all the time; tells how many have been so far."""
    report = tmp_path / "report"
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "poimen_site.settings_test",
        "POIMEN_TEST_DATABASE": connection.settings_dict["NAME"],
    }
    with report.open("w") as output:
        command = [sys.executable, "-m", "workflows.tests.dying_clocks", "20261130"]
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output)
    yield lambda: report.read_text().count("was killed")
    process.kill()
    process.wait()


def test_every_due_instant_runs_once_however_often_clocks_are_killed(engine: Engine, killed: Callable[[], int]) -> None:
    template = schedule_of(engine.customer, overlapPolicy="allow", catchUp="24h")
    columns = [f.attname for f in Schedule._meta.concrete_fields if f.attname != "id"]
    values = {column: getattr(template, column) for column in columns}
    queueing = [schedule_of(engine.customer, HOLD, overlapPolicy="queue", catchUp="24h").pk for _ in range(20)]
    Schedule.objects.bulk_create(Schedule(**values) for _ in range(SCHEDULES - 1))
    first = database_now().replace(microsecond=0) - (INSTANTS - 1) * HOUR - timedelta(minutes=5)
    due = [first + number * HOUR for number in range(INSTANTS)]
    Schedule.objects.update(due_at=first, fires_at=first, anchor=first)

    total = (SCHEDULES + len(queueing)) * INSTANTS
    eventually(lambda: ScheduleRun.objects.count() == total, "every instant has its row", seconds=200)
    eventually(lambda: killed() >= 4, "clocks have been killed", seconds=60)

    rows = list(ScheduleRun.objects.values_list("schedule_id", "due_at", "outcome", "execution_id"))
    assert {(row[0], row[1]) for row in rows} == {(pk, at) for pk in _all_schedules() for at in due}
    expected = {"started": SCHEDULES * INSTANTS + len(queueing), "queued": len(queueing) * (INSTANTS - 1)}
    assert Counter(row[2] for row in rows) == expected
    started = {row[3]: row[0] for row in rows if row[2] == "started"}
    executions = dict(Execution.objects.values_list("pk", "schedule_id"))
    assert executions == started, "an execution for each row that says so, and no other"
    tally = MetricTally.objects.get(metric="schedule", status="started", kind="catch-up")
    assert tally.count == len(started), "counted once each, too"


def _all_schedules() -> list[object]:
    return list(Schedule.objects.values_list("pk", flat=True))
