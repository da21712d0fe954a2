"""Local time of a zone as instants, and back, where clocks are set forward or back.

Owns the two questions cron text needs answered: which instant a local time is, and when the clocks change next.
"""

from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

_SECOND: Final = timedelta(seconds=1)


class UnknownZone(ValueError):
    """No zone of the IANA database has that name."""


@cache
def zone_names() -> tuple[str, ...]:
    """Return the names of all IANA zones, sorted."""
    return tuple(sorted(available_timezones()))


def zone_of(name: str) -> ZoneInfo:
    """Return the IANA zone; raises :class:`UnknownZone` with a sentence. Case counts, as in the database."""
    if name not in _known():
        raise UnknownZone(f'"{name[:64]}" is no time zone; write an IANA name such as Europe/Berlin or UTC')
    return ZoneInfo(name)


@cache
def _known() -> frozenset[str]:
    return frozenset(zone_names())


def wall_time(moment: datetime, zone: ZoneInfo) -> datetime:
    """Return what clocks on the wall show at ``moment``: without a zone, and without saying which of two it is."""
    return moment.astimezone(zone).replace(tzinfo=None, fold=0)


def instant_of(wall: datetime, zone: ZoneInfo) -> datetime:
    """Return the instant (UTC) at which clocks show ``wall``: the first of two; for a time that is skipped, the moment
    at which the clocks go on (contract-workflow-spec 9)."""
    instant = wall.replace(tzinfo=zone, fold=0).astimezone(UTC)
    if wall_time(instant, zone) == wall:
        return instant
    # PEP 495: with fold=0 a skipped time reads by the offset before the gap, which lands behind it; with 1, before it.
    before = wall.replace(tzinfo=zone, fold=1).astimezone(UTC)
    return change_between(before, instant, zone)


def change_between(before: datetime, after: datetime, zone: ZoneInfo) -> datetime:
    """Return the first second of another offset between two instants (UTC) whose offsets differ."""
    offset = _offset(before, zone)
    while after - before > _SECOND:
        middle = (before + (after - before) / 2).replace(microsecond=0)
        if middle <= before:
            middle = before + _SECOND
        if _offset(middle, zone) == offset:
            before = middle
        else:
            after = middle
    return after


def is_same_offset(one: datetime, other: datetime, zone: ZoneInfo) -> bool:
    """Whether clocks are as far from UTC at both instants."""
    return _offset(one, zone) == _offset(other, zone)


def _offset(moment: datetime, zone: ZoneInfo) -> timedelta:
    return moment.astimezone(zone).utcoffset() or timedelta()
