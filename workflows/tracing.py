"""What ran, as OpenTelemetry traces: a trace for each execution, a span for each attempt of a state.

The spans are read from the history some seconds later, by the clock that leads: a step costs what it costs, and a
worker that dies loses none. Nothing of OpenTelemetry is loaded unless ``OTEL_EXPORTER_OTLP_ENDPOINT`` is set. Refuses
to tell inputs and outputs; error messages are masked. Delivery is not guaranteed: it is for looking, not for keeping.
"""

import hashlib
import os
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from uuid import UUID

import psycopg

from workflows.secret_texts import masked

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.trace import SpanContext

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
MOST_ROWS = 5000  # told in one go
PATIENCE_SECONDS = 3  # with a collector that is away; a process that ends waits no longer for it
QUEUE = 20_000  # spans that wait for the collector; more are dropped

_NEWEST = "SELECT COALESCE(max(id), 0), now() - interval '2 seconds' FROM workflows_staterun"
_RUNS = """
SELECT r.id, r.execution_id, r.branch_id, r.state, r.visit, r.attempt, r.type, r.activity, r.status,
    COALESCE(r.error->>'name', ''), COALESCE(r.error->>'message', ''), r.started_at, r.ended_at, r.worker
FROM workflows_staterun r WHERE r.id > %s AND r.id <= %s AND NOT r.reused ORDER BY r.id LIMIT %s
"""
_ENDED = """
SELECT id, name, status, COALESCE(error->>'name', ''), COALESCE(error->>'message', ''), created_at, ended_at,
    workflow_id, customer_id, parent_id
FROM workflows_execution WHERE ended_at >= %s AND ended_at < %s ORDER BY ended_at LIMIT %s
"""


def is_wanted() -> bool:
    """Whether a collector is configured."""
    return any(os.environ.get(name) for name in ENDPOINTS)


@lru_cache(maxsize=1)
def provider() -> "TracerProvider":
    """Return what makes spans and hands them to :func:`outbox`, made on the first call."""
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider

    made = TracerProvider(resource=Resource.create({"service.name": os.environ.get("OTEL_SERVICE_NAME", "poimen")}))
    made.add_span_processor(outbox())
    return made


@lru_cache(maxsize=1)
def outbox() -> "BatchSpanProcessor":
    """Return what sends spans that have ended, from a thread of its own."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    exporter = OTLPSpanExporter(timeout=PATIENCE_SECONDS)
    return BatchSpanProcessor(exporter, max_queue_size=QUEUE)


class History:
    """Tells what has ended since the last call; what ended before the first call is not told."""

    def __init__(self) -> None:
        self._told: int | None = None
        self._settled = 0
        self._until: datetime | None = None

    def advance(self, connection: psycopg.Connection[Any]) -> int:
        """Tell the runs that were there at the call before, and the executions that have ended; returns how many."""
        row = connection.execute(_NEWEST).fetchone()
        assert row is not None
        newest, to = row
        if self._told is None or self._until is None:
            self._told, self._settled, self._until = newest, newest, to
            return 0
        # Up to what was the newest last time: what was being written then has been committed since.
        runs = connection.execute(_RUNS, (self._told, self._settled, MOST_ROWS)).fetchall()
        ended = connection.execute(_ENDED, (self._until, to, MOST_ROWS)).fetchall()
        for item in runs:
            _tell_run(*item)
        for item in ended:
            _tell_execution(*item)
        self._told = runs[-1][0] if len(runs) == MOST_ROWS else self._settled
        self._until = ended[-1][6] if len(ended) == MOST_ROWS else to
        self._settled = newest
        return len(runs) + len(ended)


def trace_id(execution: UUID) -> int:
    """The trace of an execution has the execution's id."""
    return execution.int


def _root(execution: UUID) -> "SpanContext":
    return _context(execution, f"execution {execution}")


def _context(execution: UUID, of: str) -> "SpanContext":
    """The place of a span: its id follows from what it is of, so that telling it twice makes one."""
    from opentelemetry.trace import SpanContext, TraceFlags

    span = int.from_bytes(hashlib.sha256(of.encode()).digest()[:8], "big") or 1
    return SpanContext(trace_id(execution), span, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))


def _tell_run(
    pk: int, execution: UUID, branch: UUID, state: str, visit: int, attempt: int, kind: str, activity: str, status: str,
    error: str, message: str, started: datetime, ended: datetime, worker: str,
) -> None:  # fmt: skip
    attributes = {
        "poimen.execution.id": str(execution), "poimen.branch.id": str(branch), "poimen.state": state,
        "poimen.state.type": kind, "poimen.visit": visit, "poimen.attempt": attempt, "poimen.status": status,
        "poimen.activity": activity, "poimen.worker": worker,
    }  # fmt: skip
    _tell(
        activity or state, _context(execution, f"run {pk}"), _root(execution), attributes, started, ended,
        "" if status == "success" else status, error, message,
    )  # fmt: skip


def _tell_execution(
    execution: UUID, name: str, status: str, error: str, message: str, created: datetime, ended: datetime,
    workflow: UUID | None, customer: UUID, parent: UUID | None,
) -> None:  # fmt: skip
    attributes = {
        "poimen.execution.id": str(execution), "poimen.workflow.name": name, "poimen.status": status,
        "poimen.customer.id": str(customer), "poimen.workflow.id": str(workflow) if workflow else "",
    }  # fmt: skip
    links = [_root(parent)] if parent is not None else []
    failed = "" if status == "success" else status
    _tell(name, _root(execution), None, attributes, created, ended, failed, error, message, links)


def _tell(
    name: str, context: "SpanContext", parent: "SpanContext | None", attributes: dict[str, Any], started: datetime,
    ended: datetime, failed: str, error: str, message: str, links: "list[SpanContext] | None" = None,
) -> None:  # fmt: skip
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.trace import Link, Status, StatusCode

    text = masked(f"{error}: {message}" if message else error or failed)
    span = ReadableSpan(
        name=name,
        context=context,
        parent=parent,
        resource=provider().resource,
        attributes={key: value for key, value in attributes.items() if value != ""},
        links=[Link(link) for link in links or ()],
        status=Status(StatusCode.ERROR, text) if failed else Status(StatusCode.OK),
        start_time=_nanoseconds(started),
        end_time=max(_nanoseconds(started), _nanoseconds(ended)),
    )
    outbox().on_end(span)


def _nanoseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000) * 1000
