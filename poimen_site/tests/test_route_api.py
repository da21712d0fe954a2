"""``POST /route``: from a sentence to a draft that can be run, or to questions; nothing runs by itself."""

from typing import Any

import pytest

from canvas.tests.asking import client, post
from poimen_site.tests.test_api_docs import document
from workflows.models import Execution, Role, Workflow, WorkflowVersion

pytestmark = pytest.mark.django_db

SCAN = "scan https://git.example.org/acme/shop.git on branch develop and write an html report"


def routed(message: str, code: int = 201, role: Role = Role.EDITOR, **more: Any) -> dict[str, Any]:
    answer = post(client(role), "/route", {"message": message, **more})
    assert answer.status_code == code, answer.content
    body: dict[str, Any] = answer.json()
    return body


def test_a_sentence_becomes_a_draft_that_compiles_to_what_was_answered() -> None:
    body = routed(SCAN)
    assert body["isCron"] is False
    assert body["source"] == "fallback"
    assert body["questions"] == []
    workflow = Workflow.objects.get(pk=body["workflowId"])
    version = WorkflowVersion.objects.select_related("spec").get(workflow=workflow)
    assert (workflow.status, workflow.description, workflow.name) == ("draft", SCAN, body["spec"]["name"])
    assert version.spec is not None
    assert version.spec.document["input"] == body["spec"]["input"] == {
        "repo": "https://git.example.org/acme/shop.git", "branch": "develop", "format": "html",
    }  # fmt: skip
    ran = [(state["name"], state["resource"], state["parameters"]) for state in version.spec.document["states"]]
    assert ran == [(state["name"], state["resource"], state["parameters"]) for state in body["spec"]["states"]]
    assert [name for name, *_ in ran] == ["Clone", "SecurityScan", "Report"]
    assert not Execution.objects.exists()


def test_a_dry_run_and_open_questions_save_nothing() -> None:
    assert "workflowId" not in routed(SCAN, 200, dryRun=True)
    asked = routed("scan my repository", 200)
    assert "spec" not in asked
    assert "canvas" not in asked
    assert [question["parameter"] for question in asked["questions"]] == ["repo"]
    assert not Workflow.objects.exists()


def test_the_answer_to_a_question_goes_into_the_context() -> None:
    body = routed("scan my repository", context={"repo": "https://git.example.org/acme/shop.git"})
    assert body["spec"]["input"]["repo"] == "https://git.example.org/acme/shop.git"


def test_a_schedule_makes_a_cron_spec_and_the_draft_of_what_it_runs() -> None:
    body = routed(SCAN + " every weekday at 7:30 in Berlin")
    assert body["isCron"] is True
    assert (body["cronSpec"]["schedule"], body["cronSpec"]["timezone"]) == ("30 7 * * 1-5", "Europe/Berlin")
    assert "spec" not in body
    assert Workflow.objects.get(pk=body["workflowId"]).status == "draft"


def test_what_is_to_happen_after_a_failure_is_drawn_and_runs() -> None:
    body = routed(SCAN + " and if it fails, email ada@example.org")
    assert body["canvas"]["leftOut"] == []
    caught = {e["source"]: e["target"] for e in body["canvas"]["edges"] if e.get("data", {}).get("on_error")}
    assert caught == dict.fromkeys(("Clone", "SecurityScan", "Report"), "NotifyFailure")
    version = WorkflowVersion.objects.select_related("spec").get(workflow=body["workflowId"])
    assert version.spec is not None, version.problems
    (parallel,) = version.spec.document["states"]
    assert [state["name"] for state in parallel["branches"][-1]["states"]] == ["NotifyFailure", "Failed"]


def test_error_handling_and_the_time_limit_are_drawn_at_the_start() -> None:
    body = routed(SCAN + ". Keep going if a step fails. It must not take longer than 20 minutes.")
    assert (body["spec"]["errorHandling"], body["spec"]["timeout"]) == ("continue", "20m")
    version = WorkflowVersion.objects.select_related("spec").get(workflow=body["workflowId"])
    assert version.spec is not None
    assert (version.spec.document["errorHandling"], version.spec.document["timeout"]) == ("continue", "20m")


@pytest.mark.parametrize(
    "body, says",
    [
        ({}, "message: "),
        ({"message": "  "}, "message: "),
        ({"message": "x" * 4001}, "message: "),
        ({"message": "x", "context": "y" * 20_000}, "context: at most 16 KiB"),
        ({"message": "x", "context": {"schedule": [1]}}, "context: schedule: expected how often, as text"),
        ({"message": "x", "context": {"message": {"a": 1}}}, "context: message: expected text"),
        ({"message": "x", "context": {"repo": "${workflow.input.x}"}}, "context: repo: expected the value itself"),
        ({"message": "x", "context": {"to": ["{% 1 + 1 %}"]}}, "context: to: expected the value itself"),
        ({"message": "x", "dryrun": True}, 'dryrun: unknown key (did you mean "dryRun"?)'),
    ],
)
def test_bad_bodies_are_refused_by_naming_the_field(body: Any, says: str) -> None:
    answer = post(client(), "/route", body)
    assert answer.status_code == 400
    assert says in answer.json()["error"]


def test_what_is_answered_is_what_the_documentation_says() -> None:
    answer = document()["components"]["schemas"]["RouteAnswer"]["properties"]
    for message in (SCAN, SCAN + " daily", "what?"):
        assert set(routed(message, 200, dryRun=True)) <= set(answer)
