"""Reads ``Retry-After``: seconds or a date (RFC 9110, 10.2.3). Refuses to wait for longer than a cap."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

MOST_SECONDS = 60.0


def seconds_of(value: str | None, now: datetime | None = None, *, most: float = MOST_SECONDS) -> float | None:
    """Return how long to wait, from 0 to ``most`` seconds; None for a header that is missing or says nothing."""
    text = (value or "").strip()
    if not text:
        return None
    if text.isascii() and text.isdigit():
        return min(float(text[:9]), most)
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return min(max((at - (now or datetime.now(UTC))).total_seconds(), 0.0), most)
