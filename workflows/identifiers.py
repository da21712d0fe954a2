"""Time-ordered ids: UUID version 7 (RFC 9562), so that newer rows sort and cluster after older ones."""

from uuid import UUID

from uuid_utils.compat import uuid7


def new_id() -> UUID:
    """Return a fresh UUIDv7."""
    return uuid7()
