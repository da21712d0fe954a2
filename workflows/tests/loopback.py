"""A real HTTP server on loopback whose answers a test writes as a function; it remembers what it was asked."""

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass
class Asked:
    """A request as it arrived."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """Its body, parsed."""
        return json.loads(self.body)


@dataclass
class Reply:
    """What to answer; a body that is no bytes is sent as JSON."""

    body: Any = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


class Loopback:
    """Answers with what ``answer`` returns; ``asked`` holds the requests in their order."""

    def __init__(self, answer: Callable[[Asked], Reply]) -> None:
        self.answer = answer
        self.asked: list[Asked] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def _serve(self) -> None:
                parts = urlsplit(self.path)
                asked = Asked(
                    self.command,
                    parts.path,
                    {name: values[-1] for name, values in parse_qs(parts.query, keep_blank_values=True).items()},
                    {name.lower(): value for name, value in self.headers.items()},
                    self.rfile.read(int(self.headers.get("Content-Length") or 0)),
                )
                outer.asked.append(asked)
                reply = outer.answer(asked)
                body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
                with contextlib.suppress(ConnectionError):  # whoever has enough hangs up
                    self.send_response(reply.status)
                    for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)

            do_GET = do_POST = _serve  # noqa: N815 - the names the base class calls

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self.host = f"127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    def stop(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def start(self) -> None:
        """Begin to listen."""
        self._thread.start()


@contextlib.contextmanager
def loopback(answer: Callable[[Asked], Reply]) -> Iterator[Loopback]:
    """Serve while the block runs."""
    server = Loopback(answer)
    server.start()
    try:
        yield server
    finally:
        server.stop()
