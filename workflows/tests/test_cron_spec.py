"""A CronWorkflowSpec is judged whole: the schedule and what it runs, over REST as in code."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from jsonschema import Draft202012Validator

from workflows.activities.registry import registry
from workflows.models import Execution, Role, SpecDocument
from workflows.spec.cron_schema import flow_of
from workflows.spec.cron_validator import validate_cron_spec
from workflows.spec.validator import validate_spec
from workflows.tests.people import customer, member, signed_in

NOW = datetime(2026, 11, 30, tzinfo=UTC)
NIGHTLY: dict[str, Any] = {
    "name": "nightly",
    "schedule": "0 2 * * *",
    "timezone": "Europe/Berlin",
    "overlapPolicy": "queue",
    "catchUp": "2h",
    "jitter": "5m",
    "maxRuns": 10,
    "startAt": "2026-12-24T00:00:00Z",
    "endAt": "2027-12-24T00:00:00Z",
    "startState": "Second",
    "states": [{"name": "First", "type": "Pass", "end": True}, {"name": "Second", "type": "Pass", "next": "First"}],
}
SCHEMA = json.loads((Path(settings.BASE_DIR) / "docs" / "reference" / "cron-spec.schema.json").read_text())


def test_a_valid_one_has_its_reading_and_next_runs_and_the_spec_that_runs() -> None:
    report = validate_cron_spec(NIGHTLY, now=NOW)
    assert report.problems == [], report.as_text()
    assert report.reading == "At 02:00, in Europe/Berlin"
    assert report.next_runs[0] == datetime(2026, 12, 24, 1, tzinfo=UTC)
    assert report.spec is not None
    assert report.spec.start_at == "Second"
    assert report.cron is not None
    assert report.cron.overlap_policy == "queue"
    assert validate_spec(flow_of(NIGHTLY)).valid
    assert Draft202012Validator(SCHEMA).is_valid(NIGHTLY)


@pytest.mark.parametrize(
    "change, path, code, word",
    [
        ({"schedule": "0 25 * * *"}, "schedule", "bad-cron", "hour"),
        ({"schedule": "0 0 31 2 *"}, "schedule", "bad-cron", "never comes"),
        ({"schedule": 5}, "schedule", "wrong-type", "text"),
        ({"schedule": None}, "schedule", "wrong-type", "text"),
        ({"timezone": "Europe/Berln"}, "timezone", "unknown-zone", 'did you mean "Europe/Berlin"?'),
        ({"cronTimezone": "UTC"}, "cronTimezone", "exactly-one", "timezone"),
        ({"shedule": "x"}, "shedule", "unknown-key", 'did you mean "schedule"?'),
        ({"startAt": "First"}, "startAt", "bad-time", "startState"),
        ({"startState": "Third"}, "startState", "unknown-state", "Third"),
        ({"endAt": "2026-12-01T00:00:00Z"}, "endAt", "out-of-range", "after startAt"),
        ({"endAt": "2026-12-24T00:30:00Z"}, "endAt", "never-runs", "before its first run"),
        ({"overlapPolicy": "wait"}, "overlapPolicy", "wrong-value", "cancel-other"),
        ({"catchUp": 7}, "catchUp", "wrong-type", "duration"),
        ({"catchUp": "9000h"}, "catchUp", "duration-out-of-range", "too long"),
        ({"jitter": "soon"}, "jitter", "bad-duration", "30s"),
        ({"jitter": "25h"}, "jitter", "duration-out-of-range", "24h"),
        ({"maxRuns": 0}, "maxRuns", "out-of-range", "at least 1"),
        ({"enabled": "yes"}, "enabled", "wrong-type", "true or false"),
        ({"states": []}, "states", "out-of-range", "empty"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(change: dict[str, Any], path: str, code: str, word: str) -> None:
    report = validate_cron_spec({**NIGHTLY, **change}, now=NOW)
    found = [problem for problem in report.errors if (problem.path, problem.code) == (path, code)]
    assert found, report.as_text()
    assert word in str(found[0])
    assert report.spec is report.cron is None


@pytest.mark.parametrize("rubbish", [None, 5, "x", [], {}, {"schedule": {}}, {"schedule": "* * * * *", "states": [1]}])
def test_rubbish_is_no_cron_spec_and_no_crash(rubbish: Any) -> None:
    assert not validate_cron_spec(rubbish).valid


def test_the_zone_may_go_by_the_name_the_router_uses() -> None:
    document = {key: value for key, value in NIGHTLY.items() if key != "timezone"} | {"cronTimezone": "Asia/Tokyo"}
    assert validate_cron_spec(document, now=NOW).reading.endswith("in Asia/Tokyo")


@pytest.mark.django_db
def test_over_rest_a_spec_with_a_schedule_is_judged_as_one() -> None:
    caller = signed_in(member(customer(), Role.VIEWER))
    document = {**NIGHTLY, "startAt": None, "endAt": None}
    body = caller.post("/specs/validate", {"spec": document}, format="json").json()
    assert body["valid"] is True
    assert body["schedule"]["reading"] == "At 02:00, in Europe/Berlin"
    assert len(body["schedule"]["nextRuns"]) == 5
    body = caller.post("/specs/validate", {"spec": {**document, "schedule": "x"}}, format="json").json()
    assert body["valid"] is False
    assert "schedule" not in body
    assert body["problems"][0]["code"] == "bad-cron"
    assert SpecDocument.objects.count() == Execution.objects.count() == 0


def test_the_example_of_the_reference_is_valid_and_runs_at_two_in_berlin() -> None:
    text = (Path(settings.BASE_DIR) / "docs" / "reference" / "schedules.md").read_text()
    (example,) = re.findall(r"^```json\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    report = validate_cron_spec(example, activities=registry.all())
    assert report.problems == [], report.as_text()
    assert report.reading == "At 02:00, in Europe/Berlin"
    assert Draft202012Validator(SCHEMA).is_valid(json.loads(example))
