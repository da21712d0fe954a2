"""Notes and groups: kept as they were drawn, and nothing to what is judged and what runs."""

from typing import Any

from canvas.compilation import Compiled
from canvas.nodes import fill_node
from canvas.tests.drawing import ACTIVITIES, compiled, edges, end, node, start

NOTE: dict[str, Any] = {
    "id": "note",
    "type": "note",
    "position": {"x": 0, "y": 0},
    "width": 240,
    "data": {"text": "Ask <b>Ada</b>\n${clone.output.nothing}", "colour": "blue"},
}
GROUP: dict[str, Any] = {"id": "group", "type": "group", "data": {"label": "Fetching", "collapsed": True}}


def drawn(*more: dict[str, Any]) -> Compiled:
    clone, echo = node("clone", "CloneRepo", repo="r"), node("echo", value="${clone.output.path}")
    clone["data"]["group"] = "group"
    return compiled([*more, start(), clone, echo, end()], edges("start clone", "clone echo", "echo end"))


def test_they_change_neither_the_problems_nor_the_spec() -> None:
    plain, remarked = drawn(), drawn(NOTE, GROUP)
    assert plain.document is not None
    assert remarked.rows() == plain.rows() == []
    assert remarked.document == plain.document


def test_they_are_no_activities_and_alone_nothing_to_run() -> None:
    assert [p.code for p in compiled([NOTE, GROUP], []).problems if p.severity == "error"] == ["no-activity"]


def test_they_are_kept_as_they_were_sent() -> None:
    assert fill_node(NOTE, ACTIVITIES) == NOTE
    assert fill_node(GROUP, ACTIVITIES, 1)["data"] == GROUP["data"]


def test_whatever_is_written_in_them_is_theirs() -> None:
    odd = {"id": "odd", "type": "note", "position": "here", "data": ["no", "object"]}
    assert drawn(odd).rows() == []


def test_a_twin_of_one_is_told() -> None:
    twins = compiled([NOTE, node("note")], [])
    assert [p.code for p in twins.problems if p.severity == "error"] == ["duplicate-node-id"]
