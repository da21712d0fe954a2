"""Moments of the day, days and months as people write them, read into numbers.

Owns the words of calendar and clock in English, and their German, French and Spanish basics turned into English.
"""

import re
from collections.abc import Iterable

DAY_NAMES = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
MONTH_NAMES = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
WEEKDAYS = frozenset({1, 2, 3, 4, 5})
WEEKEND = frozenset({0, 6})

NUMBER_WORDS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "forty-five": 45,
    "fortyfive": 45, "sixty": 60, "ninety": 90,
}  # fmt: skip
ORDINALS = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "1st": 1, "2nd": 2, "3rd": 3, "4th": 4, "5th": 5,
}  # fmt: skip

_DAY = r"(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?"
DAY = rf"{_DAY}s?"
MONTH = r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
NUMBER = rf"(?:\d{{1,4}}|{'|'.join(sorted(NUMBER_WORDS, key=len, reverse=True))})"
_HOUR_WORDS = "|".join(word for word, value in NUMBER_WORDS.items() if value <= 12)
# One moment of the day; groups are read by ``_moment``.
TIME = (
    r"(?:(?P<noon>noon|midday)|(?P<midnight>midnight)"
    rf"|(?P<part>half past|quarter past|quarter to)\s+(?P<whole>\d{{1,2}}|{_HOUR_WORDS})(?:\s*(?P<half>[ap]\.?m\b\.?))?"
    rf"|(?P<hour>\d{{1,2}}|{_HOUR_WORDS})"
    r"(?:(?::|\.|h)(?P<minute>[0-5]\d)(?!\d))?\s*(?P<ampm>[ap]\.?m\b\.?)?(?:\s*o['’]?clock|h\b)?(?![\d/])"
    r"|(?P<military>[01]\d[0-5]\d|2[0-3][0-5]\d)(?:\s*h(?:rs|ours)?)?\b)"
)
_AFTERWORD = r"(?P<later>\s+in\s+the\s+(?:morning|afternoon|evening)|\s+at\s+night)?"
_LIST_TIME = re.compile(rf"{TIME}{_AFTERWORD}", re.IGNORECASE)
_BARE = re.compile(
    rf"\bat\s+(?:about\s+|around\s+|exactly\s+)?({re.sub(r'[?]P<[a-z]+>', '?:', TIME)}"
    rf"(?:\s+in\s+the\s+(?:morning|afternoon|evening)|\s+at\s+night)?"
    rf"(?:\s*(?:,|and|or|&|,\s*and)\s*(?:at\s+)?{re.sub(r'[?]P<[a-z]+>', '?:', TIME)}"
    rf"(?!\s*(?:%|percent|times?|people|persons?|approv|reviewers?|minutes?|hours?|days?|weeks?|repos)))*)",
    re.IGNORECASE,
)
_CLOCK_TIME = re.compile(r"\b(?P<hour>[01]?\d|2[0-3]):(?P<minute>[0-5]\d)\b\s*(?P<ampm>[ap]\.?m\b\.?)?", re.IGNORECASE)
_O_CLOCK = re.compile(r"\b(?P<hour>[01]?\d|2[0-3])\s*(?:o['’]?\s?clock|uhr|heures)\b", re.IGNORECASE)
_AM_PM = re.compile(r"\b(?P<hour>1[0-2]|0?[1-9])\s*(?P<ampm>[ap]\.?m\b\.?)", re.IGNORECASE)
_NAMED = re.compile(r"\b(?:(?P<noon>noon|midday)|(?P<midnight>midnight))\b", re.IGNORECASE)

# "Every tenth minute", "each 3rd day": how far apart, not which one.
DISTANCES = {"third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "tenth": 10, "twelfth": 12, "fifteenth": 15,
             "twentieth": 20, "thirtieth": 30}  # fmt: skip
# What is said of a time of day without an hour, and the hour it is taken for.
DAY_PARTS = {"morning": 8, "afternoon": 15, "evening": 18, "night": 2}

_TRANSLATIONS: tuple[tuple[str, str], ...] = (
    # German
    (r"\balle\s+(\d+)\s+minuten\b", r"every \1 minutes"),
    (r"\balle\s+(\d+)\s+stunden\b", r"every \1 hours"),
    (r"\b(?:stündlich|jede\s+stunde)\b", "every hour"),
    (r"\b(?:werktags|jeden\s+werktag|an\s+werktagen)\b", "every weekday"),
    (r"\b(?:täglich|jeden\s+tag)\b", "every day"),
    (r"\b(?:nächtlich|jede\s+nacht|nachts)\b", "every night"),
    (r"\bjeden\s+morgen\b", "every morning"),
    (r"\b(?:wöchentlich|jede\s+woche)\b", "every week"),
    (r"\b(?:monatlich|jeden\s+monat)\b", "every month"),
    (r"\bzweimal\s+(?:täglich|am\s+tag)\b", "twice a day"),
    (r"\bjeden\s+montag\b|\bmontags\b", "every monday"),
    (r"\bjeden\s+dienstag\b|\bdienstags\b", "every tuesday"),
    (r"\bjeden\s+mittwoch\b|\bmittwochs\b", "every wednesday"),
    (r"\bjeden\s+donnerstag\b|\bdonnerstags\b", "every thursday"),
    (r"\bjeden\s+freitag\b|\bfreitags\b", "every friday"),
    (r"\bjeden\s+samstag\b|\bsamstags\b", "every saturday"),
    (r"\bjeden\s+sonntag\b|\bsonntags\b", "every sunday"),
    (r"\bum\s+(\d{1,2}(?:[:.]\d\d)?)(?:\s*uhr)?(?:\s+(morgens|abends))?\b", r"at \1"),
    (r"\b(?:um|gegen)\s+mitternacht\b", "at midnight"),
    # French
    (r"\btoutes\s+les\s+(\d+)\s+minutes\b", r"every \1 minutes"),
    (r"\btoutes\s+les\s+(\d+)\s+heures\b", r"every \1 hours"),
    (r"\b(?:toutes\s+les\s+heures|chaque\s+heure)\b", "every hour"),
    (r"\b(?:tous\s+les\s+jours\s+ouvrés|chaque\s+jour\s+ouvré|en\s+semaine)", "every weekday"),
    (r"\b(?:tous\s+les\s+jours|chaque\s+jour|quotidiennement)\b", "every day"),
    (r"\b(?:toutes\s+les\s+nuits|chaque\s+nuit)\b", "every night"),
    (r"\b(?:tous\s+les\s+matins|chaque\s+matin)\b", "every morning"),
    (r"\b(?:toutes\s+les\s+semaines|chaque\s+semaine)\b", "every week"),
    (r"\b(?:tous\s+les\s+mois|chaque\s+mois)\b", "every month"),
    (r"\bdeux\s+fois\s+par\s+jour\b", "twice a day"),
    (r"\b(?:chaque|tous\s+les)\s+lundis?\b", "every monday"),
    (r"\b(?:chaque|tous\s+les)\s+mardis?\b", "every tuesday"),
    (r"\b(?:chaque|tous\s+les)\s+mercredis?\b", "every wednesday"),
    (r"\b(?:chaque|tous\s+les)\s+jeudis?\b", "every thursday"),
    (r"\b(?:chaque|tous\s+les)\s+vendredis?\b", "every friday"),
    (r"\b(?:chaque|tous\s+les)\s+samedis?\b", "every saturday"),
    (r"\b(?:chaque|tous\s+les)\s+dimanches?\b", "every sunday"),
    (r"\bà\s+(\d{1,2})\s*h(?:\s*(\d\d))?\b", r"at \1h\2"),
    (r"\bà\s+(\d{1,2}:\d\d)", r"at \1"),
    (r"\bà\s+minuit\b", "at midnight"),
    (r"\bà\s+midi\b", "at noon"),
    # Spanish
    (r"\bcada\s+(\d+)\s+minutos\b", r"every \1 minutes"),
    (r"\bcada\s+(\d+)\s+horas\b", r"every \1 hours"),
    (r"\bcada\s+hora\b", "every hour"),
    (r"\b(?:todos\s+los\s+días\s+laborables|cada\s+día\s+laborable|entre\s+semana)\b", "every weekday"),
    (r"\b(?:todos\s+los\s+d[ií]as|cada\s+d[ií]a|diariamente)\b", "every day"),
    (r"\b(?:todas\s+las\s+noches|cada\s+noche)\b", "every night"),
    (r"\b(?:todas\s+las\s+mañanas|cada\s+mañana)\b", "every morning"),
    (r"\b(?:semanalmente|cada\s+semana|todas\s+las\s+semanas)\b", "every week"),
    (r"\b(?:mensualmente|cada\s+mes|todos\s+los\s+meses)\b", "every month"),
    (r"\bdos\s+veces\s+al\s+día\b", "twice a day"),
    (r"\b(?:cada|todos\s+los)\s+lunes\b", "every monday"),
    (r"\b(?:cada|todos\s+los)\s+martes\b", "every tuesday"),
    (r"\b(?:cada|todos\s+los)\s+miércoles\b", "every wednesday"),
    (r"\b(?:cada|todos\s+los)\s+jueves\b", "every thursday"),
    (r"\b(?:cada|todos\s+los)\s+viernes\b", "every friday"),
    (r"\b(?:cada|todos\s+los)\s+sábados?\b", "every saturday"),
    (r"\b(?:cada|todos\s+los)\s+domingos?\b", "every sunday"),
    (r"\ba\s+las?\s+(\d{1,2}(?::\d\d)?)(?:\s*horas?)?\b", r"at \1"),
    (r"\ba\s+medianoche\b", "at midnight"),
    (r"\bal?\s+mediodía\b", "at noon"),
)
_TRANSLATED = tuple((re.compile(pattern, re.IGNORECASE), to) for pattern, to in _TRANSLATIONS)


def in_english(text: str) -> str:
    """Return ``text`` with German, French and Spanish words of time in English; the rest stays."""
    for pattern, to in _TRANSLATED:
        text = pattern.sub(to, text)
    return text


def number(word: str) -> int:
    """Return the number that a word of :data:`NUMBER` is."""
    return int(word) if word.isdecimal() else NUMBER_WORDS[word.lower()]


def day(word: str) -> int:
    """Return the day of the week, Sunday 0, that a word of :data:`DAY` is."""
    return next(i for i, name in enumerate(DAY_NAMES) if name.startswith(word.lower()[:3]))


def month(word: str) -> int:
    """Return the month, January 1, that a word of :data:`MONTH` is."""
    return next(i for i, name in enumerate(MONTH_NAMES, 1) if name.startswith(word.lower()[:3]))


def find_times(text: str) -> list[tuple[int, int]]:
    """Return the moments of the day that ``text`` names, as (hour, minute), in the order in which they come."""
    found: list[tuple[int, int]] = []
    for phrase in _BARE.finditer(text):
        found += [m for m in map(moment, _LIST_TIME.finditer(phrase.group(1))) if m is not None]
    rest = _BARE.sub(" ", text)
    for pattern in (_CLOCK_TIME, _AM_PM, _O_CLOCK, _NAMED):
        found += [m for m in map(moment, pattern.finditer(rest)) if m is not None]
        rest = pattern.sub(" ", rest)
    return list(dict.fromkeys(found))


def moment(found: re.Match[str]) -> tuple[int, int] | None:
    """Return the (hour, minute) of a match of :data:`TIME`, or None for what is no moment of a day."""
    groups = found.groupdict()
    if groups.get("noon"):
        return 12, 0
    if groups.get("midnight"):
        return 0, 0
    if groups.get("military"):
        return int(groups["military"][:2]), int(groups["military"][2:4])
    if groups.get("part"):
        hour = number(groups["whole"])
        minute = {"half past": 30, "quarter past": 15, "quarter to": 45}[groups["part"].lower()]
        hour = hour - 1 if minute == 45 else hour
        half = groups.get("half")
    else:
        hour, minute = number(groups["hour"]), int(groups.get("minute") or 0)
        half = groups.get("ampm")
    later = (groups.get("later") or "").lower()
    is_evening = "afternoon" in later or "evening" in later or ("night" in later and 6 <= hour < 12)
    if half or later:
        if hour > 12:
            return None if half else (hour, minute)
        is_pm = half.lower().startswith("p") if half else is_evening
        hour = hour % 12 + (12 if is_pm else 0)
    return (hour, minute) if 0 <= hour < 24 else None


def as_field(values: Iterable[int]) -> str:
    """Return numbers as a field of a cron text: ``1-5``, ``0,6``, ``1,15``."""
    ordered = sorted(set(values))
    parts: list[str] = []
    while ordered:
        run = 1
        while run < len(ordered) and ordered[run] == ordered[0] + run:
            run += 1
        parts.append(
            str(ordered[0])
            if run == 1
            else f"{ordered[0]}-{ordered[run - 1]}"
            if run > 2
            else f"{ordered[0]},{ordered[1]}"
        )
        ordered = ordered[run:]
    return ",".join(parts)
