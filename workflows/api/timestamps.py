"""How moments look in API bodies: RFC 3339 in UTC, to the second, ending in Z (contract-rest-api 1)."""

from datetime import UTC, datetime


def rfc3339(moment: datetime) -> str:
    """Return an aware ``moment`` as text such as ``2026-03-01T09:30:00Z``; fractions of a second are cut off."""
    return moment.astimezone(UTC).replace(microsecond=0, tzinfo=None).isoformat() + "Z"
