"""Go-style duration text (``1h30m``, ``500ms``) to ``timedelta`` and back (contract-workflow-spec 4)."""

import re
from datetime import UTC, datetime, timedelta

_UNITS = {"d": 86_400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6}
EXPECTED = "write it like 30s, 5m, 1h30m or 500ms"

_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|us|µs|d|h|m|s)")
_WHOLE = re.compile(r"(?:[0-9]{1,12}(?:\.[0-9]{1,9})?(?:ms|us|µs|d|h|m|s)){1,7}")


def parse_moment(text: str) -> datetime:
    """Return the moment that RFC 3339 ``text`` says, in UTC; raises ``ValueError`` if it is none, or lies before the
    year 1 or after the year 9999 in UTC."""
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (TypeError, ValueError, OverflowError):
        raise ValueError("is not a moment; write it like 2030-01-31T08:00:00Z") from None


def parse_duration(text: object) -> timedelta:
    """Return the duration that ``text`` names, such as ``90s``, ``1h30m``, ``1.5m`` or ``500ms``.

    Raises ``ValueError`` with a sentence for anything else: negative and unit-less numbers, and what is no text.
    """
    if not isinstance(text, str) or not _WHOLE.fullmatch(text):
        raise ValueError(f"{text!r:.200} is not a duration; {EXPECTED}, in quotes")
    try:
        return timedelta(seconds=sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text)))
    except OverflowError:
        raise ValueError(f"{text!r} is longer than any duration can be") from None


def format_duration(value: timedelta) -> str:
    """Return ``value`` (not negative, to the millisecond) as Go-style text: ``1h30m``, ``2.5s``, ``0s``."""
    total_ms = round(value.total_seconds() * 1000)
    hours, rest = divmod(total_ms, 3_600_000)
    minutes, ms = divmod(rest, 60_000)
    seconds = f"{ms / 1000:.3f}".rstrip("0").rstrip(".")
    text = (f"{hours}h" if hours else "") + (f"{minutes}m" if minutes else "") + (f"{seconds}s" if ms else "")
    return text or "0s"
