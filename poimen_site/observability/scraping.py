"""``GET /metrics``, and the clock that is stopped for every request.

Refuses strangers: a scraper shows the token of ``POIMEN_METRICS_TOKEN``, or connects from this machine without a proxy
in between; a superuser may look as well. Source: contract-rest-api 3.
"""

import hmac
import ipaddress
import time
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from poimen_site.errors import error_response, read_only
from poimen_site.observability import llm_metrics  # noqa: F401 - adds its metrics to the registry
from poimen_site.observability.metrics import http_requests, registry

UNKNOWN = "(no route)"
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


@read_only
def metrics(request: HttpRequest) -> HttpResponse:
    """Answer in the text format of Prometheus; 401 to strangers."""
    if not _may_scrape(request):
        response = error_response(request, 401, "metrics need the bearer token of POIMEN_METRICS_TOKEN")
        response["WWW-Authenticate"] = 'Bearer realm="metrics"'
        return response
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


def _may_scrape(request: HttpRequest) -> bool:
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    token = settings.POIMEN_METRICS_TOKEN
    if token and scheme.lower() == "bearer":
        return hmac.compare_digest(given.strip().encode(), token.encode())
    if not token and _is_local(request):
        return True
    return request.user.is_active and request.user.is_superuser


def _is_local(request: HttpRequest) -> bool:
    if any(name in request.headers for name in ("X-Forwarded-For", "Forwarded", "X-Real-Ip", "Via")):
        return False
    try:
        return ipaddress.ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False


class RequestTimeMiddleware:
    """Observes how long each request took, by its route: paths hold ids, and would be a series each."""

    sync_capable = True
    async_capable = False

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer, and observe."""
        began = time.perf_counter()
        response = self.get_response(request)
        match = request.resolver_match
        route = f"/{match.route}" if match is not None else UNKNOWN
        method = request.method if request.method in METHODS else "other"
        http_requests.labels(method, route, str(response.status_code)).observe(time.perf_counter() - began)
        return response
