"""Talking with the server as steps: what to send and how long to pause, without doing either.

So one description serves the client that blocks and the one that awaits. Refuses to send twice what is not known to be
safe twice.
"""

import random
import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx

from poimen_client.errors import ApiError, ConnectionFailed, InvalidArgument, NotSignedIn, api_error

T = TypeVar("T")

FIRST_PAUSE, LONGEST_PAUSE = 0.2, 5.0  # seconds between attempts
PASSING = frozenset({429, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Send:
    """Send this; what comes back is the response, or the error of the transport."""

    request: httpx.Request


@dataclass(frozen=True, slots=True)
class Pause:
    """Do nothing for ``seconds``."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Give:
    """Hand this to the caller, of an operation that gives many."""

    item: Any


Got = httpx.Response | httpx.TransportError | None
Steps = Generator[Send | Pause, Got, T]
Stream = Generator[Send | Pause | Give, Got, None]


@dataclass(frozen=True, slots=True)
class Call:
    """A request to an endpoint. ``is_repeatable``: sent twice it does what it does once."""

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    is_repeatable: bool = False


class Talk:
    """How to reach one server, as whom, and how patiently (``retry_for`` seconds for each call)."""

    def __init__(
        self,
        base_url: str,
        *,
        token: str | None,
        api_key: str | None,
        username: str | None,
        password: str | None,
        customer: str | None,
        retry_for: float,
    ) -> None:
        if sum(given is not None for given in (token, api_key, username)) != 1:
            raise InvalidArgument("give one of token, api_key, or username and password")
        if (username is None) != (password is None):
            raise InvalidArgument("username and password belong together")
        self.base_url = base_url.rstrip("/")
        self.retry_for = retry_for
        self._api_key, self._username, self._password = api_key, username, password
        self._customer = customer
        self._token = token

    def answer(self, call: Call, *, until: float | None = None) -> Steps[Any]:
        """Steps that return the decoded answer of ``call``; passing failures are tried again.

        ``until`` is on the monotonic clock; left out, ``retry_for`` from now. Raises :class:`ApiError` and
        :class:`ConnectionFailed`.
        """
        response = yield from self.response(call, until=until)
        return decoded(response)

    def response(self, call: Call, *, until: float | None = None) -> Steps[httpx.Response]:
        """As :meth:`answer`, with the whole response."""
        give_up = time.monotonic() + self.retry_for if until is None else until
        has_signed_in = False
        pause = FIRST_PAUSE
        while True:
            if self._username is not None and self._token is None:
                yield from self._sign_in(give_up)
                has_signed_in = True
            got = yield Send(self._request(call))
            assert got is not None
            if isinstance(got, httpx.Response) and got.is_success:
                return got
            failure, may_repeat, least = _judged(got, call)
            if isinstance(failure, NotSignedIn) and self._username is not None and not has_signed_in:
                self._token = None  # it has run out
                continue
            wait = max(least, pause * random.uniform(0.5, 1.0))  # noqa: S311 - spreads clients, keeps no secret
            if not may_repeat or time.monotonic() + wait > give_up:
                raise failure
            yield Pause(wait)
            pause = min(pause * 2, LONGEST_PAUSE)

    def _sign_in(self, give_up: float) -> Steps[None]:
        body = {"username": self._username, "password": self._password}
        if self._customer is not None:
            body["customer"] = self._customer
        call = Call("POST", "/auth/token", body=body, is_repeatable=True)
        pause = FIRST_PAUSE
        while True:
            got = yield Send(self._request(call, is_signed=False))
            assert got is not None
            if isinstance(got, httpx.Response) and got.is_success:
                self._token = decoded(got)["access"]
                return
            failure, may_repeat, least = _judged(got, call)
            if not may_repeat or time.monotonic() + max(least, pause) > give_up:
                raise failure
            yield Pause(max(least, pause))
            pause = min(pause * 2, LONGEST_PAUSE)

    def _request(self, call: Call, *, is_signed: bool = True) -> httpx.Request:
        headers = {"Accept": "application/json", **call.headers}
        if is_signed and self._api_key is not None:
            headers["X-API-Key"] = self._api_key
        elif is_signed and self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        if is_signed and self._customer is not None:
            headers["X-Customer"] = self._customer
        query = {key: value for key, value in call.query.items() if value is not None}
        return httpx.Request(
            call.method,
            f"{self.base_url}{call.path}",
            params=query or None,
            headers=headers,
            json=call.body if call.method != "GET" else None,
        )


def decoded(response: httpx.Response) -> Any:
    """Return the JSON of a response, None for an empty one; raises :class:`ApiError` for anything else."""
    if not response.content:
        return None
    try:
        return response.json()
    except ValueError:
        what = "this is no answer of Poimen; is the address right?"
        raise ApiError(response.status_code, f"{response.url}: {what}", None, "") from None


def _judged(got: Got, call: Call) -> tuple[ApiError | ConnectionFailed, bool, float]:
    """``(what it means, whether to try again, after how many seconds at least)``."""
    if isinstance(got, httpx.Response):
        try:
            body = got.json()
        except ValueError:
            body = None
        error = api_error(got.status_code, body, got.text, got.headers.get("X-Request-Id", ""))
        # A request that was refused for its number was not looked at; all others may have been.
        may_repeat = got.status_code in PASSING and (call.is_repeatable or got.status_code == 429)
        return error, may_repeat, _seconds(got.headers.get("Retry-After", ""))
    assert got is not None
    failure = ConnectionFailed(f"{call.method} {call.path}: {str(got) or type(got).__name__}")
    failure.__cause__ = got
    never_arrived = isinstance(got, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)
    return failure, call.is_repeatable or never_arrived, 0.0


def _seconds(text: str) -> float:
    return float(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0.0
