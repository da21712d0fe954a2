"""Durations are written the Go way and mean exactly what they say."""

import contextlib
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflows.spec.durations import format_duration, parse_duration


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
