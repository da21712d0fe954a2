"""Whatever is handed in as a spec is answered with a report, and soon: large, deep, busy and nonsensical documents."""

import json
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from workflows.spec.report import CODES, MAX_PROBLEMS
from workflows.spec.validator import SpecReport
from workflows.tests.spec_documents import (
    check,
    choice,
    parallel,
    result,
    spec,
    task,
)


def chain(length: int) -> dict[str, Any]:
    states = [
        task(f"S{n}", parameters={"data": f"${{S{n - 1}.output.x}}", "format": "html"} if n else {}, next=f"S{n + 1}")
        for n in range(length)
    ]
    states[-1]["next"] = None
    return spec(*states)


def timed(document: object) -> tuple[SpecReport, float]:
    """Return the report and the processor time it took, in seconds: others may be busy on the machine too."""
    started = time.process_time()
    report = check(document)
    return report, time.process_time() - started


def test_a_thousand_states_are_checked_in_a_moment() -> None:
    document = chain(1000)
    report, _ = timed(document)
    assert report.valid
    assert min(timed(document)[1] for _ in range(3)) < 0.3


BUSY = {
    "ten thousand states": chain(10_000),
    "ten thousand wrong jumps": spec(*(task(f"S{n}", next=f"T{n}") for n in range(10_000))),
    "ten thousand states of one name": spec(*[task(next="A")] * 10_000),
    "loops in loops": spec(
        *(choice("{% true %}", f"S{max(0, n - 7)}", default=f"S{n + 1}") | {"name": f"S{n}"} for n in range(3000))
    ),
    "five thousand expressions": spec(*(result(f"S{n}", f"{{% vars.x{n} + [1..{n}] %}}") for n in range(5000))),
    "expressions that take for ever to read": spec(
        *(result(f"S{n}", "{% " + "(" * 60 + f"a{n}" + " ?? b)" * 60 + " %}") for n in range(99))
    ),
    "a thousand branches in a row": spec(
        parallel(
            *(
                {"name": f"B{n}", "states": [task(f"S{n}")], "dependsOn": [f"B{n - 1}"] if n else []}
                for n in range(1000)
            )
        )
    ),
    "parameters that match nothing": spec(
        *(task(f"S{n}", parameters={f"p{m}": m for m in range(20)}) for n in range(2000))
    ),
}


@pytest.mark.parametrize("name", BUSY)
def test_no_document_keeps_validation_busy_for_long(name: str) -> None:
    report, seconds = timed(BUSY[name])
    assert len(report.problems) <= MAX_PROBLEMS + 1
    assert seconds < 10


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(
        [
            "A",
            "B",
            "Task",
            "Pass",
            "Map",
            "${A.output}",
            "{% A.output %}",
            "${",
            "{%%}",
            "${vars.x:-1}",
            "1h",
            "*",
            "\x00",
            "\ud800",
        ]
    )
)
KEYS = st.sampled_from(
    [
        "name",
        "states",
        "type",
        "next",
        "end",
        "catch",
        "retry",
        "timeout",
        "branches",
        "dependsOn",
        "when",
        "choices",
        "default",
        "items",
        "result",
        "output",
        "assign",
        "parameters",
        "resource",
        "spec",
        "workflow",
        "startAt",
        "errorHandling",
        "errors",
        "resultPath",
        "maxAttempts",
        "continueAsNew",
        "input",
    ]
) | st.text(max_size=5)
ANYTHING = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=30
)
STATE = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from("ABCD") | ANYTHING,
        "type": st.sampled_from(["Task", "Pass", "Fail", "Succeed", "Wait", "Choice", "Parallel", "Map", "Workflow"])
        | ANYTHING,
        "next": st.sampled_from("ABCDE") | ANYTHING,
        "end": st.booleans() | ANYTHING,
        "catch": st.lists(st.dictionaries(KEYS, ANYTHING, max_size=3), max_size=2) | ANYTHING,
        "choices": st.lists(
            st.fixed_dictionaries({"when": ANYTHING, "next": st.sampled_from("ABCD") | ANYTHING}), max_size=2
        ),
        "result": ANYTHING,
        "assign": ANYTHING,
        "items": ANYTHING,
        "retry": ANYTHING,
        "timeout": ANYTHING,
    },
)
STATES = st.recursive(
    st.lists(STATE, max_size=4),
    lambda inner: st.lists(
        st.builds(lambda state, states: {**state, "type": "Map", "states": states}, STATE, inner)
        | st.builds(
            lambda state, states, needs: {
                **state,
                "type": "Parallel",
                "branches": [{"states": states, "dependsOn": needs}],
            },
            STATE,
            inner,
            ANYTHING,
        )
        | st.builds(
            lambda state, states: {**state, "type": "Workflow", "spec": {"name": "x", "states": states}}, STATE, inner
        )
        | STATE,
        max_size=3,
    ),
    max_leaves=5,
)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(ANYTHING | st.builds(lambda states: spec(*states), STATES) | st.binary(max_size=50) | st.text(max_size=50))
def test_whatever_is_handed_in_is_answered_with_a_report(document: object) -> None:
    report = check(document)
    assert report.valid is (report.spec is not None)
    assert report.valid is not bool(report.errors)
    for problem in report.problems:
        assert CODES[problem.code][0] == problem.severity
        assert problem.message.isprintable()
    json.dumps(report.as_json()).encode("ascii")


@settings(max_examples=100, deadline=None)
@given(ANYTHING)
def test_text_and_data_are_judged_alike(document: object) -> None:
    text = json.dumps(document)
    assert check(text).valid is check(json.loads(text)).valid
