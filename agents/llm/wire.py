"""One HTTP exchange with an OpenAI-compatible endpoint: ``POST /v1/chat/completions``, whole or as a stream.

Refuses answers without end or of any size, and to follow a redirect to another origin: prompts are for this one.
Knows no database. Source: contract-router-and-llm 2, contract-activities 16.
"""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx

from agents.llm import answers, storable
from agents.llm.answers import Stream
from agents.llm.configuration import Endpoint
from agents.llm.errors import LLMConnectionError, LLMError, LLMHTTPError, LLMResponseError, LLMTimeout
from agents.llm.messages import Answer
from workflows.activities import retry_after

CONNECT_SECONDS = 10.0
MOST_BYTES = 8 * 1024 * 1024  # of an answer as it comes over the wire
MOST_LINE = 1024 * 1024  # of a stream
CHARACTERS_PER_TOKEN = 8  # twice what is usual: what wrote more than its tokens can be does not stop by itself
SPARE_CHARACTERS = 2_000
LONG_TEXT = 32_000  # characters; what has written so many when its time is up is without end, and not slow
MOST_ERROR_BYTES = 65_536
MOST_REDIRECTS = 3
_REDIRECTS = frozenset({307, 308})  # the others turn a POST into a GET


@dataclass(frozen=True, slots=True)
class Posting:
    """What is sent where. ``token`` is the bearer token, or an empty text; ``most_tokens`` those of the answer."""

    endpoint: Endpoint
    body: Mapping[str, Any]
    token: str = field(repr=False)
    timeout: float
    on_text: Callable[[str], None] | None
    most_tokens: int

    def stream(self) -> Stream:
        """Return what puts together the pieces of its answer."""
        most = CHARACTERS_PER_TOKEN * self.most_tokens + SPARE_CHARACTERS
        return Stream(self.on_text, most_text=most, token=self.token)


async def exchange(posting: Posting) -> Answer:
    """Send and return the answer.

    Raises :class:`LLMConnectionError`, :class:`LLMTimeout` (also for 504), :class:`LLMHTTPError` or
    :class:`LLMResponseError`; a message never repeats the token. What a stream had brought is in ``partial``.
    """
    stream = posting.stream()
    try:
        async with asyncio.timeout(posting.timeout), httpx.AsyncHTTPTransport(verify=_tls()) as transport:
            return await _sent(transport, posting, stream)
    except TimeoutError:
        failed: LLMError = _too_slow(posting.timeout, stream.length)
    except LLMError as error:
        failed = error
    if stream.length:
        failed.partial = stream.so_far()
    raise failed from None


def _too_slow(seconds: float, length: int) -> LLMTimeout | LLMResponseError:
    """Tell apart who was still writing much, whom more time does not help, from who is slow."""
    if length >= LONG_TEXT:
        return answers.without_end(length)
    so_far = f"; it was writing, and had come to {length:,} characters" if length else ""
    return LLMTimeout(f"the model did not answer within {seconds:g} s{so_far}")


async def probe(endpoint: Endpoint, seconds: float) -> str | None:
    """Return None if the endpoint is there: 200 from ``/readyz``, or from ``/v1/models`` where it has none.

    Else what is wrong, in words without addresses.
    """
    headers = {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
    try:
        async with asyncio.timeout(seconds), httpx.AsyncHTTPTransport(verify=_tls()) as transport:
            status = 404
            for path in ("/readyz", "/v1/models"):
                request = httpx.Request("GET", endpoint.base_url + path, headers=headers)
                response = await transport.handle_async_request(request)
                await response.aclose()
                status = response.status_code
                if status != 404:
                    break
    except TimeoutError:
        return f"it does not answer within {seconds:g} s"
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return f"it cannot be reached ({type(error).__name__})"
    return None if status == 200 else f"it answers {status}"


@lru_cache(maxsize=1)
def _tls() -> ssl.SSLContext:
    """How servers are verified; made once, since reading all authorities would hold up the loop at every call."""
    return httpx.create_ssl_context(trust_env=False)


async def _sent(transport: httpx.AsyncHTTPTransport, posting: Posting, stream: Stream) -> Answer:
    url = f"{posting.endpoint.base_url}/v1/chat/completions"
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    headers |= {"Accept-Encoding": "identity", "User-Agent": "poimen"}  # a few bytes must not become gigabytes here
    if posting.token:
        headers["Authorization"] = f"Bearer {posting.token}"
    content = json.dumps(posting.body, ensure_ascii=True, allow_nan=False).encode()
    timeouts = httpx.Timeout(None, connect=CONNECT_SECONDS).as_dict()
    for _ in range(MOST_REDIRECTS + 1):
        request = httpx.Request("POST", url, headers=headers, content=content, extensions={"timeout": timeouts})
        try:
            response = await transport.handle_async_request(request)
        except httpx.ConnectTimeout:
            raise LLMConnectionError(
                f"the language model cannot be reached within {CONNECT_SECONDS:g} s: is its server running?"
            ) from None
        except httpx.ConnectError as error:
            raise LLMConnectionError(f"the language model cannot be reached, is its server running? {error}") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise LLMConnectionError(f"the language model did not answer: {_words(error)}") from None
        try:
            if response.status_code in _REDIRECTS:
                url = _following(url, response.headers.get("location", ""))
                continue
            if response.status_code != 200:
                raise await _failure(response, posting.token)
            return await _read(response, posting, stream)
        except httpx.HTTPError as error:
            raise LLMConnectionError(f"the language model broke off its answer: {_words(error)}") from None
        finally:
            await response.aclose()
    raise LLMHTTPError(f"the language model's server redirects more than {MOST_REDIRECTS} times", status=310)


def _following(url: str, location: str) -> str:
    following = urljoin(url, location)
    try:
        here, there = urlsplit(url), urlsplit(following)
        is_same = (here.scheme, here.hostname, here.port) == (there.scheme, there.hostname, there.port)
    except ValueError:
        is_same = False
    if not location or not is_same:
        raise LLMHTTPError(
            "the language model's server redirects to another address, which is not followed: if that is right, set "
            "LOCAL_LLM_BASE_URL to it",
            status=310,
        )
    return following


async def _failure(response: httpx.Response, token: str) -> LLMHTTPError | LLMTimeout:
    status = response.status_code
    said = bytearray()
    async for chunk in response.aiter_bytes():
        said += chunk
        if len(said) > MOST_ERROR_BYTES:
            break
    wait = retry_after.seconds_of(response.headers.get("retry-after"))
    if status == 504:
        said_so = _reason(bytes(said), token)
        late = LLMTimeout(f"the language model's server answered 504, the model took too long for it{said_so}")
        late.retry_after = wait
        late.details = {"status": 504}
        return late
    told = _reason(bytes(said), token)
    return LLMHTTPError(f"the language model's server answered {status}{told}", status=status, retry_after=wait)


def _reason(body: bytes, token: str) -> str:
    try:
        value = storable.loads(body)
    except ValueError:
        value = body.decode("utf-8", "replace")
    return answers.reason(value, token)


async def _read(response: httpx.Response, posting: Posting, stream: Stream) -> Answer:
    if int(response.headers.get("content-length") or 0) > MOST_BYTES:
        raise _too_large()
    if response.headers.get("content-type", "").partition(";")[0].strip().lower() == "text/event-stream":
        return await _streamed(response, stream)
    body = b"".join([chunk async for chunk in _bounded(response)])
    try:
        value = storable.loads(body)
    except ValueError as error:
        kind = response.headers.get("content-type", "").partition(";")[0].strip()[:60]
        what = _instead(kind, body, error)
        raise LLMResponseError(f"the language model's server did not answer with JSON{what}") from None
    answer = answers.whole(value, posting.token)
    if posting.on_text is not None and answer.text:
        posting.on_text(answer.text)
    return answer


def _instead(kind: str, body: bytes, error: ValueError) -> str:
    """Say what there is in place of JSON, without a word of it."""
    if not body.strip():
        return ": the answer is empty"
    if kind and "json" not in kind.lower():
        return f", but with {kind}"
    if isinstance(error, json.JSONDecodeError):
        return f": {error.msg[:1].lower()}{error.msg[1:]} (line {error.lineno}, column {error.colno})"
    return f": {error}"[:150]


async def _bounded(response: httpx.Response) -> AsyncIterator[bytes]:
    size = 0
    async for chunk in response.aiter_bytes():
        size += len(chunk)
        if size > MOST_BYTES:
            raise _too_large()
        yield chunk


def _too_large() -> LLMResponseError:
    return LLMResponseError(f"the model's answer is larger than {MOST_BYTES // 2**20} MiB", may_mend=False)


async def _streamed(response: httpx.Response, stream: Stream) -> Answer:
    async for line in _lines(response):
        if stream.take(line):
            break
    return stream.answer()


async def _lines(response: httpx.Response) -> AsyncIterator[str]:
    rest = b""
    async for chunk in _bounded(response):
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > MOST_LINE:
            raise _too_large()
        for line in lines:
            yield line.decode("utf-8", "replace").rstrip("\r")
    if rest:
        yield rest.decode("utf-8", "replace")


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__
