"""JSON dug out of what models write: fences, prose, thoughts, broken ends; never at the price of time or invention."""

import json
import time
from typing import Any

import pytest

from agents.demo_llm.answering import reply_to, value_for
from agents.llm.errors import LLMResponseError
from agents.llm.json_answers import check_schema, parse, problem_of
from workflows.errors import InvalidInput

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}},
    "required": ["name"],
}


@pytest.mark.parametrize(
    "text, value",
    [
        ('{"name": "a"}', {"name": "a"}),
        ('  {"name": "a"}\n', {"name": "a"}),
        ('```json\n{"name": "a"}\n```', {"name": "a"}),
        ('```\n{"name": "a"}\n```', {"name": "a"}),
        ('Sure! Here it is:\n\n```json\n{"name": "a"}\n```\nAnything else?', {"name": "a"}),
        ('Sure, {"name": "a"} is what you want {or not}.', {"name": "a"}),
        ('{not json} but {"name": "a"}', {"name": "a"}),
        ('<think>{"name": "wrong"} hmm</think>{"name": "a"}', {"name": "a"}),
        ('{"name": "a", "tags": ["x", "y",],}', {"name": "a", "tags": ["x", "y"]}),
        ('{"name": "a", "tags": ["x", "y', {"name": "a", "tags": ["x", "y"]}),
        ('{"name": "a", "tags": ["x",', {"name": "a", "tags": ["x"]}),
        ('{"name": "a", "tags":', {"name": "a"}),
        ('{"name": "a", "ta', {"name": "a"}),
        ('{"name": "a\\', {"name": "a"}),
        ('```json\n{"name": "a", "tags": [', {"name": "a", "tags": []}),
        ('{"name": "{[}]"}', {"name": "{[}]"}),
        ('{"other": 1} {"name": "a"}', {"name": "a"}),
    ],
)
def test_what_a_model_meant_is_found(text: str, value: Any) -> None:
    assert parse(text, SCHEMA)[0] == value


@pytest.mark.parametrize(
    "text, words",
    [
        ("", "it holds no JSON"),
        ("I would rather not.", "it holds no JSON"),
        ('{"other": 1}', "'name' is a required property"),
        ('{"name": 5}', "name: 5 is not of type 'string'"),
        ('["a"]', "is not of type 'object'"),
        ('{"name": NaN}', "it holds no JSON"),
        ('{"name": ', "'name' is a required property"),
        ("{" * 5000, "it holds no JSON"),
        ('{"a":' * 5000, "'name' is a required property|it holds no JSON"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_place(text: str, words: str) -> None:
    with pytest.raises(LLMResponseError, match=words):
        parse(text, SCHEMA)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"' * 100_000,
        '"' * 200_000,
        "```" * 50_000,
        "<think>" * 50_000,
        '{"name": ' + '"x' * 100_000,
        '{"a": [' + "1," * 100_000,
        "{" + " " * 150_000,
        "[" + '"\\' * 90_000,
    ],
    ids=["brackets", "keys", "quotes", "fences", "thoughts", "strings", "numbers", "spaces", "escapes"],
)
def test_hostile_answers_take_no_time(text: str) -> None:
    began = time.process_time()
    with pytest.raises(LLMResponseError):
        parse(text, SCHEMA)
    assert time.process_time() - began < 5


def test_a_schema_fetches_nothing_from_elsewhere() -> None:
    with pytest.raises(InvalidInput, match="refers to something that is not in it"):
        problem_of({}, {"$ref": "http://127.0.0.1:9/schema.json"})


def test_what_is_no_schema_is_refused_with_the_place() -> None:
    with pytest.raises(InvalidInput, match=r"properties\.a\.type: 5 is not valid"):
        check_schema({"properties": {"a": {"type": 5}}})


def test_a_schemas_regular_expressions_hold_nobody_up() -> None:
    began = time.process_time()
    assert problem_of("a" * 40 + "!", {"type": "string", "pattern": "^(a+)+$"}) is None
    assert time.process_time() - began < 5


# -- the demo model -------------------------------------------------------------------------------------------------

ROUTE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "activities": {
            "type": "array",
            "minItems": 1,
            "items": {"enum": ["CloneRepoActivity", "SecurityScanActivity", "NotifyStatusActivity"]},
        },
        "parameters": {"type": "object", "properties": {"repo": {"type": "string"}}},
        "isCron": {"type": "boolean"},
        "cronSchedule": {"type": "string"},
        "errorHandling": {"enum": ["retry", "fail-fast", "continue"]},
        "limit": {"type": "integer", "minimum": 3, "maximum": 9},
        "more": {"anyOf": [{"$ref": "#/$defs/more"}, {"type": "null"}]},
    },
    "required": ["activities", "isCron", "limit", "more"],
    "$defs": {"more": {"type": "object", "properties": {"x": {"type": ["string", "null"]}}, "required": ["x"]}},
}


def test_the_demo_models_values_fit_the_schema_and_the_question() -> None:
    asked = "Scan https://example.org/a.git for security holes daily and notify me"
    value = value_for(ROUTE, asked)
    assert problem_of(value, ROUTE) is None
    assert value["activities"] == ["SecurityScanActivity", "NotifyStatusActivity"]
    assert value["parameters"] == {"repo": "https://example.org/a.git"}
    assert value["cronSchedule"] == "0 2 * * *"
    assert value == value_for(ROUTE, asked)


def test_the_demo_model_reads_a_schema_in_words_and_answers_the_question_that_a_complaint_is_about() -> None:
    in_words = f"It must fit this JSON Schema:\n{json.dumps(ROUTE)}"
    asked = {"role": "user", "content": "BEGIN\nScan https://example.org/a.git\nEND"}
    complaint = {"role": "user", "content": f"That cannot be used: it holds no JSON. {in_words}"}
    system = {"role": "system", "content": f"You plan.\n\n{in_words}"}
    for messages in ([system, asked], [asked, {"role": "assistant", "content": "no"}, complaint]):
        value = json.loads(reply_to({"messages": messages}).text)
        assert problem_of(value, ROUTE) is None
        assert value["activities"] == ["SecurityScanActivity"]


def test_the_demo_model_summarises_and_says_what_it_is() -> None:
    def said(text: str) -> str:
        return reply_to({"messages": [{"role": "user", "content": text}]}).text

    assert said("Summarise: It rains. It snows. It shines.") == "In short: It rains. It snows."
    assert "understands nothing" in said("hello")
