"""A collector of OpenTelemetry traces on loopback: it receives what is sent and keeps the spans."""

import gzip
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from workflows import tracing


class Collector(ThreadingHTTPServer):
    """Receives OTLP over HTTP and keeps the spans."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.services: set[str] = set()
        super().__init__(("127.0.0.1", 0), _Receiver)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def named(self, name: str) -> Any:
        """The span of that name, once it is there."""
        tracing.provider().force_flush(10_000)
        deadline = time.monotonic() + 15
        while time.monotonic() < deadline:
            for span in self.spans:
                if span.name == name:
                    return span
            time.sleep(0.05)
        raise AssertionError(f"no span {name!r} among {[span.name for span in self.spans]}")


class _Receiver(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        request = ExportTraceServiceRequest.FromString(body)
        assert self.path == "/v1/traces"
        for resource in request.resource_spans:
            for attribute in resource.resource.attributes:
                if attribute.key == "service.name":
                    self.server.services.add(attribute.value.string_value)
            for scope in resource.scope_spans:
                self.server.spans += scope.spans
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    made = Collector()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{made.server_port}")
    _forget()
    yield made
    tracing.provider().shutdown()
    _forget()
    made.shutdown()
    made.server_close()


def _forget() -> None:
    tracing.provider.cache_clear()
    tracing.outbox.cache_clear()


def attributes(span: Any) -> dict[str, Any]:
    """The attributes of a span that are texts or numbers."""
    return {a.key: a.value.string_value or a.value.int_value for a in span.attributes}
