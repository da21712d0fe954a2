"""Where control goes from state to state, and what has run by then."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workflows.spec import flow
from workflows.spec.flow import error_fact, output_fact
from workflows.spec.outline import outline
from workflows.spec.schema import WorkflowSpec


def task(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": "Task", "resource": "EchoActivity", **more}


def choice(name: str, *targets: str, default: str | None = None) -> dict[str, Any]:
    rules = [{"when": "{% true %}", "next": target} for target in targets]
    return {"name": name, "type": "Choice", "choices": rules, **({"default": default} if default else {})}


def ways(*states: dict[str, Any]) -> dict[str, str | None]:
    spec = WorkflowSpec.model_validate({"name": "x", "states": list(states)})
    following = flow.next_map(spec.states)
    assert following == {state.name: flow.next_of(spec.states, index) for index, state in enumerate(spec.states)}
    return following


def test_without_any_next_states_follow_each_other_as_written() -> None:
    assert ways(task("A"), task("B"), task("C")) == {"A": "B", "B": "C", "C": None}


def test_one_next_turns_array_order_off() -> None:
    assert ways(task("A", next="C"), task("B"), task("C")) == {"A": "C", "B": None, "C": None}


def test_end_ends_also_in_array_order() -> None:
    assert ways(task("A"), task("B", end=True), task("C")) == {"A": "B", "B": None, "C": None}


def test_the_jumps_of_a_choice_are_its_own_business() -> None:
    following = ways(task("A"), choice("D", "A"), task("B"), {"name": "S", "type": "Succeed"}, task("C"))
    assert following == {"A": "D", "D": None, "B": "S", "S": None, "C": None}


def known_at(document: dict[str, Any], name: str) -> tuple[set[str], set[str]]:
    """Return what must and what may be known at the state ``name``, as ``A`` or ``A!`` for its error."""
    sketch = outline({"name": "x", **document}, "")
    graphs = {body: flow.graph_of(body) for body in sketch.bodies}
    flow.analyse(sketch.bodies, graphs, failures_go_on=document.get("errorHandling") == "continue")
    node = sketch.by_name[name]
    graph = graphs[node.body]

    def names(facts: int) -> set[str]:
        found = {other.name for other in sketch.nodes if facts & output_fact(other)}
        found |= {f"{other.name}!" for other in sketch.nodes if facts & error_fact(other)}
        return found

    return names(graph.must[node.index] | graph.entry_must), names(graph.may[node.index] | graph.entry_may)


def parallel(name: str, *branches: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": name, "type": "Parallel", "branches": list(branches), **more}


def branch(name: str, *states: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": name, "states": list(states), **more}


DIAMOND = {
    "states": [
        choice("If", "Left", default="Right"),
        task("Left", next="Join"),
        task("Right", next="Join", catch=[{"next": "Mend"}]),
        task("Mend", next="Join"),
        task("Join", end=True),
    ]
}
LOOP = {
    "states": [
        task("First", next="Try"),
        task("Try", next="Again"),
        choice("Again", "Try", default="Last"),
        task("Last", end=True),
    ]
}
FAN = {
    "states": [
        task("Before", next="Fan"),
        parallel(
            "Fan",
            branch("a", task("A1"), task("A2")),
            branch("b", task("B"), dependsOn=["a"]),
            branch("c", task("C"), when="{% true %}"),
            branch("d", task("D"), dependsOn=["c"]),
            branch("e", task("E"), dependsOn=["a", "c"]),
            next="After",
        ),
        {"name": "Each", "type": "Map", "items": [], "states": [task("M1"), task("M2")], "next": "End"},
        task("After", next="Each"),
        task("End", end=True),
    ]
}


@pytest.mark.parametrize(
    "document,name,must,only_may",
    [
        (DIAMOND, "Join", {"If"}, {"Left", "Right", "Mend", "Right!"}),
        (DIAMOND, "Mend", {"If", "Right!"}, set()),
        (LOOP, "Try", {"First"}, {"Try", "Again"}),
        (LOOP, "Last", {"First", "Try", "Again"}, set()),
        (FAN, "A2", {"Before", "A1"}, set()),
        (FAN, "B", {"Before", "A1", "A2"}, set()),
        (FAN, "C", {"Before"}, set()),
        (FAN, "D", {"Before", "C"}, set()),
        (FAN, "E", {"Before", "A1", "A2"}, {"C"}),
        (FAN, "After", {"Before", "Fan", "A1", "A2", "B", "E"}, {"C", "D"}),
        (FAN, "M2", {"Before", "Fan", "A1", "A2", "B", "E", "After", "M1"}, {"C", "D"}),
        (FAN, "End", {"Before", "Fan", "A1", "A2", "B", "E", "After", "Each"}, {"C", "D"}),
    ],
)
def test_what_must_and_may_have_run_follows_from_the_ways(
    document: dict[str, Any], name: str, must: set[str], only_may: set[str]
) -> None:
    assert known_at(document, name) == (must, must | only_may)


def test_under_continue_a_failure_may_be_known_further_on() -> None:
    document = {"errorHandling": "continue", "states": [task("A"), task("B")]}
    assert known_at(document, "B") == ({"A"}, {"A", "A!"})


@st.composite
def graphs(draw: st.DrawFn) -> list[tuple[list[int], list[int]]]:
    count = draw(st.integers(2, 7))
    targets = st.lists(st.integers(0, count - 1), max_size=2)
    return [(draw(targets), draw(targets)) for _ in range(count)]


@settings(max_examples=200, deadline=None)
@given(graphs())
def test_the_analysis_agrees_with_walking_every_way(edges: list[tuple[list[int], list[int]]]) -> None:
    """Compares with a plain search: a fact is possible if a walk brings it, certain if none avoids it."""
    states = []
    for number, (after_success, after_failure) in enumerate(edges):
        rules = [{"when": "{% true %}", "next": f"S{target}"} for target in after_success]
        catch = [{"next": f"S{target}"} for target in after_failure]
        states.append({"name": f"S{number}", "type": "Choice", "choices": rules, "catch": catch})
    jumps = [
        (source, target, f"S{source}" if kind == 0 else f"S{source}!")
        for source, both in enumerate(edges)
        for kind in (0, 1)
        for target in both[kind]
    ]

    def reach(start: int, without: str | None = None) -> set[int]:
        seen, waiting = {start}, [start]
        while waiting:
            place = waiting.pop()
            for source, target, fact in jumps:
                if source == place and fact != without and target not in seen:
                    seen.add(target)
                    waiting.append(target)
        return seen

    reachable = reach(0)
    for place in reachable:
        must, may = known_at({"states": states}, f"S{place}")
        bringing = {fact for source, target, fact in jumps if source in reachable and place in reach(target)}
        assert may == bringing
        assert must == {fact for fact in bringing if place not in reach(0, without=fact)}
