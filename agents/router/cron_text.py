"""From the parts of a schedule (how often, which days, at what time) to one cron text of five fields.

Owns what such a text can and cannot say. Refuses, with what could be said instead, whatever would only be nearly right.
"""

from dataclasses import dataclass, field

from agents.router import clock_words as words

DEFAULT_HOUR = 2  # of days without a time: when machines are idle (the samples of the contract)
_DIVISORS_OF_60 = (1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30)
_DIVISORS_OF_24 = (1, 2, 3, 4, 6, 8, 12)


class Unsayable(Exception):
    """One cron text cannot say it; the message is a question, ``options`` what can be said."""

    def __init__(self, why: str, *options: str) -> None:
        super().__init__(why)
        self.options = options


@dataclass(slots=True)
class Parts:
    """The parts of a schedule: ``count`` times ``unit``, on ``days`` (Sunday 0), between the hours of ``window``;
    ``day_part`` is a word such as evening."""

    count: int = 0
    unit: str = ""
    days: frozenset[int] = frozenset()
    nth: tuple[str, ...] = ()
    month_days: tuple[str, ...] = ()
    months: tuple[int, ...] = ()
    times: list[tuple[int, int]] = field(default_factory=list)
    window: tuple[int, int] | None = None
    minute: int | None = None
    start: int | None = None
    day_part: str = ""

    @property
    def has_day(self) -> bool:
        """Whether particular days are meant."""
        return bool(self.days or self.nth or self.month_days or self.months)


def cron_text(parts: Parts, assumptions: list[str]) -> str:
    """Return the cron text of ``parts``, adding to ``assumptions`` what was left open; raises :class:`Unsayable`."""
    if parts.unit == "second":
        raise Unsayable("A schedule is at most as fine as a minute. How often should it run?", "every minute")
    if parts.unit == "minute" and parts.count % 60 == 0 and parts.count:
        parts.count, parts.unit = parts.count // 60, "hour"
    if parts.unit == "hour" and parts.count and parts.count % 24 == 0:
        parts.count, parts.unit = parts.count // 24, "day"
    if parts.unit in ("minute", "hour") and parts.count == 0:
        raise Unsayable("How often should it run?", "every 15 minutes", "every hour", "every day")
    if parts.unit == "minute":
        return _minutes(parts, assumptions)
    if parts.unit in ("hour", "hours-of-day"):
        return _hours(parts)
    return _days(parts, assumptions)


def _minutes(parts: Parts, assumptions: list[str]) -> str:
    if 60 % parts.count:
        near = sorted({max((d for d in _DIVISORS_OF_60 if d < parts.count), default=1)})
        above = next((d for d in _DIVISORS_OF_60 if d > parts.count), None)
        options = [f"every {n} minutes" for n in (*near, *([above] if above else []))]
        if parts.count > 30:
            options.append("every hour" if parts.count < 90 else "every 2 hours")
        raise Unsayable(
            f"A cron text starts anew with every hour, so it cannot say every {parts.count} minutes: the distances "
            "would be uneven. Which of these will do?",
            *options,
        )
    hours = "*"
    if parts.window:
        begin, end = parts.window
        hours = words.as_field(range(begin, end))
        assumptions.append(f"The last start of a day is before {end:02d}:00.")
    return f"{'*' if parts.count == 1 else f'*/{parts.count}'} {hours} {_day_fields(parts)}"


def _hours(parts: Parts) -> str:
    if 24 % parts.count:
        below = max(d for d in _DIVISORS_OF_24 if d < parts.count)
        above = next((d for d in _DIVISORS_OF_24 if d > parts.count), None)
        raise Unsayable(
            f"A cron text starts anew with every day, so it cannot say every {parts.count} hours: the distances would "
            "be uneven. Which of these will do?",
            f"every {below} hours" if below > 1 else "every hour",
            f"every {above} hours" if above else "every day",
        )
    if parts.unit == "hours-of-day":
        if parts.times:
            return f"{_same_minute(parts)} {words.as_field(h for h, _ in parts.times)} {_day_fields(parts)}"
        return f"0 {words.as_field(range(0, 24, parts.count))} {_day_fields(parts)}"
    minute = parts.minute
    start = parts.start
    if minute is None and len(parts.times) == 1 and parts.window is None:
        start, minute = parts.times[0] if parts.count > 1 else (None, parts.times[0][1])
    if parts.window:
        begin, end = parts.window
        hours = words.as_field(range(begin, min(end, 23) + 1, parts.count))
    elif start:
        hours = words.as_field(range(start % parts.count, 24, parts.count))
    else:
        hours = "*" if parts.count == 1 else f"*/{parts.count}"
    return f"{minute or 0} {hours} {_day_fields(parts)}"


def _days(parts: Parts, assumptions: list[str]) -> str:
    _settle_days(parts, assumptions)
    if not parts.times:
        hour = words.DAY_PARTS.get(parts.day_part or parts.unit, DEFAULT_HOUR)
        if parts.unit in ("week", "month", "year", "quarter") and not parts.has_day:
            hour = 0
        _settle_period(parts)
        assumptions.append(f"No time of day is said, so it is {hour:02d}:00.")
        return f"0 {hour} {_day_fields(parts)}"
    _settle_period(parts)
    return f"{_same_minute(parts)} {words.as_field(h for h, _ in parts.times)} {_day_fields(parts)}"


def _settle_days(parts: Parts, assumptions: list[str]) -> None:
    """Turn a number of days or weeks into fields, if that can be."""
    if parts.unit == "day" and parts.count % 7 == 0 and parts.count:
        parts.count, parts.unit = parts.count // 7, "week"
    if parts.unit in ("day", "night", "morning", "evening", "afternoon") and parts.count > 1:
        if parts.count > 15:
            raise Unsayable(
                f"A cron text starts anew with every month, so it cannot say every {parts.count} days. Which will do?",
                "on the 1st and 15th of every month",
                "every month",
            )
        parts.month_days = (f"*/{parts.count}",)
        assumptions.append(f"Every {parts.count} days counts from the 1st of each month; at its end two are closer.")
    if parts.unit == "week" and parts.count > 1:
        raise Unsayable(
            f"A cron text does not count weeks, so it cannot say every {parts.count} weeks. Which of these will do?",
            "every week",
            "on the 1st and 15th of every month",
        )
    if parts.days == frozenset(range(7)):
        parts.days = frozenset()


def _settle_period(parts: Parts) -> None:
    """Give weeks, months, quarters and years the day on which they begin, where none was said."""
    if parts.unit == "week" and not parts.has_day:
        parts.days = frozenset({0})
    months = {"month": 1, "quarter": 3, "year": 12}.get(parts.unit, 0) * parts.count
    if not months:
        if parts.months and not (parts.month_days or parts.nth or parts.days):
            parts.month_days = ("1",)
        return
    if not (parts.month_days or parts.nth or parts.days):
        parts.month_days = ("1",)
    if months > 1 and not parts.months:
        if 12 % months:
            raise Unsayable(
                f"A cron text starts anew with every year, so it cannot say every {months} months. Which will do?",
                "every month",
                "every quarter",
                "every 6 months",
            )
        parts.months = tuple(range(1, 13, months))


def _same_minute(parts: Parts) -> int:
    minutes = {minute for _, minute in parts.times}
    if len(minutes) > 1:
        shown = " and ".join(f"{hour}:{minute:02d}" for hour, minute in parts.times)
        hour = parts.times[0][1]
        raise Unsayable(
            f"One cron text has one minute for all its hours, so it cannot say {shown}. Make a schedule for each, or "
            "take times with the same minute.",
            " and ".join(f"{h}:{hour:02d}" for h, _ in parts.times),
        )
    return minutes.pop()


def _day_fields(parts: Parts) -> str:
    month = words.as_field(parts.months) if parts.months else "*"
    month_day = ",".join(parts.month_days) or "*"
    week_day = ",".join(parts.nth) or (words.as_field(parts.days) if parts.days else "*")
    return f"{month_day} {month} {week_day}"
