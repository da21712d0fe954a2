"""What a canvas was saved as is drawn as that canvas: over REST too, with what is wrong with what cannot be drawn."""

from typing import Any

import pytest

from canvas.drawing import draw_spec
from canvas.tests.asking import client, post
from canvas.tests.drawing import compiled, edge, edges, end, node, start
from workflows.models import Role

FORK: list[dict[str, Any]] = [
    start(repo="r"),
    node("clone", "CloneRepo"),
    node("scan", "SecurityScan", label="Scan it"),
    node("look", "AnalyzeCode"),
    node("more", value=1),
    node("last", value=2),
    end(),
]
CASES: dict[str, list[dict[str, Any]]] = {
    "a fork": edges("start clone", "clone scan", "clone look", "scan more", "look more", "more last", "last end"),
    "a condition on one way": [
        *edges("start clone", "clone scan", "clone look", "look more", "more last", "last end"),
        edge("scan", "more", 'riskLevel == "high"'),
    ],
    "a step that may be left out": [
        *edges("start clone", "clone look", "scan more", "look last", "more last", "last end"),
        edge("clone", "scan", 'branch == "main or (dev)"'),
    ],
    "two ways of which one is taken": [
        *edges("start clone", "clone look", "scan last", "more last", "look end", "last end"),
        edge("clone", "scan", 'branch == "main"'),
        edge("clone", "more", "else"),
    ],
}


@pytest.mark.parametrize("drawn", list(CASES.values()), ids=list(CASES))
def test_a_canvas_comes_back_from_its_spec(drawn: list[dict[str, Any]]) -> None:
    spec = compiled(FORK, drawn).document
    assert spec is not None
    again = draw_spec(spec)
    assert again.left_out == []
    assert {n["id"] for n in again.nodes} == {n["id"] for n in FORK}
    assert {(e["source"], e["target"]) for e in again.edges} == {(e["source"], e["target"]) for e in drawn}
    assert compiled(again.nodes, again.edges).document == spec


def test_a_parallel_of_another_kind_is_named_and_not_drawn() -> None:
    nested = {"name": "in", "type": "Pass", "end": True}
    parallel = {"name": "p", "type": "Parallel", "end": True, "branches": [{"name": "b", "states": [nested]}]}
    assert draw_spec({"name": "x", "states": [parallel]}).left_out == ["The Parallel p cannot be drawn."]


@pytest.mark.django_db
def test_a_spec_is_drawn_over_rest() -> None:
    spec = compiled(FORK, CASES["a fork"]).document
    answer = post(client(Role.VIEWER), "/workflows/draw", {"spec": spec})
    assert answer.status_code == 200
    assert [n["data"]["label"] for n in answer.json()["nodes"]][:3] == ["Start", "clone", "Scan it"]
    assert answer.json()["leftOut"] == []


@pytest.mark.django_db
@pytest.mark.parametrize("sent", [None, "rubbish", [], {}, {"name": "x", "states": [{"name": "a", "type": "What"}]}])
def test_what_is_no_spec_is_refused_with_its_problems(sent: object) -> None:
    answer = post(client(Role.VIEWER), "/workflows/draw", {"spec": sent})
    assert answer.status_code == 422
    assert answer.json()["details"][0]["message"]
