"""Every fix mends its problem and makes no new one: it is applied as a JSON Patch, and the canvas judged again."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from canvas.compilation import compile_canvas
from canvas.fixing.drawing import Change
from canvas.fixing.finding import FIXES, find_fixes, rows_with_fixes
from canvas.problems import Problem, is_blocking
from canvas.tests.asking import client, post
from canvas.tests.drawing import ACTIVITIES, Known, edge, edges, end, known, node, start
from workflows.models import Role

CASES = [
    (path.stem, case)
    for path in sorted((Path(__file__).parent / "validation_cases").glob("*.json"))
    for case in json.loads(path.read_text())
]
MORE = type(ACTIVITIES)(
    [
        *(a for name, a in ACTIVITIES.activities.items() if name[:4] not in ("Secu", "Anal")),
        Known("SecurityScanActivity", ACTIVITIES.activities["SecurityScanActivity"].input_schema,
              ACTIVITIES.activities["SecurityScanActivity"].output_schema, ("CloneRepoActivity",)),
        Known("AnalyzeCodeActivity", ACTIVITIES.activities["AnalyzeCodeActivity"].input_schema,
              ACTIVITIES.activities["AnalyzeCodeActivity"].output_schema, ("CloneRepoActivity",)),
        known("TellActivity", {"text": "string"}, {}, ("text",)),
    ]
)  # fmt: skip
SCAN = node("scan", "SecurityScanActivity", path="/x")


def patched(document: dict[str, Any], changes: tuple[Change, ...]) -> dict[str, Any]:
    """Apply the operations that fixes use, as RFC 6902 has them."""
    document = copy.deepcopy(document)
    for change in changes:
        *way, last = [step.replace("~1", "/").replace("~0", "~") for step in change["path"].split("/")[1:]]
        place: Any = document
        for step in way:
            place = place[int(step)] if isinstance(place, list) else place[step]
        key: Any = last if not isinstance(place, list) else len(place) if last == "-" else int(last)
        match change["op"]:
            case "test":
                assert place[key] == change["value"]
            case "remove":
                del place[key]
            case "replace":
                assert isinstance(place, list) or key in place
                place[key] = change["value"]
            case "add" if isinstance(place, list):
                place.insert(key, change["value"])
            case "add":
                place[key] = change["value"]
    return document


def problems_of(document: dict[str, Any]) -> list[Problem]:
    return list(compile_canvas("drawn", document["nodes"], document["edges"], MORE).problems)


def fixed(nodes: list[Any], drawn: list[Any], code: str) -> tuple[str, dict[str, Any]]:
    """Apply the fix of the first problem of that code; returns its label and the canvas."""
    document = {"nodes": nodes, "edges": drawn}
    compiled = compile_canvas("drawn", nodes, drawn, MORE)
    found = find_fixes(nodes, drawn, compiled, MORE)
    index = next(i for i, problem in enumerate(compiled.problems) if problem.code == code)
    fix = found[index]
    assert fix is not None, compiled.problems[index]
    mended = patched(document, fix.changes)
    before, after = list(compiled.problems), problems_of(mended)
    gone = compiled.problems[index]
    assert (gone.code, gone.message) not in {(p.code, p.message) for p in after}
    assert len([p for p in after if p.code == code]) < len([p for p in before if p.code == code])
    new = {(p.code, p.node_id, p.edge_id) for p in after if p.severity == "error"} - {
        (p.code, p.node_id, p.edge_id) for p in before
    }
    assert new == set(), [p.as_row() for p in after]
    return fix.label, mended


def pairs(document: dict[str, Any]) -> list[str]:
    return [f"{raw['source']} {raw['target']}" for raw in document["edges"]]


@pytest.mark.parametrize("case", [case for _, case in CASES], ids=[f"{stem}: {case['about']}" for stem, case in CASES])
def test_every_fix_of_every_case_takes_its_problem_away(case: dict[str, Any]) -> None:
    if not isinstance(case["nodes"], list) or not isinstance(case["edges"], list):
        assert rows_with_fixes(
            case["nodes"], case["edges"], compile_canvas("x", case["nodes"], case["edges"], MORE), MORE
        )
        return
    compiled = compile_canvas("drawn", case["nodes"], case["edges"], MORE)
    for problem, fix in zip(compiled.problems, find_fixes(case["nodes"], case["edges"], compiled, MORE), strict=True):
        if fix is None:
            continue
        after = problems_of(patched({"nodes": case["nodes"], "edges": case["edges"]}, fix.changes))
        assert problem not in after
        assert len([p for p in after if p.code == problem.code]) < len(
            [p for p in compiled.problems if p.code == problem.code]
        )


def test_the_missing_clone_is_added_between_the_start_and_what_needs_it() -> None:
    scan = node("scan", "SecurityScanActivity")
    label, mended = fixed([start(), scan, end()], edges("start scan end"), "missing-parameter")
    assert label == "Add the missing Clone repo"
    made = mended["nodes"][-1]
    assert (made["id"], made["data"]["activity"]) == ("clone-repo", "CloneRepoActivity")
    assert made["data"]["config"] == {"repo": "${workflow.input.repo}"}
    assert pairs(mended) == ["scan end", "clone-repo scan", "start clone-repo"]
    assert [p.code for p in problems_of(mended)] == []


def test_what_is_on_the_canvas_already_is_connected_instead() -> None:
    nodes = [start(), node("clone", "CloneRepoActivity", repo="r"), node("scan", "SecurityScanActivity"), end()]
    label, mended = fixed(nodes, edges("start clone end", "start scan end"), "missing-parameter")
    assert label == "Connect clone → scan: it gives `path`"
    assert pairs(mended) == ["start clone", "clone end", "scan end", "clone scan"]


def test_of_two_that_are_equally_near_one_is_mapped() -> None:
    nodes = [node("a", "CloneRepoActivity", label="First", repo="r"), node("b", "CloneRepoActivity", repo="r"),
             node("scan", "SecurityScanActivity")]  # fmt: skip
    label, mended = fixed(nodes, edges("a scan", "b scan"), "missing-parameter")
    assert label == "Map `path` from First"
    assert mended["nodes"][2]["data"]["config"] == {"path": "${a.output.path}"}


def test_what_no_node_gives_is_asked_for_at_the_start() -> None:
    label, mended = fixed([node("tell", "TellActivity")], [], "missing-parameter")
    assert label == "Ask for `text` when it starts"
    assert mended["nodes"][0]["data"]["config"] == {"text": "${workflow.input.text}"}
    flat = [{"id": "tell", "type": "tell", "data": {}}]
    assert fixed(flat, [], "missing-parameter")[1]["nodes"][0]["data"] == {"text": "${workflow.input.text}"}
    bare = [{"id": "tell", "type": "tell"}]
    assert fixed(bare, [], "missing-parameter")[1]["nodes"][0]["data"] == {"text": "${workflow.input.text}"}


def test_the_edge_of_a_circle_that_leads_back_goes() -> None:
    nodes = [node(name) | {"position": {"x": x, "y": 0}} for name, x in (("a", 300), ("b", 600), ("c", 0))]
    label, mended = fixed(nodes, edges("a b c a"), "cycle")
    assert (label, pairs(mended)) == ("Remove the connection b → c", ["a b", "c a"])


@pytest.mark.parametrize(
    "drawn, code, left",
    [
        ([edge("a", "b"), edge("a", "gone")], "unknown-node", ["a b"]),
        ([edge("a", "b"), edge("b", "b")], "self-loop", ["a b"]),
        ([edge("a", "b"), edge("a", "b") | {"id": "again"}], "duplicate-edge", ["a b"]),
        ([edge("start", "a"), edge("a", "b"), edge("b", "start")], "edge-into-start", ["start a", "a b"]),
        ([edge("start", "a"), edge("a", "b"), edge("start", "b")], "redundant-start-edge", ["start a", "a b"]),
    ],
)
def test_an_edge_that_cannot_be_is_removed(drawn: list[Any], code: str, left: list[str]) -> None:
    nodes = [node("a"), node("b")] if code in ("unknown-node", "self-loop", "duplicate-edge") else None
    assert pairs(fixed(nodes or [start(), node("a"), node("b")], drawn, code)[1]) == left


def test_names_that_are_taken_or_bad_are_changed_with_the_edges_that_use_them() -> None:
    label, mended = fixed([node("a"), node("a"), node("a-2")], edges("a a-2"), "duplicate-node-id")
    assert (label, [raw["id"] for raw in mended["nodes"]]) == ("Call the other one a-3", ["a", "a-3", "a-2"])
    label, mended = fixed([node("my node"), node("b")], edges("b my"), "bad-node-id")
    assert label == "Call it my-node"
    drawn = [{"id": "x", "source": "b", "target": "my node"}]
    assert pairs(fixed([node("my node"), node("b")], drawn, "bad-node-id")[1]) == ["b my-node"]
    twice = [edge("a", "b"), edge("b", "c") | {"id": "a-b"}]
    ids = [raw["id"] for raw in fixed([node("a"), node("b"), node("c")], twice, "duplicate-edge-id")[1]["edges"]]
    assert len(set(ids)) == 2


def test_an_id_that_a_reference_names_is_not_changed() -> None:
    nodes = [node("item"), node("b", value="${item.output.value}")]
    compiled = compile_canvas("drawn", nodes, edges("item b"), MORE)
    found = dict(
        zip([p.code for p in compiled.problems], find_fixes(nodes, edges("item b"), compiled, MORE), strict=True)
    )
    assert found["reserved-node-id"] is None


def test_a_name_that_is_nearly_right_is_put_right() -> None:
    label, mended = fixed([node("a", "ClonRepoActivity", repo="r")], [], "unknown-activity")
    assert (label, mended["nodes"][0]["data"]["activity"]) == ("Use CloneRepo", "CloneRepoActivity")
    flat = [{"id": "a", "type": "clon-repo", "data": {"repo": "r"}}]
    assert fixed(flat, [], "unknown-node-type")[1]["nodes"][0]["type"] == "CloneRepoActivity"
    label, mended = fixed([node("a", "CloneRepoActivity", repo="r", brnch="x")], [], "unknown-parameter")
    assert (label, mended["nodes"][0]["data"]["config"]) == ("Call it `branch`", {"repo": "r", "branch": "x"})
    label, mended = fixed([node("a", "CloneRepoActivity", repo="r", zzz=1)], [], "unknown-parameter")
    assert (label, mended["nodes"][0]["data"]["config"]) == ("Remove `zzz`", {"repo": "r"})
    label, mended = fixed([node("a", "SecurityScanActivity", path="p", severity="hihg")], [], "parameter-value")
    assert (label, mended["nodes"][0]["data"]["config"]["severity"]) == ("Set `severity` to high", "high")


def test_nodes_without_edges_are_connected_or_removed() -> None:
    lost = [start(), node("clone", "CloneRepoActivity", repo="r"), SCAN, node("lost"), end()]
    label, mended = fixed(lost, edges("start clone scan end"), "isolated-node")
    assert (label, pairs(mended)[-2:]) == ("Connect Start → lost and lost → End", ["start lost", "lost end"])
    needs = [start(), node("clone", "CloneRepoActivity", repo="r"), node("scan", "SecurityScanActivity"), end()]
    assert pairs(fixed(needs, edges("start clone end"), "isolated-node")[1])[-2:] == ["clone scan", "scan end"]
    assert fixed([node("a"), node("b"), node("c")], edges("a b"), "isolated-node")[0] == "Connect b → c"
    assert pairs(fixed([start(), node("a"), node("b")], edges("a b"), "isolated-node")[1]) == ["a b", "start a"]


def test_starts_and_ends_are_added_joined_and_reached() -> None:
    label, mended = fixed([node("a"), node("b"), node("c")], edges("a c", "b c"), "no-start")
    assert (label, pairs(mended)[2:]) == ("Add a start", ["start a", "start b"])
    assert fixed([node("a"), node("b")], edges("a b"), "no-end")[0] == "Add an end"
    apart = [node("a"), node("b"), node("c"), node("d")]
    assert fixed(apart, edges("a b", "c d"), "several-parts")[0] == "Add a start"
    two = [start(), start() | {"id": "again"}, node("a"), node("b")]
    label, mended = fixed(two, edges("start a", "again a", "again b"), "several-starts")
    assert (label, pairs(mended)) == ("Keep Start alone", ["start a", "start b"])
    reached = [start(), node("a"), node("b"), end()]
    assert fixed(reached, edges("start a end", "b end"), "unreachable")[0] == "Connect Start → b"
    assert fixed(reached, edges("start a", "start b end"), "dead-end")[0] == "Connect a → End"


def test_edges_that_contradict_themselves_say_one_thing_afterwards() -> None:
    nodes = [node("a"), node("b"), end()]
    for code, data, left in (
        ("missing-condition", {"relation_type": "conditional"}, {}),
        ("condition-mismatch", {"relation_type": "dependency", "condition": "value == 1"}, {"condition": "value == 1"}),
        ("unknown-relation-type", {"relation_type": "magic"}, {}),
        ("bad-condition", {"relation_type": "conditional", "condition": "else"}, {}),
    ):
        drawn = [{"id": "x", "source": "a", "target": "b", "data": data}]
        assert fixed(nodes, drawn, code)[1]["edges"][0]["data"] == left
    into = [{"id": "x", "source": "a", "target": "end", "data": {"condition": "value == 1"}}]
    assert fixed([node("a"), end()], into, "condition-into-end")[1]["edges"][0]["data"] == {}


def test_a_reference_to_what_does_not_run_before_gets_its_edge() -> None:
    nodes = [start(), node("a"), node("b", value="${a.output.value}"), end()]
    label, mended = fixed(nodes, edges("start a end", "start b end"), "reference-not-before")
    assert (label, pairs(mended)[-1]) == ("Connect a → b", "a b")


def test_every_code_of_the_table_is_in_a_case_or_a_test() -> None:
    seen = {
        problem.code
        for _, case in CASES
        if isinstance(case["nodes"], list) and isinstance(case["edges"], list)
        for compiled in [compile_canvas("x", case["nodes"], case["edges"], MORE)]
        for problem, fix in zip(
            compiled.problems, find_fixes(case["nodes"], case["edges"], compiled, MORE), strict=True
        )
        if fix is not None
    }
    here = Path(__file__).read_text()
    assert {code for code in FIXES if code not in seen and f'"{code}"' not in here} <= {"missing-dependency"}


def test_a_patch_for_an_older_canvas_fails_as_a_whole() -> None:
    nodes, drawn = [node("a"), node("b")], [edge("a", "b"), edge("b", "b")]
    compiled = compile_canvas("drawn", nodes, drawn, MORE)
    fix = next(fix for fix in find_fixes(nodes, drawn, compiled, MORE) if fix is not None and "b → b" in fix.label)
    with pytest.raises((AssertionError, IndexError)):
        patched({"nodes": nodes, "edges": drawn[:1]}, fix.changes)
    with pytest.raises(AssertionError):
        patched({"nodes": nodes, "edges": drawn[::-1]}, fix.changes)


@pytest.mark.django_db
def test_over_rest_a_judgement_brings_fixes_and_a_save_does_not() -> None:
    lone = [node("scan", "SecurityScanActivity")]
    body = post(client(Role.VIEWER), "/workflows/validate", {"nodes": lone, "edges": []}).json()
    missing = next(item for item in body["errors"] if item["code"] == "missing-parameter")
    assert missing["fix"]["label"] == "Add the missing Clone repo"
    mended = patched({"nodes": lone, "edges": []}, tuple(missing["fix"]["changes"]))
    again = post(client(Role.VIEWER), "/workflows/validate", mended).json()
    assert again["valid"], again["errors"]
    made = post(client(), "/workflows", {"name": "x", "nodes": lone}).json()
    assert all("fix" not in item for item in made["validation"]["errors"])


def test_blocking_problems_of_a_common_beginning_are_all_mended_one_by_one() -> None:
    document: dict[str, Any] = {
        "nodes": [node("scan", "SecurityScanActivity"), node("look", "AnalyzeCodeActivity"),
                  node("tell", "TellActivity")],
        "edges": [edge("scan", "look"), edge("look", "scan"), edge("look", "gone")],
    }  # fmt: skip
    for _ in range(20):
        compiled = compile_canvas("drawn", document["nodes"], document["edges"], MORE)
        found = find_fixes(document["nodes"], document["edges"], compiled, MORE)
        open_ones = [
            fix for p, fix in zip(compiled.problems, found, strict=True) if fix and is_blocking(p.as_row(), "active")
        ]
        if not open_ones:
            break
        document = patched(document, open_ones[0].changes)
    assert compiled.document is not None, compiled.rows()
