"""Bodies that come in chunks, without saying how long they are (RFC 9112 section 7.1): measured before anybody reads.

Django and DRF take a request without ``Content-Length`` for one without a body, and would lose what it says. Refuses
to keep more of a body than may be read: the rest is counted only, so that the view can say that it is too large.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from django.conf import settings

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Application = Callable[[dict[str, Any], Receive, Any], Awaitable[None]]


class MeasuredBodies:
    """An ASGI application that gives ``application`` every body in one piece with its length."""

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Any) -> None:
        """Pass on; requests that tell their length, or have none to tell, go through as they are."""
        names = {name for name, _ in scope["headers"]}
        if b"content-length" in names or b"transfer-encoding" not in names:
            await self._application(scope, receive, send)
            return
        body, length = bytearray(), 0
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return  # the client has gone in the middle: there is nobody to answer, and nothing to do in half
            part = message.get("body", b"")
            length += len(part)
            body += part[: max(0, settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1 - len(body))]
            if not message.get("more_body", False):
                break
        whole: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]
        headers = [*scope["headers"], (b"content-length", str(length).encode())]

        async def replay() -> Message:
            return whole.pop() if whole else await receive()

        await self._application({**scope, "headers": headers}, replay, send)
