"""Tells a person who starts a command why the database cannot be used, and what to do about it.

It refuses to be needed by what runs: web, worker and clock wait for the database instead.
"""

import psycopg
from django.conf import settings
from django.db import connections

from poimen_site.embedded_postgres import EmbeddedPostgres
from poimen_site.environment import EXIT_CODE, without_password

CONNECT_SECONDS = 5


def explain_outage() -> tuple[str, int] | None:
    """A sentence and an exit code, or None if the database can be reached: then something else is wrong."""
    if not settings.DATABASE_URL:
        if EmbeddedPostgres(settings.POIMEN_HOME).is_running():
            return None
        return (
            f"The database of {settings.POIMEN_HOME} does not run. Start everything with bin/run, or the database "
            "alone with: manage.py database start"
        ), 1
    parameters = connections["default"].get_connection_params()
    parameters = {key: value for key, value in parameters.items() if key not in ("pool", "context", "cursor_factory")}
    try:
        psycopg.connect(**(parameters | {"connect_timeout": CONNECT_SECONDS})).close()
    except psycopg.Error as error:
        reason = " ".join(str(error).split())
        return (
            f"DATABASE_URL is {without_password(settings.DATABASE_URL)!r}; expected the address of a PostgreSQL "
            f"server that lets Poimen in. It says: {reason}"
        ), EXIT_CODE
    return None
