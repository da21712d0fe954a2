"""What happens to every request and response: refusals before routing, headers, and 503 while the database is away.

All of it is synchronous on purpose. Under ASGI Django changes threads at each step between sync and async code; with
a synchronous innermost middleware the whole chain and the view run in one thread, after one change.
"""

import logging
import time
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.encoding import escape_uri_path

from poimen_site.errors import error_response, is_database_unavailable, own_setting, unavailable

log = logging.getLogger(__name__)
requests = logging.getLogger("poimen.requests")

GetResponse = Callable[[HttpRequest], HttpResponseBase]

CONTENT_SECURITY_POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'self'; form-action 'self'; "
    "frame-ancestors 'none'"
)


class RefusalsWithoutTraceback(logging.Filter):
    """Leaves the traceback out of what Django logs about a 4xx: it shows our code, and nothing in that is wrong.

    And names the setting of allowed hosts as it is called here.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Pass every record."""
        if 400 <= getattr(record, "status_code", 500) < 500:
            record.exc_info = record.exc_text = None
        if record.name == "django.security.DisallowedHost":
            record.msg, record.args = own_setting(record.getMessage()), ()
        return True


class RequestLogMiddleware:
    """One line for each request (contract-rest-api 1): method, path without query, status, duration.

    Probes of ``/health`` that found nothing wrong are left out: they come every few seconds.
    """

    sync_capable = True
    async_capable = False

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Log what came of it."""
        began = time.perf_counter()
        response = self.get_response(request)
        if response.status_code != 200 or not request.path.startswith("/health"):
            milliseconds = (time.perf_counter() - began) * 1000
            path = escape_uri_path(request.path)  # a path may hold line breaks
            requests.info("%s %s %d in %.0f ms", request.method, path, response.status_code, milliseconds)
        return response


class CrossOriginMiddleware:
    """CORS for programs in other origins' pages, which carry a bearer token; cookies are never allowed across.

    ``OPTIONS`` on any path answers 200 without a body (contract-rest-api 1).
    """

    sync_capable = True
    async_capable = False

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer preflights; mark every other answer with who may read it."""
        response = HttpResponse() if request.method == "OPTIONS" else self.get_response(request)
        origin = request.headers.get("Origin", "")
        allowed = settings.POIMEN_CORS_ORIGINS
        if "*" in allowed:
            response["Access-Control-Allow-Origin"] = "*"
        elif origin in allowed:
            response["Access-Control-Allow-Origin"] = origin
        if allowed and "*" not in allowed:
            response["Vary"] = ", ".join(filter(None, [response.get("Vary"), "Origin"]))
        response["Access-Control-Allow-Methods"] = "GET, POST, PUT, PATCH, DELETE, OPTIONS"
        response["Access-Control-Allow-Headers"] = (
            "Content-Type, Authorization, X-API-Key, X-Customer, Idempotency-Key, If-Match"
        )
        response["Access-Control-Expose-Headers"] = "ETag, Retry-After, X-Request-Id, X-Total-Count"
        return response


class PageHeadersMiddleware:
    """A content security policy: pages load from this server only and are framed by nobody."""

    sync_capable = True
    async_capable = False

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Add the policy where a view did not set its own."""
        response = self.get_response(request)
        response.headers.setdefault("Content-Security-Policy", CONTENT_SECURITY_POLICY)
        return response


class RefuseNulMiddleware:
    """400 for NUL characters in the address: no text column can hold them, so no lookup could be right."""

    sync_capable = True
    async_capable = False

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Refuse before routing."""
        if "\x00" in request.path or "%00" in request.META.get("QUERY_STRING", ""):
            return error_response(request, 400, "The address contains a NUL character (%00), which nothing matches.")
        return self.get_response(request)


class DatabaseUnavailableMiddleware:
    """503 with ``Retry-After`` for a view that failed because the database is away; the next request tries anew."""

    sync_capable = True
    async_capable = False

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Pass on."""
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Answer for the view; None leaves other exceptions to Django."""
        if not is_database_unavailable(exception):
            return None
        log.warning("%s %s: the database is away: %s", request.method, request.path, str(exception).strip())
        return unavailable(request)
