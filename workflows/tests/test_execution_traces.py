"""Executions as traces: what a real collector receives of them over HTTP."""

import time
from typing import Any

import psycopg

from workflows import tracing
from workflows.engine.store import connection_parameters
from workflows.tests.otlp_collector import Collector, attributes, collector
from workflows.tests.people import ECHO, customer, started
from workflows.tests.pumping import Engine

__all__ = ["collector"]

FAILING: dict[str, Any] = {
    "name": "broken",
    "states": [{"name": "No", "type": "Fail", "error": "Nope", "cause": "used password=hunter2-hunter2"}],
}


def test_executions_arrive_as_traces_of_their_id(engine: Engine, collector: Collector) -> None:
    with psycopg.connect(**connection_parameters()) as connection:
        history = tracing.History()
        assert history.advance(connection) == 0
        good, bad = started(customer(), ECHO), started(customer(), FAILING)
        engine.pump()
        for execution in (good, bad):
            engine.ended(execution.pk)
        told, deadline = 0, time.monotonic() + 30
        while told < 4 and time.monotonic() < deadline:
            told += history.advance(connection)
            time.sleep(0.2)
        assert told == 4
    root, run = collector.named("echo"), collector.named("EchoActivity")
    assert root.trace_id == run.trace_id == good.pk.bytes
    assert run.parent_span_id == root.span_id
    assert root.start_time_unix_nano <= run.start_time_unix_nano <= run.end_time_unix_nano <= root.end_time_unix_nano
    assert attributes(run)["poimen.state"] == "Say"
    assert attributes(run)["poimen.attempt"] == 1
    failed = collector.named("No")
    assert failed.trace_id == bad.pk.bytes
    assert failed.status.code == 2
    assert "Nope" in failed.status.message
    assert "hunter2" not in str(collector.spans)
    assert collector.services == {"poimen"}
