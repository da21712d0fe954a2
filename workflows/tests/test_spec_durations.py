"""Durations are written the Go way and mean exactly what they say."""

import contextlib
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflows.spec.durations import format_duration, parse_duration
from workflows.spec.validator import validate_spec
from workflows.tests.people import customer, started
from workflows.tests.pumping import Engine


@pytest.mark.parametrize(
    "text,expected",
    [
        ("30s", timedelta(seconds=30)),
        ("5m", timedelta(minutes=5)),
        ("120m", timedelta(hours=2)),
        ("1h30m", timedelta(minutes=90)),
        ("1.5m", timedelta(seconds=90)),
        ("500ms", timedelta(milliseconds=500)),
        ("250us", timedelta(microseconds=250)),
        ("250µs", timedelta(microseconds=250)),
        ("2d", timedelta(days=2)),
        ("0s", timedelta(0)),
    ],
)
def test_a_duration_reads_as_it_is_written(text: str, expected: timedelta) -> None:
    assert parse_duration(text) == expected


@pytest.mark.parametrize("text", ["", "5", "-5s", "5 s", "1h30", "s", "5sec", "1e3s", "٣s", "5s\n", "9" * 13 + "s"])
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="write it like 30s, 5m, 1h30m or 500ms"):
        parse_duration(text)


def test_a_duration_beyond_all_measure_is_refused() -> None:
    with pytest.raises(ValueError, match="longer than any duration"):
        parse_duration("999999999999d")


@given(st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=10_000)))
def test_what_is_written_reads_back_to_the_millisecond(value: timedelta) -> None:
    value = timedelta(milliseconds=value // timedelta(milliseconds=1))
    assert parse_duration(format_duration(value)) == value


@given(st.text(alphabet="0123456789.hmsdu µ-", max_size=20))
def test_any_text_either_reads_or_is_refused(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert parse_duration(text) >= timedelta(0)


@pytest.mark.parametrize("value", [90, 1.5, True, None, [], {"s": 1}, "9" * 5000])
def test_what_is_no_text_is_refused_with_an_example_too(value: Any) -> None:
    with pytest.raises(ValueError, match="is not a duration; write it like 30s, 5m, 1h30m or 500ms, in quotes") as told:
        parse_duration(value)
    assert len(str(told.value)) < 400


PLACES: list[tuple[str, dict[str, Any]]] = [
    ("states[0].duration", {"type": "Wait", "duration": 90}),
    ("states[0].timeout", {"type": "WaitForSignal", "signal": "go", "timeout": 90}),
    ("states[0].heartbeat", {"type": "Task", "resource": "X", "heartbeat": 90}),
    ("states[0].retry.initialInterval", {"type": "Task", "resource": "X", "retry": {"initialInterval": 90}}),
    ("states[0].retry.maxInterval", {"type": "Task", "resource": "X", "retry": {"maxInterval": 90}}),
]


@pytest.mark.parametrize("path, state", PLACES)
def test_a_number_in_the_place_of_a_duration_is_told_what_was_expected(path: str, state: dict[str, Any]) -> None:
    report = validate_spec({"name": "w", "states": [{"name": "W", "end": True, **state}]})
    assert [str(problem) for problem in report.errors] == [
        f"{path}: this must be a duration as text (write it like 30s, 5m, 1h30m or 500ms, in quotes), not 90"
    ]
    assert report.as_text().startswith("not valid: 1 error, 0 warnings\n")


def test_a_number_that_comes_with_the_inputs_fails_the_wait(engine: Engine) -> None:
    spec = {"name": "w", "states": [{"name": "W", "type": "Wait", "duration": "${workflow.input.long}", "end": True}]}
    execution = started(customer(), spec, long=90)
    engine.pump()
    assert engine.ended(execution.pk).status == "failed"
    execution.refresh_from_db()
    assert execution.error is not None
    assert execution.error["message"] == (
        "duration: 90 is not a duration; write it like 30s, 5m, 1h30m or 500ms, in quotes"
    )
