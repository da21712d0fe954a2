"""An installation with web processes, people with tokens, and executions whose log a test writes itself."""

import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psycopg
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from workflows.identifiers import new_id
from workflows.tests.chaos.installation import Installation, eventually, free_port

PEOPLE = """
import json
from django.contrib.auth.models import User
from rest_framework_simplejwt.tokens import RefreshToken
from workflows.models import Customer, Membership
from workflows.submission import start_execution, store_spec
from workflows.tests.live.house import WAITING
tokens = {}
for name, slug, role in (("ann", "acme", "viewer"), ("bob", "other", "viewer"), ("eve", "acme", "operator")):
    customer, _ = Customer.objects.get_or_create(slug=slug, defaults={"name": slug.title()})
    user = User.objects.create_user(name, password="correct horse battery", is_staff=True)
    Membership.objects.create(user=user, customer=customer, role=role)
    tokens[name] = str(RefreshToken.for_user(user).access_token)
    if role == "operator":
        spec = store_spec(WAITING)
        execution, _ = start_execution(customer=customer, spec=spec, inputs={}, name=spec.document["name"])
print(json.dumps({"tokens": tokens, "execution": str(execution.pk)}))
"""
WAITING = {"name": "waiting", "states": [{"name": "Hold", "type": "WaitForSignal", "signal": "go", "end": True}]}


class House:
    """``ann`` is a viewer of the customer of the tests' executions, ``eve`` an operator; ``bob`` belongs elsewhere."""

    def __init__(self, home: Path) -> None:
        self.installation = Installation(home, HOST="127.0.0.1", LOG_LEVEL="info")
        self.tokens: dict[str, str] = {}
        self._submitted = ""

    def open(self) -> None:
        """Start the database and let the people in."""
        self.installation.__enter__()
        said = self.installation._run("manage.py", "shell", "--no-imports", "-c", PEOPLE)
        found = json.loads(said.strip().splitlines()[-1])
        self.tokens, self._submitted = found["tokens"], found["execution"]

    def close(self) -> None:
        """End everything."""
        self.installation.__exit__()

    @contextmanager
    def web(self, **settings: str) -> Iterator["Web"]:
        """A web process, while the block runs."""
        port = free_port()
        web = Web(port, lambda: self.installation.start("web", PORT=str(port), **settings), self.tokens)
        try:
            eventually("the web process answers", web.answers, within=60)
            yield web
        finally:
            web.kill()

    def execution(self) -> str:
        """A new execution that waits for ever, since no worker runs: a copy of one that was submitted."""
        new = str(new_id())
        with self.database() as connection:
            connection.execute(
                "INSERT INTO workflows_execution "
                "SELECT (jsonb_populate_record(e, jsonb_build_object('id', %s::text))).* "
                "FROM workflows_execution e WHERE e.id = %s",
                (new, self._submitted),
            )
        return new

    def database(self) -> psycopg.Connection[Any]:
        """A connection of one's own in autocommit."""
        return psycopg.connect(self.installation.postgres.url, autocommit=True)

    def say(self, execution: str, *messages: str, level: str = "info", node: str = "Hold", event: str = "") -> None:
        """Write lines and commit them together."""
        with self.database() as connection, connection.transaction():
            say(connection, execution, *messages, level=level, node=node, event=event)

    def finish(self, execution: str, status: str = "success") -> None:
        """Let the execution have ended."""
        with self.database() as connection:
            connection.execute(
                "UPDATE workflows_execution SET status = %s, ended_at = now() WHERE id = %s", (status, execution)
            )


@contextmanager
def opened_house() -> Iterator[House]:
    """A house in a directory of its own, while the block runs."""
    home = Path(tempfile.mkdtemp(prefix="poimen-live-"))
    home.chmod(0o755)
    made = House(home)
    try:
        made.open()
        yield made
    finally:
        made.close()
        shutil.rmtree(home, ignore_errors=True)


def say(
    connection: psycopg.Connection[Any],
    execution: str,
    *messages: str,
    level: str = "info",
    node: str = "Hold",
    event: str = "",
    fields: dict[str, Any] | None = None,
) -> None:
    """Write lines on a connection, whose transaction may go on."""
    connection.cursor().executemany(
        "INSERT INTO workflows_logentry (execution_id, node_id, level, event, message, fields) "
        "VALUES (%s, %s, %s, %s, %s, %s::jsonb)",
        [(execution, node, level, event, message, json.dumps(fields) if fields else None) for message in messages],
    )


class Web:
    """A web process and the way to its sockets."""

    def __init__(self, port: int, start: "Callable[[], subprocess.Popen[bytes]]", tokens: dict[str, str]) -> None:
        self.port = port
        self._start = start
        self.process = start()
        self.url = f"http://127.0.0.1:{port}"
        self.tokens = tokens

    def kill(self) -> None:
        """End it the hard way."""
        self.process.kill()
        self.process.wait()

    def restart(self) -> None:
        """Kill it and start another in its place; does not wait until that answers."""
        self.kill()
        self.process = self._start()

    def answers(self) -> bool:
        """Whether it serves."""
        try:
            return httpx.get(f"{self.url}/health/live", timeout=5).status_code == 200
        except httpx.TransportError:
            return False

    def address(self, execution: str, **query: str) -> str:
        """Where its live log is."""
        return f"ws://127.0.0.1:{self.port}/ws/executions/{execution}/logs?{httpx.QueryParams(query)}"

    def follow(self, execution: str, *, person: str | None = "ann", **query: Any) -> ClientConnection:
        """A socket; options of ``connect`` go by ``options``."""
        options = query.pop("options", {})
        headers = {"Authorization": f"Bearer {self.tokens[person]}"} if person else {}
        headers |= options.pop("headers", {})
        socket: ClientConnection = connect(self.address(execution, **query), additional_headers=headers, **options)
        return socket

    def rest(self, path: str, person: str = "ann") -> httpx.Response:
        """GET a path."""
        return httpx.get(f"{self.url}{path}", headers={"Authorization": f"Bearer {self.tokens[person]}"}, timeout=20)


def frames(socket: ClientConnection, *, until: str = "", kind: str = "", within: float = 15) -> list[dict[str, Any]]:
    """The frames that come until a log frame says ``until``, or one of ``kind`` came."""
    found: list[dict[str, Any]] = []
    deadline = time.monotonic() + within
    while True:
        left = deadline - time.monotonic()
        assert left > 0, f"not within {within} s: {until or kind}; came: {found[-5:]}"
        try:
            message = json.loads(socket.recv(timeout=left))
        except TimeoutError:
            continue
        came = message if isinstance(message, list) else [message]
        found += came
        if any((until and frame.get("message") == until) or frame["type"] == kind for frame in came):
            return found


def closing(socket: ClientConnection, within: float = 10) -> tuple[int | None, dict[str, Any]]:
    """Read until the socket is closed; returns the code, None without one, and the last frame."""
    last: dict[str, Any] = {}
    deadline = time.monotonic() + within
    while (left := deadline - time.monotonic()) > 0:
        try:
            last = json.loads(socket.recv(timeout=left))
        except ConnectionClosed as closed:
            return closed.rcvd.code if closed.rcvd else None, last
    raise AssertionError(f"not closed within {within} s; the last frame: {last}")


def said(found: list[dict[str, Any]]) -> list[str]:
    """The messages of the log frames."""
    return [frame["message"] for frame in found if frame["type"] == "log"]
