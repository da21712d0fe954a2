"""How failures look from outside: JSON ``{"error", "details"?}`` for programs, a plain page for browsers.

It refuses to show what went wrong inside: an unexpected exception is logged and answered with one sentence.
Source: contract-rest-api 1.
"""

import re
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec

import psycopg
from django.core.exceptions import DisallowedHost, RequestDataTooBig
from django.db import DatabaseError, InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.utils.html import escape
from django.views.decorators.csrf import csrf_exempt
from rest_framework import exceptions, status
from rest_framework.response import Response

from workflows.api.sentences import sentence_of_detail

P = ParamSpec("P")
RETRY_AFTER_SECONDS = 2
# Needs neither templates nor the database: it is what is shown when they fail.
_PAGE = (
    '<!doctype html><html lang="en"><meta name="viewport" content="width=device-width"><title>{code} · Poimen</title>'
    '<link rel="stylesheet" href="/static/ui/tokens.css"><link rel="stylesheet" href="/static/ui/ui.css">'
    '<main class="empty tall"><h1>{code}</h1><p>{message}</p><p><a class="button" href="/">Home</a></p></main>'
)
UNAVAILABLE = "The database cannot be reached right now. Try again shortly."


class BodyTooLarge(exceptions.APIException):
    """The request's body is larger than ``DATA_UPLOAD_MAX_MEMORY_SIZE``."""

    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    default_code = "too_large"


def exception_handler(exc: Exception, context: dict[str, Any]) -> Response | None:
    """Answer an exception of a REST view; None (which raises it further) for what nobody expected."""
    # Not at the top: that module loads the parsers of the settings, which load this one.
    from rest_framework.views import exception_handler as rest_framework_handler

    if is_database_unavailable(exc):
        body = {"error": UNAVAILABLE}
        return Response(body, status=503, headers={"Retry-After": str(RETRY_AFTER_SECONDS)})
    response = rest_framework_handler(exc, context)
    if response is not None:
        response.data = error_body(exc, response.data)
    return response


def error_body(exc: Exception, detail: Any) -> dict[str, Any]:
    """``{"error": sentence, "details"?: what the sentence sums up}`` from an exception's detail of any shape."""
    if isinstance(exc, exceptions.MethodNotAllowed):
        return {"error": "Method not allowed"}
    if isinstance(detail, dict) and "error" in detail:
        return detail
    if isinstance(detail, dict) and "detail" in detail:
        rest = {key: value for key, value in detail.items() if key not in ("detail", "code")}
        return {"error": sentence_of_detail(detail)} | ({"details": rest} if rest else {})
    return {"error": sentence_of_detail(detail), "details": detail}


def is_database_unavailable(exc: BaseException | None) -> bool:
    """True for a lost or refused connection, an exhausted pool and other trouble that passes by itself."""
    while exc is not None:
        if isinstance(exc, OperationalError | InterfaceError | psycopg.OperationalError | psycopg.InterfaceError):
            return True
        exc = exc.__cause__ if isinstance(exc, DatabaseError | psycopg.Error) else None
    return False


def unavailable(request: HttpRequest) -> HttpResponse:
    """503 with ``Retry-After``: the answer while the database is away."""
    response = error_response(request, 503, UNAVAILABLE)
    response["Retry-After"] = str(RETRY_AFTER_SECONDS)
    return response


def error_response(request: HttpRequest, code: int, message: str) -> HttpResponse:
    """An error outside the REST views: JSON, or a plain page when the client is a browser."""
    if not _prefers_html(request):
        return JsonResponse({"error": message}, status=code)
    return HttpResponse(_PAGE.format(code=code, message=escape(message)), status=code)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """``handler400``."""
    if isinstance(exception, RequestDataTooBig):
        return error_response(request, 413, str(exception))
    if isinstance(exception, DisallowedHost):
        return error_response(request, 400, own_setting(str(exception)))
    return error_response(request, 400, str(exception) or "Bad request")


def own_setting(text: str) -> str:
    """Return what Django says about a refused host, with the name that its setting has here."""
    return re.sub(r"(?<!POIMEN_)\bALLOWED_HOSTS\b", "POIMEN_ALLOWED_HOSTS", text)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """``handler403``."""
    return error_response(request, 403, str(exception) or "You do not have permission to do this.")


def read_only(
    view: Callable[Concatenate[HttpRequest, P], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """Make a view one that answers GET and HEAD alone, and 405 to the rest: before anybody asks for a CSRF token."""

    @csrf_exempt
    @wraps(view)
    def answered(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if request.method in ("GET", "HEAD"):
            return view(request, *args, **kwargs)
        response = error_response(request, 405, "Method not allowed")
        response["Allow"] = "GET, HEAD"
        return response

    return answered


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """``CSRF_FAILURE_VIEW``."""
    return error_response(request, 403, f"{reason or 'CSRF verification failed.'} Reload the page and try again.")


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """``handler404``: unknown routes, and what views did not find."""
    text = exception.args[0] if exception.args and isinstance(exception.args[0], str) else ""
    return error_response(request, 404, text or "Not found")


def server_error(request: HttpRequest) -> HttpResponse:
    """``handler500``; the exception is in the log. A database that went away inside a middleware ends here too."""
    if is_database_unavailable(sys.exc_info()[1]):
        return unavailable(request)
    return error_response(request, 500, "Internal server error. It has been logged.")


def _prefers_html(request: HttpRequest) -> bool:
    return "text/html" in request.headers.get("Accept", "")
