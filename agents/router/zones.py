"""Time zones as people call them: IANA names, cities, countries and the abbreviations of clocks.

Owns the words; refuses to guess a zone from anything but its name.
"""

import re
from functools import cache
from zoneinfo import available_timezones

UTC = "UTC"

_CLOCKS = {
    "utc": UTC,
    "gmt": UTC,
    "zulu": UTC,
    "cet": "Europe/Berlin",
    "cest": "Europe/Berlin",
    "eet": "Europe/Athens",
    "wet": "Europe/Lisbon",
    "bst": "Europe/London",
    "est": "America/New_York",
    "edt": "America/New_York",
    "eastern": "America/New_York",
    "cst": "America/Chicago",
    "cdt": "America/Chicago",
    "central": "America/Chicago",
    "mst": "America/Denver",
    "mdt": "America/Denver",
    "mountain": "America/Denver",
    "pst": "America/Los_Angeles",
    "pdt": "America/Los_Angeles",
    "pacific": "America/Los_Angeles",
    "jst": "Asia/Tokyo",
    "kst": "Asia/Seoul",
    "ist": "Asia/Kolkata",
    "aest": "Australia/Sydney",
    "aedt": "Australia/Sydney",
}
# Of these, whole continents know what "time" behind them means; alone they are ordinary words.
_ONLY_WITH_TIME = frozenset({"eastern", "central", "mountain", "pacific"})
_PLACES = {
    "munich": "Europe/Berlin",
    "hamburg": "Europe/Berlin",
    "frankfurt": "Europe/Berlin",
    "cologne": "Europe/Berlin",
    "germany": "Europe/Berlin",
    "deutschland": "Europe/Berlin",
    "münchen": "Europe/Berlin",
    "wien": "Europe/Vienna",
    "zürich": "Europe/Zurich",
    "geneva": "Europe/Zurich",
    "barcelona": "Europe/Madrid",
    "spain": "Europe/Madrid",
    "france": "Europe/Paris",
    "italy": "Europe/Rome",
    "milan": "Europe/Rome",
    "uk": "Europe/London",
    "england": "Europe/London",
    "manchester": "Europe/London",
    "londres": "Europe/London",
    "parís": "Europe/Paris",
    "boston": "America/New_York",
    "washington": "America/New_York",
    "miami": "America/New_York",
    "nyc": "America/New_York",
    "nueva york": "America/New_York",
    "san francisco": "America/Los_Angeles",
    "seattle": "America/Los_Angeles",
    "california": "America/Los_Angeles",
    "dallas": "America/Chicago",
    "houston": "America/Chicago",
    "austin": "America/Chicago",
    "mumbai": "Asia/Kolkata",
    "delhi": "Asia/Kolkata",
    "new delhi": "Asia/Kolkata",
    "bangalore": "Asia/Kolkata",
    "india": "Asia/Kolkata",
    "beijing": "Asia/Shanghai",
    "china": "Asia/Shanghai",
    "japan": "Asia/Tokyo",
    "osaka": "Asia/Tokyo",
    "tokio": "Asia/Tokyo",
    "rio": "America/Sao_Paulo",
    "são paulo": "America/Sao_Paulo",
    "canberra": "Australia/Sydney",
}
_CONTINENTS = ("Africa", "America", "Asia", "Atlantic", "Australia", "Europe", "Indian", "Pacific")
_IANA = re.compile(rf"\b(?:{'|'.join(_CONTINENTS)}|Etc)/[a-z_+\-0-9]+(?:/[a-z_]+)?", re.IGNORECASE)
_CLOCK = re.compile(rf"\b({'|'.join(_CLOCKS)})\b(\s+(?:standard |daylight )?time)?", re.IGNORECASE)


def find_zone(text: str) -> str | None:
    """Return the IANA name of the zone that ``text`` names, or None; the first one, where there are several."""
    known = _known()
    for found in _IANA.finditer(text):
        name = known.get(found.group().casefold())
        if name is not None:
            return name
    for found in _CLOCK.finditer(text):
        word = found.group(1).casefold()
        if word not in _ONLY_WITH_TIME or found.group(2):
            return _CLOCKS[word]
    place = _place_pattern().search(text)
    return _cities()[" ".join(next(filter(None, place.groups())).casefold().split())] if place else None


def find_unknown_zone(text: str) -> str | None:
    """Return what looks like an IANA name in ``text`` and is none."""
    known = _known()
    return next((f.group() for f in _IANA.finditer(text) if f.group().casefold() not in known), None)


@cache
def _known() -> dict[str, str]:
    return {name.casefold(): name for name in available_timezones()}


@cache
def _cities() -> dict[str, str]:
    """Zones by the place they are called after."""
    cities: dict[str, str] = {}
    for name in sorted(available_timezones()):
        continent, _, city = name.partition("/")
        if city and continent in _CONTINENTS and len(city) > 3:
            cities.setdefault(city.rpartition("/")[2].replace("_", " ").casefold(), name)
    return cities | _PLACES


@cache
def _place_pattern() -> re.Pattern[str]:
    places = "|".join(re.escape(city).replace(r"\ ", r"\s+") for city in sorted(_cities(), key=len, reverse=True))
    return re.compile(
        rf"\b(?:in|for|at|à|a|en|de)\s+(?:the\s+)?({places})\b|\b({places})(?:\s+local)?(?:['’]s)?\s+time\b"
        rf"|(?:\b\d{{1,2}}(?::\d\d|\s*[ap]\.?m\.?)|\bnoon|\bmidnight)\s+({places})\b",
        re.IGNORECASE,
    )
