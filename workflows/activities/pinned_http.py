"""Sending one HTTP request to an address that was checked: never to what a second look-up says, bounded in size.

Owns connecting, verifying and reading. Refuses to follow redirects: whoever wants that checks the next address first.
"""

import asyncio
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import httpx

from workflows.activities.network_guard import DEFAULT_PORTS, Target, check_url, redact
from workflows.errors import ActivityError, InvalidInput, PermanentError

SCHEMES = ("http", "https")
CONNECT_SECONDS = 10.0
# Answers that ask for patience rather than for another request (RFC 9110, RFC 6585, RFC 8470).
RETRYABLE_STATUS = frozenset({408, 425, 429})


@dataclass(frozen=True)
class Answer:
    """What came back; the body is decompressed, ``response`` has the rest."""

    response: httpx.Response
    body: bytes

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.response.status_code


def may_help_again(status: int) -> bool:
    """Whether a request that was answered with ``status`` is worth another attempt (contract-activities 17)."""
    return status >= 500 or status in RETRYABLE_STATUS


@lru_cache(maxsize=1)
def tls() -> ssl.SSLContext:
    """How servers are verified; made once, since reading all authorities would hold up the loop at every request."""
    return httpx.create_ssl_context(trust_env=False)


async def checked(url: str, *, field: str = "url", is_trusted: bool = False) -> Target:
    """Return the checked ``url``; raises what ``network_guard.check_url`` raises, off the event loop.

    ``is_trusted`` is for addresses that the operator set: their hosts may be private.
    """
    try:
        return await asyncio.wait_for(
            asyncio.to_thread(check_url, url, schemes=SCHEMES, field=field, is_trusted=is_trusted), CONNECT_SECONDS
        )
    except TimeoutError:
        raise ActivityError(f"the host of {redact(url)} was not resolved within {CONNECT_SECONDS:g} s") from None


async def send(
    transport: httpx.AsyncHTTPTransport,
    method: str,
    target: Target,
    headers: Mapping[str, str],
    content: bytes | None,
    *,
    read_seconds: float,
    most_bytes: int,
    shown: str = "",
) -> Answer:
    """Send to one of the checked addresses and return the answer, whatever its status.

    ``shown`` stands for the address in errors, where its path is a secret; else it is the address without its query.

    Raises :class:`ActivityError` if none can be reached or the answer breaks off, and :class:`PermanentError` for an
    answer of more than ``most_bytes``.
    """
    shown = shown or redact(target.url)
    try:
        url = httpx.URL(target.url)
    except httpx.InvalidURL as problem:
        raise InvalidInput(f"url: {shown!r} is not a valid address: {problem}") from None
    named = f"[{target.host}]" if ":" in target.host else target.host
    host = named if target.port == DEFAULT_PORTS[target.scheme] else f"{named}:{target.port}"
    error: Exception | None = None
    for address in target.addresses:
        request = httpx.Request(
            method,
            url.copy_with(host=address, userinfo=b""),
            headers=[
                (name.encode(), value.strip().encode(errors="replace"))
                for name, value in (dict(headers) | {"Host": host}).items()
            ],
            content=content,
            extensions={
                "sni_hostname": target.host,
                "timeout": httpx.Timeout(read_seconds, connect=CONNECT_SECONDS).as_dict(),
            },
        )
        try:
            response = await transport.handle_async_request(request)
        except (httpx.ConnectError, httpx.ConnectTimeout) as failure:
            error = failure
            continue
        except httpx.HTTPError as failure:
            raise ActivityError(f"{shown} did not answer: {_words(failure)}") from None
        try:
            return Answer(response, await _read(response, shown, most_bytes))
        finally:
            await response.aclose()
    raise ActivityError(f"{shown} cannot be reached: {_words(error)}")


async def send_once(
    method: str,
    target: Target,
    headers: Mapping[str, str],
    content: bytes | None,
    *,
    seconds: float,
    most_bytes: int,
    shown: str = "",
) -> Answer:
    """As :func:`send`, on a connection of its own and within ``seconds`` altogether, however slowly it trickles."""
    async with httpx.AsyncHTTPTransport(verify=tls()) as transport:
        try:
            return await asyncio.wait_for(
                send(
                    transport, method, target, headers, content,
                    read_seconds=seconds, most_bytes=most_bytes, shown=shown,
                ),
                seconds,
            )  # fmt: skip
        except TimeoutError:
            raise ActivityError(f"{shown or redact(target.url)} did not answer within {seconds:g} s") from None


async def _read(response: httpx.Response, shown: str, most_bytes: int) -> bytes:
    body = bytearray()
    try:
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > most_bytes:
                raise PermanentError(f"{shown} answered with more than {_size(most_bytes)}")
    except httpx.HTTPError as failure:
        raise ActivityError(f"{shown} broke off its answer: {_words(failure)}") from None
    return bytes(body)


def _size(number: int) -> str:
    return f"{number // 2**20} MiB" if number >= 2**20 else f"{number // 2**10} KiB"


def _words(error: Exception | None) -> str:
    return str(error) or type(error).__name__
