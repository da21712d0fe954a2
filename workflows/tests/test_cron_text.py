"""Cron text is read as people mean it, refused naming the field, and read back in plain English."""

from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest

from workflows.schedules.cron import DESCRIPTORS, CronError, check_runs, next_runs, parse_cron
from workflows.schedules.readings import reading_of
from workflows.schedules.zones import UnknownZone, zone_of

NOW = datetime(2026, 11, 30, 4, 20, 11, tzinfo=UTC)  # a Monday


def runs(text: str, zone: str = "UTC", count: int = 3) -> list[str]:
    return [f"{moment:%a %d %b %H:%M}" for moment in next_runs(parse_cron(text), zone, after=NOW, most=count)]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("0 2 * * *", ["Tue 01 Dec 02:00", "Wed 02 Dec 02:00"]),
        ("30 7 * * MON-FRI", ["Mon 30 Nov 07:30", "Tue 01 Dec 07:30"]),
        ("30 7 * * 1-5", ["Mon 30 Nov 07:30", "Tue 01 Dec 07:30"]),
        ("0 0 * * 0", ["Sun 06 Dec 00:00", "Sun 13 Dec 00:00"]),
        ("0 0 * * 7", ["Sun 06 Dec 00:00", "Sun 13 Dec 00:00"]),
        ("0 0 * * sat-sun", ["Sat 05 Dec 00:00", "Sun 06 Dec 00:00"]),
        ("*/20 9-10 * * *", ["Mon 30 Nov 09:00", "Mon 30 Nov 09:20"]),
        ("5/25 4 * * *", ["Mon 30 Nov 04:30", "Mon 30 Nov 04:55"]),
        ("0 9 * jan,JUN *", ["Fri 01 Jan 09:00", "Sat 02 Jan 09:00"]),
        ("0 9 * * MON#1", ["Mon 07 Dec 09:00", "Mon 04 Jan 09:00"]),
        ("0 9 * * 5L", ["Fri 25 Dec 09:00", "Fri 29 Jan 09:00"]),
        ("0 9 L * *", ["Mon 30 Nov 09:00", "Thu 31 Dec 09:00"]),
        ("0 9 LW * *", ["Mon 30 Nov 09:00", "Thu 31 Dec 09:00"]),
        ("0 0 1,15 * MON", ["Tue 01 Dec 00:00", "Mon 07 Dec 00:00"]),  # either is enough
        ("0 0 */2 * MON", ["Mon 07 Dec 00:00", "Mon 21 Dec 00:00"]),  # both must match: a field starts with a star
        ("@hourly", ["Mon 30 Nov 05:00", "Mon 30 Nov 06:00"]),
        ("@Daily", ["Tue 01 Dec 00:00", "Wed 02 Dec 00:00"]),
        ("  0   2 * *\t* ", ["Tue 01 Dec 02:00", "Wed 02 Dec 02:00"]),
    ],
)
def test_what_cron_text_means(text: str, expected: list[str]) -> None:
    assert runs(text, count=2) == expected


@pytest.mark.parametrize(
    "text, message",
    [
        ("61 * * * *", 'minute: "61" is not 0 to 59'),
        ("* 24 * * *", 'hour: "24" is not 0 to 23'),
        ("* * 0 * *", 'day-of-month: "0" is not 1 to 31'),
        ("* * * 13 *", 'month: "13" is not 1 to 12 or JAN to DEC'),
        ("* * * * 8", 'day-of-week: "8" is not 0 to 7 or SUN to SAT'),
        ("* * * * MOO", 'day-of-week: "MOO" is not 0 to 7 or SUN to SAT'),
        ("*/0 * * * *", 'minute: "*/0": after / comes a whole number of at least 1'),
        ("5-1 * * * *", 'minute: "5-1" ends before it starts'),
        ("1,,2 * * * *", 'minute: "1,,2" has an empty item'),
        ("* * * * MON#6", 'day-of-week: "MON#6": after # comes which of the month, 1 to 5'),
        ("* * ? * *", 'day-of-month: "?" is not 1 to 31'),
        ("0 0 31 2 *", 'day-of-month: "31" never comes in month "2"'),
        ("* * * *", "there are 4 fields; write five fields"),
        ("0 * * * * *", "there are 6 fields; seconds are not part of it"),
        ("", "there is no field"),
        ("@often", '"@often" is unknown; there are @yearly'),
        ("@every soon", "@every: 'soon' is not a duration"),
        ("@every 0s", "@every: the interval is a whole number of seconds, 1s to 8784h"),
        ("@every 1500ms", "@every: the interval is a whole number of seconds"),
        ("0 0 * * MÖN", "plain letters"),
        ("0 " * 200, "at most 256"),
        (5, "cron text is expected"),
    ],
)
def test_what_is_no_cron_text_is_refused_naming_the_field(text: object, message: str) -> None:
    with pytest.raises(CronError) as refused:
        parse_cron(text)
    assert message in str(refused.value)


def test_what_never_runs_is_refused_and_a_leap_day_is_not() -> None:
    check_runs(parse_cron("0 0 29 2 *"), "UTC", after=NOW)
    with pytest.raises(CronError, match="never runs within the next 5 years"):
        check_runs(parse_cron("0 0 29 2 *"), "UTC", after=datetime(2096, 3, 1, tzinfo=UTC))  # 2100 has none


def test_an_interval_counts_from_its_anchor() -> None:
    cron, anchor = parse_cron("@every 1h30m"), NOW - timedelta(hours=2)
    assert next_runs(cron, "UTC", after=NOW, most=2, anchor=anchor) == [
        anchor + timedelta(hours=3),
        anchor + timedelta(hours=4, minutes=30),
    ]
    later = NOW + timedelta(days=1)
    assert next_runs(cron, "UTC", after=NOW, most=1, anchor=later) == [later]


def test_an_unknown_zone_is_refused() -> None:
    with pytest.raises(UnknownZone, match='"Europe/Atlantis" is no time zone'):
        runs("@daily", zone="Europe/Atlantis")


@pytest.mark.parametrize(
    "text, reading",
    [
        ("30 7 * * MON-FRI", "At 07:30, Monday through Friday, in Europe/Berlin"),
        ("0 * * * *", "Every hour, in Europe/Berlin"),
        ("0 0 1,15 * 1", "At 00:00, on day 1 and 15 of the month or on Monday, in Europe/Berlin"),
        ("0 0 */2 * 1", "At 00:00, every 2 days and only on Monday, in Europe/Berlin"),
        ("*/40 * * * *", "At 0 and 40 minutes past the hour, in Europe/Berlin"),
        ("0 9 * * 1#1,3#1", "At 09:00, on the first Monday of the month and on the first Wednesday of the month,"),
        ("0 0 * * FRI-SUN", "At 00:00, Friday through Sunday, in Europe/Berlin"),
        ("0 0 29 2 *", "At 00:00, on day 29 of the month, only in February, in Europe/Berlin"),
        ("@every 90m", "Every 1h30m"),
        ("@weekly", "At 00:00, only on Sunday, in Europe/Berlin"),
    ],
)
def test_the_reading_says_what_runs(text: str, reading: str) -> None:
    assert reading_of(parse_cron(text), "Europe/Berlin").startswith(reading)


def test_every_descriptor_runs() -> None:
    assert all(runs(text, count=1) for text in DESCRIPTORS)


def test_the_last_moment_there_is_ends_the_runs() -> None:
    end = datetime(9999, 12, 31, 23, 58, tzinfo=UTC)
    for text in ("* * * * *", "0 0 * * *", "@every 1h"):
        assert len(list(islice(parse_cron(text).after(end, zone_of("UTC")), 5))) <= 2
