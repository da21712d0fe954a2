"""What canvases compile to, as a table: each file of conversion_cases is a canvas and the spec that runs it.

The five faults of the converter this one replaces (contract-canvas 5.2) each have a test that they cannot return.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from canvas.problems import CODES
from canvas.tests.drawing import ACTIVITIES, codes, compiled, edge, edges, end, node, start
from workflows.spec.validator import validate_spec

CASES = sorted((Path(__file__).parent / "conversion_cases").glob("*.json"))


@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_case(path: Path) -> None:
    case = json.loads(path.read_text())
    assert set(case) == {"about", "nodes", "edges", "spec"}
    outcome = compiled(case["nodes"], case["edges"])
    assert outcome.document is not None, outcome.problems
    assert codes(outcome, "error", "unfinished") == []
    got = {key: value for key, value in outcome.document.items() if key not in ("name", "metadata")}
    assert got == case["spec"]
    report = validate_spec(outcome.document, activities=ACTIVITIES.activities)
    assert report.valid, report.as_text()


def document(nodes: list[Any], drawn: list[Any]) -> dict[str, Any]:
    outcome = compiled(nodes, drawn)
    assert outcome.document is not None, outcome.problems
    return outcome.document


def states(nodes: list[Any], drawn: list[Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = document(nodes, drawn)["states"]
    return found


def test_every_edge_of_a_chain_is_in_the_states_that_are_kept() -> None:
    # Fault 1: the edges went into a copy of the states and were lost.
    found = states([node("a"), node("b"), node("c")], edges("a b c"))
    assert [(s["name"], s.get("next"), s.get("end")) for s in found] == [
        ("a", "b", None),
        ("b", "c", None),
        ("c", None, True),
    ]


def test_a_fan_out_keeps_all_its_edges() -> None:
    # Fault 2: a later edge overwrote the next of an earlier one.
    found = states([node(name) for name in "abcd"], edges("a b", "a c", "a d"))
    waits = {branch["name"]: branch.get("dependsOn", []) for branch in found[0]["branches"]}
    assert waits == {"a": [], "b": ["a"], "c": ["a"], "d": ["a"]}


def test_an_edge_to_an_end_node_ends_its_source() -> None:
    # Fault 3: next named the end node, which is no state, and nothing ended.
    found = states([node("a"), node("b"), end()], edges("a b end"))
    assert [(s["name"], s.get("next"), s.get("end")) for s in found] == [("a", "b", None), ("b", None, True)]


def test_what_starts_is_what_the_start_node_leads_to_not_what_was_drawn_first() -> None:
    # Fault 4: the first node of the array started.
    spec = document([node("last"), start(), node("first")], edges("start first last"))
    assert spec["startAt"] == "first"
    assert [s["name"] for s in spec["states"]] == ["first", "last"]


def test_a_node_without_config_has_parameters_and_what_it_needs() -> None:
    # Fault 5: an absent config became null, and nothing was completed from what is known of the activity.
    bare = {"id": "scan", "type": "activity", "data": {"label": "scan", "activity": "SecurityScan"}}
    found = states([node("clone", "CloneRepo", repo="r"), bare], edges("clone scan"))
    assert found[1]["parameters"] == {"path": "${clone.output.path}"}


def test_the_same_canvas_always_gives_the_same_spec() -> None:
    nodes = [node(f"n{i}") for i in range(30)]
    drawn = [edge(f"n{i}", f"n{j}") for i in range(30) for j in range(i + 1, 30) if (i * 7 + j * 3) % 5 == 0]
    first = compiled(nodes, drawn).document
    assert json.dumps(first) == json.dumps(compiled(nodes, drawn).document)
    # The order of the edges is nobody's intent.
    reordered = compiled(nodes, drawn[::-1]).document
    assert reordered == first


def test_what_was_drawn_is_not_changed_by_compiling_it() -> None:
    nodes, drawn = [start(), node("scan", "security-scan")], edges("start scan")
    before = json.dumps([nodes, drawn])
    compiled(nodes, drawn)
    assert json.dumps([nodes, drawn]) == before


def test_a_missing_input_can_be_given_at_the_start() -> None:
    outcome = compiled([node("clone", "CloneRepo")], [])
    assert codes(outcome, "error") == ["missing-parameter"]
    assert outcome.document is not None
    assert outcome.document["states"][0]["parameters"] == {"repo": "${workflow.input.repo}"}


def test_two_nodes_equally_near_are_not_chosen_between() -> None:
    nodes = [node("a", "CloneRepo", repo="1"), node("b", "CloneRepo", repo="2"), node("scan", "SecurityScan")]
    outcome = compiled(nodes, edges("a scan", "b scan"))
    (problem,) = [p for p in outcome.problems if p.severity == "error"]
    assert problem.code == "missing-parameter"
    assert "a and b are equally near" in problem.message


def test_an_output_of_another_type_is_no_match() -> None:
    # issues is an array and value can be anything; a text is wanted.
    wants = node("report", "GenerateReport")
    giver = node("deploy", "Deploy", quality=1, commit="c")
    assert codes(compiled([giver, wants], edges("deploy report")), "error") == ["missing-parameter"]


def test_an_integer_is_a_number() -> None:
    found = states(
        [node("scan", "SecurityScan", path="p"), node("deploy", "Deploy", commit="c", quality="${scan.output.score}")],
        edges("scan deploy"),
    )
    assert found[1]["parameters"]["quality"] == "${scan.output.score}"


def test_every_code_that_compiling_can_give_is_in_one_of_the_two_tables() -> None:
    from workflows.spec.report import CODES as SPEC_CODES

    shared = set(CODES) & set(SPEC_CODES)
    # The same words for the same thing in both languages.
    assert shared == {"bad-condition", "missing-parameter", "unknown-activity", "unknown-reference"}


def workflow_node(node_id: str, spec: dict[str, Any]) -> dict[str, Any]:
    data = {"label": node_id, "stateType": "Workflow", "config": {"spec": spec}}
    return {"id": node_id, "type": "activity", "data": data}


def test_the_references_of_a_child_in_a_node_name_its_own_states() -> None:
    child = {"name": "c", "states": [
        {"name": "Fetch", "type": "Pass", "result": 1},
        {"name": "Read", "type": "Pass", "result": ["got ${Fetch.output}", "{% Fetch.output %}"]},
    ]}  # fmt: skip
    drawn = [node("n1", label="Fetch"), workflow_node("k", child)]
    assert states(drawn, edges("n1 k"))[1]["spec"] == child


def test_a_fault_inside_such_a_child_is_told() -> None:
    child = {"name": "c", "states": [{"name": "Read", "type": "Pass", "result": "${Nowhere.output}"}]}
    outcome = compiled([workflow_node("k", child)], [])
    assert outcome.document is None
    assert codes(outcome, "error") == ["unknown-reference"]
