"""The database for activities in processes of their own: a connection for a moment, and none kept.

There are many such processes, and most never need one. Refuses to close what a transaction is open on.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection


@contextmanager
def borrowed() -> Iterator[None]:
    """Give the connection and its pool back afterwards."""
    try:
        yield
    finally:
        if not connection.in_atomic_block:  # as in tests
            connection.close()
            connection.close_pool()  # type: ignore[attr-defined]  # PostgreSQL has one
