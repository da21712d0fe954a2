"""A spec drawn as a canvas compiles to what it was; what a canvas cannot show is named."""

from typing import Any

import pytest

from canvas.catalogue import current_catalogue
from canvas.compilation import compile_canvas
from canvas.drawing import Drawing, draw_spec
from workflows.activities.registry import registry
from workflows.spec.validator import validate_spec

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


def test_waits_and_names_like_the_ends_are_drawn_too() -> None:
    drawing = drawn({"name": "start", "type": "Wait", "duration": "5s", "next": "end"}, echo("end", end=True))
    assert [node["id"] for node in drawing.nodes] == ["start-1", "start", "end", "end-1"]
    document = compiled(drawing)
    assert [(state["name"], state["type"]) for state in document["states"]] == [("start", "Wait"), ("end", "Task")]


@pytest.mark.parametrize(
    "states, says",
    [
        ([echo("A", catch=[{"next": "B"}], end=True), echo("B", end=True)], "after a failure"),
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
