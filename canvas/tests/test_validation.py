"""What a canvas is told about itself, as tables of cases, and that nothing a client sends can break the telling.

``errors``, ``unfinished`` and ``warnings`` of a case are ``[code, node or edge id]`` in order of discovery (in any
order with ``any``); ``no-start`` and ``no-end`` are left out where a case does not name them.
"""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from canvas.problems import CODES, MAX_PROBLEMS, report_of
from canvas.tests.drawing import codes, compiled, edge, edges, end, node, start

CASES = [
    (path.stem, case)
    for path in sorted((Path(__file__).parent / "validation_cases").glob("*.json"))
    for case in json.loads(path.read_text())
]
CASE_KEYS = {"about", "nodes", "edges", "errors", "unfinished", "warnings", "suggests", "any"}


@pytest.mark.parametrize("case", [case for _, case in CASES], ids=[f"{stem}: {case['about']}" for stem, case in CASES])
def test_case(case: dict[str, Any]) -> None:
    assert set(case) <= CASE_KEYS
    problems = compiled(case["nodes"], case["edges"]).problems
    for key, severity in (("errors", "error"), ("unfinished", "unfinished"), ("warnings", "warning")):
        wanted = case.get(key, [])
        named = {code for code, _ in wanted}
        got = [
            [p.code, p.edge_id if p.node_id is None else p.node_id]
            for p in problems
            if p.severity == severity and (p.code in named or p.code not in ("no-start", "no-end"))
        ]
        if case.get("any"):
            got, wanted = sorted(got, key=str), sorted(wanted, key=str)
        assert got == wanted, [p.as_row() for p in problems]
    if "suggests" in case:
        assert any(case["suggests"] in (p.suggestion or "") for p in problems), [p.as_row() for p in problems]


def test_every_code_of_the_canvas_is_in_a_case_or_a_test() -> None:
    in_cases = {
        code for _, case in CASES for key in ("errors", "unfinished", "warnings") for code, _ in case.get(key, [])
    }
    by_size = {"too-many-nodes", "too-many-edges", "too-many-problems"}  # the tests of size below
    at_saving = {"masked-secret", "sealed-secret"}  # test_sealing
    assert in_cases | by_size | at_saving >= set(CODES)


def test_an_unfinished_canvas_is_valid_as_a_draft_and_not_as_active() -> None:
    rows = compiled([node("a"), node("b"), node("c")], edges("a b")).rows()
    draft, active = report_of(rows, "draft"), report_of(rows, "active")
    assert draft["valid"]
    assert [item["code"] for item in draft["warnings"]] == ["no-start", "no-end", "isolated-node"]
    assert not active["valid"]
    assert [item["code"] for item in active["errors"]] == ["isolated-node"]
    assert active["errors"][0]["nodeId"] == "c"
    assert "severity" not in active["errors"][0]


def test_everything_wrong_is_said_at_once() -> None:
    nodes = [
        start(),
        node("a", "Nothing"),
        node("b", value="${x.output.y}"),
        node("c", "CloneRepo", branch=1),
        node("c"),
    ]
    got = codes(compiled(nodes, [edge("start", "a"), edge("b", "b"), edge("q", "a")]), "error")
    assert sorted(got) == [
        "duplicate-node-id", "missing-parameter", "parameter-type", "self-loop", "unknown-activity", "unknown-node",
        "unknown-reference",
    ]  # fmt: skip


# -- rubbish ----------------------------------------------------------------------------------------------------


def test_a_circle_of_ten_thousand_nodes_is_named_whole() -> None:
    count = 9_999
    nodes = [node(f"n{i}") for i in range(count)]
    drawn = [edge(f"n{i}", f"n{(i + 1) % count}") for i in range(count)]
    before = time.thread_time()
    outcome = compiled(nodes, drawn)
    (cycle,) = [p for p in outcome.problems if p.code == "cycle"]
    assert list(cycle.node_ids) == [f"n{i}" for i in range(count)]
    assert len(cycle.message) < 1_000
    assert time.thread_time() - before < 10


def test_more_than_a_canvas_can_hold_is_refused_without_looking_at_it() -> None:
    before = time.thread_time()
    assert codes(compiled([node("a")] * 10_001, [edge("a", "b")] * 50_001), "error") == [
        "too-many-nodes",
        "too-many-edges",
    ]
    assert time.thread_time() - before < 1


def test_problems_past_counting_are_counted() -> None:
    outcome = compiled([{"id": "not good", "type": "what"}] * 5_000, [])
    assert len(outcome.problems) == MAX_PROBLEMS + 1
    assert outcome.problems[-1].code == "too-many-problems"


def test_ten_megabytes_of_text_are_survived() -> None:
    before = time.thread_time()
    outcome = compiled([node("a", value="x" * 10_000_000)], [])
    assert codes(outcome, "error") == ["too-large"]
    assert outcome.document is None
    assert time.thread_time() - before < 5


def deep(levels: int) -> Any:
    value: Any = "bottom"
    for _ in range(levels):
        value = [value]
    return value


def test_nesting_without_end_is_survived() -> None:
    outcome = compiled([node("a", value=deep(100_000))], [edge("a", "a", relation_wording={"x": deep(100_000)})])
    assert codes(outcome, "error") == ["bad-value", "bad-value"]


def test_a_thousand_references_to_nothing_take_no_time() -> None:
    before = time.thread_time()
    nodes = [node(f"n{i}", value=f"${{m{i}.output.x}}") for i in range(1_000)]
    outcome = compiled(nodes, [edge(f"n{i}", f"n{i + 1}") for i in range(999)])
    assert codes(outcome, "error").count("unknown-reference") > 900
    assert time.thread_time() - before < 10


scalars = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.binary(max_size=3)
    | st.sampled_from(["a", "b", "start", "end", "activity", "echo", "CloneRepo", "\0", "\ud800"])
    | st.sampled_from(["${a.output.x}", "${", "${a.output.x:-1}", "{% a %}", "{% ( %}", "x == 1", "else"])
)  # fmt: skip
keys = st.sampled_from(
    [
        "id", "type", "data", "label", "position", "config", "activity", "stateType", "source", "target", "condition",
        "relation_type", "relation_wording", "confidence", "timeout", "_retry", "value", "repo", "duration", "x",
    ]
)  # fmt: skip
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=6), max_leaves=15
)


@given(nodes=values, drawn=values)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_nothing_makes_it_raise(nodes: Any, drawn: Any) -> None:
    outcome = compiled(nodes, drawn)
    json.dumps([p.as_row() for p in outcome.problems]).encode()


near_nodes = st.lists(
    st.dictionaries(keys, values, max_size=5).map(lambda d: {"id": "a", "type": "echo"} | d), max_size=4
)
near_edges = st.lists(
    st.dictionaries(keys, values, max_size=5).map(lambda d: {"source": "a", "target": "b"} | d), max_size=4
)


@example(nodes=[], drawn=[{"source": "a", "target": "b", "id": "\ud800"}])
@example(nodes=[{"id": "\ud800\0", "type": "\ud800"}], drawn=[])
@given(nodes=near_nodes, drawn=near_edges)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_nothing_that_is_nearly_a_canvas_makes_it_raise(nodes: Any, drawn: Any) -> None:
    outcome = compiled(nodes, drawn)
    text = json.dumps([p.as_row() for p in outcome.problems], ensure_ascii=False)
    # What is kept with a version goes into the database.
    assert "\\u0000" not in text
    text.encode()


def test_start_and_end_nodes_alone_keep_their_silence() -> None:
    assert codes(compiled([start(), node("a"), end()], edges("start a end"))) == []
