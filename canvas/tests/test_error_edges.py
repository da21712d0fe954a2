"""Edges that are taken when a step failed: what they catch, what runs then, what may be read there."""

from typing import Any

import pytest

from canvas.catalogue import current_catalogue
from canvas.compilation import Compiled, compile_canvas
from canvas.tests.drawing import edge, edges, end, node, start
from workflows.activities import testing  # noqa: F401 - registers FailActivity
from workflows.tests.pumping import Engine, output_of, runs_of


def on_error(source: str, target: str, *names: str, **data: Any) -> dict[str, Any]:
    key = f"{source}-{target}"
    return {"id": key, "source": source, "target": target, "data": {"on_error": list(names) or ["*"], **data}}


def failing(name: str, error: str = "ActivityError") -> dict[str, Any]:
    config = {"message": "no luck", "name": error}
    return {"id": name, "type": "activity", "data": {"activity": "FailActivity", "config": config, "retry": 1}}


def compiled(nodes: list[Any], drawn: list[Any]) -> Compiled:
    return compile_canvas("drawn", nodes, drawn, current_catalogue())


def codes(outcome: Compiled) -> list[str]:
    return [problem.code for problem in outcome.problems if problem.code not in ("no-start", "no-end")]


def ran(engine: Engine, nodes: list[Any], drawn: list[Any]) -> tuple[Any, set[str]]:
    outcome = compiled(nodes, drawn)
    assert outcome.document is not None, outcome.problems
    execution = engine.ended(engine.start(outcome.document, {}))
    return execution, {run.state for run in runs_of(execution.pk)} - {"parallel"}


@pytest.fixture
def pumped(engine: Engine) -> Engine:
    engine.pump()
    engine.clock()
    return engine


def test_a_failure_leads_where_its_edge_does_and_not_on(pumped: Engine) -> None:
    nodes = [failing("try"), node("fine"), node("mend", value="${try.error.message}"), node("after")]
    drawn = [*edges("try fine"), on_error("try", "mend"), *edges("fine after", "mend after")]
    assert codes(compiled(nodes, drawn)) == []
    execution, states = ran(pumped, nodes, drawn)
    assert execution.status == "success"
    assert states == {"try", "try-caught", "mend", "after"}
    assert output_of(execution.pk, "mend") == {"value": "no luck"}


def test_without_a_failure_the_edge_is_not_taken(pumped: Engine) -> None:
    nodes = [node("try", value=1), node("fine", value="${try.output.value}"), node("mend"), node("after")]
    drawn = [*edges("try fine"), on_error("try", "mend"), *edges("fine after", "mend after")]
    execution, states = ran(pumped, nodes, drawn)
    assert (execution.status, states) == ("success", {"try", "fine", "after"})


def test_each_error_goes_to_the_first_edge_that_takes_it(pumped: Engine) -> None:
    nodes = [failing("try", "QuotaExceeded"), node("slow"), node("quota"), node("other")]
    drawn = [
        on_error("try", "slow", "Timeout"),
        on_error("try", "quota", "QuotaExceeded", "Busy"),
        on_error("try", "other"),
    ]
    execution, states = ran(pumped, nodes, drawn)
    assert (execution.status, states) == ("success", {"try", "try-caught", "quota"})


def test_what_no_edge_takes_fails_the_run(pumped: Engine) -> None:
    nodes = [failing("try"), node("slow")]
    execution, states = ran(pumped, nodes, [on_error("try", "slow", "Timeout")])
    assert (execution.status, states) == ("failed", {"try"})


def test_an_edge_into_the_end_lets_a_failure_pass(pumped: Engine) -> None:
    nodes = [start(), failing("try"), end()]
    execution, states = ran(pumped, nodes, [*edges("start try"), on_error("try", "end")])
    assert (execution.status, states) == ("success", {"try", "try-caught"})


def test_a_retry_or_another_way_may_meet_again(pumped: Engine) -> None:
    nodes = [failing("try"), node("mend", value=2), node("after", value="${mend.output.value:-none}")]
    drawn = [*edges("try after"), on_error("try", "mend"), *edges("mend after")]
    execution, states = ran(pumped, nodes, drawn)
    assert states == {"try", "try-caught", "mend", "after"}
    assert output_of(execution.pk, "after") == {"value": 2}


def test_the_spec_says_it_as_a_catch() -> None:
    nodes = [{**node("try"), "data": {"label": "Try it", "activity": "EchoActivity", "config": {}}}, node("try-caught")]
    outcome = compiled(nodes, [on_error("try", "try-caught", "Timeout", "Busy")])
    assert outcome.document is not None
    first, second = outcome.document["states"][0]["branches"]
    caught = first["states"][0]["catch"][0]
    assert caught == {"errors": ["Timeout", "Busy"], "next": "try-caught-2"}
    assert first["states"][1]["name"] == "try-caught-2"
    assert second["when"] == '{% $exists(try.error) and try.error.name in ["Timeout", "Busy"] %}'


def test_what_the_failed_step_would_have_given_is_not_certain_behind_it() -> None:
    nodes = [node("try", value=1), node("mend", value="${try.output.value}")]
    assert codes(compiled(nodes, [on_error("try", "mend")])) == ["reference-may-be-skipped"]
    nodes = [node("try", value=1), node("fine", value="${try.error.message}"), node("mend")]
    assert codes(compiled(nodes, [*edges("try fine"), on_error("try", "mend")])) == []


@pytest.mark.parametrize(
    "drawn, code",
    [
        ([on_error("a", "b", condition="value > 1")], "condition-mismatch"),
        ([{**edge("a", "b"), "data": {"on_error": "Timeout"}}], "bad-data"),
        ([{**edge("a", "b"), "data": {"on_error": [7]}}], "bad-data"),
        ([{**edge("a", "b"), "data": {"on_error": ["x"] * 21}}], "bad-data"),
        ([on_error("a", "b"), on_error("a", "c", "Timeout")], "error-taken-before"),
        ([on_error("wait", "b"), *edges("a c")], "error-of-what-cannot-fail"),
        ([on_error("a", "b"), on_error("b", "a")], "cycle"),
        ([on_error("a", "gone")], "unknown-node"),
    ],
)
def test_what_makes_no_sense_is_told(drawn: list[Any], code: str) -> None:
    wait = {"id": "wait", "type": "activity", "data": {"stateType": "Wait", "config": {"duration": "1s"}}}
    assert code in codes(compiled([node("a"), node("b"), node("c"), wait], drawn))


def test_an_empty_list_is_no_rule() -> None:
    outcome = compiled([node("a"), node("b")], [{**edge("a", "b"), "data": {"on_error": []}}])
    assert outcome.document is not None
    assert [state["name"] for state in outcome.document["states"]] == ["a", "b"]
    assert "catch" not in outcome.document["states"][0]
