"""HttpRequestActivity: one HTTP call to a public host (or an allow-listed private one), redirects checked hop by hop.

Connects to the address that was checked, never to what a second look-up says (contract-activities 16.2, 16.6).
"""

import asyncio
import json
import math
import re
import ssl
from base64 import b64encode
from functools import lru_cache
from typing import Annotated, Any, Literal
from urllib.parse import unquote, urljoin, urlsplit

import httpx
from pydantic import BeforeValidator, Field

from workflows.activities.context import ActivityContext
from workflows.activities.network_guard import DEFAULT_PORTS, Target, check_url, redact, split_url
from workflows.activities.paths import printable
from workflows.activities.registry import activity
from workflows.activities.shapes import TAKES_SECRETS, TAKES_SECRETS_IN_URL, Fields
from workflows.errors import ActivityError, InvalidInput, PermanentError

MAX_RESPONSE_BYTES = 10 * 1024 * 1024
MAX_REDIRECTS = 5
SCHEMES = ("http", "https")
CONNECT_SECONDS = 10.0
READ_SECONDS = 110.0
DEFAULT_HEADERS = {"Accept": "*/*", "Accept-Encoding": "gzip, deflate", "User-Agent": "poimen"}
# Answers that ask for patience rather than for another request (RFC 9110, RFC 6585, RFC 8470).
RETRYABLE_STATUS = frozenset({408, 425, 429})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_REPEATED_WITH_KEY = frozenset({"POST", "PUT", "PATCH"})
# Named by the request itself or by the connection; a caller's value would contradict the one that is sent.
_OWN_HEADERS = frozenset({"host", "content-length", "transfer-encoding", "connection"})
# What may follow a redirect to another origin; the rest may carry credentials under any name.
_HARMLESS_HEADERS = frozenset(
    {"accept", "accept-language", "accept-encoding", "content-type", "idempotency-key", "user-agent"}
)

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]*")

Method = Annotated[
    Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"],
    BeforeValidator(lambda value: value.upper() if isinstance(value, str) else value),
]
Status = Annotated[int, Field(ge=100, le=599)]


class HttpRequestInput(Fields):
    """What to send, where."""

    method: Method = Field(default="GET", description="The HTTP method", examples=["GET", "POST"])
    url: str = Field(
        max_length=8192,
        description="Absolute http or https address; user information and query may hold secret:<id> handles",
        examples=["https://example.org/"],
        json_schema_extra=TAKES_SECRETS_IN_URL,
    )
    headers: dict[str, str] | None = Field(
        default=None,
        description="Request headers; secrets as secret:<id> handles",
        json_schema_extra=TAKES_SECRETS,
    )
    body: Any = Field(
        default=None,
        description="Sent as JSON if it is an object or a list, as it is if it is text; may hold secret:<id> handles",
        json_schema_extra=TAKES_SECRETS,
    )
    expect_status: Status | list[Status] | None = Field(
        default=None, description="The status, or list of them, that counts as success; left out, any 2xx"
    )


class HttpRequestOutput(Fields):
    """What came back."""

    status: int = Field(description="The HTTP status of the last answer")
    headers: dict[str, str] = Field(description="Its headers, names in lower case")
    body: Any = Field(description="Its body: parsed if it is JSON, else text")


class HttpError(ActivityError):
    """The server answered with another status than expected."""

    name = "HttpError"


@activity("HttpRequestActivity", category="integration", timeout="2m", is_flaky=True, max_attempts=3, backoff=2.0)
async def http_request(input: HttpRequestInput, context: ActivityContext) -> HttpRequestOutput:
    """Sends an HTTP request and returns status, headers and body; server errors are tried again."""
    headers, content = _request_parts(input, context)
    method: str = input.method
    url = input.url
    # A transport alone: a client would keep cookies, log addresses and look into redirects before they are checked.
    async with httpx.AsyncHTTPTransport(verify=_tls()) as transport:
        for _ in range(MAX_REDIRECTS + 1):
            target = await _checked(url)
            response, body = await _send(transport, method, target, headers, content)
            location = response.headers.get("location")
            if response.status_code not in _REDIRECTS or not location or _is_expected(response.status_code, input):
                context.info(f"{method} {redact(url)} answered {response.status_code}", bytes=len(body))
                return _judged(input, response, body)
            following = _following(url, location)
            context.debug("redirected", to=redact(following))
            is_elsewhere = _origin(following) != _origin(url)
            if is_elsewhere:
                headers = {k: v for k, v in headers.items() if k.lower() in _HARMLESS_HEADERS}
            if response.status_code == 303 or (response.status_code in (301, 302) and method == "POST"):
                method, content = ("HEAD" if method == "HEAD" else "GET"), None
                headers = {k: v for k, v in headers.items() if k.lower() != "content-type"}
            if is_elsewhere and content is not None:  # it may hold secrets, which were meant for this origin
                raise HttpError(
                    f"{redact(url)} redirects to {redact(following)}, and the body is not sent to another host; "
                    "give that address if it is meant to have it",
                    retryable=False,
                )
            url = following
    raise HttpError(f"{redact(input.url)} redirects more than {MAX_REDIRECTS} times", retryable=False)


@lru_cache(maxsize=1)
def _tls() -> ssl.SSLContext:
    """How servers are verified; made once, since reading all authorities would hold up the loop at every request."""
    return httpx.create_ssl_context(trust_env=False)


def _following(url: str, location: str) -> str:
    try:
        following = urljoin(url, location)
        _origin(following)
    except ValueError as problem:
        raise HttpError(f"{redact(url)} redirects to no valid address: {problem}", retryable=False) from None
    return following


async def _checked(url: str) -> Target:
    try:
        return await asyncio.wait_for(asyncio.to_thread(check_url, url, schemes=SCHEMES), CONNECT_SECONDS)
    except TimeoutError:
        raise ActivityError(f"the host of {redact(url)} was not resolved within {CONNECT_SECONDS:g} s") from None


def _request_parts(input: HttpRequestInput, context: ActivityContext) -> tuple[dict[str, str], bytes | None]:
    headers = dict(input.headers or {})
    for name, value in headers.items():
        if name.lower() in _OWN_HEADERS:
            raise InvalidInput(f"headers: {name} is set by the request itself; leave it out")
        if not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
            raise InvalidInput(
                f"headers: {printable(name)!r} is no header name, or its value holds a control character"
            )
    present = {name.lower() for name in headers}
    if input.method in _REPEATED_WITH_KEY and "idempotency-key" not in present:
        headers["Idempotency-Key"] = context.idempotency_key
    headers |= {name: value for name, value in DEFAULT_HEADERS.items() if name.lower() not in present}
    user = split_url(input.url, schemes=SCHEMES)
    if user.username is not None and "authorization" not in present:
        pair = f"{unquote(user.username)}:{unquote(user.password or '')}"
        headers["Authorization"] = "Basic " + b64encode(pair.encode()).decode()
    if input.body is None:
        return headers, None
    if isinstance(input.body, str):
        return headers, input.body.encode(errors="replace")
    if "content-type" not in present:
        headers["Content-Type"] = "application/json"
    return headers, json.dumps(input.body, ensure_ascii=False, allow_nan=False).encode(errors="replace")


async def _send(
    transport: httpx.AsyncHTTPTransport, method: str, target: Target, headers: dict[str, str], content: bytes | None
) -> tuple[httpx.Response, bytes]:
    """Send to the checked address; raises :class:`ActivityError` if it cannot be reached or the answer is too long."""
    try:
        url = httpx.URL(target.url)
    except httpx.InvalidURL as problem:
        raise InvalidInput(f"url: {redact(target.url)!r} is not a valid address: {problem}") from None
    named = f"[{target.host}]" if ":" in target.host else target.host
    host = named if target.port == DEFAULT_PORTS[target.scheme] else f"{named}:{target.port}"
    error: Exception | None = None
    for address in target.addresses:
        request = httpx.Request(
            method,
            url.copy_with(host=address, userinfo=b""),
            headers=[
                (name.encode(), value.strip().encode(errors="replace"))
                for name, value in (headers | {"Host": host}).items()
            ],
            content=content,
            extensions={
                "sni_hostname": target.host,
                "timeout": httpx.Timeout(READ_SECONDS, connect=CONNECT_SECONDS).as_dict(),
            },
        )
        try:
            response = await transport.handle_async_request(request)
        except (httpx.ConnectError, httpx.ConnectTimeout) as failure:
            error = failure
            continue
        except httpx.HTTPError as failure:
            raise ActivityError(f"{redact(target.url)} did not answer: {_words(failure)}") from None
        try:
            return response, await _read(response, target.url)
        finally:
            await response.aclose()
    raise ActivityError(f"{redact(target.url)} cannot be reached: {_words(error)}")


async def _read(response: httpx.Response, url: str) -> bytes:
    body = bytearray()
    try:
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > MAX_RESPONSE_BYTES:
                raise PermanentError(f"{redact(url)} answered with more than {MAX_RESPONSE_BYTES // 2**20} MiB")
    except httpx.HTTPError as failure:
        raise ActivityError(f"{redact(url)} broke off its answer: {_words(failure)}") from None
    return bytes(body)


def _judged(input: HttpRequestInput, response: httpx.Response, body: bytes) -> HttpRequestOutput:
    status = response.status_code
    if not _is_expected(status, input):
        retryable = status >= 500 or status in RETRYABLE_STATUS
        raise HttpError(
            f"{input.method} {redact(input.url)} answered {status}", retryable=retryable, details={"status": status}
        )
    headers = {name.lower(): _clean(value) for name, value in response.headers.items()}
    return HttpRequestOutput(status=status, headers=headers, body=_decoded(response, body))


def _is_expected(status: int, input: HttpRequestInput) -> bool:
    if input.expect_status is None:
        return 200 <= status < 300
    return status in (input.expect_status if isinstance(input.expect_status, list) else [input.expect_status])


def _decoded(response: httpx.Response, body: bytes) -> Any:
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        text = body.decode(response.charset_encoding or "utf-8", errors="replace")
    except (LookupError, ValueError):  # a charset that is none, or none for text
        text = body.decode("utf-8", errors="replace")
    if kind == "application/json" or kind.endswith("+json"):
        try:
            return _storable(json.loads(text, parse_constant=str, parse_float=_finite))
        except (ValueError, RecursionError):
            return _clean(text)
    return _clean(text)


def _finite(digits: str) -> float | str:
    number = float(digits)
    return number if math.isfinite(number) else digits  # 1e999 is JSON, but no number that JSON can be made of


def _storable(value: Any) -> Any:
    """JSON without the characters that the database cannot hold."""
    if isinstance(value, str):
        return _clean(value)
    if isinstance(value, list):
        return [_storable(part) for part in value]
    if isinstance(value, dict):
        return {_clean(key): _storable(part) for key, part in value.items()}
    return value


def _clean(text: str) -> str:
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.rpartition("@")[2].lower()


def _words(error: Exception | None) -> str:
    return str(error) or type(error).__name__
