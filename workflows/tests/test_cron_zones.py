"""Cron text and clocks that are set forward and back: a skipped time runs at the next valid instant, a repeated
one once.

Zones of both hemispheres, one that changes by half an hour, one that changes at midnight, and one that never does.
"""

import itertools
from datetime import UTC, datetime, timedelta

import pytest

from workflows.schedules.cron import next_runs, parse_cron
from workflows.schedules.zones import zone_of


def local_runs(text: str, zone: str, after: str, count: int) -> list[str]:
    start = datetime.fromisoformat(after).replace(tzinfo=zone_of(zone)).astimezone(UTC)
    found = next_runs(parse_cron(text), zone, after=start, most=count)
    return [f"{moment.astimezone(zone_of(zone)):%d %H:%M %z}" for moment in found]


@pytest.mark.parametrize(
    "zone, text, after, expected",
    [
        ("Europe/Berlin", "30 2 * * *", "2026-03-28T12:00", ["29 03:00 +0200", "30 02:30 +0200"]),
        ("Europe/Berlin", "*/30 2 * * *", "2026-03-28T12:00", ["29 03:00 +0200", "30 02:00 +0200"]),
        ("Europe/Berlin", "0 2,3 * * *", "2026-03-28T12:00", ["29 03:00 +0200", "30 02:00 +0200"]),
        ("America/New_York", "30 2 * * *", "2026-03-07T12:00", ["08 03:00 -0400", "09 02:30 -0400"]),
        ("Australia/Sydney", "30 2 * * *", "2026-10-03T12:00", ["04 03:00 +1100", "05 02:30 +1100"]),
        ("Australia/Lord_Howe", "15 2 * * *", "2026-10-03T12:00", ["04 02:30 +1100", "05 02:15 +1100"]),
        ("Australia/Lord_Howe", "45 2 * * *", "2026-10-03T12:00", ["04 02:45 +1100", "05 02:45 +1100"]),
        ("Africa/Cairo", "0 0 * * *", "2026-04-23T12:00", ["24 01:00 +0300", "25 00:00 +0300"]),
        ("UTC", "30 2 * * *", "2026-03-28T12:00", ["29 02:30 +0000", "30 02:30 +0000"]),
    ],
)
def test_a_skipped_time_runs_at_the_next_valid_instant(zone: str, text: str, after: str, expected: list[str]) -> None:
    assert local_runs(text, zone, after, 2) == expected


@pytest.mark.parametrize(
    "zone, text, after, expected",
    [
        ("Europe/Berlin", "30 2 * * *", "2026-10-24T12:00", ["25 02:30 +0200", "26 02:30 +0100"]),
        ("Europe/Berlin", "*/30 2 * * *", "2026-10-25T00:00", ["25 02:00 +0200", "25 02:30 +0200", "26 02:00 +0100"]),
        ("America/New_York", "30 1 * * *", "2026-10-31T12:00", ["01 01:30 -0400", "02 01:30 -0500"]),
        ("Australia/Sydney", "30 2 * * *", "2026-04-04T12:00", ["05 02:30 +1100", "06 02:30 +1000"]),
        ("Australia/Lord_Howe", "45 1 * * *", "2026-04-04T12:00", ["05 01:45 +1100", "06 01:45 +1030"]),
        ("UTC", "30 2 * * *", "2026-10-24T12:00", ["25 02:30 +0000", "26 02:30 +0000"]),
    ],
)
def test_a_repeated_time_runs_once(zone: str, text: str, after: str, expected: list[str]) -> None:
    assert local_runs(text, zone, after, len(expected)) == expected


def test_asked_in_the_second_of_the_two_hours_the_first_is_not_run_again() -> None:
    second_half_past_two = datetime(2026, 10, 25, 1, 10, tzinfo=UTC)  # 02:10 in Berlin, for the second time
    runs = next_runs(parse_cron("30 2 * * *"), "Europe/Berlin", after=second_half_past_two, most=1)
    assert runs == [datetime(2026, 10, 26, 1, 30, tzinfo=UTC)]


@pytest.mark.parametrize(
    "zone, day",
    [
        ("Europe/Berlin", "2026-03-29"),
        ("Europe/Berlin", "2026-10-25"),
        ("America/New_York", "2026-11-01"),
        ("Australia/Sydney", "2026-10-04"),
        ("Australia/Sydney", "2026-04-05"),
        ("UTC", "2026-10-25"),
    ],
)
def test_what_runs_in_every_hour_misses_none_and_doubles_none(zone: str, day: str) -> None:
    start = datetime.fromisoformat(f"{day}T00:00").replace(tzinfo=zone_of(zone)).astimezone(UTC)
    runs = next_runs(parse_cron("0 * * * *"), zone, after=start - timedelta(seconds=1), most=26)
    assert runs == [start + timedelta(hours=number) for number in range(26)]


def test_half_an_hour_more_or_less_shifts_what_runs_in_every_hour() -> None:
    assert local_runs("0 * * * *", "Australia/Lord_Howe", "2026-04-05T00:30", 3) == [
        "05 01:00 +1100", "05 02:00 +1030", "05 03:00 +1030",
    ]  # fmt: skip
    assert local_runs("*/30 * * * *", "Australia/Lord_Howe", "2026-10-04T01:00", 3) == [
        "04 01:30 +1030", "04 02:30 +1100", "04 03:00 +1100",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "zone", ["Europe/Berlin", "America/New_York", "Australia/Sydney", "Australia/Lord_Howe", "UTC"]
)
@pytest.mark.parametrize("text", ["30 1 * * *", "0 */2 * * *", "*/20 * * * *", "15,45 0-3 * * SUN", "0 12 L * *"])
@pytest.mark.parametrize("start", [datetime(2026, 3, 28, tzinfo=UTC), datetime(2026, 10, 3, tzinfo=UTC)], ids=str)
def test_asked_one_by_one_the_runs_are_those_of_one_long_look(zone: str, text: str, start: datetime) -> None:
    cron = parse_cron(text)
    whole = next_runs(cron, zone, after=start, most=60)
    assert whole == sorted(set(whole))
    for before, after in itertools.pairwise(whole):
        assert cron.next_after(before, zone_of(zone)) == after
        assert cron.next_after(after - timedelta(seconds=1), zone_of(zone)) == after
