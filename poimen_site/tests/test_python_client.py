"""The client for Python and its examples, against a real web process that is killed, a worker and a clock."""

import asyncio
import json
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from poimen_client import (
    AsyncClient,
    BadRequest,
    Client,
    Conflict,
    ConnectionFailed,
    ExecutionFailed,
    Forbidden,
    InvalidSpec,
    NotFound,
    NotSignedIn,
    PoimenError,
    Polling,
    WaitTimeout,
)
from poimen_site.tests.places import CLIENTS, PASSWORD, Place
from workflows.tests.chaos.installation import eventually, free_port

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("client"), pytest.mark.timeout(300)]

ECHO: dict[str, Any] = {
    "name": "echo",
    "states": [
        {"name": "Say", "type": "Task", "resource": "EchoActivity", "parameters": {"value": "${workflow.input.x}"}}
    ],
}
FAILS: dict[str, Any] = {
    "name": "fails",
    "states": [{"name": "No", "type": "Fail", "error": "Nope", "cause": "no luck"}],
}
HOLD: dict[str, Any] = {"name": "hold", "states": [{"name": "Hold", "type": "WaitForSignal", "signal": "go"}]}
ASK: dict[str, Any] = {
    "name": "ask",
    "states": [
        {"name": "Ask", "type": "Task", "resource": "ApproveWorkflowActivity",
         "parameters": {"workflowId": "release", "requiredApprovals": 1, "timeoutMinutes": 5}},
    ],
}  # fmt: skip
QUICK = Polling(0.05, 0.5)


def test_a_spec_is_run_and_its_result_returned(place: Place) -> None:
    with place.client() as poimen:
        ended = poimen.submit_and_wait(spec=ECHO, inputs={"x": [1]}, timeout=60, polling=QUICK)
        assert poimen.result(ended)["stepResults"] == {"Say": {"value": [1]}}
        assert poimen.get_status(ended["id"], logs=5)["logs"][-1]["message"] == "echo finished: success"
        assert ended["id"] in [item["id"] for item in poimen.list_executions(name="echo")]
        failed = poimen.submit_and_wait(spec=FAILS, timeout=60, polling=QUICK)
        with pytest.raises(ExecutionFailed, match="no luck") as failure:
            poimen.result(failed)
        assert failure.value.execution["status"] == "failed"


def test_a_saved_workflow_is_found_by_its_name(place: Place) -> None:
    name = f"Say {uuid4()}"
    node = {
        "id": "Say", "type": "activity", "position": {"x": 0, "y": 0},
        "data": {"label": "Say", "activity": "EchoActivity", "config": {"value": "hi"}},
    }  # fmt: skip
    body = {"name": name, "status": "active", "nodes": [node], "edges": []}
    with place.client("amy") as poimen:
        token = httpx.post(f"{place.web.url}/auth/token", json={"username": "amy", "password": PASSWORD}, timeout=30)
        headers = {"Authorization": f"Bearer {token.json()['access']}"}
        assert httpx.post(f"{place.web.url}/workflows", json=body, headers=headers, timeout=30).status_code == 201
        ended = poimen.submit_and_wait(name, timeout=60, polling=QUICK)
        assert ended["outputs"]["stepResults"] == {"Say": {"value": "hi"}}
        assert ended["createdBy"] == "amy"
        with pytest.raises(NotFound, match="no workflow called"):
            poimen.submit(f"{name}?")


def test_one_key_is_one_execution(place: Place) -> None:
    key = str(uuid4())
    with place.client() as poimen:
        first = poimen.submit(spec=ECHO, inputs={"x": 1}, idempotency_key=key)
        assert poimen.submit(spec=ECHO, inputs={"x": 1}, idempotency_key=key)["id"] == first["id"]
        with pytest.raises(Conflict, match="idempotency key"):
            poimen.submit(spec=ECHO, inputs={"x": 2}, idempotency_key=key)


def test_executions_are_steered(place: Place) -> None:
    with place.client() as poimen:
        pk = poimen.submit(spec=HOLD)["id"]
        with pytest.raises(WaitTimeout) as late:
            poimen.wait_for_completion(pk, timeout=0.3, polling=QUICK)
        assert late.value.execution is not None
        poimen.pause(pk, "lunch")
        eventually("it stands still", lambda: poimen.get_status(pk)["status"] == "paused", within=30)
        poimen.resume(pk)
        with pytest.raises(Conflict, match="not paused"):
            poimen.resume(pk)
        assert poimen.signal(pk, "go", {"a": 1}, dedupe_key="k")["new"]
        ended = poimen.wait_for_completion(pk, timeout=60, polling=QUICK)
        assert ended["outputs"]["output"] == {"a": 1}
        again = poimen.rerun(pk)
        assert again.get("rerunOf") == pk
        poimen.cancel(again["id"], "enough")
        assert poimen.wait_for_completion(again["id"], timeout=60, polling=QUICK)["status"] == "cancelled"


def test_people_approve_through_it(place: Place) -> None:
    with place.client() as operator, place.client("amy") as approver:
        pk = operator.submit(spec=ASK)["id"]
        eventually("it asks", lambda: approver.list_approvals(execution_id=pk), within=30)
        gate = approver.list_approvals(execution_id=pk)[0]
        with pytest.raises(Forbidden):
            operator.approve(gate["id"])
        assert approver.approve(gate["id"], "fine")["status"] == "approved"
        with pytest.raises(Conflict):
            approver.reject(gate["id"], "no")
        assert operator.wait_for_completion(pk, timeout=60, polling=QUICK)["status"] == "success"


def test_schedules_are_made_seen_and_steered(place: Place) -> None:
    nightly = {**ECHO, "name": f"nightly {uuid4()}", "schedule": "30 2 * * *", "timezone": "Europe/Berlin"}
    with place.client() as poimen:
        made = poimen.create_schedule(spec=nightly, inputs={"x": 7}, overlapPolicy="skip")
        assert made["reading"] == "At 02:30, in Europe/Berlin"
        assert len(made["nextRuns"]) == 5
        assert made["id"] in [item["id"] for item in poimen.list_schedules(limit=100)]
        assert poimen.pause_schedule(made["id"], "holidays")["status"] == "paused"
        assert poimen.resume_schedule(made["id"])["status"] == "active"
        started = poimen.trigger_schedule(made["id"])
        ended = poimen.wait_for_completion(started["id"], timeout=60, polling=QUICK)
        assert ended["outputs"]["output"] == {"value": 7}
        poimen.delete_schedule(made["id"])
        with pytest.raises(NotFound):
            poimen.read_schedule(made["id"])


def test_a_sentence_becomes_a_spec_or_a_question(place: Place) -> None:
    with place.client("amy") as poimen:
        routed = poimen.route("scan https://example.org/web.git for security problems every day at 2 am")
        assert routed["isCron"]
        assert routed["cronSpec"]["schedule"] == "0 2 * * *"
        assert "workflowId" not in routed
        assert [one["parameter"] for one in poimen.route("scan the repository for security problems")["questions"]]
        assert poimen.route("scan https://example.org/web.git for security problems", save=True)["workflowId"]


def test_refusals_are_typed_and_say_what_the_server_said(place: Place) -> None:
    with place.client() as poimen:
        with pytest.raises(InvalidSpec) as invalid:
            poimen.submit(spec={"name": "bad", "states": [{"name": "A", "type": "Taks"}]})
        assert invalid.value.problems[0]["suggestion"] == "Task"
        with pytest.raises(BadRequest, match="priority"):
            poimen.submit(spec=ECHO, priority=5000)
        with pytest.raises(NotFound, match="Execution not found") as missing:
            poimen.get_status(str(uuid4()))
        assert missing.value.request_id
        with pytest.raises(ValueError, match="UUID"):
            poimen.get_status("../approvals")
        with pytest.raises(ValueError, match="one of the two"):
            poimen.submit()
    with Client(place.web.url, api_key="pk_wrong") as stranger, pytest.raises(NotSignedIn):
        stranger.list_executions()
    with Client(place.web.url, username="eve", password="wrong") as stranger, pytest.raises(NotSignedIn):
        stranger.list_executions()
    nobody = Client(f"http://127.0.0.1:{free_port()}", api_key="pk_x", retry_for=0.5)
    with nobody, pytest.raises(ConnectionFailed):
        nobody.submit(spec=ECHO)
    with Client(f"{place.web.url}/static", api_key="pk_x") as wrong, pytest.raises(PoimenError):
        wrong.list_executions()


def test_a_token_that_ran_out_is_renewed(place: Place) -> None:
    with place.client("eve") as poimen:
        assert poimen.list_executions()
        poimen._talk._token = "eyJhbGciOiJIUzI1NiJ9.e30.bad"
        assert poimen.list_executions()


def test_lines_come_once_each_through_a_killed_web_process(place: Place) -> None:
    execution = place.house.execution()
    messages = [f"line {number}" for number in range(2_400)]
    place.house.say(execution, *messages[:1_200])
    heard: list[str] = []

    def listen() -> None:
        with place.client() as poimen:
            heard.extend(line["message"] for line in poimen.stream_logs(execution, node="Hold", polling=QUICK))

    with ThreadPoolExecutor(1) as pool:
        listening = pool.submit(listen)
        eventually("the first half was heard", lambda: len(heard) >= 1_200, within=60)
        place.web.kill()
        place.house.say(execution, *messages[1_200:])
        place.web.restart()
        place.house.finish(execution)
        listening.result(60)
    assert heard == messages


def test_a_start_and_a_wait_outlive_the_web_process(place: Place) -> None:
    key = str(uuid4())

    def start_and_wait() -> Any:
        with place.client() as poimen:
            return poimen.submit_and_wait(spec=HOLD, idempotency_key=key, timeout=90, polling=QUICK)

    place.web.kill()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(start_and_wait)
        time.sleep(0.5)  # the first attempts find nobody; whether they do changes nothing
        place.web.restart()
        rows = "SELECT id, status FROM workflows_execution WHERE idempotency_key = %s"
        eventually("it waits", lambda: [s for _, s in place.house.installation.rows(rows, key)] == ["waiting"], 60)
        place.web.kill()
        place.web.restart()
        with place.client() as poimen:
            poimen.signal(str(place.house.installation.rows(rows, key)[0][0]), "go", "well")
        assert waiting.result(90)["outputs"]["output"] == "well"
    assert len(place.house.installation.rows(rows, key)) == 1


def test_it_may_be_awaited(place: Place) -> None:
    async def all_at_once() -> tuple[list[Any], list[str]]:
        async with AsyncClient(place.web.url, api_key=place.key) as poimen:
            ended = await asyncio.gather(
                *(poimen.submit_and_wait(spec=ECHO, inputs={"x": n}, timeout=60, polling=QUICK) for n in range(5))
            )
            lines = [line["message"] async for line in poimen.stream_logs(ended[0]["id"])]
            return [poimen.result(one)["output"] for one in ended], lines

    outputs, lines = asyncio.run(all_at_once())
    assert outputs == [{"value": n} for n in range(5)]
    assert (lines[0], lines[-1]) == ("echo started", "echo finished: success")


def test_the_example_of_steps_in_a_sequence(place: Place) -> None:
    repo = place.house.installation.home / "repo"
    repo.mkdir()
    (repo / "main.py").write_text("print('hello')\n")
    for command in (["init", "-q"], ["add", "."], ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "x"]):
        subprocess.run(["git", *command], cwd=repo, check=True)
    example = place.example("sequential.py", str(repo))
    said = example.communicate(timeout=110)[0]
    assert example.returncode == 0, said
    assert [line.partition(":")[0] for line in said.splitlines()] == ["Clone", "Analyze", "Scan", "Report"]


def test_the_example_of_a_task_that_is_awaited(place: Place) -> None:
    example = place.example("await_task_complete.py", "TASK-7", "Fix the login page")
    assert example.stdout is not None
    pk = example.stdout.readline().split()[1]
    with place.client() as poimen:
        poimen.signal(pk, "done", {"branch": "fix-login"})
    said = example.communicate(timeout=60)[0]
    assert example.returncode == 0, said
    assert said == "success: {'value': {'branch': 'fix-login'}}\n"


def test_the_example_of_a_step_that_is_tried_again(place: Place) -> None:
    asked: list[str] = []

    class Flaky(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200 if len(asked) == 3 else 503)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", place.upstream), Flaky)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        example = place.example("retry.py", f"http://127.0.0.1:{place.upstream}/orders")
        said = example.communicate(timeout=60)[0]
    finally:
        server.shutdown()
        server.server_close()
    assert example.returncode == 0, said
    assert said.splitlines()[-1] == "success"
    assert len(asked) == 3


def test_the_types_are_those_of_the_server(place: Place, tmp_path: Path) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps(place.web.rest("/schema?format=json").json()))
    command = [sys.executable, str(CLIENTS / "generate_types.py"), "--check", "--schema", str(schema)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
