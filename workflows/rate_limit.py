"""How many requests a customer may make in a minute, counted by all web processes together.

With Redis the count is a key there, without it a row of an unlogged table. Each process reports in portions of a
hundredth of the limit, so that counting costs next to nothing; the limit may be passed by that much for each process.
Refuses nobody while the count cannot be reached.
"""

import logging
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.core.cache import cache
from django.db import connection
from redis.exceptions import RedisError
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from workflows.access import access_of

log = logging.getLogger(__name__)

WINDOW_SECONDS: Final = 60

_ADD = """
INSERT INTO workflows_requestcount AS c (customer_id, window_started_at, count)
VALUES (%(customer)s, %(window)s, %(more)s)
ON CONFLICT (customer_id) DO UPDATE SET
    count = CASE WHEN c.window_started_at >= excluded.window_started_at THEN c.count ELSE 0 END + excluded.count,
    window_started_at = greatest(c.window_started_at, excluded.window_started_at)
RETURNING count
"""


@dataclass(slots=True)
class _Tally:
    """What this process knows: how many were counted when it last asked, and how many it has seen since."""

    counted: int = 0
    unreported: int = 0


class RequestCounter:
    """The counts of the current window, by customer."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._window = 0
        self._tallies: dict[UUID, _Tally] = {}

    def is_allowed(self, customer: UUID, limit: int, now: float) -> bool:
        """Count a request at ``now`` (seconds since 1970); False once the customer has made more than ``limit``."""
        window = int(now) // WINDOW_SECONDS
        with self._lock:
            if window != self._window:
                self._window, self._tallies = window, {}
            tally = self._tallies.setdefault(customer, _Tally())
            if tally.counted >= limit:
                return False
            tally.unreported += 1
            if tally.unreported < max(1, limit // 100):
                return True
            more, tally.unreported = tally.unreported, 0
        total = _report(customer, window, more)
        with self._lock:
            tally.counted = max(tally.counted, total)
        return total <= limit


def _report(customer: UUID, window: int, more: int) -> int:
    """Add to the count that all processes share, and return it."""
    if settings.REDIS_URL:
        key = f"requests:{customer}:{window}"
        try:
            cache.add(key, 0, 2 * WINDOW_SECONDS)
            return int(cache.incr(key, more))
        except (RedisError, ValueError) as error:
            log.warning("requests are not counted: %s", error)
            return 0
    began = datetime.fromtimestamp(window * WINDOW_SECONDS, UTC)
    with connection.cursor() as cursor:
        cursor.execute(_ADD, {"customer": customer, "window": began, "more": more})
        row = cursor.fetchone()
    return int(row[0])


counter = RequestCounter()


class CustomerThrottle(BaseThrottle):
    """429 with ``Retry-After`` for a customer that has used up its minute (``POIMEN_REQUESTS_PER_MINUTE``)."""

    def allow_request(self, request: Request, view: Any) -> bool:
        """Count the request of a customer; 0 as the limit counts nothing."""
        limit: int = settings.POIMEN_REQUESTS_PER_MINUTE
        return not limit or counter.is_allowed(access_of(request).customer.pk, limit, time.time())

    def wait(self) -> float:
        """Return the seconds until the next minute."""
        return timedelta(seconds=WINDOW_SECONDS - time.time() % WINDOW_SECONDS).total_seconds()
