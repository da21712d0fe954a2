"""A spec drawn as a canvas compiles to what it was; what a canvas cannot show is named."""

from typing import Any

import pytest

from canvas.catalogue import current_catalogue
from canvas.compilation import compile_canvas
from canvas.drawing import Drawing, draw_spec
from workflows.activities import testing  # noqa: F401 - registers FailActivity
from workflows.activities.registry import registry
from workflows.spec.validator import validate_spec
from workflows.tests.pumping import Engine, output_of, runs_of

ECHO = "EchoActivity"


def echo(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": "Task", "resource": ECHO, "parameters": {"value": name}, **more}


def drawn(*states: dict[str, Any], **document: Any) -> Drawing:
    spec = {"name": "drawn", "states": list(states), **document}
    report = validate_spec(spec, activities=registry.all())
    assert report.valid, report.as_text()
    return draw_spec(spec)


def compiled(drawing: Drawing) -> dict[str, Any]:
    outcome = compile_canvas("drawn", drawing.nodes, drawing.edges, current_catalogue())
    assert outcome.document is not None, outcome.problems
    assert not [p for p in outcome.problems if p.severity == "error"]
    return outcome.document


def edges(drawing: Drawing) -> list[tuple[str, str, str | None]]:
    return [(e["source"], e["target"], e.get("data", {}).get("condition")) for e in drawing.edges]


def test_a_chain_stays_one_with_its_inputs_limits_and_retries() -> None:
    drawing = drawn(
        echo("A", next="B", timeout="20s", retry={"maxAttempts": 2}),
        echo("B", end=True),
        input={"who": "ada"},
        errorHandling="continue",
        timeout="1h",
    )
    document = compiled(drawing)
    assert (document["input"], document["errorHandling"], document["timeout"]) == ({"who": "ada"}, "continue", "1h")
    assert document["states"] == [
        echo("A", timeout="20s", retry={"maxAttempts": 2}, next="B"),
        echo("B", end=True),
    ]
    assert [node["position"]["x"] for node in drawing.nodes] == sorted(node["position"]["x"] for node in drawing.nodes)
    assert len({tuple(node["position"].values()) for node in drawing.nodes}) == 4


def test_states_without_next_follow_each_other() -> None:
    assert edges(drawn(echo("A"), echo("B"))) == [("start", "A", None), ("A", "B", None), ("B", "end", None)]


def test_a_decision_becomes_conditional_edges() -> None:
    drawing = drawn(
        echo("A", next="Which"),
        {
            "name": "Which",
            "type": "Choice",
            "choices": [{"when": "{% A.output.value = 1 %}", "next": "B"}],
            "default": "C",
        },
        echo("B", end=True),
        echo("C", end=True),
    )
    assert edges(drawing) == [
        ("start", "A", None),
        ("A", "B", "{% A.output.value = 1 %}"),
        ("A", "C", "{% $not(A.output.value = 1) %}"),
        ("B", "end", None),
        ("C", "end", None),
    ]
    whens = {branch["name"]: branch.get("when") for branch in compiled(drawing)["states"][0]["branches"]}
    assert set(whens) == {"A", "B", "C"}
    assert whens["A"] is None
    assert "$not(A.output.value = 1)" in str(whens["C"])


def test_a_step_that_may_be_left_out_is_a_way_beside_it() -> None:
    drawing = drawn(
        echo("A", next="If"),
        {
            "name": "If",
            "type": "Choice",
            "choices": [{"when": "{% A.output.value = 1 %}", "next": "B"}],
            "default": "C",
        },
        echo("B", next="C"),
        echo("C", end=True),
    )
    assert edges(drawing) == [
        ("start", "A", None), ("A", "B", "{% A.output.value = 1 %}"), ("A", "C", None), ("B", "C", None),
        ("C", "end", None),
    ]  # fmt: skip
    compiled(drawing)


def test_a_decision_that_ends_is_an_edge_that_is_not_taken() -> None:
    drawing = drawn(
        echo("A", next="If"),
        {
            "name": "If",
            "type": "Choice",
            "choices": [{"when": "{% A.output.value = 1 %}", "next": "B"}],
            "default": "No",
        },
        echo("B", end=True),
        {"name": "No", "type": "Succeed"},
    )
    assert [edge[:2] for edge in edges(drawing)] == [("start", "A"), ("A", "B"), ("B", "end")]
    compiled(drawing)


def failing(name: str, **more: Any) -> dict[str, Any]:
    told = {"message": f"no {name}", "name": "ActivityError"}
    catch = [{"errors": ["*"], "next": "Tell", "resultPath": "failure"}]
    return {"name": name, "type": "Task", "resource": "FailActivity", "parameters": told, "catch": catch, **more}


def test_a_failure_path_is_drawn_and_runs_as_the_spec_did(engine: Engine) -> None:
    engine.pump()
    message = "${workflow.name} failed at ${vars.failure.state}: ${vars.failure.message}"
    states = (
        echo("A", catch=failing("x")["catch"], next="B"),
        failing("B", next="C", retry={"maxAttempts": 1}),
        echo("C", end=True),
        {**echo("Tell", next="Failed"), "parameters": {"value": message}},
        {"name": "Failed", "type": "Fail", "error": "StepFailed", "cause": "${vars.failure.message}"},
    )
    drawing = drawn(*states)
    assert drawing.left_out == []
    assert {(e["source"], e["target"]) for e in drawing.edges if "on_error" in e.get("data", {})} == {
        ("A", "Tell"), ("B", "Tell")
    }  # fmt: skip
    said = []
    for document in ({"name": "drawn", "states": list(states)}, compiled(drawing)):
        ended = engine.run(document)
        assert ended.status == "failed"
        assert "no B" in str(ended.error)
        said.append(output_of(ended.pk, "Tell"))
        assert "C" not in {run.state for run in runs_of(ended.pk)}
    assert said == [{"value": "drawn failed at B: no B"}] * 2


def test_what_one_step_caught_is_read_as_its_error() -> None:
    mend = {**echo("B", end=True), "parameters": {"value": "${vars.why.message} of ${vars.why.state}"}}
    drawing = drawn(echo("A", catch=[{"errors": ["Timeout"], "next": "B", "resultPath": "why"}], end=True), mend)
    assert drawing.nodes[2]["data"]["config"] == {"value": "${A.error.message} of A"}
    assert compiled(drawing)["states"][0]["branches"][1]["when"] == (
        '{% $exists(A.error) and A.error.name in ["Timeout"] %}'
    )
    mend["parameters"] = {"value": "{% vars.why.details %}"}
    drawing = drawn(echo("A", catch=[{"next": "B", "resultPath": "why"}], end=True), mend)
    assert drawing.left_out == ["What B reads of the failure before it is kept in a variable, which a canvas has not."]


def test_nothing_comes_after_a_fail() -> None:
    fail = {"id": "F", "type": "activity", "data": {"label": "F", "stateType": "Fail", "config": {"error": "No"}}}
    nodes = [fail, {"id": "A", "type": "activity", "data": {"label": "A", "activity": ECHO, "config": {"value": 1}}}]
    outcome = compile_canvas("x", nodes, [{"id": "e", "source": "F", "target": "A"}], current_catalogue())
    assert [p.code for p in outcome.problems if p.severity == "error"] == ["edge-out-of-fail"]


def test_waits_and_names_like_the_ends_are_drawn_too() -> None:
    drawing = drawn({"name": "start", "type": "Wait", "duration": "5s", "next": "end"}, echo("end", end=True))
    assert [node["id"] for node in drawing.nodes] == ["start-1", "start", "end", "end-1"]
    document = compiled(drawing)
    assert [(state["name"], state["type"]) for state in document["states"]] == [("start", "Wait"), ("end", "Task")]


@pytest.mark.parametrize(
    "states, says",
    [
        (
            [
                echo("A", catch=[{"next": "If"}], end=True),
                {"name": "If", "type": "Choice", "choices": [{"when": "{% A.error.name = 'x' %}", "next": "B"}],
                 "default": "C"},
                echo("B", end=True),
                echo("C", end=True),
            ],
            "What decides after a failure of A",
        ),
        ([echo("A", next="M"), {"name": "M", "type": "Pass", "result": 1, "end": True}], "The Pass M cannot be drawn"),
        (
            [
                echo("A", next="If"),
                {"name": "If", "type": "Choice", "choices": [{"when": "{% A.output.value = 1 %}", "next": "A"}],
                 "default": "B"},
                echo("B", end=True),
            ],
            "The way back from A to A cannot be drawn",
        ),
    ],
    ids=["catch", "pass", "loop"],
)  # fmt: skip
def test_what_a_canvas_cannot_show_is_left_out_and_named(states: list[dict[str, Any]], says: str) -> None:
    drawing = drawn(*states)
    assert any(says in sentence for sentence in drawing.left_out), drawing.left_out
    compiled(drawing)
