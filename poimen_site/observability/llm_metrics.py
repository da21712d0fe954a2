"""The metrics of language models, from the tallies in the database: every web process tells the same.

Importing it adds them to the registry. Source: subsystem-metrics, contract-router-and-llm 2.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from django.db import DatabaseError
from django.db.models import Sum
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from agents.llm.spending import LATENCY_BUCKETS
from agents.models import UsageTally
from poimen_site.observability.metrics import registry


class LlmCollector(Collector):
    """Reads the tallies at each scrape; without the database it tells nothing."""

    def collect(self) -> Iterator[Metric]:
        """Yield every family."""
        try:
            rows: list[Any] = list(
                UsageTally.objects.values("model", "status", "bucket", "currency")
                .order_by("model", "status", "bucket")
                .annotate(
                    n=Sum("calls"), s=Sum("seconds"), asked=Sum("prompt_tokens"), said=Sum("completion_tokens"),
                    spent=Sum("cost"), free=Sum("unpriced"),
                )
            )  # fmt: skip
        except DatabaseError:
            return
        yield from _families(rows)

    def describe(self) -> Iterable[Metric]:
        """Say nothing beforehand: registering must not read the database."""
        return []


def _families(rows: list[dict[str, Any]]) -> Iterator[Metric]:
    calls = CounterMetricFamily(
        "poimen_llm_api_calls", "Calls of language models ended, by result", labels=["model_id", "status"]
    )
    tokens = CounterMetricFamily("poimen_llm_tokens", "Tokens asked and answered", labels=["model_id", "kind"])
    cost = CounterMetricFamily("poimen_llm_cost", "What calls have cost", labels=["model_id", "currency"])
    unpriced = CounterMetricFamily(
        "poimen_llm_unpriced_calls", "Calls that used tokens of a model without a price", labels=["model_id"]
    )
    latency = HistogramMetricFamily(
        "poimen_llm_api_latency_seconds", "Time of a call of a language model", labels=["model_id"]
    )
    by_status: dict[tuple[str, str], int] = defaultdict(int)
    by_currency: dict[tuple[str, str], float] = defaultdict(float)
    for row in rows:
        by_status[row["model"], row["status"]] += row["n"]
        if row["currency"]:
            by_currency[row["model"], row["currency"]] += float(row["spent"])
    for (name, status), count in by_status.items():
        calls.add_metric([name, status], count)
    for (name, currency), amount in by_currency.items():
        cost.add_metric([name, currency], amount)
    for name, group in itertools.groupby(rows, lambda row: str(row["model"])):
        of_model = list(group)
        tokens.add_metric([name, "prompt"], sum(row["asked"] for row in of_model))
        tokens.add_metric([name, "completion"], sum(row["said"] for row in of_model))
        unpriced.add_metric([name], sum(row["free"] for row in of_model))
        counts = [0] * (len(LATENCY_BUCKETS) + 1)
        for row in of_model:
            counts[row["bucket"]] += row["n"]
        bounds = [*map(str, LATENCY_BUCKETS), "+Inf"]
        buckets = list(zip(bounds, itertools.accumulate(counts), strict=True))
        latency.add_metric([name], buckets, sum(row["s"] for row in of_model))
    yield from (calls, latency, tokens, cost, unpriced)


registry.register(LlmCollector())
