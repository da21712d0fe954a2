"""How much work a request is, whatever else the machine is doing."""

import time
from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext


def work_of(client: Any, path: str) -> float:
    """Seconds of work for one read: this process's CPU time and what PostgreSQL says its queries took, best of three.

    Not the time on the clock, which says how busy the machine is with other things.
    """
    best = float("inf")
    for _ in range(3):
        before = time.process_time()
        with CaptureQueriesContext(connection) as queries:
            response = client.get(path)
        took = time.process_time() - before
        assert response.status_code == 200, path
        with connection.cursor() as cursor:
            for query in queries.captured_queries:
                if query["sql"].startswith("SELECT"):
                    cursor.execute("EXPLAIN (ANALYZE, FORMAT JSON) " + query["sql"])
                    (plan,) = cursor.fetchone()[0]
                    took += (plan["Planning Time"] + plan["Execution Time"]) / 1000
        best = min(best, took)
    return best
