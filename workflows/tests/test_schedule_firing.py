"""A due instant becomes one row of history and at most one execution; overlaps, missed runs and limits by the rules."""

import threading
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.db import connection

from workflows import control
from workflows.engine import retention
from workflows.models import (
    AuditRecord,
    Execution,
    MetricTally,
    Process,
    Schedule,
    ScheduleRun,
    SpecDocument,
    Workflow,
    WorkflowVersion,
)
from workflows.schedules import targets
from workflows.schedules.changes import backfill_schedule, pause_schedule, resume_schedule, trigger_schedule
from workflows.schedules.deciding import MOST_MISSED, MOST_QUEUED
from workflows.schedules.firing import database_now, fire_due, mend_ahead, start_queued
from workflows.schedules.timing import fires_at
from workflows.submission import store_spec
from workflows.tests.people import customer
from workflows.tests.pumping import Engine, eventually
from workflows.tests.scheduling import HOLD, HOUR, PASS, fire_all, last_run, make_due, outcomes, schedule_of


def executions(schedule: Schedule) -> list[Execution]:
    return list(Execution.objects.filter(schedule=schedule).order_by("pk"))


def ends(execution: Execution) -> None:
    control.request_cancel(execution.pk, by="ada")


def test_a_due_schedule_starts_by_the_clock_and_its_execution_says_whose_it_is(engine: Engine) -> None:
    schedule = schedule_of(engine.customer, priority=7, inputs={"repo": "x", "token": "hush"})
    (due,) = make_due(schedule)
    engine.pump()
    engine.clock()
    row = eventually(lambda: ScheduleRun.objects.filter(schedule=schedule).first(), "the schedule fires")
    assert (row.outcome, row.trigger, row.reason, row.due_at) == ("started", "clock", "", due)
    assert row.execution_id is not None
    execution = engine.ended(row.execution_id)
    assert (execution.status, execution.schedule_id, execution.name) == ("success", schedule.pk, "nightly")
    assert (execution.priority, execution.created_by, execution.inputs["repo"]) == (7, "", "x")
    assert execution.inputs["token"].startswith("secret:")
    schedule.refresh_from_db()
    assert (schedule.due_at, schedule.runs) == (due + HOUR, 1)
    tally = MetricTally.objects.get(metric="schedule", kind="clock", status="started")
    assert tally.count == 1
    assert 0 < tally.seconds < 60


@pytest.mark.django_db
def test_what_the_clock_starts_leaves_no_audit_record() -> None:
    schedule = schedule_of(customer())
    before = AuditRecord.objects.count()
    make_due(schedule)
    assert fire_all() == 1
    assert AuditRecord.objects.count() == before


@pytest.mark.django_db
def test_looked_at_again_the_same_instant_starts_nothing() -> None:
    """As if a clock had been set back, or another had read the schedule before this one moved it on."""
    schedule = schedule_of(customer(), overlapPolicy="allow")
    (due,) = make_due(schedule)
    assert fire_all() == 1
    Schedule.objects.filter(pk=schedule.pk).update(due_at=due, fires_at=due)
    assert fire_all() == 1
    assert outcomes(schedule) == ["started"]
    assert len(executions(schedule)) == 1


@pytest.mark.django_db
def test_skip_leaves_out_what_is_due_while_one_runs() -> None:
    schedule = schedule_of(customer(), HOLD)
    for expected in (["started"], ["started", "skipped"]):
        make_due(schedule)
        fire_all()
        assert outcomes(schedule) == expected
        ScheduleRun.objects.filter(schedule=schedule, outcome="started").update(due_at=database_now() - 2 * HOUR)
    assert "had not ended" in last_run(schedule).reason
    ends(executions(schedule)[0])
    make_due(schedule, late=timedelta(seconds=0))
    fire_all()
    assert outcomes(schedule)[-1] == "started"


@pytest.mark.django_db
def test_allow_starts_one_beside_the_other() -> None:
    schedule = schedule_of(customer(), HOLD, overlapPolicy="allow", catchUp="24h")
    make_due(schedule, runs=3)
    fire_all()
    assert outcomes(schedule) == ["started"] * 3
    assert len(executions(schedule)) == 3


@pytest.mark.django_db
def test_cancel_other_cancels_what_runs_and_says_so() -> None:
    schedule = schedule_of(customer(), HOLD, overlapPolicy="cancel-other")
    make_due(schedule, late=timedelta(seconds=2))
    fire_all()
    make_due(schedule)
    fire_all()
    first, second = executions(schedule)
    assert (first.status, second.status) == ("cancelled", "pending")
    assert "next run of the schedule hourly was due" in first.cancel_reason
    assert AuditRecord.objects.filter(action="execution.cancelled", execution_id=first.pk, actor="").exists()
    make_due(schedule)
    fire_all()
    assert [e.status for e in executions(schedule)] == ["cancelled", "pending"], "an instant that ran cancels nothing"
    make_due(schedule, late=timedelta(seconds=0), runs=3)
    Schedule.objects.filter(pk=schedule.pk).update(catch_up=timedelta(days=1))
    fire_all()
    assert [e.status for e in executions(schedule)] == ["cancelled", "cancelled", "pending"]
    assert "a later run was due" in ScheduleRun.objects.filter(schedule=schedule, outcome="skipped")[0].reason


def test_queue_waits_for_the_end_of_the_one_before_also_through_a_new_clock(engine: Engine) -> None:
    schedule = schedule_of(engine.customer, HOLD, overlapPolicy="queue", catchUp="24h")
    make_due(schedule, runs=3)
    first_clock = engine.clock()
    engine.pump()
    eventually(lambda: outcomes(schedule) == ["started", "queued", "queued"], "one runs, two wait")
    engine.stop(first_clock)
    engine.clock()
    for number in (1, 2, 3):
        eventually(lambda n=number: len(executions(schedule)) == n, f"execution {number} has started")  # type: ignore[misc]
        running = executions(schedule)[-1]
        engine.waits(running.pk, "signal")
        assert outcomes(schedule).count("started") == number
        control.send_signal(running.pk, "go")
        assert engine.ended(running.pk).status == "success"
    assert outcomes(schedule) == ["started"] * 3
    starts = ScheduleRun.objects.filter(schedule=schedule).order_by("due_at").values_list("execution", flat=True)
    assert [execution.pk for execution in executions(schedule)] == list(starts), "the oldest first"


def test_what_is_queued_starts_as_soon_as_the_one_before_has_ended(engine: Engine) -> None:
    schedule = schedule_of(engine.customer, overlapPolicy="skip")
    end = database_now() - HOUR
    backfill_schedule(schedule.pk, engine.customer, start=end - 21 * HOUR, end=end, by="ada")
    waiting = outcomes(schedule).count("queued")
    assert waiting >= 20
    engine.pump()
    engine.clock()
    done = Execution.objects.filter(schedule=schedule, status="success")
    eventually(lambda: done.count() == waiting, "all have run", seconds=60)
    times = list(done.order_by("created_at").values_list("created_at", "ended_at"))
    gaps = sorted(begun - ended for (_, ended), (begun, _) in pairwise(times) if ended is not None)
    assert gaps[0] >= timedelta(0), "one after the other"
    assert gaps[len(gaps) // 2] < timedelta(seconds=0.4), "half a second was once how often a clock looked"


@pytest.mark.django_db
def test_a_queue_has_an_end() -> None:
    schedule = schedule_of(customer(), HOLD, overlapPolicy="queue", catchUp="8000h")
    make_due(schedule, runs=MOST_QUEUED + 3)
    fire_all()
    found = outcomes(schedule)
    assert (found.count("started"), found.count("queued"), found.count("skipped")) == (1, MOST_QUEUED, 2)
    assert "are queued already" in last_run(schedule).reason


def test_a_continuation_belongs_to_the_schedule_and_counts_as_running(engine: Engine) -> None:
    again = {"name": "Again", "type": "Succeed", "continueAsNew": {"input": {"round": 2}}}
    choice = {"name": "C", "type": "Choice", "choices": [{"when": "{% workflow.input.round = 2 %}", "next": "Hold"}],
              "default": "Again"}  # fmt: skip
    spec = {"name": "goes on", "input": {"round": 1}, "states": [choice, again, {**HOLD["states"][0], "end": True}]}
    schedule = schedule_of(engine.customer, spec, overlapPolicy="skip")
    make_due(schedule, late=timedelta(seconds=3))
    engine.pump()
    fire_all()
    following = eventually(lambda: Execution.objects.filter(continued_from__isnull=False).first(), "it goes on")
    assert following.schedule_id == schedule.pk
    make_due(schedule)
    fire_all()
    assert last_run(schedule).outcome == "skipped"


@pytest.mark.django_db
def test_missed_runs_are_not_caught_up_by_default() -> None:
    schedule = schedule_of(customer())
    due = make_due(schedule, late=timedelta(minutes=5), runs=3)
    fire_all()
    assert outcomes(schedule) == ["skipped"] * 3
    assert "missed: no clock ran" in last_run(schedule).reason
    assert not executions(schedule)
    schedule.refresh_from_db()
    assert (schedule.due_at, schedule.runs) == (due[-1] + HOUR, 0)


@pytest.mark.django_db
def test_within_the_window_they_are() -> None:
    schedule = schedule_of(customer(), catchUp="90m", overlapPolicy="allow")
    make_due(schedule, late=timedelta(minutes=5), runs=4)
    fire_all()
    rows = ScheduleRun.objects.filter(schedule=schedule).order_by("due_at")
    assert [(row.outcome, row.trigger) for row in rows] == [
        ("skipped", "clock"),
        ("skipped", "clock"),
        ("started", "catch-up"),
        ("started", "catch-up"),
    ]
    assert rows[3].reason.startswith("caught up 5m")


@pytest.mark.django_db
def test_after_a_long_time_down_the_history_stays_short() -> None:
    schedule = schedule_of(customer(), schedule="@every 1s")
    start = database_now().replace(microsecond=0) - timedelta(days=30)
    Schedule.objects.filter(pk=schedule.pk).update(due_at=start, fires_at=start, anchor=start)
    assert fire_due() == 1
    rows = ScheduleRun.objects.filter(schedule=schedule).order_by("due_at")
    missed = [row for row in rows if row.due_at < database_now() - timedelta(minutes=5)]
    assert len(missed) == MOST_MISSED
    assert "neither were all others until" in missed[-1].reason
    assert len(rows) - len(missed) <= 62, "and those of the last minute are on time"


@pytest.mark.django_db
def test_a_pause_is_no_debt() -> None:
    schedule = schedule_of(customer(), catchUp="24h")
    pause_schedule(schedule.pk, schedule.customer, by="ada")
    make_due(schedule, runs=5)
    assert fire_all() == 0
    resumed = resume_schedule(schedule.pk, schedule.customer, by="ada")
    assert resumed.due_at is not None
    assert resumed.due_at > database_now()
    assert fire_all() == 0
    assert outcomes(schedule) == []


@pytest.mark.django_db
def test_max_runs_and_the_end_stop_it() -> None:
    schedule = schedule_of(customer(), maxRuns=2, overlapPolicy="allow", catchUp="24h")
    make_due(schedule, runs=4)
    fire_all()
    assert outcomes(schedule) == ["started"] * 2
    schedule.refresh_from_db()
    assert (schedule.due_at, schedule.fires_at, schedule.runs) == (None, None, 2)
    ending = schedule_of(customer(), overlapPolicy="allow", endAt=database_now() + 2 * HOUR)
    make_due(ending)
    Schedule.objects.filter(pk=ending.pk).update(ends_at=database_now() + timedelta(minutes=5))
    fire_all()
    ending.refresh_from_db()
    assert (outcomes(ending), ending.due_at) == (["started"], None)


@pytest.mark.django_db
def test_jitter_is_the_same_for_everyone_and_differs_by_instant() -> None:
    schedule = schedule_of(customer(), jitter="30m")
    make_due(schedule, late=timedelta(minutes=31))
    fire_all()
    schedule.refresh_from_db()
    due, fires = schedule.due_at, schedule.fires_at
    assert due is not None
    assert fires is not None
    assert due <= fires < due + timedelta(minutes=30)
    delays = {fires_at(schedule, due + number * HOUR) - (due + number * HOUR) for number in range(50)}
    assert fires_at(Schedule.objects.get(pk=schedule.pk), due) == fires
    assert len(delays) == 50
    assert max(delays) - min(delays) > timedelta(minutes=20), "spread over the whole of it"


@pytest.mark.django_db
def test_a_workflow_starts_in_its_newest_version_or_the_one_that_was_pinned() -> None:
    owner = customer()
    workflow = Workflow.objects.create(customer=owner, name="drawn", status="active", version=2)
    for version in (1, 2):
        spec = store_spec({**PASS, "name": f"drawn v{version}"})
        WorkflowVersion.objects.create(
            workflow=workflow, version=version, name=f"drawn v{version}", spec=spec, checksum=f"{version}"
        )
    newest = schedule_of(owner, spec=None, overlapPolicy="allow", workflowId=workflow.pk)  # type: ignore[arg-type]
    pinned = schedule_of(owner, spec=None, overlapPolicy="allow", workflowId=workflow.pk, workflowVersion=1)  # type: ignore[arg-type]
    for schedule in (newest, pinned):
        make_due(schedule, late=timedelta(seconds=20))
    fire_all()
    assert [executions(schedule)[0].name for schedule in (newest, pinned)] == ["drawn v2", "drawn v1"]
    for version, saved in ((3, store_spec({**PASS, "name": "drawn v3"})), (4, None)):
        WorkflowVersion.objects.create(
            workflow=workflow, version=version, name=f"drawn v{version}", spec=saved, checksum=f"{version}"
        )
    Workflow.objects.filter(pk=workflow.pk).update(version=4)
    for schedule in (newest, pinned):
        make_due(schedule, late=timedelta(seconds=10))
    fire_all()
    assert [executions(schedule)[-1].name for schedule in (newest, pinned)] == ["drawn v3", "drawn v1"]
    assert last_run(newest).reason == "version 4 has errors: version 3 ran"
    by_hand = schedule_of(owner, spec=None, workflowId=workflow.pk)  # type: ignore[arg-type]
    assert trigger_schedule(by_hand.pk, owner, by="ada").name == "drawn v3"
    assert last_run(by_hand).reason == "version 4 has errors: version 3 ran"
    Workflow.objects.filter(pk=workflow.pk).update(status="archived")
    make_due(newest, late=timedelta(seconds=0))
    fire_all()
    assert (last_run(newest).outcome, last_run(newest).reason) == ("failed", "the workflow is archived")
    workflow.delete()
    make_due(pinned, late=timedelta(seconds=0))
    fire_all()
    assert (last_run(pinned).outcome, last_run(pinned).reason) == ("failed", "the workflow was deleted")
    pinned.refresh_from_db()
    assert pinned.due_at is not None, "it keeps going, should the workflow come back"


@pytest.mark.django_db
def test_a_spec_that_is_not_valid_any_more_is_told_and_the_others_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """As when an activity has gone with the package it came from."""
    monkeypatch.setattr(targets, "_KNOWN", {})
    good, bad = schedule_of(customer()), schedule_of(customer())
    gone = {"name": "x", "states": [{"name": "A", "type": "Task", "resource": "GoneActivity"}]}
    Schedule.objects.filter(pk=bad.pk).update(spec=store_spec(gone))
    due = [make_due(schedule)[0] for schedule in (bad, good)]
    assert fire_all() == 2
    assert outcomes(good) == ["started"]
    row = last_run(bad)
    assert row.outcome == "failed"
    assert "the spec is not valid any more: states[0].resource" in row.reason
    assert "GoneActivity" in row.reason
    bad.refresh_from_db()
    assert bad.due_at == due[0] + HOUR


@pytest.mark.django_db
def test_a_schedule_that_breaks_the_rules_of_its_own_text_does_not_stop_the_others() -> None:
    good, bad = schedule_of(customer()), schedule_of(customer())
    make_due(bad, late=timedelta(seconds=3))
    make_due(good)
    Schedule.objects.filter(pk=bad.pk).update(cron="no cron text")
    assert fire_all() == 2
    assert (outcomes(good), outcomes(bad)) == (["started"], ["failed"])
    assert "an error inside Poimen" in last_run(bad).reason
    assert fire_all() == 0, "it is tried again later, not at once"


@pytest.mark.django_db
def test_what_was_planned_by_a_clock_ahead_of_time_is_planned_again() -> None:
    schedule = schedule_of(customer())
    ahead = database_now() + timedelta(days=400)
    Schedule.objects.filter(pk=schedule.pk).update(due_at=ahead, fires_at=ahead, decided_at=ahead)
    assert mend_ahead() == 1
    assert mend_ahead() == 0
    schedule.refresh_from_db()
    assert schedule.due_at is not None
    assert schedule.due_at <= database_now() + HOUR


def test_clocks_that_race_start_everything_once(engine: Engine) -> None:
    schedules = [schedule_of(engine.customer, overlapPolicy="allow", catchUp="24h") for _ in range(12)]
    for schedule in schedules:
        make_due(schedule, runs=5)
    barrier = threading.Barrier(4)

    def race() -> None:
        barrier.wait()
        try:
            for _ in range(30):
                fire_due(limit=3)
        finally:
            connection.close()

    threads = [threading.Thread(target=race) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert fire_all() == 0
    assert [outcomes(schedule) for schedule in schedules] == [["started"] * 5] * 12
    assert [len(executions(schedule)) for schedule in schedules] == [5] * 12


def test_many_due_at_once_are_dealt_with_in_batches_beside_other_duties(engine: Engine) -> None:
    """The timer of an execution wakes while a thousand schedules are due."""
    template = schedule_of(engine.customer, overlapPolicy="allow")
    many_due(template, 1000, database_now())
    waiting = engine.start({"name": "w", "states": [{"name": "W", "type": "Wait", "duration": "1ms"}]})
    engine.pump()
    engine.waits(waiting, "timer")
    engine.clock()
    assert engine.ended(waiting).status == "success"
    assert Execution.objects.filter(schedule__isnull=False).count() < 1000, "the timer did not wait for all of them"
    eventually(lambda: Execution.objects.filter(schedule__isnull=False).count() == 1000, "all have started", seconds=60)
    assert ScheduleRun.objects.filter(outcome="started").count() == 1000


def many_due(template: Schedule, count: int, due: datetime) -> None:
    """Copies of ``template`` that are all due at once."""
    columns = [field.attname for field in Schedule._meta.concrete_fields if field.attname != "id"]
    values: dict[str, Any] = {column: getattr(template, column) for column in columns}
    Schedule.objects.bulk_create(
        Schedule(**{**values, "due_at": due, "fires_at": due, "anchor": due}) for _ in range(count)
    )


@pytest.mark.django_db
def test_what_waits_for_its_turn_among_many_is_not_missed() -> None:
    waits, missed = schedule_of(customer()), schedule_of(customer())
    make_due(waits, late=timedelta(seconds=90))
    fire_due(working_since=database_now() - timedelta(seconds=80))
    assert outcomes(waits) == ["started"], "it was ten seconds late when the clock came to what is due"
    assert last_run(waits).trigger == "clock"
    make_due(missed, late=timedelta(seconds=150))
    fire_due(working_since=database_now() - timedelta(seconds=80))
    assert outcomes(missed) == ["skipped"], "seventy seconds late already then"
    assert "missed" in last_run(missed).reason


def test_a_clock_knows_since_when_something_has_been_due_at_every_look(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[datetime | None] = []

    def one_at_a_time(*, working_since: datetime | None) -> int:
        told.append(working_since)
        return fire_due(1, working_since=working_since)

    monkeypatch.setattr("workflows.schedules.firing.fire_due", one_at_a_time)
    schedules = [schedule_of(engine.customer, overlapPolicy="allow") for _ in range(3)]
    for schedule in schedules:
        make_due(schedule)
    engine.clock()
    eventually(lambda: ScheduleRun.objects.count() == 3, "all three have fired")
    assert len(set(told)) == 1, "the same moment for all that were due at once"
    eventually(lambda: presence_of_clock().details["working_since"] is None, "the clock has nothing left to do")
    make_due(schedules[0])
    eventually(lambda: ScheduleRun.objects.count() == 4, "it fires again")
    assert told[-1] is not None
    assert told[0] is not None
    assert told[-1] > told[0], "another moment for what is due later"


def presence_of_clock() -> Process:
    return Process.objects.get(kind="clock")


@pytest.mark.parametrize("seconds_dead, expected", [(5, "started"), (300, "skipped")])
def test_what_was_due_at_once_is_not_missed_because_a_clock_dies_among_it(
    engine: Engine, seconds_dead: int, expected: str
) -> None:
    """More than a batch is left, so that the one that takes over has to keep in mind since when."""
    template = schedule_of(engine.customer, overlapPolicy="allow")
    began = database_now() - timedelta(minutes=10)
    many_due(template, 250, began)
    heartbeat = database_now() - timedelta(seconds=seconds_dead)
    Process.objects.create(
        kind="clock",
        host="h",
        pid=1,
        heartbeat_at=heartbeat,
        details={"leads": True, "working_since": began.timestamp()},
    )
    engine.clock()
    eventually(lambda: ScheduleRun.objects.count() == 250, "all are dealt with", seconds=60)
    assert set(ScheduleRun.objects.values_list("outcome", flat=True)) == {expected}
    assert Execution.objects.filter(schedule__isnull=False).count() == (250 if expected == "started" else 0)


@pytest.mark.django_db
def test_retention_forgets_old_history_and_keeps_the_spec_of_a_schedule() -> None:
    schedule = schedule_of(customer())
    make_due(schedule)
    fire_all()
    old = database_now() - timedelta(days=100)
    ScheduleRun.objects.update(decided_at=old)
    Execution.objects.update(ended_at=old)
    SpecDocument.objects.update(created_at=old)
    with connection.cursor() as cursor:
        retention.prune(cursor.connection, days=30)
    assert not ScheduleRun.objects.exists()
    assert not Execution.objects.exists()
    assert SpecDocument.objects.filter(pk=schedule.spec_id).exists()


@pytest.mark.django_db
def test_queued_runs_of_a_paused_schedule_wait() -> None:
    schedule = schedule_of(customer(), HOLD, overlapPolicy="queue", catchUp="24h")
    make_due(schedule, runs=2)
    fire_all()
    pause_schedule(schedule.pk, schedule.customer, by="ada")
    ends(executions(schedule)[0])
    assert start_queued() == 0
    resume_schedule(schedule.pk, schedule.customer, by="ada")
    assert start_queued() == 1
    assert outcomes(schedule) == ["started", "started"]
