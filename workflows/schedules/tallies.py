"""Counters of what became of due instants, and how late it was, kept in the transaction that decides.

Owns rows of the metric ``schedule`` in the tallies; reads nothing. They outlive the history they count.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any, Final

from workflows.models import RunOutcome, RunTrigger
from workflows.schedules.deciding import Decision

METRIC: Final = "schedule"
LAG_BUCKETS: Final = (0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)  # seconds

_ADD: Final = """
INSERT INTO workflows_metrictally (metric, label, kind, status, bucket, count, again, seconds)
VALUES (%(metric)s, '', %(trigger)s, %(outcome)s, %(bucket)s, %(count)s, 0, %(seconds)s)
ON CONFLICT (metric, label, kind, status, bucket) DO UPDATE SET
    count = workflows_metrictally.count + excluded.count, seconds = workflows_metrictally.seconds + excluded.seconds
"""


def count(cursor: Any, decided: Iterable[Decision]) -> None:
    """Add decisions to the counters, in the caller's transaction; of those on time also how late they were."""
    counts: Counter[tuple[str, str, int]] = Counter()
    seconds: defaultdict[tuple[str, str, int], float] = defaultdict(float)
    for decision in decided:
        is_on_time = decision.outcome == RunOutcome.STARTED and decision.trigger == RunTrigger.CLOCK
        late = max(decision.late.total_seconds(), 0.0) if is_on_time else 0.0
        key = decision.trigger.value, decision.outcome.value, bisect_right(LAG_BUCKETS, late) if is_on_time else 0
        counts[key] += 1
        seconds[key] += late
    for key in sorted(counts):  # in one order, so that two writers cannot wait for each other
        trigger, outcome, bucket = key
        values = {"trigger": trigger, "outcome": outcome, "bucket": bucket}
        cursor.execute(_ADD, {**values, "metric": METRIC, "count": counts[key], "seconds": seconds[key]})
