"""How often a sentence wants something done: read into one cron text and a time zone (contract-router 1.3 rule 3).

Owns what is assumed where a sentence leaves it open, and says so. What one cron text cannot say becomes a question
that offers what can be said, never a schedule that is nearly right.
"""

import re
from dataclasses import dataclass, field
from datetime import UTC as ZERO
from datetime import datetime

from cronsim import CronSim, CronSimError

from agents.router import clock_words as words
from agents.router import occasions
from agents.router.cron_text import Parts, Unsayable, cron_text
from agents.router.zones import UTC, find_unknown_zone, find_zone

OFFICE_HOURS = (9, 17)

_N = words.NUMBER
_UNIT = r"(minutes?|mins?|hours?|hrs?|days?|nights?|weeks?|months?|quarters?|years?|seconds?|secs?)"
_EVERY = re.compile(rf"\b(?:every|each)\s+(?:(other|second|single|{_N}|few)[\s-]+)?(?:(of\s+)?(?:the\s+)?){_UNIT}\b")
_HALF = re.compile(
    r"\b(?:every|each)\s+(half(?:\s+an)?\s+hour|quarter\s+of\s+an\s+hour|quarter[\s-]hour|half[\s-]hour)\b"
)
_ADVERBS = (
    (re.compile(r"\b(?:bi-?weekly|fortnightly|every\s+fortnight)\b"), 2, "week"),
    (re.compile(r"\bhalf[\s-]?hourly\b"), 30, "minute"),
    (re.compile(r"\bhourly\b"), 1, "hour"),
    (re.compile(r"\b(?:daily|everyday)\b"), 1, "day"),
    (re.compile(r"\b(?:nightly|overnight|nights)\b"), 1, "night"),
    (re.compile(r"\bweekly\b"), 1, "week"),
    (re.compile(r"\bmonthly\b"), 1, "month"),
    (re.compile(r"\bquarterly\b"), 1, "quarter"),
    (re.compile(r"\b(?:yearly|annually)\b"), 1, "year"),
)
_TIMES_PER = re.compile(
    rf"\b(once|twice|thrice|(?:{_N})\s+times?)\s+(?:a|an|per|each|every)\s+(hour|day|night|week|month|year|weekday)\b"
)
_PART = re.compile(r"\b(?:every|each)\s+(?:\w+\s+)?(morning|afternoon|evening|night)s?\b")
_WEEKDAYS = re.compile(
    r"\b(?:every\s+|each\s+|on\s+|all\s+)?(?:week[\s-]?days?|(?:business|working|work)[\s-]?days?)\b"
)
_WEEKENDS = re.compile(r"\b(?:every\s+|each\s+|on\s+|at\s+)?(?:the\s+)?weekends?\b|\bsaturdays?\s+and\s+sundays?\b")
_DAY_RANGE = re.compile(rf"\b({words.DAY})\s*(?:to|-|–|through|thru|until)\s*({words.DAY})\b")
_DAY_LIST = re.compile(
    rf"\b(?:(every|each|on|all)\s+)?({words.DAY}(?:(?:\s*,\s*|\s+and\s+|\s*&\s*|\s*,\s*and\s+|\s+or\s+|\s*/\s*){words.DAY})*)\b"
)
_EXCEPT = re.compile(
    rf"\b(?:except|but\s+not|excluding|other\s+than|not)\s+(?:on\s+|for\s+)?(?:the\s+)?"
    rf"(weekends?|{words.DAY}(?:\s*(?:,|and|or)\s*{words.DAY})*)\b"
)
_NTH = re.compile(
    rf"\b(first|second|third|fourth|fifth|last|1st|2nd|3rd|4th|5th)\s+"
    rf"(?:and\s+(first|second|third|fourth|last|1st|2nd|3rd|4th)\s+)?({words.DAY}|weekday|working\s+day|business\s+day|day)"
    rf"\s*(?:(?:of|in)\s+(?:the|each|every|a)|each|every)\s+(month|quarter|year)\b"
)
_NTH_OF_MONTH = re.compile(
    rf"\b(first|second|third|fourth|fifth|last|1st|2nd|3rd|4th|5th)\s+({words.DAY})\s+(?:of|in)\s+({words.MONTH})\b"
)
_NTH_EVERY = re.compile(rf"\b(?:every|each)\s+(first|second|third|fourth|last|1st|2nd|3rd|4th)\s+({words.DAY})\b")
_ORDINAL_DAYS = re.compile(
    r"\b(?:on|every|each)?\s*the\s+((?:\d{1,2}(?:st|nd|rd|th)|first|last)(?:(?:\s*,\s*|\s+and\s+|\s*,\s*and\s+)(?:the\s+)?"
    r"(?:\d{1,2}(?:st|nd|rd|th)|last|first))*)(?:\s+(?:days?\s+)?(?:of|in)\s+(?:the|each|every)\s+month|\s+of\s+every|\b)"
    r"|\b(?:every|each)\s+(\d{1,2}(?:st|nd|rd|th)|(?:first|last)(?=\s+of\s+(?:the|each|every|a)\s+month))\b"
)
_DAY_OF_MONTH = re.compile(r"\bday\s+(\d{1,2})\s+of\s+(?:the|each|every)\s+month\b")
_MONTH_DAY = re.compile(
    rf"\b(?:every|each|on)\s+({words.MONTH})\s+(\d{{1,2}})(?:st|nd|rd|th)?\b|"
    rf"\b(?:every|each|on)\s+(?:the\s+)?(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?({words.MONTH})\b"
)
_EVERY_MONTH_NAMED = re.compile(rf"\b(?:every|each)\s+({words.MONTH}(?:\s+and\s+{words.MONTH})*)\b")
_OFFICE = re.compile(r"\b(?:during|in|within|inside)\s+(?:the\s+)?(?:office|business|working|work)\s+hours\b")
_WINDOW = re.compile(
    rf"\b(?:between|from)\s+({re.sub('[?]P<[a-z]+>', '?:', words.TIME)})\s*(?:and|to|until|till|-|–)\s*"
    rf"({re.sub('[?]P<[a-z]+>', '?:', words.TIME)})"
)
_PAST_HOUR = re.compile(
    rf"\b(?:at\s+)?(?:(?P<m>{_N})\s+minutes?|(?P<q>a?\s*quarter)|(?P<h>half))\s+past\s+(?:every|each|the)\s+hour\b"
    r"|\b(?:at|on)\s+(?:minute\s+|:)(?P<c>\d{1,2})\b(?:\s*(?:past|of)\s+(?:every|each)\s+hour)?"
)
_STARTING = re.compile(rf"\b(?:starting|beginning)\s+(?:at|from)\s+({re.sub('[?]P<[a-z]+>', '?:', words.TIME)})")
_EVENT = re.compile(
    r"\b(?:on|after|for|at|with)?\s*(?:every|each|any|a\s+new)\s+(?:new\s+)?(?:time\s+(?:someone|somebody|anyone|we|i|the\s+code)\b|"
    r"(?:git\s+)?(?:push|commit|merge|pull[\s-]request|release|tag|pr|deploy(?:ment)?|build|incident|alert)\b|time\b(?!s))|\bwhenever\s+(?:someone|somebody|anyone|anybody|we|i|you|there\s+is\s+a|a|the\s+code)\s+(?:\w+\s+){0,3}?(?:push|commit|merge|pull|release|tag|pr|opens?|changes?)\w*|\bon\s+push\b"
)
_ONCE = re.compile(
    rf"\b(?:tomorrow|tonight|next\s+(?:week|month|year|{words.DAY})|this\s+(?:{words.DAY}|evening|afternoon|weekend)|"
    rf"in\s+(?:an?|{_N})\s+(?:minutes?|hours?|days?|weeks?)(?!\s+(?:or|at)\s)|on\s+\d{{4}}-\d\d-\d\d|"
    rf"on\s+(?:the\s+)?\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{words.MONTH}|on\s+{words.MONTH}\s+\d{{1,2}})\b|"
    rf"{_NTH_OF_MONTH.pattern}"
)
_DISTANCE = re.compile(
    rf"\b(every|each)\s+(?:({'|'.join(words.DISTANCES)})|(\d{{1,2}})(?:st|nd|rd|th))\s+"
    r"(minute|hour|day|night|week|month)\b(?!\s+(?:of|in)\b)"
)
_DAYLIKE = rf"(?:{words.DAY}|weekdays?|weekends?|(?:business|working|work)\s?days?)"
_DAY_PART = re.compile(rf"\b(?:every|each|{_DAYLIKE})\s+(morning|afternoon|evening|night)s?\b")
_DAY_PARTS = re.compile(rf"\b(?:(?:every|each|on|all)\s+)?({_DAYLIKE})\s+(morning|afternoon|evening|night)s\b")
_TWO_OF_THEM = re.compile(rf"\b{_DAYLIKE}\b[^.;]*?\bat\s+(\S+)(?:(?!\bat\b)[^.;])*?\b{_DAYLIKE}\b[^.;]*?\bat\s+(\S+)")
_NO_TIME = re.compile(r"\bat\s+((?:2[4-9]|[3-9]\d)(?::\d\d)?|\d{1,2}:[6-9]\d)(?!\d|%|\s*(?:percent|minutes))\b")
_CRON = re.compile(
    r"(?<![\w*/])((?:[\d*][\d*/,-]*)\s+(?:[\d*][\d*/,-]*)\s+(?:[\d*L][\d*/,LW-]*)\s+(?:[\da-z*][\da-z*/,-]*)\s+"
    r"(?:[\da-z*][\da-z*/,#L-]*))(?![\w*/])",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Schedule:
    """What was read: ``cron`` and ``timezone``, or ``problem``, a question that says why not, with ``options``."""

    cron: str = ""
    timezone: str = UTC
    problem: str = ""
    options: tuple[str, ...] = ()
    assumptions: list[str] = field(default_factory=list)


def read_schedule(sentence: str) -> Schedule | None:
    """Return the schedule that ``sentence`` asks for, or None if it asks for none.

    Addresses and quoted text should be taken out before. Never raises.
    """
    explicit = _CRON.search(sentence)
    text = re.sub(r"\s+", " ", words.in_english(sentence).lower())
    zone = find_zone(text)
    schedule = Schedule(timezone=zone or UTC)
    unknown = find_unknown_zone(text) if zone is None else None
    try:
        if explicit:
            schedule.cron = _checked_cron(explicit.group(1))
        else:
            cron = _read(text, schedule)
            if cron is None:
                return None
            schedule.cron = cron
    except Unsayable as unsayable:
        schedule.problem, schedule.options = str(unsayable), unsayable.options
        return schedule
    if unknown:
        schedule.problem = f"There is no time zone {unknown}. Which one is meant (a name such as Europe/Berlin)?"
    elif zone is None and not re.search(r"^\S+ \* ", schedule.cron):
        schedule.assumptions.append("No time zone is said, so times are UTC.")
    return schedule


def _checked_cron(text: str) -> str:
    cron = " ".join(text.split())
    try:
        next(CronSim(cron, datetime(2026, 1, 1, tzinfo=ZERO)))
    except (CronSimError, StopIteration):
        raise Unsayable(f'"{cron}" is no cron text that ever comes due. How often should it run?') from None
    return cron


def _read(text: str, schedule: Schedule) -> str | None:
    text = _DISTANCE.sub(_in_numbers, re.sub(r"\b(every|each)\s+full\s+(?=hour|day)", r"\1 ", text))
    text = _DAY_PARTS.sub(r"every \1 \2", text)
    occasions.refuse(text)
    limits = occasions.limits(_DAY_RANGE.sub(" ", text))
    found = _parts(text)
    if (two := _TWO_OF_THEM.search(text)) and two.group(1) != two.group(2) and len(found.times) > 1:
        raise Unsayable(
            "One schedule has the same times on all its days. Which of these should it have, and on which days? For the "
            "others make another schedule."
        )
    if wrong := _NO_TIME.search(text):
        raise Unsayable(f"{wrong.group(1)} is no time of day. At what time should it run?")
    if not (found.unit or found.days or found.nth or found.month_days or found.months):
        if _EVENT.search(text):
            raise Unsayable(
                "Nothing here watches a repository, so it cannot run on an event. Let your CI call POST "
                "/workflows/{id}/execute, or say how often it should run instead.",
                "every 15 minutes",
                "every hour",
            )
        if _ONCE.search(text):
            raise Unsayable(
                "A schedule repeats, and this names one moment. Start it by hand then, or say how often it should run.",
                "now",
                "every day",
            )
        if not found.times or found.window:
            return None
        schedule.assumptions.append("A time without a day is taken for every day.")
        found.count, found.unit = 1, "day"
    if found.month_days and (found.days or found.nth):
        raise Unsayable(
            "A cron text with both days of the week and days of the month runs on either of them, not where both "
            "meet. Which of the two is meant?"
        )
    cron = cron_text(found, schedule.assumptions)
    schedule.assumptions += limits
    return cron


def _in_numbers(distance: re.Match[str]) -> str:
    every, word, number, unit = distance.groups()
    return f"{every} {words.DISTANCES[word] if word else number} {unit}s"


def _parts(text: str) -> Parts:
    found = Parts()
    if part := _DAY_PART.search(text):
        found.day_part = part.group(1)
    if office := _OFFICE.search(text):
        found.window, found.days = OFFICE_HOURS, words.WEEKDAYS
        text = _without(text, office)
    if past := _PAST_HOUR.search(text):
        groups = past.groupdict()
        found.minute = (
            words.number(groups["m"]) if groups["m"] else 15 if groups["q"] else 30 if groups["h"] else int(groups["c"])
        ) % 60
        found.count, found.unit = 1, "hour"
        text = _without(text, past)
    if start := _STARTING.search(text):
        moments = words.find_times("at " + start.group(1))
        found.start = moments[0][0] if moments else None
        text = _without(text, start)
    text = _find_window(text, found)
    text = _find_days(text, found)
    text = _find_frequency(text, found)
    found.times = words.find_times(text)
    if found.day_part and not re.search(r"\d\s*[ap]\.?m\b", text):
        found.times = [_in_part(found.day_part, hour, minute) for hour, minute in found.times]
    return found


def _in_part(part: str, hour: int, minute: int) -> tuple[int, int]:
    """Seven in the evening is 19:00, ten at night 22:00."""
    is_later = (1 <= hour < 12 and part in ("afternoon", "evening")) or (6 <= hour < 12 and part == "night")
    return (hour + 12 if is_later else hour), minute


def _find_window(text: str, found: Parts) -> str:
    for window in _WINDOW.finditer(text):
        first, last = (words.find_times("at " + part) for part in window.groups())
        if first and last:
            (begin, _), (end, _) = first[0], last[0]
            if end <= begin and end < 12:
                end += 12  # from 9 to 5
            if begin < end <= 24:
                found.window = (begin, end)
                return _without(text, window)
    return text


def _find_days(text: str, found: Parts) -> str:
    excluded: set[int] = set()
    if out := _EXCEPT.search(text):
        said = out.group(1)
        excluded = set(words.WEEKEND) if said.startswith("weekend") else _days_in(said)
        text = _without(text, out)
        found.days = frozenset(range(7))
    if (dated := _NTH_OF_MONTH.search(text)) and re.search(r"\b(?:every|each)\b|\b(?:yearly|annually)\b", text):
        place, name = dated.group(1), words.day(dated.group(2))
        found.nth = (f"{name}L" if place == "last" else f"{name}#{words.ORDINALS[place]}",)
        found.months = (words.month(dated.group(3)),)
        text = _without(text, dated)
    for pattern in (_NTH, _NTH_EVERY):
        if nth := pattern.search(text):
            _take_nth(nth, found)
            text = _without(text, nth)
    if date := _MONTH_DAY.search(text):
        month, day = (date.group(1), date.group(2)) if date.group(1) else (date.group(4), date.group(3))
        if re.match(r"every|each", date.group()) or re.search(r"\b(?:every|each)\s+year|yearly|annually", text):
            found.months, found.month_days = (words.month(month),), (str(int(day)),)
            text = _without(text, date)
    if numbered := _DAY_OF_MONTH.search(text):
        found.month_days = (numbered.group(1),)
        text = _without(text, numbered)
    if ordinals := _ORDINAL_DAYS.search(text):
        named = re.findall(r"\d{1,2}(?=st|nd|rd|th)|first|last", ordinals.group())
        days = ["L" if d == "last" else "1" if d == "first" else str(int(d)) for d in named]
        after = text[ordinals.end() :]
        is_month = (
            "month" in ordinals.group() or "month" in after[:16] or re.search(r"\d(?:st|nd|rd|th)", ordinals.group())
        )
        is_date = re.match(rf"\s*(?:of\s+)?{words.MONTH}\b", after)
        if is_month and not is_date:
            found.month_days = tuple(dict.fromkeys(days))
            text = _without(text, ordinals)
    if named_months := _EVERY_MONTH_NAMED.search(text):
        found.months = tuple(words.month(m) for m in re.findall(words.MONTH, named_months.group(1)))
        text = _without(text, named_months)
    if _WEEKDAYS.search(text) and re.search(r"\b(?:every|each|on|all)\s+(?:week|busi|work)|days\b", text):
        found.days = (found.days & words.WEEKDAYS) or words.WEEKDAYS
        text = _WEEKDAYS.sub(" ", text)
    if _WEEKENDS.search(text):
        found.days = words.WEEKEND
        text = _WEEKENDS.sub(" ", text)
    if span := _DAY_RANGE.search(text):
        begin, end = words.day(span.group(1)), words.day(span.group(2))
        found.days = frozenset((begin + i) % 7 for i in range((end - begin) % 7 + 1))
        text = _without(text, span)
    for listed in _DAY_LIST.finditer(text):
        before, named_days = listed.group(1), listed.group(2)
        is_repeated = before in ("every", "each", "all") or bool(re.search(rf"\b{words.DAY[:-2]}s\b", named_days))
        is_list = len(_days_in(named_days)) > 1 or bool(re.search(r"\b(?:week(?:ly)?|hour(?:ly)?|every|each)\b", text))
        if re.search(r"(?:next|this)\s+$", text[: listed.start(2)]) or not (is_repeated or is_list):
            continue
        found.days = frozenset(_days_in(named_days)) | (
            found.days if found.days != frozenset(range(7)) else frozenset()
        )
    text = _DAY_LIST.sub(" ", text) if found.days else text
    found.days = frozenset(found.days - excluded)
    return text


def _take_nth(nth: re.Match[str], found: Parts) -> None:
    groups = nth.groups()
    places = [place for place in groups[:-2] if place] if len(groups) == 4 else [groups[0]]
    what = groups[-2] if len(groups) == 4 else groups[-1]
    period = groups[-1] if len(groups) == 4 else "month"
    if period == "quarter":
        found.months = (1, 4, 7, 10) if places != ["last"] else (3, 6, 9, 12)
    elif period == "year":
        found.months = (1,) if places != ["last"] else (12,)
    if what == "day":
        found.month_days = tuple("L" if place == "last" else str(words.ORDINALS[place]) for place in places)
    elif re.match(r"weekday|working|business", what):
        if places != ["last"]:
            raise Unsayable(
                "A cron text can say the last working day of a month, but not the first. What else would do?",
                "the 1st of the month",
                "the first Monday of the month",
            )
        found.month_days = ("LW",)
    else:
        name = words.day(what)
        found.nth = tuple(f"{name}L" if place == "last" else f"{name}#{words.ORDINALS[place]}" for place in places)


def _find_frequency(text: str, found: Parts) -> str:
    if found.unit:
        return _EVERY.sub(" ", text)
    if half := _HALF.search(text):
        found.count, found.unit = (30 if "half" in half.group(1) else 15), "minute"
        return _without(text, half)
    for every in _EVERY.finditer(text):
        count, unit = every.group(1), every.group(3)
        if count == "few":
            raise Unsayable("How often exactly?", "every 15 minutes", "every hour", "every 6 hours")
        found.count = 1 if count in (None, "single") else 2 if count in ("other", "second") else words.number(count)
        found.unit = _unit(unit)
        return _without(text, every)
    if per := _TIMES_PER.search(text):
        said = per.group(1)
        count = {"once": 1, "twice": 2, "thrice": 3}.get(said) or words.number(said.split()[0])
        _take_times_per(count, per.group(2), found)
        return _without(text, per)
    if part := _PART.search(text):
        found.count, found.unit = 1, part.group(1)
        return _without(text, part)
    for pattern, count, unit in _ADVERBS:
        if adverb := pattern.search(text):
            found.count, found.unit = count, unit
            return _without(text, adverb)
    return text


def _take_times_per(count: int, unit: str, found: Parts) -> None:
    if unit == "weekday":
        found.days, unit = words.WEEKDAYS, "day"
    if count == 1:
        found.count, found.unit = 1, unit
    elif unit == "hour" and count and 60 % count == 0:
        found.count, found.unit = 60 // count, "minute"
    elif unit in ("day", "night") and count and 24 % count == 0:
        found.count, found.unit = 24 // count, "hours-of-day"
    elif unit == "week" and count in (2, 3) and not found.days:
        found.count, found.unit, found.days = 1, "week", frozenset({1, 4} if count == 2 else {1, 3, 5})
    elif unit == "week" and len(found.days) == count:
        found.count, found.unit = 1, "week"
    elif unit == "month" and count == 2:
        found.count, found.unit, found.month_days = 1, "month", ("1", "15")
    elif unit == "year" and count and 12 % count == 0:
        found.count, found.unit = 12 // count, "month"
    else:
        raise Unsayable(f"A cron text cannot say {count} times a {unit} at even distances. When exactly?")


def _unit(word: str) -> str:
    stem = word.rstrip("s")
    return {"min": "minute", "hr": "hour", "sec": "second"}.get(stem, stem)


def _days_in(text: str) -> set[int]:
    return {words.day(name) for name in re.findall(words.DAY, text)}


def _without(text: str, found: re.Match[str]) -> str:
    return f"{text[: found.start()]} {text[found.end() :]}"
