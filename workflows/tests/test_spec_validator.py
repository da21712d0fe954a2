"""A wrong spec is answered with every problem at once: where it is, what it is, and what might have been meant."""

import json
import math
from typing import Any
from uuid import UUID

import pytest

from workflows.spec import limits
from workflows.spec import reading as reading_module
from workflows.spec.report import CODES, MAX_PROBLEMS
from workflows.spec.validator import validate_spec
from workflows.tests.spec_documents import (
    END,
    check,
    choice,
    each,
    inline,
    nested,
    parallel,
    result,
    spec,
    task,
)

CASES: list[tuple[str, str, object]] = [
    # code, path, document
    ("not-json", "", "{"),
    ("not-json", "", b"\xff\xfe"),
    ("not-json", "", '{"name": ' + "9" * 5000 + "}"),
    ("not-json", "states[0].result", spec(result(value=math.nan))),
    ("not-json", "states[0].result", '{"name": "x", "states": [{"name": "A", "type": "Pass", "result": NaN}]}'),
    ("not-json", "states[0].result", spec(result(value={1: 2}))),
    ("not-json", "states[0].result", spec(result(value={"a", "b"}).copy())),
    ("not-json", "states[0].result[0]", spec(result(value=[10**400]))),
    ("too-large", "", " " * (limits.MAX_SPEC_BYTES + 1)),
    ("too-large", "", b" " * (limits.MAX_SPEC_BYTES + 1)),
    ("too-large", "", spec(result(value="x" * limits.MAX_SPEC_BYTES))),
    ("too-deep", "states[0].result" + "[0]" * 37, spec(result(value=nested(100)))),
    ("too-deep", "", "[" * 100_000),
    ("too-many-states", "", spec(*[{"name": "A", "type": "Fail"}] * (limits.MAX_STATES + 1))),
    ("duplicate-key", "states[0]", '{"name": "x", "states": [{"name": "A", "type": "Fail", "name": "B"}]}'),
    ("unstorable-text", "states[0].result.a", spec(result(value={"a": "nul \x00"}))),
    ("unstorable-text", "description", spec(result(), description="half \ud800")),
    ("unstorable-text", "states[0].result", spec(result(value={"\ud800": 1}))),
    ("missing-key", "name", {"states": [END]}),
    ("missing-key", "states", {"name": "x"}),
    ("missing-key", "states[0].resource", spec({"name": "A", "type": "Task"})),
    ("missing-key", "states[0].type", spec({"name": "A"})),
    ("unknown-key", "startat", spec(END, startat="End")),
    ("unknown-key", "states[0].retry.max_attempts", spec(task(retry={"max_attempts": 3}))),
    ("unknown-key", "states[0].next", spec({"name": "A", "type": "Fail", "next": "B"})),
    ("wrong-type", "", []),
    ("wrong-type", "", None),
    ("wrong-type", "", object()),
    ("wrong-type", "", "[1]"),
    ("wrong-type", "states", {"name": "x", "states": {}}),
    ("wrong-type", "states[1]", spec(END, "Task")),
    ("wrong-type", "states[0].end", spec(task(end="true"))),
    ("wrong-type", "version", spec(END, version=1.5)),
    ("wrong-type", "states[0].items", spec({"name": "M", "type": "Map", "items": "abc", "states": [result()]})),
    ("wrong-value", "errorHandling", spec(END, errorHandling="fail-fats")),
    ("out-of-range", "states", spec()),
    ("out-of-range", "name", spec(END, name="n" * 129)),
    ("out-of-range", "states[0].retry.maxAttempts", spec(task(retry={"maxAttempts": 11}))),
    ("out-of-range", "states[0].retry.jitter", spec(task(retry={"jitter": -0.1}))),
    ("out-of-range", "states[0].branches[0].states", spec(parallel({"states": []}))),
    ("bad-name", "states[0].name", spec(result("two words"))),
    ("bad-name", "states[0].error", spec({"name": "F", "type": "Fail", "error": "${workflow.input.a}"})),
    ("unknown-type", "states[0].type", spec({"name": "A", "type": "Taks"})),
    ("bad-duration", "timeout", spec(END, timeout="five minutes")),
    ("bad-duration", "states[0].retry.initialInterval", spec(task(retry={"initialInterval": "2"}))),
    ("bad-duration", "states[0].duration", spec({"name": "W", "type": "Wait", "duration": "-1s"})),
    ("duration-out-of-range", "states[0].timeout", spec(task(timeout="24h1s"))),
    ("duration-out-of-range", "states[0].timeout", spec(task(timeout="0s"))),
    ("duration-out-of-range", "timeout", spec(END, timeout="25h")),
    ("duration-out-of-range", "states[0].duration", spec({"name": "W", "type": "Wait", "duration": "367d"})),
    ("bad-time", "states[0].until", spec({"name": "W", "type": "Wait", "until": "tomorrow"})),
    ("duplicate-name", "states[1].name", spec(result(), result())),
    ("duplicate-name", "states[1].branches[0].states[0].name", spec(result(), parallel({"states": [result()]}))),
    ("reserved-name", "states[0].name", spec(result("vars"))),
    ("unknown-state", "states[0].next", spec(task(next="Edn"), END)),
    ("unknown-state", "startAt", spec(END, startAt="Start")),
    ("unknown-state", "states[0].catch[0].next", spec(task(catch=[{"next": "Nowhere"}]))),
    ("unknown-state", "states[0].choices[0].next", spec(choice("{% true %}", "Nowhere"), END)),
    ("unknown-state", "states[0].default", spec(choice("{% true %}", default="Nowhere"), END)),
    ("outside-list", "states[0].branches[0].states[0].next", spec(parallel({"states": [task(next="End")]}), END)),
    ("outside-list", "states[0].next", spec(task("B", next="A"), each(result()))),
    ("next-and-end", "states[0]", spec(task(next="End", end=True), END)),
    ("exactly-one", "states[0]", spec({"name": "W", "type": "Wait"})),
    (
        "exactly-one",
        "states[0]",
        spec({"name": "W", "type": "Wait", "duration": "1s", "until": "2030-01-01T00:00:00Z"}),
    ),
    ("exactly-one", "states[0]", spec({"name": "W", "type": "Workflow"})),
    ("unreachable-state", "states[1]", spec(task(end=True), task("B", end=True))),
    ("unreachable-state", "states[0].branches[0].states[1]", spec(parallel({"states": [task(end=True), task("B")]}))),
    ("no-terminal-state", "states", spec(task(next="B"), task("B", next="A"))),
    ("busy-loop", "states[0]", spec(result(next="If"), choice("{% true %}", "A", default="End"), END)),
    ("busy-loop", "states[0]", spec({**choice("{% true %}", "If", default="End")}, END)),
    ("busy-loop", "states[0]", spec(each(result(), next="If"), choice("{% true %}", "Each", default="End"), END)),
    (
        "duplicate-branch",
        "states[0].branches[1].name",
        spec(parallel(*({"name": "b", "states": [result(n)]} for n in "AB"))),
    ),
    (
        "unknown-branch",
        "states[0].branches[0].dependsOn[0]",
        spec(parallel({"states": [result()], "dependsOn": ["x"]})),
    ),
    (
        "branch-cycle",
        "states[0].branches[0].dependsOn",
        spec(parallel(*({"name": n, "states": [result(n)], "dependsOn": [d]} for n, d in ("AB", "BA")))),
    ),
    ("child-too-deep", "states[0].spec" + ".states[0].spec" * 8, inline(9)),
    ("bad-variable-name", "states[0].assign", spec(task(assign={"two words": 1}))),
    (
        "bad-variable-name",
        "states[0].catch[0].resultPath",
        spec(task(catch=[{"next": "End", "resultPath": "$.x"}]), END),
    ),
    ("bad-share", "states[0].toleratedFailures", spec(each(result(), toleratedFailures="some"))),
    ("bad-share", "states[0].toleratedFailures", spec(each(result(), toleratedFailures="101%"))),
    ("bad-share", "states[0].toleratedFailures", spec(each(result(), toleratedFailures=-1))),
    ("bad-reference", "states[1].result", spec(task(), result("B", "${A.path}"))),
    ("bad-reference", "states[0].result.a[1]", spec(result(value={"a": [1, "${workflow.input"]}))),
    ("bad-reference", "states[1].result", spec(task(), result("B", "{% A.files %}"))),
    ("unknown-reference", "states[1].result", spec(task("Clone"), result("B", "${Clon.output}"))),
    ("unknown-reference", "states[0].choices[0].when", spec(choice("{% Clone.output.n > 1 %}"), END)),
    ("reference-before-run", "states[0].result", spec(result(value="${B.output}"), task("B"))),
    ("reference-before-run", "states[0].result", spec(result(value="${A.output}"))),
    ("reference-before-run", "states[0].output", spec(task(output="${A.output}"))),
    ("reference-before-run", "states[1].result", spec(task(), result("B", "${A.error.message}"))),
    (
        "reference-before-run",
        "states[0].branches[1].states[0].result",
        spec(parallel({"name": "l", "states": [task()]}, {"states": [result("B", "${A.output}")]})),
    ),
    (
        "reference-before-run",
        "states[0].branches[0].states[0].result",
        spec(parallel({"states": [result(value="${Fan.output}")]})),
    ),
    ("reference-inside-map", "states[1].result", spec(each(task()), result("B", "${A.output}"))),
    ("root-not-here", "states[0].result", spec(result(value="${item.id}"))),
    ("root-not-here", "states[0].result", spec(result(value="{% index + 1 %}"))),
    ("root-not-here", "states[0].parameters.data", spec(task(parameters={"data": "${result}"}))),
    ("root-not-here", "states[0].result", spec(result(value="${error.message}"))),
    (
        "root-not-here",
        "states[1].branches[0].states[0].result",
        spec(task(catch=[{"next": "Fan"}]), parallel({"states": [result("B", "${error.message}")]})),
    ),
    ("unknown-variable", "states[1].result", spec(task(assign={"tries": 1}), result("B", "${vars.trys}"))),
    ("unknown-variable", "states[0].choices[0].when", spec(choice("{% vars.x = 1 %}"), END)),
    ("bad-expression", "states[0].result", spec(result(value="{% 1 + %}"))),
    ("bad-expression", "states[0].result", spec(result(value="{% 1 + 1"))),
    ("bad-condition", "states[0].choices[0].when", spec(choice("Clone.output.n > 1"), END)),
    ("bad-condition", "states[0].branches[0].when", spec(parallel({"states": [result()], "when": "${index} > 1"}))),
    ("unknown-activity", "states[0].resource", spec(task(resource="CloneRepo"))),
    ("not-cacheable", "states[0].cache", spec(task(resource="CloneRepoActivity", cache={"ttl": "1h"}))),
    ("parameter-type", "states[0].parameters.repo", spec(task(resource="CloneRepoActivity", parameters={"repo": 5}))),
    (
        "parameter-type",
        "states[0].parameters.branch",
        spec(task(resource="CloneRepoActivity", parameters={"branch": 5})),
    ),
    (
        "parameter-type",
        "states[0].parameters.languages[1]",
        spec(task(resource="AnalyzeCodeActivity", parameters={"languages": ["go", 1, "${workflow.input.x}"]})),
    ),
    (
        "parameter-type",
        "states[0].parameters.depth",
        spec(task(resource="AnalyzeCodeActivity", parameters={"depth": True})),
    ),
    ("parameter-value", "states[0].parameters.format", spec(task(parameters={"format": "markdwn"}))),
    (
        "parameter-value",
        "states[0].parameters.depth",
        spec(task(resource="AnalyzeCodeActivity", parameters={"depth": 99})),
    ),
    (
        "parameter-value",
        "states[0].parameters.rule",
        spec(task(resource="AnalyzeCodeActivity", parameters={"rule": {}})),
    ),
    ("secret-not-allowed", "states[0].parameters.format", spec(task(parameters={"format": f"secret:{UUID(int=0)}"}))),
    ("unknown-workflow", "states[0].workflow", spec({"name": "W", "type": "Workflow", "workflow": "nihgtly"})),
    ("more-problems", "", spec(*({"name": f"S{n}", "type": "Fail", "x": 1} for n in range(MAX_PROBLEMS)))),
    (
        "reference-uncertain",
        "states[3].result",
        spec(
            choice("{% true %}", "A", default="B"),
            task(next="B"),
            task("C", end=True),
            result("B", "${A.output}", next="C"),
        ),
    ),
    (
        "reference-uncertain",
        "states[1].result",
        spec(task(catch=[{"next": "B"}], next="B"), result("B", "${error.message}", end=True)),
    ),
    ("implicit-end", "states[1]", spec(task(next="B"), task("B"), task("C", end=True))),
    (
        "unreachable-catch",
        "states[0].catch[1]",
        spec(task(catch=[{"next": "End"}, {"errors": ["X"], "next": "End"}]), END),
    ),
    ("interval-order", "states[0].heartbeat", spec(task(timeout="1m", heartbeat="2m"))),
    (
        "interval-order",
        "states[0].retry.initialInterval",
        spec(task(retry={"initialInterval": "2m", "maxInterval": "1m"})),
    ),
    ("parameter-capped", "states[0].parameters.pages", spec(task(parameters={"pages": 10}))),
    ("unknown-parameter", "states[0].parameters.fromat", spec(task(parameters={"fromat": "html"}))),
    ("missing-parameter", "states[0].parameters", spec(task(resource="CloneRepoActivity"))),
    ("missing-dependency", "states[0].resource", spec(task(resource="AnalyzeCodeActivity"))),
    ("missing-dependency", "states[0].resource", spec(task(resource="PublishActivity"))),
    (
        "unknown-output-field",
        "states[1].result",
        spec(task(resource="CloneRepoActivity"), result("B", "${A.output.paths}")),
    ),
]


@pytest.mark.parametrize("code,path,document", CASES)
def test_each_mistake_is_found_where_it_is(code: str, path: str, document: object) -> None:
    report = check(document)
    found = {(problem.code, problem.path) for problem in report.problems}
    assert (code, path) in found, report.as_text()
    assert report.valid is not any(CODES[c][0] == "error" for c, _ in found)


def test_reading_expressions_is_bounded_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_module, "_MOST_SECONDS_FOR_EXPRESSIONS", 0.0)
    report = check(spec(*(result(f"S{number}", "{% " + "1+" * number + "1 %}") for number in range(5))))
    assert [problem.code for problem in report.problems] == ["expressions-too-slow"]


def test_every_documented_code_has_a_case_and_every_case_a_code() -> None:
    # Before this one, in test_cron_spec and in test_plugins.
    elsewhere = {"expressions-too-slow", "bad-cron", "never-runs", "unknown-zone", "plugin-unavailable"}
    assert {code for code, _, _ in CASES} | elsewhere == set(CODES)


RIGHT = {
    "three steps in array order": spec(
        task(
            "Clone",
            resource="CloneRepoActivity",
            parameters={"repo": "${workflow.input.repo}", "branch": "main"},
            timeout="5m",
        ),
        task(
            "Analyze",
            resource="AnalyzeCodeActivity",
            parameters={"path": "${Clone.output.path}", "depth": 3},
            timeout="10m",
        ),
        task("Report", parameters={"data": "${Analyze.output}", "format": "markdown"}, timeout="2m", end=True),
        input={"taskId": "t", "description": "d", "repo": "r"},
    ),
    "a loop with a counter": spec(
        result("Start", 0, assign={"tries": 0}, next="Try"),
        task("Try", assign={"tries": "{% vars.tries + 1 %}", "last": "${result}"}, next="Enough"),
        {
            "name": "Enough",
            "type": "Choice",
            "choices": [{"when": "{% vars.tries < 5 %}", "next": "Rest", "assign": {"seen": "${Try.output}"}}],
            "default": "Done",
        },
        {"name": "Rest", "type": "Wait", "duration": "{% $string(vars.tries) & 's' %}", "next": "Try"},
        {"name": "Done", "type": "Succeed", "output": {"n": "${vars.tries}"}},
    ),
    "branches that wait for each other, and reading them after the join": spec(
        parallel(
            {"name": "a", "states": [task("A", output="${result}")]},
            {"name": "b", "dependsOn": ["a"], "when": "{% A.output.files %}", "states": [result("B", "${A.output}")]},
            {"states": [result("C")]},
            output=["${A.output}", "${C.output}", "{% B.output %}"],
        ),
        result("After", ["${A.output.x}", "${B.output:-none}", "${Fan.output}"]),
    ),
    "a map with an inner parallel that sees the item": spec(
        each(
            parallel({"states": [result(value=["${item.id}", "${index}"])]}),
            result("Sum", "${A.output}"),
            items=[1, 2],
            toleratedFailures="10%",
        ),
        result("B", "${Each.output}"),
    ),
    "a failure that is caught and told": spec(
        task(catch=[{"errors": ["Timeout"], "next": "Slow", "resultPath": "why"}, {"next": "Broken"}], next="End"),
        result("Slow", "${vars.why.message} ${error.message} ${A.error.name}", next="End"),
        {"name": "Broken", "type": "Fail", "error": "Broken", "cause": "because ${error.message}"},
        END,
    ),
    "a branch that failed, read where its Parallel is caught": spec(
        parallel({"states": [task(), task("B")]}, catch=[{"next": "After"}], end=True),
        result("After", ["${B.error.name:-none}", "${Fan.error.message}"], end=True),
    ),
    "the last state of a list needs no end": spec(task(next="B"), task("B")),
    "children, signals and a fresh start": spec(
        {"name": "Child", "type": "Workflow", "workflow": "nightly", "input": {"a": "${workflow.id}"}},
        {"name": "Inner", "type": "Workflow", "spec": spec(result(), END)},
        {"name": "Ask", "type": "WaitForSignal", "signal": "go-${workflow.id}", "timeout": "30d"},
        {"name": "Again", "type": "Succeed", "continueAsNew": {"input": {"last": "${Ask.output}"}}},
    ),
    "one of those that an activity builds on": spec(task("Report"), task("Publish", resource="PublishActivity")),
    "text that only looks like a reference": spec(result(value=["$${A.output}", "$5", "{}", "100%}", "a {% b %} c"])),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_spec_has_no_problems_and_is_returned(name: str) -> None:
    for document in (RIGHT[name], json.dumps(RIGHT[name]), json.dumps(RIGHT[name]).encode()):
        report = check(document)
        assert report.problems == []
        assert report.valid
        assert report.spec is not None
        assert report.spec.name == "trial"


SENTENCES = [
    (spec(task(next="Edn"), END), 'states[0].next: unknown state "Edn" (did you mean "End"?)'),
    (spec({"name": "A", "type": "taks"}), '(did you mean "Task"?)'),
    (
        spec(task(resource="ReportActivty")),
        'states[0].resource: unknown activity "ReportActivty" (did you mean "ReportActivity"?)',
    ),
    (spec(END, startat="End"), 'startat: unknown key "startat" (did you mean "startAt"?)'),
    (
        spec(task(parameters={"format": "markdwn"})),
        '"markdwn" is not allowed; it is one of "markdown", "html" (did you mean "markdown"?)',
    ),
    (spec(task(retry={"maxAttempts": 11})), "states[0].retry.maxAttempts: this must be at most 10, not 11"),
    (spec({"name": "A", "type": "Fail", "end": True}), 'states[0].end: a Fail state has no "end"'),
    (spec(task(resource="CloneRepoActivity", parameters={"branch": 5})), "this must be text or null, not 5"),
    (
        spec(parallel({"name": "l", "states": [task()]}, {"states": [result("B", "${A.output}")]})),
        '${A.output} runs in a branch beside this one; add "l" to dependsOn of this branch',
    ),
    (
        spec(each(task()), result("B", "${A.output}")),
        '${A.output} is inside the Map "Each"; from outside read Each.output',
    ),
    ('{"name": "x",\n "states": [}', "the document is not JSON: expecting value at line 2, column 13"),
]


@pytest.mark.parametrize("document,sentence", SENTENCES)
def test_problems_read_like_advice(document: object, sentence: str) -> None:
    errors = check(document).as_json()["errors"]
    assert any(sentence in error for error in errors), errors


def test_every_problem_is_told_at_once() -> None:
    report = check(
        spec(
            task("Clone", resource="CloneRepoActivty", next="Analyse", timeout="5"),
            task("Analyze", parameters={"format": 1}, retry={"maxAttempts": 0}),
            {"name": "Analyze", "type": "Wait"},
            startsAt="Clone",
        )
    )
    assert {(problem.path, problem.code) for problem in report.errors} == {
        ("startsAt", "unknown-key"),
        ("states[0].next", "unknown-state"),
        ("states[0].resource", "unknown-activity"),
        ("states[0].timeout", "bad-duration"),
        ("states[1]", "unreachable-state"),
        ("states[1].parameters.format", "parameter-type"),
        ("states[1].retry.maxAttempts", "out-of-range"),
        ("states[2].name", "duplicate-name"),
        ("states[2]", "exactly-one"),
        ("states[2]", "unreachable-state"),
    }


def test_the_report_comes_as_json_and_as_text() -> None:
    report = check(spec(task(next="Edn"), END, task("B", parameters={"fromat": 1})))
    body = report.as_json()
    assert body["valid"] is False
    assert body["problems"][0] == {
        "path": "states[0].next",
        "code": "unknown-state",
        "message": 'unknown state "Edn"',
        "severity": "error",
        "suggestion": "End",
    }
    assert all(problem["severity"] == "error" for problem in body["problems"][: len(body["errors"])])
    assert len(body["errors"]) + len(body["warnings"]) == len(body["problems"])
    assert json.loads(json.dumps(body)) == body
    assert report.as_text().splitlines()[0] == "not valid: 3 errors, 1 warning"


def test_without_a_knowledge_base_activities_are_not_judged() -> None:
    document = spec(
        task(resource="NobodyKnows", parameters={"x": 1}), {"name": "W", "type": "Workflow", "workflow": "y"}
    )
    assert validate_spec(document).valid


def test_validation_leaves_the_document_alone() -> None:
    document = RIGHT["a loop with a counter"]
    before = json.dumps(document)
    check(document)
    assert json.dumps(document) == before


def test_a_document_that_holds_itself_is_refused() -> None:
    document: dict[str, Any] = spec(result())
    document["states"][0]["result"] = document
    assert [problem.code for problem in check(document).problems] == ["too-deep"]


def test_a_document_that_unfolds_without_end_is_refused() -> None:
    value: list[Any] = ["x"]
    for _ in range(35):
        value = [value, value]
    assert [problem.code for problem in check(spec(result(value=value))).problems] == ["too-large"]
