"""A span for each request, under the caller's trace if it sent one (W3C trace context). Loaded only when configured."""

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from workflows.audit import current
from workflows.tracing import provider


class RequestTraceMiddleware:
    """Tells method, route and status; paths and queries are not told, since they may hold anything."""

    sync_capable = True
    async_capable = False

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response
        self._tracer = provider().get_tracer("poimen.web")
        self._propagator = TraceContextTextMapPropagator()

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer within a span."""
        parent = self._propagator.extract({name.lower(): value for name, value in request.headers.items()})
        with self._tracer.start_as_current_span(str(request.method), context=parent, kind=SpanKind.SERVER) as span:
            response = self.get_response(request)
            match = request.resolver_match
            route = f"/{match.route}" if match is not None else ""
            span.update_name(f"{request.method} {route}".strip())
            span.set_attribute("http.request.method", str(request.method))
            span.set_attribute("http.route", route)
            span.set_attribute("http.response.status_code", response.status_code)
            span.set_attribute("poimen.request.id", current().request_id)
            if response.status_code >= 500:
                span.set_status(Status(StatusCode.ERROR))
        return response
