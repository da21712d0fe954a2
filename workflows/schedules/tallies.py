"""Counters of what became of due instants, and how late it was, kept in the transaction that decides.

Owns rows of the metric ``schedule`` in the tallies; reads nothing. They outlive the history they count.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from workflows.models import RunOutcome, RunTrigger
from workflows.schedules.deciding import Decision

METRIC: Final = "schedule"

_ADD: Final = """
INSERT INTO workflows_metrictally (metric, label, kind, status, bucket, count, again, seconds)
VALUES (%(metric)s, '', %(trigger)s, %(outcome)s, 0, %(count)s, 0, %(seconds)s)
ON CONFLICT (metric, label, kind, status, bucket) DO UPDATE SET
    count = workflows_metrictally.count + excluded.count, seconds = workflows_metrictally.seconds + excluded.seconds
"""


def count(cursor: Any, decided: Sequence[tuple[Decision, datetime]]) -> None:
    """Add decisions, each with the moment at which it was made, to the counters; in the caller's transaction."""
    counts: Counter[tuple[RunTrigger, RunOutcome]] = Counter()
    late: defaultdict[tuple[RunTrigger, RunOutcome], float] = defaultdict(float)
    for decision, now in decided:
        key = decision.trigger, decision.outcome
        counts[key] += 1
        if decision.outcome == RunOutcome.STARTED and decision.trigger == RunTrigger.CLOCK:
            late[key] += max((now - decision.due_at).total_seconds(), 0)
    for trigger, outcome in sorted(counts):  # in one order, so that two writers cannot wait for each other
        cursor.execute(
            _ADD,
            {
                "metric": METRIC,
                "trigger": trigger.value,
                "outcome": outcome.value,
                "count": counts[trigger, outcome],
                "seconds": late[trigger, outcome],
            },
        )
