"""Daphne with patience: an answer or a socket whose other side does not read is written to only as fast as it reads.

Refuses to keep what cannot be sent: whoever takes nothing for a while is cut off.
"""

import asyncio
import logging
import socket
from typing import Any

from autobahn.exception import Disconnected
from daphne.cli import CommandLineInterface
from daphne.server import Server
from django.conf import settings

log = logging.getLogger(__name__)

SEND_BUFFER = 128 * 1024  # bytes that the system may hold for a WebSocket, besides the 64 KiB of Twisted
SHORTEST_PAUSE, LONGEST_PAUSE = 0.01, 0.25
MAX_MESSAGE = 4096  # bytes; clients of our WebSockets have nothing to say
HANDSHAKE_SECONDS = 60  # clients give up sooner; who is cut off asks again, which makes a slow process slower still
NEVER = -1


class PatientServer(Server):  # type: ignore[misc]
    """Lets an application's ``send`` return only when there is room for more."""

    def __init__(self, *args: Any, **options: Any) -> None:
        limits = {
            "websocket_max_message_size": MAX_MESSAGE,
            "websocket_max_frame_size": MAX_MESSAGE,
            "websocket_handshake_timeout": HANDSHAKE_SECONDS,
            "websocket_connect_timeout": float("inf"),  # else it would answer 403 to who may come in
            "websocket_timeout": NEVER,  # else a socket would end after a day as if its execution had
        }
        super().__init__(*args, **(options | limits))

    async def handle_reply(self, protocol: Any, message: dict[str, Any]) -> None:
        """Pass ``message`` on and wait for room; the connection is cut if there is none within the set time."""
        try:
            await self._pass_on(protocol, message)
        except Disconnected:
            return  # the other side left a moment ago, and the application is about to hear that
        if message["type"] == "websocket.accept":
            _limit_send_buffer(protocol)
            # For a slow reader to come to the end of what it was sent; after that the rest would be thrown away.
            protocol.closeHandshakeTimeout = settings.POIMEN_SLOW_READER_SECONDS
        elif message["type"] in ("websocket.send", "http.response.body"):
            await self._wait_for_room(protocol)

    async def _pass_on(self, protocol: Any, message: dict[str, Any]) -> None:
        if message["type"] != "websocket.send":
            await super().handle_reply(protocol, message)
            return
        # The limit is for what clients say; autobahn would hold us to it as well. Nothing runs in between.
        limit, protocol.maxMessagePayloadSize = protocol.maxMessagePayloadSize, 0
        try:
            await super().handle_reply(protocol, message)
        finally:
            protocol.maxMessagePayloadSize = limit

    async def _wait_for_room(self, protocol: Any) -> None:
        pause, waited = SHORTEST_PAUSE, 0.0
        while self._is_open(protocol) and getattr(_transport(protocol), "producerPaused", False):
            if waited > settings.POIMEN_SLOW_READER_SECONDS:
                log.info("%r has not read for %.0f s; its connection is cut", protocol, waited)
                _transport(protocol).abortConnection()
                return
            await asyncio.sleep(pause)
            waited += pause
            pause = min(pause * 2, LONGEST_PAUSE)

    def _is_open(self, protocol: Any) -> bool:
        return protocol in self.connections and not self.connections[protocol].get("disconnected")


def run(*arguments: str) -> None:
    """Serve as the command ``daphne`` would with these arguments."""
    interface = CommandLineInterface()
    interface.server_class = PatientServer
    interface.run(list(arguments))


def _transport(protocol: Any) -> Any:
    """The TCP connection of a WebSocket, or of an HTTP request while it is being answered."""
    channel = getattr(protocol, "channel", None)
    return protocol.transport if channel is None else getattr(channel, "transport", None)


def _limit_send_buffer(protocol: Any) -> None:
    connection = getattr(protocol.transport, "socket", None)  # there is none if the other side has left
    if connection is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
