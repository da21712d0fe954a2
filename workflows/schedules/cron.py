"""Cron text: five fields, a descriptor or ``@every``, read with errors that name the field, and its instants in a zone.

Owns what cron text means (contract-workflow-spec 9); cronsim finds the local times, this module makes instants of them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property, lru_cache
from itertools import count, islice
from typing import Final
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from workflows.schedules.zones import change_between, instant_of, is_same_offset, wall_time, zone_of
from workflows.spec.durations import format_duration, parse_duration

MAX_CRON_LENGTH: Final = 256
HORIZON: Final = timedelta(days=5 * 366)
SHORTEST_INTERVAL: Final = timedelta(seconds=1)
LONGEST_INTERVAL: Final = timedelta(days=366)
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
EXPECTED: Final = 'write five fields such as "30 7 * * MON-FRI" (minute hour day-of-month month day-of-week)'

DESCRIPTORS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}

_MONTHS: Final = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
_DAYS: Final = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]
_NUMBER = re.compile(r"[0-9]{1,4}")


class CronError(ValueError):
    """The text is no cron text; ``field`` names the field that is wrong, empty if the whole is."""

    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True)
class _Field:
    """One of the five: its name, the numbers it takes, and the names that stand for some of them."""

    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()

    def check(self, text: str) -> None:
        """Raise :class:`CronError` unless ``text`` is a list of what this field takes."""
        for item in text.split(","):
            self._check_item(item, text)

    def _check_item(self, item: str, text: str) -> None:
        if not item:
            raise self._error(f'"{text}" has an empty item')
        if item in ("L", "LW") and self.name == "day-of-month":
            return
        if self.name == "day-of-week" and "#" in item:
            day, _, number = item.partition("#")
            self._number(day, item)
            if number not in ("1", "2", "3", "4", "5"):
                raise self._error(f'"{item}": after # comes which of the month, 1 to 5')
            return
        if self.name == "day-of-week" and len(item) == 2 and item.endswith("L"):
            self._number(item[0], item)
            return
        span, has_step, step = item.partition("/")
        if has_step and (not _NUMBER.fullmatch(step) or not int(step)):
            raise self._error(f'"{item}": after / comes a whole number of at least 1')
        if span == "*":
            return
        first, is_range, last = span.partition("-")
        start = self._number(first, item)
        if is_range and self._number(last, item) < start:
            raise self._error(f'"{item}" ends before it starts')

    def _number(self, text: str, item: str) -> int:
        if text in self.names:
            return self.names.index(text) + self.low
        if not _NUMBER.fullmatch(text) or not self.low <= int(text) <= self.high:
            names = f" or {self.names[0]} to {self.names[-1]}" if self.names else ""
            where = f' in "{item}"' if item != text else ""
            raise self._error(f'"{text}"{where} is not {self.low} to {self.high}{names}')
        return int(text)

    def _error(self, what: str) -> CronError:
        return CronError(f"{self.name}: {what}", self.name)


FIELDS: Final = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day-of-month", 1, 31),
    _Field("month", 1, 12, tuple(_MONTHS)),
    _Field("day-of-week", 0, 7, tuple(_DAYS)),
)


@dataclass(frozen=True)
class Cron:
    """Cron text that was read: five fields, or an interval.

    ``text`` is as given, without the spaces around it; ``fields`` are the five fields it stands for, in capitals,
    empty for ``@every``.
    """

    text: str
    fields: str
    every: timedelta | None = None

    @cached_property
    def counts_hours(self) -> bool:
        """Whether it runs in every hour, and so by elapsed time rather than by what the clock on the wall shows."""
        return bool(self.fields) and CronSim(self.fields, EPOCH).hours == set(range(24))

    def after(self, moment: datetime, zone: ZoneInfo, anchor: datetime = EPOCH) -> Iterator[datetime]:
        """Yield the instants (UTC) after ``moment``, in order; ends where none comes in fifty years.

        Intervals count from ``anchor``. A local time that is skipped counts at the next valid instant, one that occurs
        twice counts once; what runs in every hour goes on by elapsed time, so that no hour is missed.
        """
        moment = moment.astimezone(UTC)
        if self.every is not None:
            yield from _by_interval(self.every, moment, zone, anchor)
        elif self.counts_hours:
            yield from _by_elapsed_time(self.fields, moment, zone)
        else:
            yield from _by_the_wall(self.fields, moment, zone)

    def next_after(self, moment: datetime, zone: ZoneInfo, anchor: datetime = EPOCH) -> datetime | None:
        """Return the first instant after ``moment``, None if there is none within five years."""
        found = next(self.after(moment, zone, anchor), None)
        return found if found is not None and found - moment <= HORIZON else None


def parse_cron(text: object) -> Cron:
    """Return ``text`` as a :class:`Cron`; raises :class:`CronError` with a sentence that names the field.

    Takes five fields (``*``, lists, ranges, steps, names, 0 and 7 for Sunday, ``MON#1``, ``5L``, ``L`` and ``LW`` as
    day of month), ``@hourly`` and the like, and ``@every 1h30m``. Says nothing of whether a run ever comes.
    """
    if not isinstance(text, str):
        raise CronError(f"cron text is expected; {EXPECTED}")
    text = " ".join(text.split())
    if len(text) > MAX_CRON_LENGTH:
        raise CronError(f"the text has {len(text)} characters; cron text has at most {MAX_CRON_LENGTH}")
    if not text.isascii() or not text.isprintable():
        raise CronError(f"cron text has plain letters, digits and signs only; {EXPECTED}")
    return _parsed(text)


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Cron:
    if text.startswith("@"):
        return _descriptor(text)
    parts = text.upper().replace("-SUN", "-7").split()
    if len(parts) != len(FIELDS):
        count = f"{len(parts)} field{'' if len(parts) == 1 else 's'}" if parts else "no field"
        hint = "; seconds are not part of it" if len(parts) == 6 else ""
        raise CronError(f"there {'is' if len(parts) < 2 else 'are'} {count}{hint}; {EXPECTED}")
    for field, part in zip(FIELDS, parts, strict=True):
        field.check(part)
    try:
        CronSim(" ".join(parts), EPOCH)
    except CronSimError:  # what is left: a day that none of the months has
        message = f'day-of-month: "{parts[2]}" never comes in month "{parts[3]}"'
        raise CronError(message, "day-of-month") from None
    return Cron(text, " ".join(parts))


def _descriptor(text: str) -> Cron:
    word, _, rest = text.lower().partition(" ")
    if word == "@every":
        try:
            every = parse_duration(rest)
        except ValueError as error:
            raise CronError(f"@every: {error}".replace(", in quotes", "")) from None
        if not SHORTEST_INTERVAL <= every <= LONGEST_INTERVAL or every.microseconds:
            span = f"{format_duration(SHORTEST_INTERVAL)} to {format_duration(LONGEST_INTERVAL)}"
            raise CronError(f"@every: the interval is a whole number of seconds, {span}")
        return Cron(text, "", every)
    if word not in DESCRIPTORS or rest:
        raise CronError(f'"{text[:40]}" is unknown; there are {", ".join(DESCRIPTORS)} and @every 1h30m')
    return Cron(text, DESCRIPTORS[word])


def next_runs(
    cron: Cron, zone_name: str, *, after: datetime, most: int = 5, anchor: datetime | None = None
) -> list[datetime]:
    """Return the next ``most`` instants (UTC) after ``after``, fewer if there are fewer within five years of it.

    Raises ``workflows.schedules.zones.UnknownZone``. Intervals count from ``anchor``, by default from ``after``.
    """
    found = islice(cron.after(after, zone_of(zone_name), anchor or after), most)
    return [moment for moment in found if moment - after <= HORIZON]


def check_runs(cron: Cron, zone_name: str, *, after: datetime) -> None:
    """Raise :class:`CronError` unless a run comes within five years (contract-workflow-spec 9)."""
    if not next_runs(cron, zone_name, after=after, most=1):
        raise CronError(f'"{cron.text}" never runs within the next 5 years', "day-of-month")


def start_of_search(now: datetime, start: datetime | None) -> datetime:
    """Return the moment after which the runs of what begins at ``start`` are looked for: ``now``, or just before it."""
    return now if start is None or start <= now else start - start.resolution


def _by_interval(every: timedelta, moment: datetime, zone: ZoneInfo, anchor: datetime) -> Iterator[datetime]:
    for number in count(max((moment - anchor) // every + 1, 0)):
        try:
            instant = anchor + number * every
            wall_time(instant, zone)
        except OverflowError:  # clocks there cannot show it
            return
        yield instant


def _by_the_wall(fields: str, moment: datetime, zone: ZoneInfo) -> Iterator[datetime]:
    last = moment
    try:
        for wall in CronSim(fields, wall_time(moment, zone)):
            instant = instant_of(wall, zone)
            if instant > last:
                last = instant
                yield instant
    except OverflowError:
        return


def _by_elapsed_time(fields: str, moment: datetime, zone: ZoneInfo) -> Iterator[datetime]:
    """Between two changes of the clocks local time runs evenly; at a change, start again from what they show then."""
    try:
        start, wall = moment, wall_time(moment, zone)
    except OverflowError:
        return
    while True:
        try:
            change = None
            for found in CronSim(fields, wall):
                instant = start + (found - wall)
                if not is_same_offset(start, instant, zone):
                    change = change_between(start, instant, zone)
                    break
                yield instant
        except OverflowError:
            return
        if change is None:
            return
        # The simulation looks for what comes after the time it is given, and the change itself may be an instant.
        start = change
        wall = wall_time(change, zone)
        if _matches(fields, wall):
            yield change


def _matches(fields: str, wall: datetime) -> bool:
    return next(CronSim(fields, wall - timedelta(seconds=1)), None) == wall
