"""References name values by path; they keep types, fall back to defaults and say precisely what is missing."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflows.errors import ExpressionError, UnresolvedReference
from workflows.spec.references import ReferenceSyntaxError, compile_template, resolve

SCOPE: dict[str, Any] = {
    "workflow": {
        "id": "42",
        "name": "check-up",
        "startedAt": "2030-01-31T08:00:00Z",
        "input": {"repo": "r", "n": None},
    },
    "Clone": {"output": {"path": "/work", "count": 3, "files": [{"name": "a"}, {"name": "b"}], "by": {"0": "zero"}}},
    "Broken": {"error": {"name": "Timeout", "message": "too slow"}},
    "vars": {"tries": 2, "on": True},
    "item": {"id": 7},
    "index": 0,
}


@pytest.mark.parametrize(
    "value,expected",
    [
        ("${Clone.output.path}", "/work"),
        ("${Clone.output.count}", 3),
        ("${Clone.output}", SCOPE["Clone"]["output"]),
        ("${Clone.output.files[1].name}", "b"),
        ("${Clone.output.files.1.name}", "b"),
        ("${Clone.output.by.0}", "zero"),
        ("${Clone.output.by[0]}", "zero"),
        ("${ Clone.output.path }", "/work"),
        ("${Broken.error.message}", "too slow"),
        ("${workflow.input.repo}", "r"),
        ("${workflow.input}", {"repo": "r", "n": None}),
        ("${workflow.startedAt}", "2030-01-31T08:00:00Z"),
        ("${vars.tries}", 2),
        ("${item.id}", 7),
        ("${index}", 0),
        ("at ${Clone.output.path}: ${Clone.output.count} of ${vars.tries}", "at /work: 3 of 2"),
        ("${vars} ${vars.on} ${workflow.input.n}", '{"tries":2,"on":true} true null'),
        ("$${Clone.output.path}", "${Clone.output.path}"),
        ("$$${Clone.output.path}", "$${Clone.output.path}"),
        ("costs $5 {or so}", "costs $5 {or so}"),
        ({"${index}": ["${index}", {"deep": "x${index}"}]}, {"${index}": [0, {"deep": "x0"}]}),
        ({"plain": [1, 2.5, None, True, "$${x}"]}, {"plain": [1, 2.5, None, True, "${x}"]}),
        ("{% vars.tries + 1 %}", 3),
        (" {% $count(Clone.output.files) %}\n", 2),
        (["{% vars.tries > 1 ? 'many' : 'few' %}"], ["many"]),
    ],
)
def test_a_value_resolves_to_what_it_names(value: Any, expected: Any) -> None:
    result = resolve(value, SCOPE)
    assert result == expected
    assert type(result) is type(expected)


@pytest.mark.parametrize(
    "value,expected",
    [
        ("${Clone.output.nothing:-x}", "x"),
        ("${NotRun.output.path:-/tmp}", "/tmp"),
        ("${workflow.input.n:-5}", 5),
        ("${workflow.input.missing:-}", ""),
        ("${workflow.input.missing:-true}", True),
        ('${workflow.input.missing:-"5"}', "5"),
        ("${workflow.input.missing:-NaN}", "NaN"),
        ("${Clone.output.path:-x}", "/work"),
        ("v${workflow.input.missing:-1.0}", "v1.0"),
        ("${workflow.input.missing:-a:-b}", "a:-b"),
    ],
)
def test_a_default_stands_in_for_what_is_missing_or_null(value: str, expected: Any) -> None:
    assert resolve(value, SCOPE) == expected


@pytest.mark.parametrize(
    "value,sentence",
    [
        ("${Later.output.x}", '${Later.output.x} cannot be resolved: state "Later" has not run'),
        ("${Clone.output.pth}", 'Clone.output has no field "pth"; it has path, count, files, by'),
        ("${Clone.output.files[9]}", "Clone.output.files is a list of 2 and has no [9]"),
        ("${Clone.output.path.x}", 'Clone.output.path is a text and has no field "x"'),
        ("${workflow.input.n.x}", 'workflow.input.n is null and has no field "x"'),
        ("${Clone.error.message}", 'state "Clone" has no error: it has not failed'),
        ("${Broken.output.x}", 'state "Broken" has no output'),
        ("${error.message}", "no error has been caught"),
        ("x ${result} y", "there is no result here"),
    ],
)
def test_what_cannot_be_resolved_is_said_precisely(value: str, sentence: str) -> None:
    with pytest.raises(UnresolvedReference) as caught:
        resolve(value, SCOPE)
    assert sentence in caught.value.message
    assert caught.value.name == "ReferenceError"
    assert not caught.value.retryable


@pytest.mark.parametrize(
    "text,sentence",
    [
        ("${Clone.path}", "did you mean ${Clone.output.path}?"),
        ("${Clone}", "did you mean ${Clone.output}?"),
        ("${workflow.repo}", "did you mean ${workflow.input.repo}?"),
        ("${}", "names nothing"),
        ("${.x}", "names nothing"),
        ("${Clone.output..x}", "is not a path"),
        ("${Clone.output[x]}", "is not a path"),
        ("${Clone.output[-1]}", "is not a path"),
        ("before ${Clone.output", 'at position 7 has no closing "}"'),
        ("${a{b}}", "no closing"),
    ],
)
def test_what_is_no_reference_is_refused_when_compiled(text: str, sentence: str) -> None:
    with pytest.raises(ReferenceSyntaxError) as caught:
        compile_template({"deep": [text]})
    assert sentence in caught.value.message


def test_a_wrong_expression_is_refused_when_compiled() -> None:
    with pytest.raises(ExpressionError, match=r"is wrong: Expected \)"):
        compile_template(["{% (1 %}"])


class Ledger(Mapping[str, Any]):
    """A scope that notes what is asked of it."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __getitem__(self, root: str) -> Any:
        self.asked.append(root)
        return SCOPE[root]

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("nothing may list the scope")

    def __len__(self) -> int:
        raise AssertionError("nothing may measure the scope")


def test_only_what_is_named_is_loaded() -> None:
    template = compile_template({"a": "${vars.tries}", "b": "x ${Clone.output.path}", "c": "{% item.id + 1 %}"})
    scope = Ledger()
    assert template.resolve(scope) == {"a": 2, "b": "x /work", "c": 8}
    assert sorted(scope.asked) == ["Clone", "item", "vars"]
    assert {"vars", "Clone", "item"} <= template.roots


def test_a_value_without_references_is_known_to_be_constant() -> None:
    template = compile_template({"a": [1, "text", "$${escaped}"]})
    assert template.is_constant
    assert template.roots == frozenset()
    assert template.resolve(Ledger()) == {"a": [1, "text", "${escaped}"]}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_any_value_comes_through_unless_it_holds_a_reference(value: Any) -> None:
    if "${" not in str(value) and "{%" not in str(value):
        assert resolve(value, {}) == value


@given(JSON)
def test_a_whole_reference_gives_back_any_value_unchanged(value: Any) -> None:
    assert resolve("${vars.x}", {"vars": {"x": value}}) == value


@given(st.text(alphabet="${}.[]:-% ab0", max_size=30))
def test_any_text_resolves_or_fails_with_a_workflow_error(text: str) -> None:
    with contextlib.suppress(UnresolvedReference, ExpressionError):
        resolve(text, SCOPE)
