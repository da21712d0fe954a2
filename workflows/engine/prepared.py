"""The hottest statements through libpq directly: prepared once a connection, executed without a cursor's overhead.

A cursor costs about 80 of the 600 microseconds of a transition. Refuses to return more than one row.
"""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from weakref import WeakKeyDictionary

import psycopg
from psycopg.adapt import Transformer
from psycopg.pq import ConnStatus, DiagnosticField, ExecStatus

_PARAMETER = re.compile(r"%\((\w+)\)s(::\w+)?")


class PreparedStatement:
    """``sql`` has ``%(name)s`` parameters; those not cast in place are of the type ``types`` says, else text."""

    def __init__(self, name: str, sql: str, types: Mapping[str, str]) -> None:
        self._name = name.encode()
        self._names: list[str] = []

        def number(found: re.Match[str]) -> str:
            parameter, cast = found.groups()
            if parameter not in self._names:
                self._names.append(parameter)
            return f"${self._names.index(parameter) + 1}{cast or '::' + types.get(parameter, 'text')}"

        self._sql = _PARAMETER.sub(number, sql).encode()
        self._known: WeakKeyDictionary[psycopg.Connection[Any], bool] = WeakKeyDictionary()

    def execute(self, connection: psycopg.Connection[Any], parameters: Mapping[str, Any]) -> tuple[Any, ...] | None:
        """Run it in autocommit; returns the first row, or None. Raises what psycopg would."""
        pgconn = connection.pgconn
        if connection not in self._known:
            self._check(pgconn, pgconn.prepare(self._name, self._sql), ExecStatus.COMMAND_OK)
            self._known[connection] = True
        # A loop rather than a call for each: there are thirty of them in every transition.
        values: list[Any] = []
        for name in self._names:
            value = parameters[name]
            if value.__class__ is str:
                value = value.encode()
            elif value is not None:
                value = _encode(value)
            values.append(value)
        result = pgconn.exec_prepared(self._name, values)
        self._check(pgconn, result, ExecStatus.TUPLES_OK)
        if result.ntuples == 0:
            return None
        transformer = Transformer(connection)
        transformer.set_pgresult(result)
        return transformer.load_row(0, tuple)

    @staticmethod
    def _check(pgconn: psycopg.pq.abc.PGconn, result: psycopg.pq.abc.PGresult, wanted: ExecStatus) -> None:
        if result.status == wanted:
            return
        # An error that no server gave a code comes from the line: libpq may tell so before it calls the connection bad.
        is_cut = result.status == ExecStatus.FATAL_ERROR and result.error_field(DiagnosticField.SQLSTATE) is None
        if is_cut or pgconn.status != ConnStatus.OK:
            raise psycopg.OperationalError(result.error_message.decode("utf-8", "replace") or "the connection is lost")
        raise psycopg.errors.error_from_result(result)


def _encode(value: Any) -> bytes:
    if isinstance(value, timedelta):
        return f"{value.total_seconds()} seconds".encode()
    return str(value).encode()
