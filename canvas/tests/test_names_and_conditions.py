"""How activities are found by any spelling, types compared, and conditions turned from plain words into JSONata."""

from typing import Any

import pytest

from canvas.catalogue import ANY, Catalogue, KnownActivity, current_catalogue, fits
from canvas.conditions import compile_condition, is_else
from canvas.names import Names, Use
from canvas.nodes import fill_node
from canvas.tests.drawing import ACTIVITIES, codes, compiled, edge, edges, known, node
from workflows.activities.registry import registry
from workflows.spec.expressions import compile_expression


@pytest.mark.parametrize(
    "spelling",
    ["CloneRepoActivity", "CloneRepo", "clone-repo", "clone_repo", "CLONE-REPO", "cloneRepo", "clone repo activity"],
)
def test_an_activity_is_found_by_any_spelling_of_its_name(spelling: str) -> None:
    found = ACTIVITIES.find(spelling)
    assert found is not None
    assert found.name == "CloneRepoActivity"


def test_acronyms_and_full_names_survive() -> None:
    for spelling in ("llm-inference", "LLMInference", "LlmInferenceActivity"):
        found = ACTIVITIES.find(spelling)
        assert found is not None
        assert found.name == "LLMInferenceActivity"


@pytest.mark.parametrize("name", ["", "activity", "-", "clone", "CloneRepoActivityActivity2", "Ω"])
def test_what_is_no_activity_is_not_found(name: str) -> None:
    assert ACTIVITIES.find(name) is None


def test_a_spelling_that_two_activities_share_means_neither() -> None:
    both = Catalogue([known("FooBarActivity", {}, {}), known("FooBar", {}, {})])
    assert both.find("foo-bar") is None
    exact = both.find("FooBar")
    assert exact is not None
    assert exact.name == "FooBar"


def test_the_registered_activities_are_the_catalogue() -> None:
    assert set(current_catalogue().activities) == {item.name for item in registry}
    echo = current_catalogue().find("echo")
    assert echo is not None
    assert echo.inputs["value"] == ANY


def test_types_are_read_through_references_and_alternatives() -> None:
    schema = {
        "properties": {
            "plain": {"type": "string"}, "optional": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "several": {"type": ["number", "null", "string"]}, "choice": {"enum": ["a", "b"]}, "fixed": {"const": 3},
            "nested": {"$ref": "#/$defs/Inner"}, "wrapped": {"allOf": [{"$ref": "#/$defs/Inner"}]}, "any": {},
            "partly": {"anyOf": [{"type": "string"}, {}]}, "endless": {"$ref": "#/$defs/Loop"},
        },
        "$defs": {"Inner": {"type": "object"}, "Loop": {"$ref": "#/$defs/Loop"}},
    }  # fmt: skip
    item = KnownActivity(known("X", {}, {}).__class__("X", schema, {}))
    assert {name: set(types) for name, types in item.inputs.items()} == {
        "plain": {"string"}, "optional": {"integer"}, "several": {"number", "string"}, "choice": {"string"},
        "fixed": {"integer"}, "nested": {"object"}, "wrapped": {"object"}, "any": set(), "partly": set(),
        "endless": set(),
    }  # fmt: skip


@pytest.mark.parametrize(
    "produced, taken, fit",
    [
        ({"string"}, {"string"}, True), ({"integer"}, {"number"}, True), ({"number"}, {"integer"}, False),
        ({"string"}, {"object"}, False), ({"object"}, {"object"}, True), ({"string"}, set(), True),
        (set(), {"string"}, False), (set(), set(), True), ({"string", "integer"}, {"string"}, False),
        ({"string"}, {"string", "array"}, True),
    ],
)  # fmt: skip
def test_an_output_fits_an_input_of_its_type(produced: set[str], taken: set[str], fit: bool) -> None:
    assert fits(frozenset(produced), frozenset(taken)) is fit


# -- conditions -------------------------------------------------------------------------------------------------

NAMES = Names(frozenset({"scan", "n-2"}), {"scan": "scan", "Look at it": "n-2", "Twice": None})


def jsonata(condition: str) -> tuple[str, list[str]]:
    used: list[Use] = []
    return compile_condition(condition, "scan.output", NAMES, used.append), [use.node for use in used]


@pytest.mark.parametrize(
    "condition, text, used",
    [
        ('riskLevel == "high"', 'scan.output.riskLevel = "high"', []),
        ("output.score<50", "scan.output.score < 50", []),
        ("score >= -1.5e3 AND ok", "scan.output.score >= -1.5e3 and scan.output.ok", []),
        ("a != null || b = true && c <> 'it''s'", None, None),
        ("files[0].name == 'a\"b'", 'scan.output.files[0].name = "a\\"b"', []),
        ("files.0.my-key == 1", "scan.output.files[0].`my-key` = 1", []),
        ("${n-2.output.x} > 3", "`n-2`.output.x > 3", ["n-2"]),
        ("${Look at it.output.x[2].y} > 3", "`n-2`.output.x[2].y > 3", ["n-2"]),
        ("n-2.output.x > scan.output.y", "`n-2`.output.x > scan.output.y", ["n-2", "scan"]),
        ("${workflow.input.mode} == 'full'", 'workflow.input.mode = "full"', []),
        ("workflow.input.mode == 'full'", 'workflow.input.mode = "full"', []),
        ("and.or == 1", "scan.output.`and`.`or` = 1", []),
        ("{% scan.output.x = 1 %}", "scan.output.x = 1", ["scan"]),
        (
            '{% `Look at it`.output.x = "Look at it.output" and $count(scan.output.l) > 1 %}',
            '`n-2`.output.x = "Look at it.output" and $count(scan.output.l) > 1',
            ["n-2", "scan"],
        ),
    ],
)
def test_a_plain_comparison_is_jsonata(condition: str, text: str | None, used: list[str] | None) -> None:
    if text is None:
        with pytest.raises(ValueError, match="expected"):
            jsonata(condition)
    else:
        assert jsonata(condition) == (text, used)
        compile_expression(text)


@pytest.mark.parametrize(
    "condition, value, holds",
    [
        ('x == "high"', "high", True), ('x == "high"', "low", False), ("x == 1", 1, True), ("x == true", True, True),
        ("x == null", None, True), ("x != 5", 6, True), ("x > 1 and x < 3", 2, True), ("x < 1 or x > 3", 2, False),
        ("x.y == 'é'", {"y": "é"}, True), ("x[1] == 2", [1, 2], True), ("gone == 1", 1, False), ("gone != 1", 1, False),
    ],
)  # fmt: skip
def test_a_comparison_holds_as_it_reads(condition: str, value: Any, holds: bool) -> None:
    text, _ = jsonata(condition)
    assert bool(compile_expression(text).evaluate({"scan": {"output": {"x": value}}})) is holds


@pytest.mark.parametrize(
    "condition",
    [
        "x ==", "== 1", "x 1", "x == 1 == 2", "x ~ 1", "x == 1 and", "and", "x == 'open", "${Nobody.output.x} == 1",
        "${Twice.output.x} == 1", "${scan.output.x:-1} == 1", "${scan.x} == 1", "{% 1 + %}", "{%  %}", "x; y",
        "f(x) == 1",
    ],
)  # fmt: skip
def test_what_is_no_comparison_is_refused_with_a_sentence(condition: str) -> None:
    with pytest.raises(ValueError, match=r"\w+ .*\w+") as refused:
        jsonata(condition)
    assert "Traceback" not in str(refused.value)


def test_else_is_told_from_a_field_of_that_name() -> None:
    assert is_else(" Else ")
    assert is_else("otherwise")
    assert not is_else("else == 1")


def test_a_label_is_a_name_in_parameters_and_conditions_alike() -> None:
    nodes = [node("n1", label="Ask me"), node("n2", value="${Ask me.output.value}"), node("n3")]
    outcome = compiled(nodes, [*edges("n1 n2"), edge("n2", "n3", "${Ask me.output.value} == 1")])
    assert codes(outcome, "error") == []
    assert "n1.output.value = 1" in str(outcome.document)


@pytest.mark.parametrize(
    "text",
    [
        "${workflow.input.output}", "${vars.output.x}", "${error.message}", "${index}", "$${n1.output.x}", "plain",
        "${workflow.id}", "{% workflow.input.x %}",
    ],
)  # fmt: skip
def test_what_names_no_node_is_left_alone(text: str) -> None:
    faults: list[Any] = []
    assert NAMES.rewrite(text, faults.append, faults.append) == text
    assert faults == []


@pytest.mark.parametrize(
    "raw, filled",
    [
        ({"id": "a", "type": "start"}, {"type": "start", "data": {"label": "a"}}),
        (
            {"id": "a", "type": "echo"},
            {"type": "activity", "data": {"label": "a", "activity": "EchoActivity", "config": {}}},
        ),
        (
            {"id": "a", "data": {"activity": "echo", "label": "A"}},
            {"type": "activity", "data": {"label": "A", "activity": "echo", "config": {}}},
        ),
        (
            {"id": "a", "type": "wait", "data": {"duration": "1s"}},
            {
                "type": "activity",
                "data": {"duration": "1s", "label": "a", "stateType": "Wait", "config": {"duration": "1s"}},
            },
        ),
        ({"id": "a", "type": "unknown-thing"}, {"type": "unknown-thing", "data": {"label": "a"}}),
        ({"id": "a", "type": 3, "data": "x"}, {"type": 3, "data": "x"}),
    ],
)
def test_a_node_is_filled_up_and_nothing_else(raw: dict[str, Any], filled: dict[str, Any]) -> None:
    before = dict(raw)
    assert fill_node(raw, ACTIVITIES) == {"id": "a", "position": {"x": 0, "y": 0}, **filled}
    assert raw == before
    again = fill_node(fill_node(raw, ACTIVITIES), ACTIVITIES)
    assert again == fill_node(raw, ACTIVITIES), "filling twice changes nothing"
