"""Executions over REST: what a reader sees of a run, its states and its log."""

import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from threading import Timer
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.db import connection
from django.utils import timezone

from workflows import control
from workflows.api.executions import execution_body
from workflows.models import Execution, LogEntry, Role, Workflow, WorkflowVersion
from workflows.submission import start_execution, store_spec
from workflows.tests.people import ECHO, customer, member, signed_in, started
from workflows.tests.pumping import Engine, eventually
from workflows.tests.work import work_of

RFC3339 = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"

FAN: dict[str, Any] = {
    "name": "fan",
    "states": [
        {
            "name": "Fan",
            "type": "Parallel",
            "branches": [
                {"name": "left", "states": [echo_left := {**ECHO["states"][0], "name": "Left"}]},
                {"name": "right", "states": [{**echo_left, "name": "Right"}]},
            ],
            "next": "Each",
        },
        {
            "name": "Each",
            "type": "Map",
            "items": [1, 2, 3],
            "states": [{"name": "One", "type": "Pass", "result": "${item}"}],
            "next": "Bad",
        },
        {
            "name": "Bad",
            "type": "Task",
            "resource": "EchoActivity",
            "parameters": {"value": "${Left.output.value.nothing}"},
            "catch": [{"next": "Last"}],
        },
        {"name": "Last", "type": "Pass", "result": "done", "end": True},
    ],
}


def viewer(slug: str = "acme") -> Any:
    return signed_in(member(customer(slug), Role.VIEWER))


def test_a_finished_execution_shows_the_results_of_its_states(engine: Engine) -> None:
    execution = started(customer(), FAN, by="ann", topic="x")
    engine.pump()
    engine.ended(execution.pk)
    body = viewer().get(f"/executions/{execution.pk}").json()
    assert body["status"] == "success"
    assert body["inputs"] == {"topic": "x"}
    outputs = body["outputs"]
    assert outputs["status"] == "COMPLETED"
    assert outputs["output"] == "done"
    results = outputs["stepResults"]
    assert set(results) == {"Fan", "Left", "Right", "Each", "Bad", "Last"}, "the inside of a Map is its list"
    assert results["Left"] == {"value": "hello"}
    assert results["Each"] == [1, 2, 3]
    assert results["Bad"]["error"]["name"] == "ReferenceError"
    assert results["Last"] == "done"
    assert body["currentStates"] == []
    assert body["createdBy"] == "ann"
    assert [line["level"] for line in body["logs"]].count("debug") == 0
    assert set(body["logs"][0]) <= {"timestamp", "nodeId", "level", "message", "event"}
    for moment in (body["createdAt"], body["startedAt"], body["completedAt"], body["logs"][0]["timestamp"]):
        assert re.match(RFC3339, moment)


def test_a_failed_execution_says_why(engine: Engine) -> None:
    execution = started(
        customer(), {"name": "f", "states": [{"name": "No", "type": "Fail", "error": "Nope", "cause": "it is closed"}]}
    )
    engine.pump()
    engine.ended(execution.pk)
    body = viewer().get(f"/executions/{execution.pk}").json()
    assert body["status"] == "failed"
    assert body["outputs"]["status"] == "FAILED"
    assert "it is closed" in body["outputs"]["error"]
    assert body["outputs"]["stepResults"]["No"]["error"]["name"] == "Nope"
    assert any("it is closed" in error for error in body["errors"])


def test_a_waiting_execution_shows_where_it_stands(engine: Engine) -> None:
    spec = {"name": "w", "states": [{"name": "Hold", "type": "WaitForSignal", "signal": "go", "end": True}]}
    execution = started(customer(), spec)
    engine.pump()
    engine.reaches(execution.pk, "waiting")
    client = viewer()
    body = client.get(f"/executions/{execution.pk}").json()
    assert (body["status"], body["currentStates"], body["outputs"]) == ("waiting", ["Hold"], {})
    assert "completedAt" not in body
    assert "errors" not in body
    (cursor,) = client.get(f"/executions/{execution.pk}/states").json()["running"]
    assert (cursor["state"], cursor["status"], cursor["signal"]) == ("Hold", "waiting", "go")


@pytest.mark.django_db
def test_a_fresh_execution_has_empty_outputs_and_logs(django_assert_num_queries: Any) -> None:
    acme = customer()
    workflow = Workflow.objects.create(customer=acme, name="w")
    version = WorkflowVersion.objects.create(workflow=workflow, version=3, name="w", checksum="-")
    execution, _ = start_execution(
        customer=acme, spec=store_spec(ECHO), inputs={"a": 1}, name="echo", workflow=workflow, version=version
    )
    with django_assert_num_queries(0):
        body = execution_body(execution)
    assert body["outputs"] == {}
    assert body["logs"] == []
    assert body["workflowId"] == str(workflow.pk)
    assert body["version"] == 3
    assert body["status"] == "pending"
    assert body["startedAt"] == body["createdAt"]


@pytest.mark.django_db
def test_links_to_other_executions_are_there_when_set() -> None:
    acme = customer()
    first, second, third = started(acme), started(acme), started(acme)
    Execution.objects.filter(pk=second.pk).update(continued_from=first)
    Execution.objects.filter(pk=third.pk).update(parent=first, rerun_of=second)
    client = viewer()
    assert client.get(f"/executions/{first.pk}").json()["continuedAs"] == str(second.pk)
    assert client.get(f"/executions/{second.pk}").json()["continuedFrom"] == str(first.pk)
    body = client.get(f"/executions/{third.pk}").json()
    assert (body["parentId"], body["rerunOf"]) == (str(first.pk), str(second.pk))
    assert not {"parentId", "continuedFrom", "continuedAs", "rerunOf"} & set(
        client.get(f"/executions/{started(acme).pk}").json()
    )


@pytest.mark.django_db
def test_the_list_is_newest_first_and_paged() -> None:
    acme = customer()
    made = [str(started(acme).pk) for _ in range(12)][::-1]
    started(customer("other"))
    client = viewer()
    first = client.get("/executions")
    assert first["X-Total-Count"] == "12"
    assert [e["id"] for e in first.json()] == made[:10]
    assert [e["id"] for e in client.get("/executions?page=2").json()] == made[10:]
    assert [e["id"] for e in client.get("/executions?page=3&limit=5").json()] == made[10:]
    assert client.get("/executions?page=9").json() == []
    assert first.json()[0]["logs"] == []
    assert first.json()[0]["currentStates"] == ["Say"]


@pytest.mark.django_db
def test_the_list_can_be_filtered() -> None:
    acme = customer()
    workflow = Workflow.objects.create(customer=acme, name="w")
    mine, _ = start_execution(customer=acme, spec=store_spec(ECHO), inputs={}, name="echo", workflow=workflow)
    cancelled = started(acme)
    control.request_cancel(cancelled.pk, by="ann")
    client = viewer()
    assert [e["id"] for e in client.get(f"/executions?workflowId={workflow.pk}").json()] == [str(mine.pk)]
    assert [e["id"] for e in client.get("/executions?status=cancelled").json()] == [str(cancelled.pk)]
    assert client.get(f"/executions?workflowId={uuid4()}").json() == []


@pytest.mark.django_db
@pytest.mark.parametrize(
    "query, field",
    [("status=odd", "status"), ("page=0", "page"), ("page=x", "page"), ("limit=0", "limit"),
     ("workflowId=7", "workflowId"), ("page=99999999999999999999", "page")],
)  # fmt: skip
def test_a_bad_filter_is_named(query: str, field: str) -> None:
    response = viewer().get(f"/executions?{query}")
    assert response.status_code == 400
    assert field in response.json()["error"]


@pytest.mark.django_db
def test_logs_are_limited_and_can_be_left_out() -> None:
    execution = started(customer())
    LogEntry.objects.bulk_create(
        LogEntry(execution=execution, level="debug" if n % 2 else "info", message=f"line {n}", logged_at=timezone.now())
        for n in range(1200)
    )
    client = viewer()
    path = f"/executions/{execution.pk}"
    assert [line["message"] for line in client.get(f"{path}?logs=2").json()["logs"]] == ["line 1196", "line 1198"]
    assert client.get(f"{path}?logs=0").json()["logs"] == []
    assert len(client.get(path).json()["logs"]) == 601, "600 and the line of the start"
    assert len(client.get(f"{path}?level=debug").json()["logs"]) == 1000
    assert client.get(f"{path}?level=debug&logs=1").json()["logs"][0]["message"] == "line 1199"
    assert client.get(f"{path}?level=warn").json()["logs"] == []
    for bad in ("logs=-1", "logs=x", "level=loud"):
        assert client.get(f"{path}?{bad}").status_code == 400


def test_reading_costs_two_queries_and_little_time(engine: Engine, django_assert_max_num_queries: Any) -> None:
    """The whole request, sign-in included; a read is budgeted at 30 ms."""
    execution = started(customer(), FAN)
    client = viewer()
    with django_assert_max_num_queries(2):
        client.get(f"/executions/{execution.pk}")
    engine.pump()
    engine.ended(execution.pk)
    with django_assert_max_num_queries(2):
        client.get(f"/executions/{execution.pk}")
    with django_assert_max_num_queries(4):
        client.get("/executions")
    assert work_of(client, f"/executions/{execution.pk}") < 0.03


def test_states_show_every_attempt_a_page_at_a_time(engine: Engine) -> None:
    execution = started(customer(), FAN)
    engine.pump()
    engine.ended(execution.pk)
    client = viewer()
    path = f"/executions/{execution.pk}/states"
    body = client.get(path).json()
    assert body["running"] == []
    assert body["next"] is None
    runs = {run["state"]: run for run in body["states"]}
    assert set(runs) == {"Fan", "Left", "Right", "Each", "One", "Bad", "Last"}
    assert runs["Left"]["branch"]["path"] == "Fan/left"
    assert runs["Left"]["branch"]["name"] == "left"
    assert runs["Left"]["input"] == {"value": "hello"}
    assert runs["Left"]["output"] == {"value": "hello"}
    assert runs["Left"]["activity"] == "EchoActivity"
    assert runs["Left"]["durationMs"] >= 0
    assert sorted(run["branch"]["index"] for run in body["states"] if run["state"] == "One") == [0, 1, 2]
    assert runs["Bad"]["status"] == "failed"
    assert runs["Bad"]["error"]["name"] == "ReferenceError"
    assert runs["Bad"]["next"] == "Last"
    visits = {(run["state"], run["visit"]) for run in body["states"]}
    assert visits == {("Fan", 1), ("Left", 1), ("Right", 1), ("Each", 2), ("One", 1), ("Bad", 3), ("Last", 4)}
    collected: list[int] = []
    after: int | None = 0
    while after is not None:
        page = client.get(f"{path}?limit=2&after={after}").json()
        assert len(page["states"]) <= 2
        collected += [run["id"] for run in page["states"]]
        after = page["next"]
    assert collected == [run["id"] for run in body["states"]]
    assert [run["state"] for run in client.get(f"{path}?state=Bad").json()["states"]] == ["Bad"]
    light = client.get(f"{path}?values=0").json()["states"]
    assert light == [run | {"input": None, "output": None} for run in body["states"]]
    for run in light:
        assert run["startedMs"] // 1000 == datetime.fromisoformat(run["startedAt"]).timestamp()


SAY = "INSERT INTO workflows_logentry (execution_id, node_id, level, event, message) VALUES (%s,'','info','',%s)"


@contextmanager
def two_writers() -> Iterator[tuple[psycopg.Connection[Any], psycopg.Connection[Any]]]:
    """Connections of the test's database: a slow writer, who commits when asked to, and one who commits at once."""
    given = {k: v for k, v in connection.get_connection_params().items() if k in ("dbname", "user", "host", "port")}
    with psycopg.connect(**given) as slow, psycopg.connect(**given, autocommit=True) as quick:
        yield slow, quick


@pytest.mark.django_db(transaction=True)
def test_a_log_can_be_followed_without_losing_a_line_to_a_slow_writer() -> None:
    """A transaction that began first and commits last: its line is neither lost nor shown before its time."""
    execution = started(customer())
    client = viewer()
    path = f"/executions/{execution.pk}/logs"

    def page(count: int, after: str = "") -> Any:
        # Other databases of the server have slow writers too, so that lines may come a little later.
        def full() -> Any:
            body = client.get(path, {"after": after} if after else {}).json()
            return body if len(body["logs"]) >= count else None

        return eventually(full, f"{count} lines after {after or 'the start'}", seconds=60)

    with two_writers() as (slow, quick):
        slow.execute(SAY, (execution.pk, "slow"))
        quick.execute(SAY, (execution.pk, "quick"))
        first = page(1)
        assert [line["message"] for line in first["logs"]] == ["echo started"]
        withheld = client.get(path, {"after": first["next"]}).json()
        assert withheld == {"logs": [], "next": first["next"], "more": True}
        slow.commit()
        second = page(2, first["next"])
    assert [line["message"] for line in second["logs"]] == ["slow", "quick"]
    assert client.get(f"{path}?after={second['next']}").json() == {"logs": [], "next": second["next"], "more": False}
    assert client.get(f"{path}?limit=1").json()["more"] is True


def test_a_text_of_the_log_waits_for_what_an_open_transaction_withholds(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workflows.live.text.PATIENCE", 60.0)  # tests in other databases hold transactions open too
    execution = started(customer())
    with two_writers() as (slow, quick):
        slow.execute(SAY, (execution.pk, "slow"))
        quick.execute(SAY, (execution.pk, "quick"))
        Timer(0.5, slow.commit).start()
        text = b"".join(viewer().get(f"/executions/{execution.pk}/logs?format=text")).decode()
    assert [line.partition("-: ")[2] for line in text.splitlines()][-2:] == ["slow", "quick"]


@pytest.mark.django_db
@pytest.mark.parametrize("cursor", ["x", "1", "-", "1-", "1-2-3", "٣-٤", "9" * 30 + "-1", "1--1"])
def test_a_cursor_that_is_none_is_refused(cursor: str) -> None:
    execution = started(customer())
    response = viewer().get(f"/executions/{execution.pk}/logs", {"after": cursor})
    assert response.status_code == 400
    assert response.json()["error"].startswith("after")


@pytest.mark.django_db
def test_the_knowledge_base_is_served() -> None:
    body = viewer().get("/activities").json()
    assert "EchoActivity" in {entry["name"] for entry in body["activities"]}
    assert body["metadata"]["totalActivities"] == len(body["activities"])


def test_what_runs_now_names_its_worker(engine: Engine, django_assert_num_queries: Any) -> None:
    spec = {
        "name": "w",
        "states": [{"name": "Nap", "type": "Task", "resource": "SleepActivity", "parameters": {"seconds": 60}}],
    }
    execution = started(customer(), spec)
    client = viewer()
    (cursor,) = client.get(f"/executions/{execution.pk}/states").json()["running"]
    assert "worker" not in cursor, "nobody has taken it yet"
    engine.pump()
    engine.reaches(execution.pk, "running")

    def running() -> Any:
        return client.get(f"/executions/{execution.pk}/states").json()["running"][0]

    eventually(lambda: "worker" in running(), "the worker is named")
    assert running()["worker"] == f"{socket.gethostname()}:{os.getpid()}"
    with django_assert_num_queries(4):  # who asks, the execution, its runs, its branches with their workers
        running()
    control.request_cancel(execution.pk, by="ann")
    engine.ended(execution.pk)
