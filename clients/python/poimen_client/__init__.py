"""A client of Poimen: start workflows, wait for them, follow their logs, steer them, decide approvals.

Refuses nothing by itself: what is refused is in ``errors``.
"""

from poimen_client.async_client import AsyncClient
from poimen_client.client import Client
from poimen_client.errors import (
    ApiError,
    BadRequest,
    Conflict,
    ConnectionFailed,
    ExecutionFailed,
    Forbidden,
    InvalidArgument,
    InvalidSpec,
    NotFound,
    NotSignedIn,
    PoimenError,
    TooManyRequests,
    Unavailable,
    WaitTimeout,
)
from poimen_client.polling import Polling, every
from poimen_client.types import (
    ExecutionAnswer,
    ExecutionInList,
    ExecutionOutputs,
    GateAnswer,
    LogLine,
    RouteAnswer,
    ScheduleAnswer,
)

__all__ = [
    "ApiError",
    "AsyncClient",
    "BadRequest",
    "Client",
    "Conflict",
    "ConnectionFailed",
    "ExecutionAnswer",
    "ExecutionFailed",
    "ExecutionInList",
    "ExecutionOutputs",
    "Forbidden",
    "GateAnswer",
    "InvalidArgument",
    "InvalidSpec",
    "LogLine",
    "NotFound",
    "NotSignedIn",
    "PoimenError",
    "Polling",
    "RouteAnswer",
    "ScheduleAnswer",
    "TooManyRequests",
    "Unavailable",
    "WaitTimeout",
    "every",
]
