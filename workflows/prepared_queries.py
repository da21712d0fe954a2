"""Statements that come with every request: written by hand, planned once a connection, made into models.

To build such a query, and to plan it, costs more than to run it. Refuses to replace the ORM anywhere else.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

import psycopg
from django.db import connection
from django.db.models import Model

M = TypeVar("M", bound=Model)


class Selected(Generic[M]):
    """Columns of a model under a table's alias: all of them, or those of ``names``; what is left out loads later."""

    def __init__(self, model: type[M], alias: str, *names: str) -> None:
        fields = [field for field in model._meta.concrete_fields if not names or field.attname in names]
        self.alias = alias
        self._model = model
        self._names = [field.attname for field in fields]
        self._loaders = [
            (at, field.from_db_value) for at, field in enumerate(fields) if hasattr(field, "from_db_value")
        ]
        self.columns = ", ".join(f"{alias}.{field.column}" for field in fields)
        self.count = len(fields)

    def make(self, row: Sequence[Any]) -> M:
        """The model of the first ``count`` values of ``row``."""
        values = list(row[: self.count])
        for at, load in self._loaders:
            values[at] = load(values[at], None, connection)
        return self._model.from_db(connection.alias, self._names, values)


def expanded(sql: str, *selected: Selected[Any]) -> str:
    """``sql`` with ``<alias>.*`` of each of ``selected`` written out as its columns."""
    for one in selected:
        sql = sql.replace(f"{one.alias}.*", one.columns)
    return sql


@contextmanager
def prepared_cursor() -> Iterator[Any]:
    """A cursor of Django's connection whose parameters the server binds: it plans a statement once, not each time."""
    with connection.cursor() as cursor:
        if not connection.queries_logged:  # Django logs what its own cursors ran, and only that
            cursor.cursor = psycopg.Cursor(connection.connection)
        yield cursor


def fetch(sql: str, parameters: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Run ``sql`` with ``%(name)s`` parameters and return all rows. Raises ``DatabaseError``."""
    with prepared_cursor() as cursor:
        cursor.execute(sql, parameters)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows
