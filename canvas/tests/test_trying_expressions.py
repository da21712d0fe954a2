"""A condition or an expression is tried on sample data before a run depends on it, under the bounds of a run."""

import time
from typing import Any

import pytest

from canvas.tests.asking import client, post
from workflows.models import Role

pytestmark = pytest.mark.django_db

DATA = {"scan": {"output": {"riskLevel": "high", "found": [3, 4]}}, "workflow": {"input": {"who": "Ada"}}}


def tried(expression: str, **more: Any) -> Any:
    return post(client(), "/expressions/evaluate", {"expression": expression, "data": DATA, **more})


@pytest.mark.parametrize(
    "expression, more, value, holds",
    [
        ('riskLevel == "high"', {"source": "scan"}, True, True),
        ('Scanner.output.riskLevel != "high"', {"source": "scan", "labels": {"Scanner": "scan"}}, False, False),
        ("{% $sum(Scanner.output.found) %}", {"source": "scan", "labels": {"Scanner": "scan"}}, 7, True),
        ("who = 'Ada'", {"source": "workflow"}, True, True),
        ("scan.output.found[1] * 2", {}, 8, True),
        ("{% scan.output.absent %}", {}, None, False),
    ],
)
def test_it_gives_what_a_run_would_read(expression: str, more: Any, value: Any, holds: bool) -> None:
    answer = tried(expression, **more)
    assert answer.status_code == 200, answer.content
    assert (answer.json()["value"], answer.json()["holds"]) == (value, holds)


@pytest.mark.parametrize(
    "expression, more, message, position",
    [
        ("scan.output.found +", {}, "Unexpected end of expression", 18),
        ("{% scan.output. %}", {}, "Unexpected end of expression", 14),
        ("riskLevel ==", {"source": "scan"}, "a value is missing at the end", None),
        ("scan.output.riskLevel - 1", {}, "must evaluate to a number", None),
        ("else", {"source": "scan"}, "there is nothing to evaluate", None),
        (" ", {}, "the expression is empty", None),
        ("[1..300000]", {}, "at most 262144 are shown", None),
    ],
)
def test_what_fails_is_told_with_its_place(expression: str, more: Any, message: str, position: int | None) -> None:
    answer = tried(expression, **more)
    assert answer.status_code == 422
    details = answer.json()["details"]
    assert message in details["message"]
    assert 'the expression "' not in details["message"]
    assert details["position"] == position


def test_what_never_ends_is_stopped() -> None:
    began = time.monotonic()
    answer = tried("($again := function($x){$again($x + 1)}; $again(1))")
    assert answer.status_code == 422
    assert "takes longer than 1 s" in answer.json()["error"]
    assert time.monotonic() - began < 30


def test_bodies_that_are_none_and_too_much_data_are_refused() -> None:
    for body in ({}, {"expression": 7}, {"expression": "1", "data": []}, {"expression": "1", "date": {}}):
        assert post(client(), "/expressions/evaluate", body).status_code == 400
    large = post(client(), "/expressions/evaluate", {"expression": "1", "data": {"a": "x" * 1_100_000}})
    assert large.status_code == 400
    assert "at most 1048576 may be sent" in large.json()["error"]
    assert post(client(Role.VIEWER), "/expressions/evaluate", {"expression": "1"}).status_code == 403
