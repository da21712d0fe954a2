"""A client of the REST API that starts executions and reads while web processes and the database die.

It asks again what was not answered, and keeps every answer that no client should get.
"""

import itertools
import random
import threading
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any, Self

import httpx

PAUSE_SECONDS = 0.25
PATIENCE = 15.0  # seconds for an answer
ASKED = {"name": "asked", "states": [{"name": "Only", "type": "Pass"}]}
UNAVAILABLE = 503


class Caller:
    """Calls any of ``webs`` (``http://...``), in a thread of its own while it is entered."""

    def __init__(self, webs: Sequence[str], token: str) -> None:
        self.started: dict[str, str] = {}  # ids of executions by idempotency key
        self.answers: Counter[int] = Counter()
        self.unanswered: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.slowest = 0.0
        self._webs = webs
        self._client = httpx.Client(headers={"Authorization": f"Bearer {token}"}, timeout=PATIENCE)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._call_on, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Ends when what was asked last is answered."""
        self._stopping.set()
        self._thread.join()
        self._client.close()

    def _call_on(self) -> None:
        for number in itertools.count():
            if self._stopping.wait(PAUSE_SECONDS):
                return
            if number % 2 == 0:
                self._start(f"asked-{number}")
            else:
                self._read()

    def _start(self, key: str) -> None:
        once = {"Idempotency-Key": key}
        self.started[key] = self._ask("POST", "/specs/execute", {200, 201}, json={"spec": ASKED}, headers=once)["id"]

    def _read(self) -> None:
        id = random.choice(list(self.started.values()))
        path = random.choice([f"/executions/{id}", f"/executions/{id}/logs", f"/executions/{id}/states", "/executions"])
        self._ask("GET", path, {200})

    def _ask(self, method: str, path: str, expected: set[int], **options: Any) -> Any:
        """Ask until there is an answer, wherever; returns its JSON."""
        while True:
            began = time.monotonic()
            try:
                answer = self._client.request(method, random.choice(self._webs) + path, **options)
            except httpx.TransportError as error:
                self.unanswered[type(error).__name__] += 1
            else:
                self.slowest = max(self.slowest, time.monotonic() - began)
                self.answers[answer.status_code] += 1
                if answer.status_code in expected:
                    return answer.json()
                if answer.status_code != UNAVAILABLE or "Retry-After" not in answer.headers:
                    self.wrong.append(f"{method} {path}: {answer.status_code} {answer.text[:500]}")
            time.sleep(PAUSE_SECONDS)
