"""HttpRequestActivity: one HTTP call to a public host (or an allow-listed private one), redirects checked hop by hop.

Connects to the address that was checked, never to what a second look-up says (contract-activities 16.2, 16.6).
"""

import json
import math
import re
from base64 import b64encode
from typing import Annotated, Any, Literal
from urllib.parse import unquote, urljoin, urlsplit

import httpx
from pydantic import BeforeValidator, Field

from workflows.activities import pinned_http
from workflows.activities.context import ActivityContext
from workflows.activities.network_guard import redact, split_url
from workflows.activities.paths import printable
from workflows.activities.pinned_http import SCHEMES
from workflows.activities.registry import activity
from workflows.activities.shapes import TAKES_SECRETS, TAKES_SECRETS_IN_URL, Fields
from workflows.errors import ActivityError, InvalidInput

MAX_RESPONSE_BYTES = 10 * 1024 * 1024
MAX_REDIRECTS = 5
READ_SECONDS = 110.0
DEFAULT_HEADERS = {"Accept": "*/*", "Accept-Encoding": "gzip, deflate", "User-Agent": "poimen"}
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

# By name, for catch rules and for the reference.
ERRORS = {
    "HttpError": "another status than expected; `retryable` for 408, 425, 429 and 5xx; `details.status` has it",
    "ForbiddenTarget": "the host is in a private network and not in `POIMEN_ALLOWED_PRIVATE_HOSTS`",
}


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


def _read_only(input: HttpRequestInput) -> dict[str, Any] | None:
    """Results of reading may be kept, where a workflow says how old they may be; others have effects."""
    return {} if input.method in ("GET", "HEAD") else None


@activity(
    "HttpRequestActivity",
    category="integration",
    timeout="2m",
    is_flaky=True,
    max_attempts=3,
    backoff=2.0,
    cacheable=_read_only,
)
async def http_request(input: HttpRequestInput, context: ActivityContext) -> HttpRequestOutput:
    """Sends an HTTP request and returns status, headers and body; server errors are tried again."""
    headers, content = _request_parts(input, context)
    method: str = input.method
    url = input.url
    # A transport alone: a client would keep cookies, log addresses and look into redirects before they are checked.
    async with httpx.AsyncHTTPTransport(verify=pinned_http.tls()) as transport:
        for _ in range(MAX_REDIRECTS + 1):
            target = await pinned_http.checked(url)
            answer = await pinned_http.send(
                transport, method, target, headers, content, read_seconds=READ_SECONDS, most_bytes=MAX_RESPONSE_BYTES
            )
            response, body = answer.response, answer.body
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


def _following(url: str, location: str) -> str:
    try:
        following = urljoin(url, location)
        _origin(following)
    except ValueError as problem:
        raise HttpError(f"{redact(url)} redirects to no valid address: {problem}", retryable=False) from None
    return following


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


def _judged(input: HttpRequestInput, response: httpx.Response, body: bytes) -> HttpRequestOutput:
    status = response.status_code
    if not _is_expected(status, input):
        raise HttpError(
            f"{input.method} {redact(input.url)} answered {status}",
            retryable=pinned_http.may_help_again(status),
            details={"status": status},
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
