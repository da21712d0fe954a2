"""``/schedules`` over REST: made, read, changed, run and deleted, with its history, and refused naming the field."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.utils import timezone
from rest_framework.test import APIClient

from workflows.engine import retention
from workflows.models import (
    AuditRecord,
    Execution,
    RememberedRequest,
    Role,
    Schedule,
    Secret,
    Workflow,
    WorkflowVersion,
)
from workflows.schedules.firing import database_now, start_queued
from workflows.submission import store_spec
from workflows.tests.people import ECHO, customer, member, signed_in
from workflows.tests.scheduling import HOLD, PASS, fire_all, make_due

pytestmark = pytest.mark.django_db
WEEKDAYS: dict[str, Any] = {"name": "weekdays", "schedule": "30 7 * * MON-FRI", "timezone": "Europe/Berlin"}


def client(role: Role = Role.OPERATOR, slug: str = "acme") -> APIClient:
    return signed_in(member(customer(slug), role, name=f"{role}-{uuid4().hex[:6]}"))


def post(caller: APIClient, path: str, body: Any = None, code: int = 200) -> Any:
    answer = caller.post(path, body or {}, format="json")
    assert answer.status_code == code, answer.content
    return answer.json()


def made(caller: APIClient, **settings: Any) -> dict[str, Any]:
    body: dict[str, Any] = post(caller, "/schedules", {**WEEKDAYS, "spec": ECHO, **settings}, 201)
    return body


def actions(schedule: str) -> list[str]:
    rows = AuditRecord.objects.filter(target_kind="schedule", target_id=schedule).order_by("seq")
    return list(rows.values_list("action", flat=True))


def test_a_schedule_of_a_spec_reads_back_with_its_reading_and_next_runs() -> None:
    caller = client()
    body = made(caller, catchUp="6h", jitter="5m", maxRuns=3, inputs={"token": "hush", "repo": "x"}, priority=4)
    assert (body["status"], body["version"], body["workflowId"], body["runs"]) == ("active", 1, None, 0)
    assert body["reading"] == "At 07:30, Monday through Friday, in Europe/Berlin"
    assert (body["catchUp"], body["jitter"], body["maxRuns"], body["overlapPolicy"]) == ("6h", "5m", 3, "skip")
    assert body["inputs"] == {"token": "***", "repo": "x"} or body["inputs"]["token"].startswith("secret:")
    assert body["spec"]["name"] == "echo"
    assert len(body["nextRuns"]) == 3, "no more than max runs"
    assert body["nextRuns"][0]["at"] == body["nextRunAt"]
    assert body["nextRuns"][0]["local"][11:16] == "07:30"
    answer = caller.get(f"/schedules/{body['id']}")
    assert answer.headers["ETag"] == '"1"'
    assert answer.json() == body
    (listed,) = caller.get("/schedules").json()
    assert listed == {key: value for key, value in body.items() if key not in ("spec", "nextRuns")}
    assert "hush" not in str(Schedule.objects.values().get())
    assert Secret.objects.count() == 1
    assert actions(body["id"]) == ["schedule.created"]


def test_a_cron_spec_is_all_that_is_needed_and_the_body_wins_over_it() -> None:
    caller = client()
    document = {**PASS, "name": "whole", "schedule": "@daily", "cronTimezone": "Asia/Tokyo", "overlapPolicy": "queue",
                "catchUp": True, "enabled": False, "startState": "A"}  # fmt: skip
    body = post(caller, "/schedules", {"spec": document}, 201)
    assert (body["name"], body["schedule"], body["timezone"]) == ("whole", "@daily", "Asia/Tokyo")
    assert (body["overlapPolicy"], body["catchUp"], body["status"]) == ("queue", "24h", "paused")
    assert body["nextRunAt"] is None
    assert body["nextRuns"], "what would be, were it resumed"
    assert "schedule" not in body["spec"]
    assert body["spec"]["startAt"] == "A"
    body = post(caller, "/schedules", {"spec": document, "schedule": "@hourly", "name": "mine"}, 201)
    assert (body["name"], body["schedule"]) == ("mine", "@hourly")


def test_a_schedule_of_a_workflow() -> None:
    caller = client()
    workflow = Workflow.objects.create(customer=customer(), name="drawn", status="active")
    WorkflowVersion.objects.create(workflow=workflow, version=1, name="drawn", spec=store_spec(PASS), checksum="1")
    body = post(caller, "/schedules", {**WEEKDAYS, "workflowId": str(workflow.pk), "workflowVersion": 1}, 201)
    assert (body["workflowId"], body["workflowVersion"], body["spec"]) == (str(workflow.pk), 1, None)
    execution = post(caller, f"/schedules/{body['id']}/trigger", code=201)
    assert (execution["workflowId"], execution["version"]) == (str(workflow.pk), 1)
    assert [one["id"] for one in caller.get(f"/schedules?workflowId={workflow.pk}").json()] == [body["id"]]
    workflow.delete()
    answer = caller.post(f"/schedules/{body['id']}/trigger")
    assert (answer.status_code, answer.json()["error"]) == (409, "the workflow was deleted.")


@pytest.mark.parametrize(
    "change, field, word",
    [
        ({"schedule": "61 * * * *"}, "schedule", "minute"),
        ({"schedule": "0 0 31 2 *"}, "schedule", "never"),
        ({"schedule": ""}, "schedule", "blank"),
        ({"schedule": None}, "schedule", "null"),
        ({"timezone": "Europe/Atlantis"}, "timezone", "no time zone"),
        ({"overlapPolicy": "wait"}, "overlapPolicy", "valid choice"),
        ({"catchUp": "soon"}, "catchUp", "duration"),
        ({"catchUp": "9000h"}, "catchUp", "too long"),
        ({"jitter": "25h"}, "jitter", "too long"),
        ({"jitter": "x"}, "jitter", "duration"),
        ({"maxRuns": 0}, "maxRuns", "1"),
        ({"startAt": "2030-01-02T00:00:00Z", "endAt": "2030-01-01T00:00:00Z"}, "endAt", "after startAt"),
        ({"endAt": "2020-01-01T00:00:00Z"}, "endAt", "ends before its next run"),
        ({"workflowId": str(uuid4())}, "spec", "not both"),
        ({"workflowId": str(uuid4()), "spec": None}, "workflowId", "no such workflow"),
        ({"spec": None}, "workflowId", "give workflowId"),
        ({"workflowVersion": 2}, "workflowVersion", "only a workflow"),
        ({"name": " "}, "name", "blank"),
        ({"cron": "@daily"}, "cron", "unknown key"),
        ({"inputs": {"a": "x" * 1_100_000}}, "inputs", "1024 KiB"),
    ],
)
def test_what_is_wrong_is_refused_with_its_field(change: dict[str, Any], field: str, word: str) -> None:
    answer = client().post("/schedules", {**WEEKDAYS, "spec": ECHO, **change}, format="json")
    assert answer.status_code == 400, answer.content
    assert list(answer.json()["details"]) == [field]
    assert word in answer.json()["error"]
    assert not Schedule.objects.exists()


def test_a_spec_with_errors_is_refused_with_all_of_them() -> None:
    broken = {"name": "x", "states": [{"name": "A", "type": "Task", "resource": "Nothing"}]}
    answer = client().post("/schedules", {**WEEKDAYS, "spec": broken}, format="json")
    assert answer.status_code == 422
    assert answer.json()["details"][0]["code"] == "unknown-activity"
    answer = client().post("/schedules", {"spec": {**broken, "schedule": "x", "timezone": "y"}}, format="json")
    assert {problem["path"] for problem in answer.json()["details"]} == {"schedule", "timezone", "states[0].resource"}


def test_a_foreign_workflow_is_none() -> None:
    theirs = Workflow.objects.create(customer=customer("other"), name="theirs", status="active")
    body = {**WEEKDAYS, "workflowId": str(theirs.pk)}
    answer = client().post("/schedules", body, format="json")
    assert (answer.status_code, list(answer.json()["details"])) == (400, ["workflowId"])


def test_a_change_says_what_it_was_made_on() -> None:
    caller = client()
    body = made(caller)
    path = f"/schedules/{body['id']}"
    changed = caller.patch(path, {"schedule": "@hourly"}, format="json", headers={"If-Match": '"1"'})
    assert (changed.status_code, changed.headers["ETag"]) == (200, '"2"')
    assert changed.json()["nextRunAt"] != body["nextRunAt"]
    assert changed.json()["timezone"] == "Europe/Berlin"
    late = caller.patch(path, {"name": "z"}, format="json", headers={"If-Match": '"1"'})
    assert (late.status_code, late.json()["error"]) == (409, "the schedule is at version 2 now.")
    assert caller.patch(path, {}, format="json", headers={"If-Match": "x"}).status_code == 400
    same = caller.patch(path, {"schedule": "@hourly"}, format="json")
    assert same.json()["version"] == 2, "what changes nothing is no change"
    whole = caller.put(path, {"name": "new", "schedule": "@daily", "spec": ECHO}, format="json")
    assert (whole.json()["timezone"], whole.json()["name"]) == ("UTC", "new"), "what is left out gets its default"
    assert caller.put(path, {"name": "new"}, format="json").status_code == 400
    assert caller.delete(path, headers={"If-Match": '"1"'}).status_code == 409
    assert caller.delete(path, headers={"If-Match": '"3"'}).status_code == 204
    assert caller.get(path).status_code == 404
    assert actions(body["id"]) == ["schedule.created", "schedule.changed", "schedule.changed", "schedule.deleted"]


def test_pause_and_resume() -> None:
    caller = client()
    body = made(caller)
    path = f"/schedules/{body['id']}"
    paused = post(caller, f"{path}/pause", {"reason": "holidays"})
    assert (paused["status"], paused["nextRunAt"], paused["pauseReason"]) == ("paused", None, "holidays")
    assert post(caller, f"{path}/pause")["version"] == paused["version"]
    assert [one["id"] for one in caller.get("/schedules?status=paused").json()] == [body["id"]]
    assert caller.get("/schedules?status=active").json() == []
    resumed = post(caller, f"{path}/resume")
    assert (resumed["status"], "pausedAt" in resumed) == ("active", False)
    again = caller.patch(path, {"enabled": False}, format="json").json()
    assert again["status"] == "paused"
    assert actions(body["id"]) == ["schedule.created", "schedule.paused", "schedule.resumed", "schedule.changed"]


def test_trigger_starts_it_now_and_the_history_says_who() -> None:
    caller = client()
    body = made(caller, spec=HOLD)
    first = post(caller, f"/schedules/{body['id']}/trigger", code=201)
    second = post(caller, f"/schedules/{body['id']}/trigger", code=201)
    assert first["scheduleId"] == second["scheduleId"] == body["id"]
    rows = caller.get(f"/schedules/{body['id']}/executions").json()
    assert [row["execution"]["id"] for row in rows] == [second["id"], first["id"]]
    assert (rows[0]["trigger"], rows[0]["outcome"]) == ("manual", "started")
    assert rows[0]["triggeredBy"].startswith("operator-")
    assert [e["id"] for e in caller.get(f"/executions?scheduleId={body['id']}").json()] == [second["id"], first["id"]]
    assert caller.get(f"/executions/{first['id']}").json()["scheduleId"] == body["id"]
    assert caller.get(f"/schedules/{body['id']}").json()["lastRun"]["executionId"] == second["id"]
    record = AuditRecord.objects.filter(action="schedule.triggered").order_by("seq")[0]
    assert str(record.execution_id) == first["id"]


def test_backfill_runs_a_range_of_the_past_one_after_the_other_and_only_once() -> None:
    caller = client()
    body = made(caller, schedule="0 * * * *", timezone="UTC", spec=HOLD)
    path = f"/schedules/{body['id']}/backfill"
    day = {"start": "2026-01-01T00:00:00Z", "end": "2026-01-01T03:00:00Z"}
    answer = post(caller, path, day, 202)
    assert answer["queued"] == ["2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z", "2026-01-01T02:00:00Z"]
    assert start_queued() == 1
    assert start_queued() == 0, "one runs"
    rows = caller.get(f"/schedules/{body['id']}/executions?ordering=dueAt").json()
    assert [row["outcome"] for row in rows] == ["started", "queued", "queued"]
    assert {row["trigger"] for row in rows} == {"backfill"}
    again = post(caller, path, {**day, "end": "2026-01-01T04:00:00Z"}, 202)
    assert again["queued"] == ["2026-01-01T03:00:00Z"]
    together = made(caller, schedule="0 * * * *", spec=HOLD, overlapPolicy="allow")
    post(caller, f"/schedules/{together['id']}/pause")
    post(caller, f"/schedules/{together['id']}/backfill", day, 202)
    assert start_queued() == 1
    assert Execution.objects.filter(schedule=together["id"]).count() == 3, "at once, and although it is paused"


def test_what_is_asked_twice_with_one_key_is_done_once() -> None:
    caller = client()

    def ask(path: str, body: dict[str, Any], key: str) -> tuple[int, Any]:
        answer = caller.post(path, body, format="json", headers={"Idempotency-Key": key})
        return answer.status_code, answer.json()

    wanted = {"name": "nightly", "schedule": "0 2 * * *", "spec": HOLD}
    (code, first), (again, same) = ask("/schedules", wanted, "make"), ask("/schedules", wanted, "make")
    assert (code, again) == (201, 200)
    assert same["id"] == first["id"]
    assert Schedule.objects.count() == 1
    assert ask("/schedules", {**wanted, "name": "other"}, "make")[0] == 409
    assert ask("/schedules", {**wanted, "schedule": "nonsense"}, "bad")[0] == 400
    assert ask("/schedules", wanted, "bad")[0] == 201, "what was refused leaves its key free"
    trigger = f"/schedules/{first['id']}/trigger"
    (code, started), (again, known) = ask(trigger, {}, "go"), ask(trigger, {}, "go")
    assert (code, again, known["id"]) == (201, 200, started["id"])
    assert Execution.objects.filter(schedule=first["id"]).count() == 1
    assert ask(trigger, {}, "make")[0] == 409
    day = {"start": "2026-01-01T00:00:00Z", "end": "2026-01-02T03:00:00Z"}
    backfill = f"/schedules/{first['id']}/backfill"
    queued = ask(backfill, day, "fill")
    assert queued == (202, {"queued": ["2026-01-01T02:00:00Z", "2026-01-02T02:00:00Z"]})
    assert ask(backfill, day, "fill") == queued
    assert ask(backfill, day, "another") == (202, {"queued": []})
    assert ask(backfill, day, " ")[0] == 400
    caller.delete(f"/schedules/{first['id']}")
    assert ask("/schedules", wanted, "make")[0] == 409
    RememberedRequest.objects.update(created_at=timezone.now() - timedelta(days=8))
    connection.ensure_connection()
    retention.prune(connection.connection)
    assert ask("/schedules", wanted, "make")[0] == 201


def test_what_was_skipped_can_be_backfilled() -> None:
    caller = client()
    schedule = Schedule.objects.get(pk=made(caller, schedule="@every 1h")["id"])
    (due,) = make_due(schedule, late=timedelta(minutes=5))
    fire_all()
    rows = caller.get(f"/schedules/{schedule.pk}/executions").json()
    assert [(row["outcome"], row["execution"]) for row in rows] == [("skipped", None)]
    body = {"start": (due - timedelta(minutes=1)).isoformat(), "end": (due + timedelta(minutes=1)).isoformat()}
    assert len(post(caller, f"/schedules/{schedule.pk}/backfill", body, 202)["queued"]) == 1
    start_queued()
    rows = caller.get(f"/schedules/{schedule.pk}/executions?outcome=started&trigger=backfill").json()
    assert len(rows) == 1


@pytest.mark.parametrize(
    "start, end, code, word",
    [
        (2, 1, 400, "end: this must be after start"),
        (-2, -2, 400, "end: this must be after start"),
        (-2, 5, 400, "end: this must not be later than now"),
        (-1_000_000, -1, 400, "start: this must not be before 1970"),
        (-10_000, -1, 409, "more than 1,000 runs"),
        (-0.5, -0.4, 409, "never due"),
    ],
)
def test_a_range_that_makes_no_sense_is_refused(start: float, end: float, code: int, word: str) -> None:
    caller = client()
    body = made(caller, schedule="@every 1h")
    now = database_now()
    given = {"start": (now + timedelta(hours=start)).isoformat(), "end": (now + timedelta(hours=end)).isoformat()}
    answer = caller.post(f"/schedules/{body['id']}/backfill", given, format="json")
    assert answer.status_code == code, answer.content
    assert word in answer.json()["error"]


@pytest.mark.parametrize("start", ["0001-01-01T00:00:00Z", "9999-12-30T00:00:00Z", "9999-12-31T23:59:59.999999Z"])
@pytest.mark.parametrize("text", ["0 2 * * *", "* * * * *", "@every 1h"])
def test_the_first_and_the_last_moments_that_there_are_make_a_schedule_or_a_sentence(start: str, text: str) -> None:
    caller = client()
    caller.raise_request_exception = False
    sent = {**WEEKDAYS, "spec": ECHO, "jitter": "1h"}
    whole = made(caller)
    for zone in ("UTC", "Asia/Tokyo", "America/New_York"):
        timing = {"schedule": text, "timezone": zone, "startAt": start, "endAt": None}
        preview = post(caller, "/schedules/preview", timing)
        answers = [
            caller.post("/schedules", {**sent, **timing}, format="json"),
            caller.patch(f"/schedules/{whole['id']}", timing, format="json"),
        ]
        codes = [201, 200] if preview["valid"] else [400, 400]
        assert [answer.status_code for answer in answers] == codes, (zone, preview)
        if preview["valid"]:
            assert answers[0].json()["nextRuns"] == preview["nextRuns"] or text.startswith("@") or "0001" in start
    given = {"start": "0001-01-01T00:00:00Z", "end": "0001-01-01T01:00:00Z"}
    answer = caller.post(f"/schedules/{whole['id']}/backfill", given, format="json")
    assert answer.status_code == 400, answer.content


def test_the_history_is_filtered_and_paged() -> None:
    caller = client()
    schedule = Schedule.objects.get(pk=made(caller, schedule="@every 1h", overlapPolicy="allow", catchUp="3h")["id"])
    due = make_due(schedule, late=timedelta(minutes=5), runs=5)
    fire_all()
    path = f"/schedules/{schedule.pk}/executions"
    answer = caller.get(f"{path}?limit=2&page=2")
    assert (answer.headers["X-Total-Count"], len(answer.json())) == ("5", 2)
    assert len(caller.get(f"{path}?outcome=skipped").json()) == 2
    after = caller.get(path, {"dueAfter": due[3].isoformat()}).json()
    assert len(after) == 2
    assert caller.get(f"{path}?outcome=x").status_code == 400


def test_a_preview_says_what_text_means_before_it_is_saved() -> None:
    caller = client(Role.VIEWER)
    body = post(caller, "/schedules/preview", {"schedule": "0 9 * * MON#1", "timezone": "Australia/Sydney"})
    assert body["valid"] is True
    assert body["reading"] == "At 09:00, on the first Monday of the month, in Australia/Sydney"
    assert len(body["nextRuns"]) == 5
    assert body["nextRuns"][0]["local"][11:] in ("09:00:00+11:00", "09:00:00+10:00")
    body = post(caller, "/schedules/preview", {"schedule": "x", "timezone": "y"})
    assert (body["valid"], sorted(body["problems"])) == (False, ["schedule", "timezone"])
    body = post(caller, "/schedules/preview", {"schedule": "@daily", "endAt": "2020-01-01T00:00:00Z"})
    assert list(body["problems"]) == ["endAt"]
    body = post(caller, "/schedules/preview", {"schedule": "@yearly", "endAt": f"{datetime.now(UTC).year + 2}-06-01"})
    assert len(body["nextRuns"]) == 2
    assert not Schedule.objects.exists()


def test_schedules_of_others_are_not_there() -> None:
    theirs = made(client(slug="other"))
    caller = client(Role.ADMIN)
    assert caller.get("/schedules").json() == []
    for method, path in (("get", ""), ("patch", ""), ("delete", ""), ("post", "/trigger"), ("get", "/executions")):
        assert getattr(caller, method)(f"/schedules/{theirs['id']}{path}").status_code == 404
    assert caller.get(f"/executions?scheduleId={theirs['id']}").json() == []
