"""The ways in which the demo server can misbehave, by the names that ask for them.

Each gets the handler, the body and a value, and returns whether it has answered; if not, the usual answer follows.
"""

import contextlib
import json
import socket
import struct
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from agents.demo_llm import answering
from agents.demo_llm.answering import Reply

if TYPE_CHECKING:
    from agents.demo_llm.server import ChatHandler

ENDLESS_SECONDS = 120.0  # after that even the endless stream gives up its thread
HUGE_BYTES = 64 * 1024 * 1024

Misbehaviour = Callable[["ChatHandler", dict[str, Any], str], bool]


def _status(status: int) -> Misbehaviour:
    def refuse(handler: "ChatHandler", body: dict[str, Any], value: str) -> bool:
        headers = {"Retry_After": value} if value else {}
        handler.send_json(status, {"error": {"message": f"the demo model was asked for a {status}"}}, **headers)
        return True

    return refuse


def _says_secrets(handler: "ChatHandler", body: dict[str, Any], value: str) -> bool:
    """As servers that repeat the key they were given in what they say of it."""
    said = f"Incorrect API key provided: {handler.headers.get('Authorization')}\nfor {handler.path}"
    handler.send_json(401, {"error": {"message": said, "code": "invalid_api_key"}})
    return True


def _slow(handler: "ChatHandler", body: dict[str, Any], value: str) -> bool:
    time.sleep(float(value or 1))
    return False


def _endless(handler: "ChatHandler", body: dict[str, Any], value: str) -> bool:
    """Writes on and on: as a stream, or as spaces before a JSON answer."""
    deadline = time.monotonic() + ENDLESS_SECONDS
    size = int(value or 20)
    with (
        contextlib.suppress(OSError),
        handler.stream("text/event-stream" if body.get("stream") else "application/json"),
    ):
        while time.monotonic() < deadline:
            piece = {"choices": [{"index": 0, "delta": {"content": "again " * (size // 6 + 1)}}]}
            handler.send_chunk(f"data: {json.dumps(piece)}\n\n".encode() if body.get("stream") else b" " * size)
            if size < 1000:
                time.sleep(0.01)
    handler.close_connection = True
    return True


def _text(change: Callable[[str], str]) -> Misbehaviour:
    def answer(handler: "ChatHandler", body: dict[str, Any], value: str) -> bool:
        reply = answering.reply_to(body)
        handler.send_answer(body, Reply(change(reply.text), reply.calls, reply.finish_reason))
        return True

    return answer


def _say(handler: "ChatHandler", body: dict[str, Any], value: str) -> bool:
    handler.send_answer(body, Reply(value))
    return True


def _raw(handler: "ChatHandler", body: dict[str, Any], value: str) -> bool:
    handler.send_body(200, value.encode(), "application/json")
    return True


def _huge(handler: "ChatHandler", body: dict[str, Any], value: str) -> bool:
    with contextlib.suppress(OSError), handler.stream("application/json"):
        handler.send_chunk(b'{"choices": [{"message": {"content": "')
        for _ in range(HUGE_BYTES // 65_536):
            handler.send_chunk(b"x" * 65_536)
    handler.close_connection = True
    return True


def _reset(handler: "ChatHandler", body: dict[str, Any], value: str) -> bool:
    """Ends the connection with RST, half-way through an answer."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{")
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
    handler.close_connection = True
    return True


def _half_a_stream(handler: "ChatHandler", body: dict[str, Any], value: str) -> bool:
    with handler.stream():
        handler.send_chunk(b'data: {"choices": [{"index": 0, "delta": {"content": "half"}}]}\n\n')
    return True


def _error_in_a_stream(handler: "ChatHandler", body: dict[str, Any], value: str) -> bool:
    with handler.stream():
        handler.send_chunk(b'data: {"choices": [{"index": 0, "delta": {"content": "some words"}}]}\n\n')
        handler.send_chunk(b'data: {"error": {"message": "the device is out of memory"}}\n\n')
    return True


def _body(status: int, content: bytes, kind: str) -> Misbehaviour:
    def answer(handler: "ChatHandler", body: dict[str, Any], value: str) -> bool:
        handler.send_body(status, content, kind)
        return True

    return answer


def _no_schema(handler: "ChatHandler", body: dict[str, Any], value: str) -> bool:
    """As servers that do not know ``response_format``; what they are asked in words they do. The value is a status."""
    if "response_format" in body:
        status = int(value) if value.isdigit() else 400
        handler.send_json(status, {"error": {"message": "response_format is not supported"}})
        return True
    found = str(body["messages"][0].get("content")).partition("JSON Schema:\n")[2]
    if found:
        handler.send_answer(body, Reply(json.dumps(answering.value_for(json.loads(found), answering.asked_in(body)))))
        return True
    return False


def _redirect(handler: "ChatHandler", body: dict[str, Any], value: str) -> bool:
    handler.send_json(307, {}, Location=value or "/v1/chat/completions")
    return True


MISBEHAVIOUR: dict[str, Misbehaviour] = {
    **{str(status): _status(status) for status in (400, 401, 404, 429, 500, 502, 503, 504)},
    "slow": _slow,
    "endless": _endless,
    "truncated-json": _text(lambda text: text[: max(len(text) * 2 // 3, 1)]),
    "fenced-json": _text(lambda text: f"Here you are:\n```json\n{text}\n```\nAnything else?"),
    "no-json-answer": _text(lambda text: "I would rather not."),
    "empty-answer": _text(lambda text: ""),
    "not-json": _body(200, b"everything is fine", "application/json"),
    "wrong-type": _body(200, b"<html><body>Welcome</body></html>", "text/html"),
    "no-choices": _body(200, b'{"choices": []}', "application/json"),
    "say": _say,
    "raw": _raw,
    "huge": _huge,
    "reset": _reset,
    "half-stream": _half_a_stream,
    "no-schema": _no_schema,
    "says-key": _says_secrets,
    "html-error": _body(
        502, b"<html><head><title>502 Bad Gateway</title></head>\r\n<center>nginx</center></html>", "text/html"
    ),
    "error-in-stream": _error_in_a_stream,
    "redirect": _redirect,
}
