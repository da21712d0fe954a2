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

from agents.llm import storable
from agents.llm.configuration import Endpoint
from agents.llm.errors import LLMConnectionError, LLMHTTPError, LLMResponseError, LLMTimeout
from agents.llm.messages import Answer, ToolCall, Usage
from workflows.activities import retry_after
from workflows.secret_texts import masked

CONNECT_SECONDS = 10.0
MOST_BYTES = 8 * 1024 * 1024  # of an answer as it comes over the wire
MOST_LINE = 1024 * 1024  # of a stream
MOST_TEXT = 1_000_000  # characters of what the model wrote
MOST_ERROR_BYTES = 65_536
MOST_TOOL_CALLS = 128
MOST_REDIRECTS = 3
_REDIRECTS = frozenset({307, 308})  # the others turn a POST into a GET
_TOLD = frozenset({400, 404, 413, 422})  # what these say is about the request, and helps whoever wrote it


@dataclass(frozen=True, slots=True)
class Posting:
    """What is sent where. ``token`` is the bearer token, or an empty text."""

    endpoint: Endpoint
    body: Mapping[str, Any]
    token: str = field(repr=False)
    timeout: float
    on_text: Callable[[str], None] | None


async def exchange(posting: Posting) -> Answer:
    """Send and return the answer.

    Raises :class:`LLMConnectionError`, :class:`LLMTimeout` (also for 504), :class:`LLMHTTPError` or
    :class:`LLMResponseError`; a message never repeats the token.
    """
    try:
        async with asyncio.timeout(posting.timeout), httpx.AsyncHTTPTransport(verify=_tls()) as transport:
            return await _sent(transport, posting)
    except TimeoutError:
        raise LLMTimeout(f"the model did not answer within {posting.timeout:g} s") from None


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


async def _sent(transport: httpx.AsyncHTTPTransport, posting: Posting) -> Answer:
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
            return await _read(response, posting.on_text)
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
        late = LLMTimeout("the language model's server answered 504: the model took too long for it")
        late.retry_after = wait
        late.details = {"status": 504}
        return late
    told = f": {_reason(bytes(said), token)}" if status in _TOLD else ""
    return LLMHTTPError(f"the language model's server answered {status}{told}", status=status, retry_after=wait)


def _reason(body: bytes, token: str) -> str:
    text = body.decode("utf-8", "replace")
    try:
        value = json.loads(text)
        error = value.get("error", value) if isinstance(value, dict) else text
        text = str(error.get("message", error)) if isinstance(error, dict) else str(error)
    except (ValueError, RecursionError):
        pass
    text = text.replace(token, "***") if token else text
    return "".join(c if c.isprintable() else " " for c in masked(text[:2000]))[:300].strip()


async def _read(response: httpx.Response, on_text: Callable[[str], None] | None) -> Answer:
    if int(response.headers.get("content-length") or 0) > MOST_BYTES:
        raise _too_large()
    if response.headers.get("content-type", "").partition(";")[0].strip().lower() == "text/event-stream":
        return await _streamed(response, on_text)
    body = b"".join([chunk async for chunk in _bounded(response)])
    try:
        value = storable.loads(body)
    except ValueError as error:
        kind = response.headers.get("content-type", "").partition(";")[0].strip()[:60]
        what = _instead(kind, body, error)
        raise LLMResponseError(f"the language model's server did not answer with JSON{what}") from None
    answer = _answer(value)
    if on_text is not None and answer.text:
        on_text(answer.text)
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


# -- answers --------------------------------------------------------------------------------------------------------


def _answer(value: Any) -> Answer:
    if isinstance(value, dict) and isinstance(value.get("error"), dict | str):
        raise LLMResponseError("the language model's server reported an error instead of an answer")
    choices = value.get("choices") if isinstance(value, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(first, dict):
        raise LLMResponseError("the answer has no choices")
    message = first.get("message")
    message = message if isinstance(message, dict) else {}
    text = _text(message.get("content"))
    if len(text) > MOST_TEXT:
        raise _without_end()
    calls = message.get("tool_calls")
    return Answer(
        text=text,
        tool_calls=tuple(_tool_calls(calls if isinstance(calls, list) else [])),
        finish_reason=_word(first.get("finish_reason")),
        usage=_usage(value.get("usage")),
        model=_word(value.get("model"), 200),
    )


def _text(content: Any) -> str:
    """What a message says: a text, or parts of which some are text."""
    if isinstance(content, list):
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _tool_calls(calls: list[Any]) -> list[ToolCall]:
    found = []
    for call in calls[:MOST_TOOL_CALLS]:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict):
            continue
        given = function.get("arguments")
        try:
            arguments = storable.loads(given) if isinstance(given, str) else given
        except ValueError:
            arguments = given
        found.append(ToolCall(_word(call.get("id"), 200), _word(function.get("name"), 200), arguments))
    return found


def _usage(value: Any) -> Usage | None:
    if not isinstance(value, dict):
        return None
    details = value.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    prompt, completion = _count(value.get("prompt_tokens")), _count(value.get("completion_tokens"))
    if prompt is None or completion is None:
        return None
    return Usage(prompt, completion, min(_count(cached) or 0, prompt))


def _count(value: Any) -> int | None:
    """A number of tokens; None for what cannot be one."""
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 100_000_000
    return value if is_count else None


def _word(value: Any, most: int = 64) -> str:
    return value[:most] if isinstance(value, str) else ""


# -- streams --------------------------------------------------------------------------------------------------------


async def _streamed(response: httpx.Response, on_text: Callable[[str], None] | None) -> Answer:
    reading = _Stream(on_text)
    async for line in _lines(response):
        if reading.take(line):
            break
    return reading.answer()


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


class _Stream:
    """Server-sent events, put together to one answer."""

    def __init__(self, on_text: Callable[[str], None] | None) -> None:
        self._on_text = on_text
        self._text: list[str] = []
        self._length = 0
        self._calls: dict[int, dict[str, str]] = {}
        self._finish_reason = self._model = ""
        self._usage: Usage | None = None
        self._is_done = False

    def take(self, line: str) -> bool:
        """Take one line; True once the end has been told. Raises :class:`LLMResponseError` for too much of it."""
        if not line.startswith("data:"):
            return False
        data = line[5:].strip()
        if data == "[DONE]":
            self._is_done = True
            return True
        try:
            event = storable.loads(data)
        except ValueError:
            raise LLMResponseError("the language model's server streamed something that is no JSON") from None
        if not isinstance(event, dict):
            return False
        if event.get("error"):
            raise LLMResponseError("the language model's server reported an error in the middle of its answer")
        self._model = _word(event.get("model"), 200) or self._model
        self._usage = _usage(event.get("usage")) or self._usage
        choices = event.get("choices")
        first = choices[0] if isinstance(choices, list) and choices else None
        if isinstance(first, dict):
            self._finish_reason = _word(first.get("finish_reason")) or self._finish_reason
            delta = first.get("delta")
            if isinstance(delta, dict):
                self._add(delta)
        return False

    def _add(self, delta: dict[str, Any]) -> None:
        text = _text(delta.get("content"))
        if text:
            self._length += len(text)
            if self._length > MOST_TEXT:
                raise _without_end()
            self._text.append(text)
            if self._on_text is not None:
                self._on_text(text)
        calls = delta.get("tool_calls")
        for call in calls if isinstance(calls, list) else []:
            index = _count(call.get("index")) if isinstance(call, dict) else None
            if index is None or index >= MOST_TOOL_CALLS:
                continue
            kept = self._calls.setdefault(index, {"id": "", "name": "", "arguments": ""})
            function = call.get("function")
            function = function if isinstance(function, dict) else {}
            kept["id"] = _word(call.get("id"), 200) or kept["id"]
            kept["name"] = _word(function.get("name"), 200) or kept["name"]
            kept["arguments"] += _word(function.get("arguments"), MOST_TEXT)

    def answer(self) -> Answer:
        """The whole; raises :class:`LLMResponseError` if the stream ended before its end."""
        if not self._is_done and not self._finish_reason:
            raise LLMResponseError("the model's answer was broken off")
        calls = [
            {"id": call["id"], "function": {"name": call["name"], "arguments": call["arguments"]}}
            for _, call in sorted(self._calls.items())
        ]
        text = "".join(self._text)
        return Answer(text, tuple(_tool_calls(calls)), self._finish_reason, self._usage, self._model)


def _without_end() -> LLMResponseError:
    return LLMResponseError(
        f"the model wrote more than {MOST_TEXT:,} characters and was cut off; set max_tokens", may_mend=False
    )


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__
