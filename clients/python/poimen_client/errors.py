"""What can go wrong, by kind; every message is the sentence that the server said.

Refuses to hide an answer: status, details and the id of the request are kept.
"""

from typing import Any

from poimen_client.types import ExecutionAnswer

MOST_SHOWN = 300  # characters of an answer that is not the server's own


class PoimenError(Exception):
    """All that this package raises."""


class InvalidArgument(PoimenError, ValueError):
    """An argument that cannot be sent, such as an id that is none; nothing was."""


class ConnectionFailed(PoimenError):
    """The server cannot be reached, or went away while it answered."""


class ApiError(PoimenError):
    """The server refused. ``details`` is what it says beside the sentence: fields with their problems, or a list."""

    def __init__(self, status: int, message: str, details: Any = None, request_id: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.details = details
        self.request_id = request_id


class BadRequest(ApiError):
    """400: a field is wrong; ``details`` names it."""


class NotSignedIn(ApiError):
    """401: the token, key or password is not good, or no longer."""


class Forbidden(ApiError):
    """403: the role or scope that is missing."""


class NotFound(ApiError):
    """404: there is no such thing, for whom is asking."""


class Conflict(ApiError):
    """409: not possible as things stand."""


class InvalidSpec(ApiError):
    """422: the spec or canvas has errors; ``problems`` lists them."""

    @property
    def problems(self) -> list[dict[str, Any]]:
        """Each with ``path``, ``code``, ``message``, ``severity`` and perhaps ``suggestion``."""
        return list(self.details) if isinstance(self.details, list) else []


class TooManyRequests(ApiError):
    """429, for longer than the client was patient."""


class Unavailable(ApiError):
    """502, 503 or 504, for longer than the client was patient."""


class WaitTimeout(PoimenError):
    """The execution had not ended in time; it goes on. ``execution`` is as it was seen last, None if never."""

    def __init__(self, execution_id: str, seconds: float, execution: ExecutionAnswer | None) -> None:
        state = execution["status"] if execution is not None else "unknown, since the server could not be reached"
        super().__init__(f"execution {execution_id} has not ended within {seconds:g} s; it is {state}")
        self.execution_id = execution_id
        self.execution = execution


class ExecutionFailed(PoimenError):
    """The execution ended, and not well; ``execution`` is all of it."""

    def __init__(self, execution: ExecutionAnswer) -> None:
        reason = execution["outputs"].get("error", "") or "; ".join(execution.get("errors", []))
        said = f"{execution['name']} {execution['id']}: {execution['status']}"
        super().__init__(f"{said}: {reason}" if reason else said)
        self.execution = execution


_KINDS: dict[int, type[ApiError]] = {
    400: BadRequest,
    401: NotSignedIn,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    422: InvalidSpec,
    429: TooManyRequests,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
}


def api_error(status: int, body: Any, text: str, request_id: str) -> ApiError:
    """Return the error that an answer is; ``text`` is shown of answers that are not the server's own."""
    kind = _KINDS.get(status, ApiError)
    if isinstance(body, dict) and isinstance(body.get("error"), str):
        return kind(status, body["error"], body.get("details"), request_id)
    return kind(status, f"HTTP {status}: {' '.join(text.split())[:MOST_SHOWN] or 'no body'}", None, request_id)
