"""Traces of requests: what a real collector receives of them, and that nothing is loaded without one."""

import os
import subprocess
import sys
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.test import Client

from workflows.tests.otlp_collector import Collector, attributes, collector

__all__ = ["collector"]


@pytest.mark.django_db
def test_requests_arrive_under_the_callers_trace(collector: Collector, settings: Any) -> None:
    settings.MIDDLEWARE = [
        *settings.MIDDLEWARE[:1], "poimen_site.observability.traces.RequestTraceMiddleware", *settings.MIDDLEWARE[1:],
    ]  # fmt: skip
    trace, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
    headers = {"traceparent": f"00-{trace}-{parent}-01", "X-Request-Id": "r-7"}
    Client().get("/executions/0189?secret=hunter2", headers=headers)
    span = collector.named("GET /executions/<str:execution_id>")
    assert (span.trace_id.hex(), span.parent_span_id.hex()) == (trace, parent)
    assert attributes(span)["http.response.status_code"] == 401
    assert attributes(span)["poimen.request.id"] == "r-7"
    assert "hunter2" not in str(collector.spans)


@pytest.mark.parametrize("endpoint", ["", "http://127.0.0.1:9"])
def test_nothing_of_it_is_loaded_unless_a_collector_is_configured(endpoint: str) -> None:
    code = (
        "import sys, django; django.setup(); from django.conf import settings; "
        "from django.utils.module_loading import import_string; "
        "[import_string(m) for m in settings.MIDDLEWARE]; import workflows.engine.clock; "
        "print('opentelemetry' in sys.modules)"
    )
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "poimen_site.settings",
        "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
    }
    ran = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=django_settings.BASE_DIR, capture_output=True, text=True
    )
    assert ran.stdout.strip() == str(bool(endpoint)), ran.stderr
