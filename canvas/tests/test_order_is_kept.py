"""Whatever acyclic canvas is drawn, the spec orders its nodes as the edges do, and conditions decide as drawn."""

import random
import time
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from canvas.tests.drawing import ACTIVITIES, compiled, edge, node
from workflows.spec.expressions import compile_expression
from workflows.spec.references import expression_of
from workflows.spec.validator import validate_spec


@st.composite
def canvases(draw: st.DrawFn, conditions: bool = False) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """An acyclic canvas in one part: nodes in any drawing order, edges from lower to higher numbers."""
    count = draw(st.integers(1, 12))
    pairs = [(i, j) for j in range(count) for i in range(j)]
    chosen = draw(st.sets(st.sampled_from(pairs))) if pairs else set()
    # Every node but the first hangs on one before it, so that the canvas is one part.
    chosen |= {
        (draw(st.integers(0, j - 1)), j) for j in range(1, count) if draw(st.booleans()) or not _touched(j, chosen)
    }
    order = draw(st.permutations(range(count)))
    texts = st.sampled_from(["", "", "1 == 1", "1 == 2"]) if conditions else st.just("")
    return (
        [node(f"n{i}") for i in order],
        [edge(f"n{i}", f"n{j}", draw(texts)) for i, j in draw(st.permutations(sorted(chosen)))],
    )


def _touched(number: int, pairs: set[tuple[int, int]]) -> bool:
    return any(number == j for _, j in pairs)


def closure(pairs: set[tuple[str, str]], names: list[str]) -> set[tuple[str, str]]:
    """Everything that follows from ``pairs``."""
    after: dict[str, set[str]] = {name: set() for name in names}
    for before, later in pairs:
        after[before].add(later)
    found = set()
    for name in names:
        pending, seen = [name], set[str]()
        while pending:
            for later in after[pending.pop()] - seen:
                seen.add(later)
                pending.append(later)
        found |= {(name, later) for later in seen}
    return found


def order_of(document: dict[str, Any]) -> tuple[list[str], set[tuple[str, str]]]:
    """The states of a spec, and which must end before which begins."""
    (first,) = document["states"][:1]
    branches = first["branches"] if first["type"] == "Parallel" else [{"name": "", "states": document["states"]}]
    names = [state["name"] for branch in branches for state in branch["states"]]
    tails = {branch["name"]: branch["states"][-1]["name"] for branch in branches}
    pairs = {(state["name"], state["next"]) for b in branches for state in b["states"] if "next" in state}
    pairs |= {(tails[other], b["startAt"]) for b in branches for other in b.get("dependsOn", [])}
    return names, closure(pairs, names)


@given(canvases())
@settings(max_examples=200, deadline=None)
def test_the_spec_orders_nodes_exactly_as_the_edges_do(drawn: Any) -> None:
    nodes, edges = drawn
    document = compiled(nodes, edges).document
    assert document is not None
    assert validate_spec(document, activities=ACTIVITIES.activities).valid
    names, order = order_of(document)
    assert sorted(names) == sorted(n["id"] for n in nodes)
    assert order == closure({(e["source"], e["target"]) for e in edges}, names)


def ran_as_drawn(nodes: list[dict[str, Any]], edges: list[dict[str, Any]]) -> set[str]:
    """Which nodes run, by the words of the rule (docs/reference/canvas.md, Conditions) and nothing else."""
    names = sorted((n["id"] for n in nodes), key=lambda name: int(name[1:]))
    order = closure({(e["source"], e["target"]) for e in edges}, names)
    may_skip: set[str] = set()
    ran: set[str] = set()
    for name in names:
        into = [e for e in edges if e["target"] == name]
        asking = [e for e in into if e["data"].get("condition")]
        plain = [e for e in into if not e["data"].get("condition")]
        if asking or (into and all(e["source"] in may_skip for e in into)):
            may_skip.add(name)
        if asking:
            plain = [
                e for e in plain
                if e["source"] in may_skip and not any((e["source"], other["source"]) in order for other in asking)
            ]  # fmt: skip
        taken = [e["source"] in ran for e in plain] + [
            e["source"] in ran and e["data"]["condition"] == "1 == 1" for e in asking
        ]
        if not into or any(taken):
            ran.add(name)
    return ran


def ran_as_compiled(document: dict[str, Any]) -> set[str]:
    """Which states run by the rules of Parallel: skipped with everything before it, or by its condition."""
    if document["states"][0]["type"] != "Parallel":
        return {state["name"] for state in document["states"]}
    branches = {branch["name"]: branch for branch in document["states"][0]["branches"]}
    is_skipped: dict[str, bool] = {}
    outputs: dict[str, Any] = {}
    while len(is_skipped) < len(branches):
        ready = [
            b
            for name, b in branches.items()
            if name not in is_skipped and set(b.get("dependsOn", ())) <= set(is_skipped)
        ]
        for branch in ready:
            before = branch.get("dependsOn", [])
            skipped = bool(before) and all(is_skipped[name] for name in before)
            if not skipped and "when" in branch:
                skipped = not compile_expression(expression_of(branch["when"])).evaluate(outputs)
            is_skipped[branch["name"]] = skipped
            if not skipped:
                outputs |= {state["name"]: {"output": None} for state in branch["states"]}
    return set(outputs)


@given(canvases(conditions=True))
@settings(max_examples=200, deadline=None)
def test_conditions_decide_in_the_spec_as_they_were_drawn(drawn: Any) -> None:
    nodes, edges = drawn
    document = compiled(nodes, edges).document
    assert document is not None
    assert validate_spec(document, activities=ACTIVITIES.activities).valid
    assert ran_as_compiled(document) == ran_as_drawn(nodes, edges)


def test_five_hundred_nodes_are_checked_and_converted_in_a_fifth_of_a_second() -> None:
    pick = random.Random(7)
    nodes = [node("n0", "CloneRepo", repo="r")] + [node(f"n{i}", "SecurityScan") for i in range(1, 500)]
    pairs = {(pick.randint(max(0, j - 20), j - 1), j) for j in range(1, 500) for _ in range(2)}
    edges = [edge(f"n{i}", f"n{j}") for i, j in sorted(pairs)]
    times: list[float] = []
    deadline = time.monotonic() + 20
    # Time of the processor, and the best of several: other work on the machine must not decide.
    while (len(times) < 5 or min(times) >= 0.2) and time.monotonic() < deadline:
        before = time.thread_time()
        outcome = compiled(nodes, edges)
        times.append(time.thread_time() - before)
        assert outcome.document is not None
    assert min(times) < 0.2, f"{min(times) * 1000:.0f} ms at best of {len(times)}"
