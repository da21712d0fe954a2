"""Who may follow: the rules of ``GET /executions/{id}/logs``, applied to the handshake of a WebSocket.

Refuses pages of other origins, and cookies from any page but our own.
"""

from collections.abc import Mapping
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.core.exceptions import DisallowedHost
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpResponse
from rest_framework.exceptions import APIException

from workflows.access import customer_of
from workflows.api.logs import ExecutionLogs
from workflows.api.requests import EXECUTION, id_in_path, not_found
from workflows.models import Execution

SUBPROTOCOL = "poimen"
BEARER = "bearer."
_DEFAULT_PORTS = {"http": 80, "https": 443}


def may_come_in(scope: Mapping[str, Any]) -> bool:
    """Whether the page that opens the socket may: one of this host, or of an origin that CORS allows.

    Programs send no ``Origin``.
    """
    try:
        return _origin(scope) is None or _is_own_page(scope) or _is_allowed_elsewhere(scope)
    except DisallowedHost:
        return False


def subprotocol_of(scope: Mapping[str, Any]) -> str | None:
    """The subprotocol to answer with: a browser that offers some wants one of them back."""
    offered = scope["subprotocols"]
    return SUBPROTOCOL if SUBPROTOCOL in offered else next((one for one in offered if one.startswith(BEARER)), None)


def authorised(scope: Mapping[str, Any], execution_id: str, customer: str = "") -> UUID:
    """Return the id of an execution that whoever opened the socket may read; ``customer`` as in ``X-Customer``.

    Raises the ``APIException`` with which REST would answer. Asks the database.
    """
    view = ExecutionLogs()
    view.setup(_request(scope, customer), execution_id=execution_id)
    request = view.initialize_request(view.request)
    view.format_kwarg = None
    view.initial(request)
    pk = id_in_path(execution_id, EXECUTION)
    if not Execution.objects.filter(pk=pk, customer=customer_of(request)).exists():
        raise not_found(EXECUTION)
    return pk


def close_code(error: APIException) -> int:
    """The code a socket is closed with for what REST answers with a status: 401 is 4401."""
    return 4000 + error.status_code


def _request(scope: Mapping[str, Any], customer: str) -> ASGIRequest:
    """The handshake as the GET it nearly is, with the session of its cookie unless a foreign page sent that."""
    headers = [(name.lower(), value) for name, value in scope["headers"]]
    names = {name for name, _ in headers}
    if _origin(scope) is not None and not _is_own_page(scope):
        headers = [(name, value) for name, value in headers if name != b"cookie"]
    tokens = [one.removeprefix(BEARER) for one in scope["subprotocols"] if one.startswith(BEARER)]
    if tokens and b"authorization" not in names:
        headers.append((b"authorization", f"Bearer {tokens[0]}".encode()))
    if customer and b"x-customer" not in names:
        headers.append((b"x-customer", customer.encode()))
    request = ASGIRequest(
        {**scope, "type": "http", "method": "GET", "headers": headers, "query_string": b""}, BytesIO()
    )
    SessionMiddleware(_nothing).process_request(request)
    AuthenticationMiddleware(_nothing).process_request(request)
    return request


def _nothing(request: Any) -> HttpResponse:
    return HttpResponse()


def _origin(scope: Mapping[str, Any]) -> str | None:
    found = [value.decode("latin-1") for name, value in scope["headers"] if name.lower() == b"origin"]
    return found[0] if found else None


def _is_own_page(scope: Mapping[str, Any]) -> bool:
    origin = _origin(scope) or ""
    if origin in settings.CSRF_TRUSTED_ORIGINS:
        return True
    host = ASGIRequest({**scope, "type": "http", "method": "GET"}, BytesIO()).get_host()
    try:
        parts = urlsplit(origin)
        default = _DEFAULT_PORTS.get(parts.scheme)
        asked = urlsplit(f"//{host}")
        return bool(parts.hostname) and default is not None and (
            (parts.hostname, parts.port or default) == (asked.hostname, asked.port or default)
        )  # fmt: skip
    except ValueError:
        return False


def _is_allowed_elsewhere(scope: Mapping[str, Any]) -> bool:
    return "*" in settings.POIMEN_CORS_ORIGINS or _origin(scope) in settings.POIMEN_CORS_ORIGINS
