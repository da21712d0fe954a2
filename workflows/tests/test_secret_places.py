"""Which parameter of which activity a secret is revealed in: only where the field says so, else the state fails."""

from typing import Any

import pytest

from workflows import secrets
from workflows.activities.registry import registry
from workflows.models import Execution, StateRun
from workflows.sent_specs import judge_spec, start_spec
from workflows.spec.secret_handles import misplaced
from workflows.spec.validator import validate_spec
from workflows.tests.people import customer, started
from workflows.tests.pumping import Engine

CANARY = "p@ss/word?#&x"
ENCODED = "p%40ss%2Fword%3F%23%26x"
H = "secret:01936f1e-5d10-7b0a-8c8e-2b1f0a9c4d77"

ADDRESSES: list[tuple[str, bool]] = [
    (f"https://ann:{H}@example.org/", True),
    (f"https://{H}@example.org/", True),
    (f"https://example.org/?token={H}", True),
    (f"https://example.org?token={H}#top", True),
    (f"https://{H}/", False),
    (f"https://{H}.example.org/?a=b", False),
    (f"https://example.org:{H}/", False),
    (f"https://example.org/{H}", False),
    (f"https://example.org/{H}?a=@b", False),
    (f"https://example.org/#a?{H}", False),
    (f"https://example.org\\{H}@a/", False),
    (f"https://a@{H}/", False),
    (f"{H}://example.org/", False),
    (f"{H}@example.org:repo.git", False),
    (H, False),
]


@pytest.mark.parametrize("url, may", ADDRESSES)
def test_an_address_takes_secrets_in_its_user_information_and_query(url: str, may: bool) -> None:
    assert list(misplaced(url, "url", "url")) == ([] if may else [("url", H, url)])


def test_a_field_that_says_nothing_takes_none_however_deep() -> None:
    assert list(misplaced({"a": [1, {"b": f"x {H}"}]}, None, "path")) == [("path.a[1].b", H, f"x {H}")]
    address = f"https://{H}@a/"
    assert list(misplaced([address], "url", "url")) == [("url[0]", H, address)], "an address is one text"


def test_which_activities_take_secrets() -> None:
    """The whole list, so that a new field is a decision."""
    assert {a.name: a.secret_uses for a in registry if not a.internal and a.secret_uses} == {
        "ApproveWorkflowActivity": {"workflowId": "handle", "description": "handle"},
        "ArchiveResultsActivity": {"metadata": "handle", "credentials": "value"},
        "AssumeRoleActivity": {"clientId": "value", "clientSecret": "value"},
        "CanvasReasonerActivity": {"nodes": "handle", "edges": "handle", "auth_token": "value"},
        "CloneRepoActivity": {"repo": "url"},
        "EchoActivity": {"value": "handle"},
        "GenerateReportActivity": dict.fromkeys(("analysisResult", "securityResult", "title"), "handle"),
        "HttpRequestActivity": {"url": "url", "headers": "value", "body": "value"},
        "ImportTasksActivity": {"token": "value"},
        "LLMBatchInferenceActivity": {"auth_token": "value"},
        "LLMInferenceActivity": {"auth_token": "value"},
        "NotifyStatusActivity": {"channel": "value", "message": "handle", "subject": "handle", "url": "value"},
    }


@pytest.mark.django_db
def test_a_secret_in_an_address_is_encoded_and_cannot_lead_elsewhere() -> None:
    acme = customer()
    handle = secrets.seal({"token": CANARY}, acme)["token"]
    given: dict[str, Any] = {
        "url": f"https://ann:{handle}@example.org/?k={handle}",
        "headers": {"X-Key": f"k {handle}"},
        "body": {"deep": [handle]},
    }
    parameters, hidden = secrets.reveal_for(registry.get("HttpRequestActivity"), given, acme)
    assert parameters == {
        "url": f"https://ann:{ENCODED}@example.org/?k={ENCODED}",
        "headers": {"X-Key": f"k {CANARY}"},
        "body": {"deep": [CANARY]},
    }
    said = secrets.conceal(f"{parameters['url']} did not take {CANARY}", hidden)
    assert said == f"{given['url']} did not take {handle}"


def spec(resource: str, **parameters: Any) -> dict[str, Any]:
    state = {"name": "Do", "type": "Task", "resource": resource, "parameters": parameters, "end": True}
    return {"name": "places", "states": [state]}


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("SecurityScanActivity", {"path": "/x/{}"}, "path"),
    ("CloneRepoActivity", {"repo": "https://{}/x.git"}, "repo"),
    ("CloneRepoActivity", {"repo": "https://example.org/x.git", "branch": "{}"}, "branch"),
    ("HttpRequestActivity", {"url": "https://example.org/{}"}, "url"),
    ("HttpRequestActivity", {"url": "https://example.org/", "method": "{}"}, "method"),
    ("HttpRequestActivity", {"url": "https://example.org/", "mispelt": ["{}"]}, "mispelt[0]"),
]


def filled(value: Any, text: str) -> Any:
    if isinstance(value, dict):
        return {key: filled(item, text) for key, item in value.items()}
    return [filled(item, text) for item in value] if isinstance(value, list) else value.replace("{}", text)


@pytest.mark.parametrize("resource, parameters, field", WRONG)
def test_a_written_handle_in_the_wrong_place_is_an_error_of_the_spec(
    resource: str, parameters: dict[str, Any], field: str
) -> None:
    report = validate_spec(spec(resource, **filled(parameters, H)), activities=registry.all())
    found = [problem for problem in report.errors if problem.code == "secret-not-allowed"]
    assert [problem.path for problem in found] == [f"states[0].parameters.{field}"]
    assert H in found[0].message


@pytest.mark.parametrize("resource, parameters, field", WRONG)
def test_one_that_comes_with_the_inputs_fails_the_state(
    engine: Engine, resource: str, parameters: dict[str, Any], field: str
) -> None:
    execution = started(customer(), spec(resource, **filled(parameters, "${workflow.input.token}")), token=CANARY)
    engine.pump()
    assert engine.ended(execution.pk).status == "failed"
    execution = Execution.objects.get(pk=execution.pk)
    error = execution.error
    assert error is not None
    assert error["name"] == "SecretError"
    assert error["retryable"] is False
    assert error["message"].startswith(f"{field}: {execution.inputs['token']} cannot be used here: {resource} takes")
    assert CANARY not in str(StateRun.objects.filter(execution=execution).values())


@pytest.mark.django_db
@pytest.mark.parametrize(
    "resource, parameters, field, words",
    [
        (
            "LLMInferenceActivity",
            {"user_prompt": "what is at https://ann:c4n4ry@example.org/?"},
            "user_prompt",
            "an address here holds a password or token in the open, before its @: LLMInferenceActivity takes secrets",
        ),
        (
            "SecurityScanActivity",
            {"path": "tgram://c4n4ry/42"},
            "path",
            "the address of a service (tgram://...) stands here in the open, and its parts are secrets: ",
        ),
        ("GenerateReportActivity", {"reportType": {"token": "c4n4ry"}}, "reportType.token", "a secret stands here in"),
    ],
)
def test_a_secret_written_in_the_open_where_none_is_taken_is_told_without_a_handle_nobody_wrote(
    resource: str, parameters: dict[str, Any], field: str, words: str
) -> None:
    report = judge_spec(spec(resource, **parameters), customer())
    (found,) = [problem for problem in report.errors if problem.code == "secret-not-allowed"]
    assert found.path == f"states[0].parameters.{field}"
    assert found.message.startswith(words)
    assert found.message.endswith("Leave it out, or keep it as a secret and use its handle where one is taken")
    assert "secret:" not in found.message
    assert "c4n4ry" not in str(report.errors)


@pytest.mark.django_db
def test_the_address_of_a_notification_service_is_whole_for_the_activity_alone(engine: Engine) -> None:
    acme, address = customer(), "ntfys://c4n4ry-token/to%2Fpic"
    given = secrets.seal({"channel": address, "status": "info", "message": "done"}, acme)
    assert "c4n4ry" not in str(given)
    parameters, hidden = secrets.reveal_for(registry.get("NotifyStatusActivity"), given, acme)
    assert parameters["channel"] == address
    assert secrets.conceal(f"cannot reach {address}", hidden) == f"cannot reach {given['channel']}"
    execution, _ = start_spec(spec("EchoActivity", value={"channel": address}), acme, inputs={"other": address})
    engine.pump()
    assert engine.ended(execution.pk).status == "success"
    kept = str([list(rows.values()) for rows in (StateRun.objects.all(), Execution.objects.all())])
    assert "c4n4ry" not in kept
    assert "ntfys://secret:" in kept


def test_what_people_are_shown_keeps_its_handle(engine: Engine) -> None:
    execution = started(customer(), spec("EchoActivity", value={"all": "${workflow.input}"}), token=CANARY)
    engine.pump()
    assert engine.ended(execution.pk).status == "success"
    execution = Execution.objects.get(pk=execution.pk)
    assert execution.inputs["token"].startswith("secret:")
    assert StateRun.objects.get(execution=execution).output == {"value": {"all": execution.inputs}}


def test_a_handle_may_stand_for_a_value_of_any_type() -> None:
    report = validate_spec(
        spec("HttpRequestActivity", url="https://example.org/", headers={"Authorization": H}, body=H),
        activities=registry.all(),
    )
    assert report.problems == []
