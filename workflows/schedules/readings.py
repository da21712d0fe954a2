"""Cron text in plain English, the zone included: what a person checks before trusting it.

Owns the wording where cron-descriptor alone would say something else than what runs.
"""

from functools import lru_cache

from cron_descriptor import ExpressionDescriptor, Options
from cronsim import CronSim

from workflows.schedules.cron import EPOCH, Cron
from workflows.spec.durations import format_duration

_MIDNIGHT = "At 00:00, "


def reading_of(cron: Cron, zone_name: str) -> str:
    """Return a sentence such as ``At 07:30, Monday through Friday, in Europe/Berlin``."""
    if cron.every is not None:
        return f"Every {format_duration(cron.every)}"
    return f"{_reading(cron.fields)}, in {zone_name}"


@lru_cache(maxsize=1024)
def _reading(fields: str) -> str:
    minute, hour, day, month, weekday = fields.split()
    known = CronSim(fields, EPOCH)
    parts = [_described(_evened(minute, known.minutes, 60), _evened(hour, known.hours, 24), "*", "*", "*")]
    weekdays, days = _weekdays(weekday, known), _days(day)
    # Cron's own rule: both must match where one of the fields starts with a star, else either is enough.
    if weekdays and days and not (day.startswith("*") or weekday.startswith("*")):
        parts.append(f"{days} or {weekdays.removeprefix('only ')}")
    elif weekdays and days:
        parts.append(f"{days} and only {weekdays.removeprefix('only ')}")
    else:
        parts.append(days or weekdays)
    if len(known.months) < 12:
        parts.append(_tail("0", "0", "*", month, "*"))
    return ", ".join(part for part in parts if part)


def _evened(field: str, values: set[int], span: int) -> str:
    """The field so that a step which does not divide the hour or the day evenly is no "every 40 minutes"."""
    if len(values) == span:
        return "*"
    step = field.partition("/")[2]
    return field if not step.isdigit() or span % int(step) == 0 else ",".join(map(str, sorted(values)))


def _days(field: str) -> str:
    """What the field day-of-month says; empty for every day."""
    if field == "*":
        return ""
    if "L" in field:
        return " and ".join(_tail("0", "0", item, "*", "*") for item in field.split(","))
    return _tail("0", "0", field, "*", "*")


def _weekdays(field: str, known: CronSim) -> str:
    """What the field day-of-week says; empty for every day."""
    if "#" in field or "L" in field:
        return " and ".join(_tail("0", "0", "*", "*", item) for item in field.split(","))
    days = sorted({day % 7 for day in known.weekdays if isinstance(day, int)})
    if len(days) == 7:
        return ""
    for ordered in (days, sorted(day or 7 for day in days)):  # Sunday is the last day of Friday through Sunday
        if len(days) > 2 and ordered[-1] - ordered[0] == len(days) - 1:
            return _tail("0", "0", "*", "*", f"{ordered[0]}-{ordered[-1]}")
    return _tail("0", "0", "*", "*", ",".join(map(str, days)))


def _tail(*fields: str) -> str:
    return _described(*fields).removeprefix(_MIDNIGHT)


def _described(*fields: str) -> str:
    options = Options()
    options.use_24hour_time_format = True
    return str(ExpressionDescriptor(" ".join(fields), options).get_description())
