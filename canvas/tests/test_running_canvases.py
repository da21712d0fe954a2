"""Canvases run by the real engine: what is drawn decides what runs, in which order, and what is left out."""

from typing import Any

import pytest

from canvas.catalogue import current_catalogue
from canvas.compilation import compile_canvas
from canvas.tests.drawing import edge, edges, node
from workflows.models import LogEntry
from workflows.tests.pumping import Engine, output_of, runs_of


def run(engine: Engine, nodes: list[Any], drawn: list[Any], **inputs: Any) -> tuple[Any, list[str]]:
    """Run the canvas to its end; returns the execution and the states that ran, in the order they began."""
    outcome = compile_canvas("drawn", nodes, drawn, current_catalogue())
    assert outcome.document is not None, outcome.problems
    execution = engine.ended(engine.start(outcome.document, inputs))
    runs = [r for r in runs_of(execution.pk) if r.state != "parallel"]
    assert all(r.status == "success" for r in runs), [(r.state, r.error) for r in runs]
    return execution, [r.state for r in sorted(runs, key=lambda r: r.started_at)]


@pytest.fixture
def pumped(engine: Engine) -> Engine:
    """An engine with a pump and a clock."""
    engine.pump()
    engine.clock()
    return engine


def test_a_diamond_runs_in_the_order_of_its_edges(pumped: Engine) -> None:
    nodes = [node("a", value=1), node("b", value="${a.output.value}"), node("c"), node("d", value="${b.output.value}")]
    execution, order = run(pumped, nodes, edges("a b d", "a c d"))
    assert execution.status == "success"
    assert (order[0], order[-1], sorted(order)) == ("a", "d", ["a", "b", "c", "d"])
    assert output_of(execution.pk, "d") == {"value": 1}


@pytest.mark.parametrize("value, ran", [(1, ["a", "step", "b"]), (0, ["a", "b"])])
def test_a_step_in_the_middle_may_be_left_out(pumped: Engine, value: int, ran: list[str]) -> None:
    nodes = [node("a", value=value), node("step"), node("b")]
    drawn = [edge("a", "step", "value > 0"), edge("a", "b", "value <= 0"), edge("step", "b")]
    execution, order = run(pumped, nodes, drawn)
    assert (execution.status, order) == ("success", ran)


@pytest.mark.parametrize("score, ran", [(10, "high"), (90, "low"), (50, "other")])
def test_of_several_conditions_each_has_its_say_and_else_the_rest(pumped: Engine, score: int, ran: str) -> None:
    nodes = [node("a", value={"score": score}), node("high"), node("low"), node("other"), node("join")]
    drawn = [
        edge("a", "high", "value.score < 20"),
        edge("a", "low", "${a.output.value.score} >= 80"),
        edge("a", "other", "else"),
        *edges("high join", "low join", "other join"),
    ]
    execution, order = run(pumped, nodes, drawn)
    assert (execution.status, order) == ("success", ["a", ran, "join"])


def test_a_join_of_skipped_nodes_is_skipped_and_what_follows_it(pumped: Engine) -> None:
    nodes = [node("a", value=0), node("b"), node("c"), node("join"), node("after")]
    drawn = [edge("a", "b", "value == 1"), edge("a", "c", "value == 2"), *edges("b join after", "c join")]
    execution, order = run(pumped, nodes, drawn)
    assert (execution.status, order) == ("success", ["a"])
    skipped = LogEntry.objects.filter(execution=execution, event="branch.skipped")
    assert skipped.count() >= 2


def test_a_condition_on_a_skipped_node_does_not_hold_even_when_it_is_negative(pumped: Engine) -> None:
    # "value != 5" of a node that never ran: nothing is not five, but nothing happened either.
    nodes = [node("a", value=0), node("b"), node("c", value=0), node("d")]
    drawn = [
        edge("a", "b", "value == 1"),
        edge("a", "c"),
        edge("b", "d", "{% $not(b.output.value = 5) %}"),
        edge("c", "d", "value == 1"),
    ]
    execution, order = run(pumped, nodes, drawn)
    assert (execution.status, order) == ("success", ["a", "c"])


def test_a_wait_counts_as_having_run_though_it_gives_nothing(pumped: Engine) -> None:
    wait = {"id": "wait", "type": "wait", "data": {"duration": "10ms"}}
    nodes = [node("a", value=1), wait, node("b"), node("c")]
    drawn = [edge("a", "wait", "value == 1"), *edges("wait c"), edge("a", "c", "value == 2"), *edges("a b")]
    execution, order = run(pumped, nodes, drawn)
    assert execution.status == "success"
    assert set(order) == {"a", "wait", "b", "c"}


def test_the_inputs_decide_at_the_start(pumped: Engine) -> None:
    begin = {"id": "start", "type": "start", "data": {"config": {"who": "world", "loud": False}}}
    nodes = [begin, node("say", value="${workflow.input.who}"), node("shout", value="!")]
    drawn = [edge("start", "say"), edge("start", "shout", "loud == true")]
    execution, order = run(pumped, nodes, drawn)
    assert (order, output_of(execution.pk, "say")) == (["say"], {"value": "world"})
    _, order = run(pumped, nodes, drawn, loud=True)
    assert sorted(order) == ["say", "shout"]


def test_more_nodes_side_by_side_than_a_parallel_runs_by_default(pumped: Engine) -> None:
    # Forty waits at once: with ten at a time they would take four times as long, and the drawing says no such thing.
    waits = [{"id": f"w{i}", "type": "wait", "data": {"duration": "1s"}} for i in range(40)]
    nodes = [node("a"), *waits, node("z")]
    drawn = [e for i in range(40) for e in edges(f"a w{i} z")]
    execution, order = run(pumped, nodes, drawn)
    assert (execution.status, len(order)) == ("success", 42)
    waiting = [(r.started_at, r.ended_at) for r in runs_of(execution.pk) if r.type == "Wait"]
    assert max(sum(begun <= at < over for begun, over in waiting) for at, _ in waiting) > 10
