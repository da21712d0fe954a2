"""Every request's id: taken from ``X-Request-Id`` or made, bound to the log, the audit trail and the answer.

Refuses ids that are no plain words: they stand in logs.
"""

import re
from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from workflows.audit import Origin, bound
from workflows.identifiers import new_id

HEADER = "X-Request-Id"
_ACCEPTED = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")


class RequestIdMiddleware:
    """The outermost one, so that whatever is said about a request carries its id."""

    sync_capable = True
    async_capable = False

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Bind the id while the request is answered, and send it back."""
        given = request.headers.get(HEADER, "")
        request_id = given if _ACCEPTED.fullmatch(given) else str(new_id())
        with bound(Origin(request_id, request)):
            response = self.get_response(request)
        response[HEADER] = request_id
        return response
