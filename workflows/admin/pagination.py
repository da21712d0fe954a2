"""Pages of lists over tables of any size: rows are counted up to a bound, or estimated, and never all of them."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

from django.core.paginator import Paginator
from django.db import connection
from django.db.models import QuerySet

if TYPE_CHECKING:  # generic for the type checker only
    RowPaginator = Paginator[Any]
else:
    RowPaginator = Paginator

MOST_ROWS = 10_000


class EstimatingPaginator(RowPaginator):
    """Offers the first 10,000 rows. ``is_cut`` says that there are more, ``estimate`` about how many if that is known.

    PostgreSQL counts by reading every row, which takes seconds on large tables; its statistics know the size of a
    whole table at once, and counting stops at the bound for what is filtered.
    """

    estimate: int | None = None

    @cached_property
    def count(self) -> int:
        """How many rows can be paged through."""
        rows = self.object_list
        assert isinstance(rows, QuerySet)
        if not rows.query.where:
            self.estimate = _rows_of_table(rows.model._meta.db_table)
            if self.estimate is not None and self.estimate > MOST_ROWS:
                return MOST_ROWS
        return min(rows.order_by()[: MOST_ROWS + 1].count(), MOST_ROWS)

    @property
    def is_cut(self) -> bool:
        """Whether there are, or may be, more rows than are offered."""
        return self.count >= MOST_ROWS


def _rows_of_table(table: str) -> int | None:
    """What the statistics say; None for a table that has never been analysed."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT reltuples::bigint FROM pg_class WHERE oid = to_regclass(%s)", (f'"{table}"',))
        row = cursor.fetchone()
    return int(row[0]) if row is not None and row[0] >= 0 else None
