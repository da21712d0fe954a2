"""Asking a tracker's API: to a checked address, within sizes and times, patient with limits on requests.

Refuses to follow redirects and to leave the host that was named, whatever an answer says. Errors repeat no answer.
"""

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx

from workflows.activities import pinned_http, retry_after
from workflows.activities.network_guard import redact
from workflows.errors import ActivityError, PermanentError

MOST_PAGE_BYTES = 10 * 1024 * 1024
CALL_SECONDS = 30.0
MOST_PATIENCE = 60.0  # seconds to wait for one answer that asks for patience, over all its tries


class TrackerError(ActivityError):
    """The tracker did not answer as it should; another attempt may help."""

    name = "TrackerError"


class TrackerRefused(PermanentError):
    """The tracker refuses the request itself: token, project or address."""

    name = "TrackerRefused"


@dataclass
class Tracker:
    """Where a tracker is and how it is asked."""

    base_url: str
    headers: Mapping[str, str]
    warn: Callable[[str], None]
    patience: float = MOST_PATIENCE
    calls: int = field(default=0)

    async def ask(self, method: str, url: str, body: Any = None) -> tuple[Any, httpx.Headers]:
        """Return the parsed answer and its headers.

        Raises :class:`TrackerError` or :class:`TrackerRefused`.
        """
        if _origin(url) != _origin(self.base_url):
            raise TrackerError(f"{redact(self.base_url)} sends on to {redact(url)}, which is another host")
        content = None if body is None else json.dumps(body).encode()
        headers = {"Accept": "application/json", "User-Agent": "poimen", **self.headers}
        if content is not None:
            headers["Content-Type"] = "application/json"
        left = self.patience
        while True:
            self.calls += 1
            target = await pinned_http.checked(url, field="baseUrl")
            answer = await pinned_http.send_once(
                method, target, headers, content, seconds=CALL_SECONDS, most_bytes=MOST_PAGE_BYTES
            )
            pause = _pause(answer)
            if pause is None:
                return self._judged(url, answer), answer.response.headers
            if pause > left:
                raise TrackerError(
                    f"{redact(url)} limits requests and asks to come back in {pause:.0f} s, which is longer than waited"
                )
            self.warn(f"{redact(url)} limits requests; waiting {pause:.0f} s")
            await asyncio.sleep(pause)
            left -= max(pause, 0.1)

    def _judged(self, url: str, answer: pinned_http.Answer) -> Any:
        status, shown = answer.status, redact(url)
        if status in (401, 403):
            raise TrackerRefused(f"{shown} refuses the token, or it may not read this project ({status})")
        if status == 404:
            raise TrackerRefused(f"{shown} does not exist, or the token may not see it")
        if status != 200:
            error = TrackerError if pinned_http.may_help_again(status) else TrackerRefused
            raise error(f"{shown} answered {status}")
        try:
            return json.loads(answer.body)
        except (ValueError, RecursionError):
            raise TrackerError(f"{shown} answered something that is no JSON") from None


def _pause(answer: pinned_http.Answer) -> float | None:
    """For how long an answer asks for patience; None if it does not."""
    headers = answer.response.headers
    spent = headers.get("x-ratelimit-remaining") == "0"
    if answer.status not in (429, 503) and not (answer.status == 403 and (spent or "retry-after" in headers)):
        return None
    said = retry_after.seconds_of(headers.get("retry-after"), most=86_400)
    if said is not None:
        return said
    reset = headers.get("x-ratelimit-reset", "")
    if spent and reset.isascii() and reset.isdigit():
        return min(max(float(reset[:12]) - time.time(), 0.0) + 0.5, 86_400)
    return 5.0 if answer.status == 429 else None


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.lower()


def expect_list(value: Any, what: str) -> list[Any]:
    """Return ``value`` if it is a list; raises :class:`TrackerError` naming ``what`` was to be one."""
    if not isinstance(value, list):
        raise TrackerError(f"the tracker answered without {what}")
    return value
