"""Where a text stands in the database, whatever the product shows."""

from collections.abc import Iterable

from django.db import connection


def tables_with(text: str, tables: Iterable[str]) -> list[str]:
    """Return those of ``tables`` in which any row holds ``text``."""
    found = []
    with connection.cursor() as cursor:
        for table in tables:
            cursor.execute(f"SELECT count(*) FROM {table} AS row WHERE row::text LIKE %s", [f"%{text}%"])
            if cursor.fetchone() != (0,):
                found.append(table)
    return found
