"""The HTTP side: ``/v1/chat/completions``, ``/v1/models``, ``/readyz``; and the ways in which it can misbehave.

Listens on loopback only. Misbehaviour is asked for by ``[[kind value]]`` in a message, or by :meth:`DemoServer.next`.
"""

import contextlib
import json
import socket
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from agents.demo_llm import answering
from agents.demo_llm.answering import Reply
from agents.demo_llm.misbehaviour import MISBEHAVIOUR

MODELS = ("reasoning", "ornith:35b", "ornith:13b", "qwen2.5:3b")
MOST_BODY = 16 * 1024 * 1024


@dataclass
class Seen:
    """A request as the server got it; ``at`` is monotonic seconds."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    at: float = field(default_factory=time.monotonic)


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news."""


class DemoServer:
    """The server; ``seen`` holds the last requests. Use :meth:`start` and :meth:`stop`, or :meth:`serve`."""

    def __init__(self, port: int = 0, *, listener: socket.socket | None = None) -> None:
        self.seen: deque[Seen] = deque(maxlen=1000)
        self.most_at_once = 0
        self._plans: deque[tuple[str, str]] = deque()
        self._now = 0
        self._lock = threading.Lock()
        handler = type("Handler", (ChatHandler,), {"demo": self})
        if listener is None:
            self._http = _Http(("127.0.0.1", port), handler)
        else:
            self._http = _Http(("127.0.0.1", 0), handler, bind_and_activate=False)
            self._http.socket.close()
            self._http.socket = listener
            self._http.server_address = listener.getsockname()
        self._thread = threading.Thread(target=self.serve, name="demo-llm", daemon=True)

    @property
    def url(self) -> str:
        """The base URL, without ``/v1``."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def next(self, kind: str, value: str = "", *, times: int = 1) -> None:
        """Misbehave at the next ``times`` chat requests that say nothing themselves."""
        self._plans.extend([(kind, value)] * times)

    def say(self, text: str) -> None:
        """Answer the next chat request that has no other plan with ``text``, whatever it is."""
        self._plans.append(("say", text))

    def start(self) -> "DemoServer":
        """Serve in a thread."""
        self._thread.start()
        return self

    def serve(self) -> None:
        """Serve in this thread until :meth:`stop`."""
        self._http.serve_forever(poll_interval=0.05)

    def stop(self) -> None:
        """Listen no more."""
        self._http.shutdown()
        self._http.server_close()

    def plan_for(self, body: dict[str, Any]) -> list[tuple[str, str]]:
        """Return how to misbehave at this request."""
        with self._lock:
            planned = [self._plans.popleft()] if self._plans else []
        return answering.directives_in(body) or planned

    @contextlib.contextmanager
    def counted(self) -> Iterator[None]:
        """Count how many requests are answered at once."""
        with self._lock:
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
        try:
            yield
        finally:
            with self._lock:
                self._now -= 1


class ChatHandler(BaseHTTPRequestHandler):
    """Answers one connection."""

    demo: DemoServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Health and models."""
        if self.path == "/readyz":
            self.send_json(200, {"status": "ok"})
        elif self.path == "/v1/models":
            self.send_json(200, {"object": "list", "data": [{"id": name, "object": "model"} for name in MODELS]})
        else:
            self.send_json(404, {"error": {"message": "there is nothing here"}})

    def do_POST(self) -> None:
        """Chat."""
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(min(length, MOST_BODY))
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        if not isinstance(body, dict) or not isinstance(body.get("messages"), list) or not body.get("model"):
            self.send_json(
                400, {"error": {"message": "model and messages are needed", "type": "invalid_request_error"}}
            )
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.demo.seen.append(Seen(self.path, headers, body))
        if self.path != "/v1/chat/completions":
            self.send_json(404, {"error": {"message": "there is nothing here"}})
            return
        with self.demo.counted():
            for kind, value in self.demo.plan_for(body):
                if kind in MISBEHAVIOUR and MISBEHAVIOUR[kind](self, body, value):
                    return
            self.send_answer(body, answering.reply_to(body))

    # -- answers ----------------------------------------------------------------------------------------------------

    def send_answer(self, body: dict[str, Any], reply: Reply) -> None:
        """Answer as one document, or as a stream if that was asked for."""
        if body.get("stream"):
            with self.stream():
                for event in _events(body, reply):
                    self.send_chunk(f"data: {json.dumps(event)}\n\n".encode())
                self.send_chunk(b"data: [DONE]\n\n")
        else:
            self.send_json(200, _whole(body, reply))

    def send_json(self, status: int, value: Any, **headers: str) -> None:
        """Answer with JSON; an underscore in the name of a header stands for a hyphen."""
        self.send_body(status, json.dumps(value).encode(), "application/json", **headers)

    def send_body(self, status: int, body: bytes, kind: str, **headers: str) -> None:
        """Answer with ``body``, of the content type ``kind``."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    @contextlib.contextmanager
    def stream(self, kind: str = "text/event-stream") -> Iterator[None]:
        """Answer 200 in chunks."""
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        yield
        self.wfile.write(b"0\r\n\r\n")

    def send_chunk(self, data: bytes) -> None:
        """Send a piece of a :meth:`stream`."""
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing for each request."""


def _whole(body: dict[str, Any], reply: Reply) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.calls:
        message["tool_calls"] = _tool_calls(reply)
    return {
        "id": "demo", "object": "chat.completion", "created": 0, "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": reply.finish_reason}],
        "usage": _usage(body, reply),
    }  # fmt: skip


def _tool_calls(reply: Reply) -> list[dict[str, Any]]:
    return [
        {"id": f"call_{at}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for at, (name, arguments) in enumerate(reply.calls)
    ]


def _usage(body: dict[str, Any], reply: Reply) -> dict[str, int]:
    asked = sum(answering.tokens_of(str(m.get("content") or "")) for m in body["messages"] if isinstance(m, dict))
    said = answering.tokens_of(reply.text + "".join(json.dumps(arguments) for _, arguments in reply.calls))
    return {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}


def _events(body: dict[str, Any], reply: Reply) -> Iterator[dict[str, Any]]:
    """The pieces of a streamed answer: a word each."""

    def event(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
        return {"id": "demo", "object": "chat.completion.chunk", "model": body["model"], "choices": [choice]}

    for word in reply.text.split(" ") if reply.text else ():
        yield event({"content": f"{word} "} if not reply.text.endswith(word) else {"content": word})
    for at, call in enumerate(_tool_calls(reply)):
        yield event({"tool_calls": [{"index": at, **call}]})
    yield event({}, reply.finish_reason)
    if (body.get("stream_options") or {}).get("include_usage"):
        yield {"id": "demo", "object": "chat.completion.chunk", "model": body["model"], "choices": [],
               "usage": _usage(body, reply)}  # fmt: skip
