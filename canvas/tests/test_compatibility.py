"""What a connection carries and what its target needs are compared by name and type, one warning for each lack."""

from typing import Any

import pytest

from canvas.catalogue import Catalogue
from canvas.compatibility import check_canvas
from canvas.tests.asking import client, post
from canvas.tests.drawing import ACTIVITIES, Known, edge, edges, end, known, node, start
from workflows.models import Role

MORE = Catalogue(
    [
        *ACTIVITIES.activities.values(),
        known("TriggerActivity", {}, {"path": "string"}),
        known("SinkActivity", {"path": "string"}, {}, ("path",)),
        known("CountActivity", {"path": "string"}, {"path": "integer", "level": "string", "score": "integer"}),
        known("GradeActivity", {"level": {"enum": ["low", "high"]}, "score": "number"}, {"level": {"enum": ["low"]}},
              ("level", "score")),
        known("ShapeActivity", {"shape": "object"}, {"shape": "array"}, ("shape",)),
    ]
)  # fmt: skip


def told(nodes: list[Any], edges: list[Any], catalogue: Catalogue = MORE) -> list[dict[str, str]]:
    outcome = check_canvas(nodes, edges, catalogue)
    assert outcome.as_json()["is_valid"] is not bool(outcome.incompatibilities)
    return [one.as_json() for one in outcome.incompatibilities]


def test_a_connection_that_carries_what_is_needed_is_compatible() -> None:
    chain = [node("clone", "CloneRepoActivity", repo="r"), node("scan", "SecurityScanActivity")]
    assert told(chain, edges("clone scan")) == []


def test_each_missing_input_is_told_with_both_sides_and_a_way_out() -> None:
    nodes = [node("scan", "SecurityScanActivity", path="/x"), node("deploy", "DeployActivity")]
    first, second = told(nodes, edges("scan deploy"))
    assert first == {
        "source": "scan",
        "target": "deploy",
        "reason": 'DeployActivity requires "quality" (number), which SecurityScanActivity does not give',
        "source_needs": "riskLevel, score",
        "target_needs": "commit*, quality*",
        "suggestion": 'Set "quality" to one of score, which have the type it takes, or to a value',
        "input": "quality",
    }
    assert second["input"] == "commit"


@pytest.mark.parametrize("spelling", ["CloneRepoActivity", "clone-repo", "CLONEREPO", "clone_repo", "CloneRepo"])
def test_any_spelling_of_an_activity_is_known(spelling: str) -> None:
    assert told([node("a", spelling), node("b", "security-scan")], edges("a b")) == []
    acronym = [node("a", "llm-inference"), node("b", "LLMInferenceActivity")]
    assert told(acronym, edges("a b")) == []


def test_the_first_lack_of_knowledge_ends_the_check() -> None:
    (unknown_source,) = told([node("a", "NoSuch"), node("b", "AlsoNot")], edges("a b"))
    assert unknown_source["source_needs"] == unknown_source["target_needs"] == "unknown"
    assert unknown_source["reason"] == '"a" runs no activity that is known here'
    (unknown_target,) = told([node("a"), node("b", "AlsoNot")], edges("a b"))
    assert (unknown_target["source_needs"], unknown_target["reason"].startswith('"b" runs')) == ("value", True)
    (nothing_given,) = told([node("a", "SinkActivity", path="p"), node("b", "DeployActivity")], edges("a b"))
    assert nothing_given["source_needs"] == "any output"
    (nothing_taken,) = told([node("a"), node("b", "TriggerActivity")], edges("a b"))
    assert nothing_taken["target_needs"] == "no input"
    assert "terminal or trigger" in nothing_taken["suggestion"]


@pytest.mark.parametrize(
    "source, target, wanted",
    [
        ("CountActivity", "SinkActivity", {"path"}),  # integer for string
        ("ShapeActivity", "ShapeActivity", {"shape"}),  # array for object
        ("CountActivity", "GradeActivity", {"level"}),  # any text for a list of values; integer fits number
    ],
)
def test_the_same_name_with_another_type_needs_a_transformer(source: str, target: str, wanted: set[str]) -> None:
    found = told([node("a", source, shape={}), node("b", target)], edges("a b"))
    assert {one["input"] for one in found if one.get("connection_type") == "requires-transformer"} == wanted
    assert all("LLMInferenceActivity" in one["suggestion"] for one in found)


def test_values_that_are_all_taken_fit() -> None:
    grades = [node("a", "GradeActivity", level="low", score=1), node("b", "GradeActivity", score=1)]
    assert told(grades, edges("a b")) == []


def test_what_somebody_else_gives_is_not_missed() -> None:
    clone, scan = node("clone", "CloneRepoActivity"), node("scan", "SecurityScanActivity")
    analyze = node("analyze", "AnalyzeCodeActivity")
    assert told([clone, scan, analyze], edges("clone scan analyze")) == []
    assert [one["input"] for one in told([scan, analyze], edges("scan analyze"))] == ["path"]
    assert told([start(path="/x"), scan, analyze], edges("start scan analyze")) == []
    assert told([scan, node("analyze", "AnalyzeCodeActivity", path="/x")], edges("scan analyze")) == []


def test_an_input_that_reads_a_field_of_another_type_is_told() -> None:
    nodes = [node("clone", "CloneRepoActivity", label="Clone"), node("b", "AnalyzeCodeActivity", path="x",
             depth="${Clone.output.commit}")]  # fmt: skip
    (wrong,) = told(nodes, edges("clone b"))
    assert (wrong["input"], wrong["connection_type"]) == ("depth", "requires-transformer")
    assert wrong["reason"].startswith('"depth" reads "commit", which is string as CloneRepoActivity gives it, and ')
    nodes[1] = node("b", "AnalyzeCodeActivity", path="${clone.output.path}")
    assert told(nodes, edges("clone b")) == []


def test_dependencies_ends_states_and_remarks_are_not_judged() -> None:
    scan, analyze = node("scan", "SecurityScanActivity", path="p"), node("analyze", "AnalyzeCodeActivity")
    assert told([scan, analyze], [edge("scan", "analyze", relation_type="dependency")]) == []
    assert told([scan, analyze], [edge("scan", "analyze", on_error=["*"])]) == []
    wait = {"id": "wait", "type": "wait", "data": {"duration": "1s"}}
    assert told([start(), wait, analyze, end()], edges("start wait analyze end")) == []
    assert check_canvas([{"id": "n", "type": "note", "data": {"text": "x"}}], [], MORE).disconnected == []


def test_circles_and_odd_elements_are_judged_as_far_as_they_can_be_read() -> None:
    clone, scan = node("clone", "CloneRepoActivity"), node("scan", "SecurityScanActivity")
    outcome = check_canvas(
        [clone, scan, node("lost"), 7, {"id": []}], [*edges("clone scan clone"), edge("scan", "gone"), None], MORE
    )
    assert [one.input for one in outcome.incompatibilities] == ["repo"]
    assert outcome.disconnected == ["lost"]
    assert outcome.warnings == ['the edge scan → gone names "gone", which is no node', '"lost" is in no connection']


def test_two_judgements_are_the_same() -> None:
    nodes = [node("a", "CountActivity"), node("b", "DeployActivity"), node("c", "GradeActivity")]
    assert told(nodes, edges("a b", "a c")) == told(nodes, edges("a b", "a c"))


def test_a_schema_by_reference_is_read() -> None:
    level = {"$defs": {"Level": {"enum": ["low", "high"]}}, "required": ["level"],
             "properties": {"level": {"anyOf": [{"$ref": "#/$defs/Level"}, {"type": "null"}]}}}  # fmt: skip
    catalogue = Catalogue([*MORE.activities.values(), Known("LevelActivity", level, {"properties": {}})])
    (wrong,) = told([node("a", "CountActivity"), node("b", "LevelActivity")], edges("a b"), catalogue)
    assert wrong["reason"] == '"level" of CountActivity may be any value, and LevelActivity takes only low, high'


@pytest.mark.django_db
def test_over_rest_it_is_judged_with_the_activities_there_are() -> None:
    nodes = [node("call", "HttpRequestActivity", url="https://example.org"),
             node("tell", "NotifyStatusActivity", channel="slack", message="done")]  # fmt: skip
    answer = post(client(Role.VIEWER), "/workflows/compatibility", {"nodes": nodes, "edges": edges("call tell")})
    assert answer.status_code == 200, answer.content
    body = answer.json()
    assert (body["is_valid"], body["disconnected_nodes"], body["warnings"]) == (False, [], [])
    (wrong,) = body["incompatibilities"]
    assert (wrong["input"], wrong["connection_type"]) == ("status", "requires-transformer")


@pytest.mark.django_db
@pytest.mark.parametrize(
    "body, says",
    [
        ({"nodes": 7}, "nodes: expected an array of objects"),
        ({"nodes": [], "edges": {}}, "edges: expected an array of objects"),
        ({"nodes": [{}] * 10_001}, "nodes: at most 10,000"),
    ],
)
def test_what_is_no_canvas_is_refused(body: dict[str, Any], says: str) -> None:
    answer = post(client(Role.VIEWER), "/workflows/compatibility", body)
    assert (answer.status_code, answer.json()["error"].startswith(says)) == (400, True), answer.content
