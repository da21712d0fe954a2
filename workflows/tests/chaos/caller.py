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
    """Calls one of ``webs`` (``http://...``) after the other, in a thread of its own while it is entered."""

    def __init__(self, webs: Sequence[str], token: str) -> None:
        self.started: dict[str, set[str]] = {}  # ids of executions that were answered, by idempotency key
        self.answers: Counter[int] = Counter()
        self.unanswered: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.slowest = 0.0
        self._webs = itertools.cycle(webs)
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
        """Start an execution, asking until there is an answer."""
        self.started[key] = set()
        while not self.started[key]:
            answer = self._ask(
                "POST", "/specs/execute", {200, 201}, json={"spec": ASKED}, headers={"Idempotency-Key": key}
            )
            if answer is not None:
                self.started[key].add(answer["id"])
            time.sleep(PAUSE_SECONDS)

    def _read(self) -> None:
        id = random.choice([id for ids in self.started.values() for id in ids])
        path = random.choice([f"/executions/{id}", f"/executions/{id}/logs", f"/executions/{id}/states", "/executions"])
        self._ask("GET", path, {200})

    def _ask(self, method: str, path: str, expected: set[int], **options: Any) -> Any:
        """The JSON of the answer; None if there was none, or the database was away."""
        began = time.monotonic()
        try:
            answer = self._client.request(method, next(self._webs) + path, **options)
        except httpx.TransportError as error:
            self.unanswered[type(error).__name__] += 1
            return None
        self.slowest = max(self.slowest, time.monotonic() - began)
        self.answers[answer.status_code] += 1
        if answer.status_code == UNAVAILABLE and "Retry-After" in answer.headers:
            return None
        if answer.status_code not in expected:
            self.wrong.append(f"{method} {path}: {answer.status_code} {answer.text[:500]}")
            return None
        return answer.json()
