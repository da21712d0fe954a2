"""What tokens cost and what was spent of budgets: prices and tallies.

Counts in ``Decimal``. Refuses to call a model without a price free: its cost is unknown, and flagged.
Source: subsystem-cost.
"""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import connection
from django.db.models import Count, Q, QuerySet, Sum

from agents.llm.messages import Usage
from agents.models import Budget, BudgetPeriod, Exchange, Price, PriceKind, UsageTally
from agents.models.budget import TOKENS
from agents.models.usage import NOBODY

MILLION = Decimal(1_000_000)
LATENCY_BUCKETS = (0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)  # seconds

_ADD = """
INSERT INTO agents_usagetally AS t (day, customer, workflow, model, status, bucket, currency, calls, seconds,
    prompt_tokens, completion_tokens, cost, unpriced)
VALUES (%(day)s, %(customer)s, %(workflow)s, %(model)s, %(status)s, %(bucket)s, %(currency)s, 1, %(seconds)s,
    %(prompt)s, %(completion)s, %(cost)s, %(unpriced)s)
ON CONFLICT (day, customer, workflow, model, status, bucket, currency) DO UPDATE SET
    calls = t.calls + 1, seconds = t.seconds + excluded.seconds,
    prompt_tokens = t.prompt_tokens + excluded.prompt_tokens,
    completion_tokens = t.completion_tokens + excluded.completion_tokens,
    cost = t.cost + excluded.cost, unpriced = t.unpriced + excluded.unpriced
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """An amount, and the ids of the prices that made it; ``amount`` is None without prices."""

    amount: Decimal | None
    currency: str
    prices: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Prices:
    """What a million tokens of a model cost, all in one currency."""

    prompt: Price
    completion: Price
    cached: Price

    @property
    def currency(self) -> str:
        """Of all three."""
        return self.prompt.currency

    @property
    def dearest_prompt(self) -> Decimal:
        """What tokens of the prompt cost at most, whether they were read before or not."""
        return max(self.prompt.amount, self.cached.amount)


def prices_of(model: str, at: datetime) -> Prices | None:
    """Return the prices of ``model`` in force ``at``; None, unpriced, unless question and answer both have one."""
    rows = (
        Price.objects.filter(model=model, effective_from__lte=at).order_by("kind", "-effective_from").distinct("kind")
    )
    by_kind = {price.kind: price for price in rows}
    prompt, completion = by_kind.get(PriceKind.PROMPT), by_kind.get(PriceKind.COMPLETION)
    if prompt is None or completion is None or prompt.currency != completion.currency:
        return None
    cached = by_kind.get(PriceKind.CACHED)
    return Prices(prompt, completion, prompt if cached is None or cached.currency != prompt.currency else cached)


def cost_of(model: str, usage: Usage, at: datetime) -> Cost:
    """Return what ``usage`` of ``model`` costs by the prices in force ``at``."""
    prices = prices_of(model, at)
    if prices is None:
        return Cost(None, "", ())
    amount = (
        prices.prompt.amount * (usage.prompt - usage.cached)
        + prices.cached.amount * usage.cached
        + prices.completion.amount * usage.completion
    ) / MILLION
    used = {price.pk for price in (prices.prompt, prices.completion, prices.cached)}
    return Cost(amount.quantize(Decimal("1e-10")), prices.currency, tuple(sorted(used)))


def add(exchange: Exchange) -> None:
    """Count an exchange that has ended into the tallies; in the transaction that ends it, so once."""
    assert exchange.ended_at is not None
    seconds = max((exchange.ended_at - exchange.started_at).total_seconds(), 0.0)
    tokens = exchange.prompt_tokens + exchange.completion_tokens
    with connection.cursor() as cursor:
        cursor.execute(
            _ADD,
            {
                "day": exchange.ended_at.date(), "customer": exchange.customer_id or NOBODY,
                "workflow": exchange.workflow or NOBODY, "model": exchange.model, "status": exchange.status,
                "bucket": sum(seconds > bound for bound in LATENCY_BUCKETS), "currency": exchange.currency,
                "seconds": seconds, "prompt": exchange.prompt_tokens, "completion": exchange.completion_tokens,
                "cost": exchange.cost or 0, "unpriced": int(exchange.cost is None and tokens > 0),
            },
        )  # fmt: skip


def spent(budget: Budget, at: datetime) -> Decimal:
    """Return what was spent of the budget in its period that holds ``at``."""
    rows = UsageTally.objects.all()
    if budget.period == BudgetPeriod.DAY:
        rows = rows.filter(day=at.date())
    elif budget.period == BudgetPeriod.MONTH:
        rows = rows.filter(day__gte=at.date().replace(day=1))
    if budget.workflow_id is not None:
        rows = rows.filter(workflow=budget.workflow_id)
    elif budget.customer_id is not None:
        rows = rows.filter(customer=budget.customer_id)
    if budget.unit == TOKENS:
        sums = rows.aggregate(prompt=Sum("prompt_tokens"), completion=Sum("completion_tokens"))
        return Decimal((sums["prompt"] or 0) + (sums["completion"] or 0))
    return Decimal(rows.filter(currency=budget.unit).aggregate(sum=Sum("cost"))["sum"] or 0)


def usage_of(rows: QuerySet[Exchange], *by: str) -> list[dict[str, Any]]:
    """Return calls, tokens and cost of ``rows``, added up by PostgreSQL for each of ``by`` and currency."""
    return list(
        rows.values(*by, "currency")
        .order_by(*by, "currency")
        .annotate(
            calls=Count("pk"),
            prompt=Sum("prompt_tokens"),
            completion=Sum("completion_tokens"),
            amount=Sum("cost"),
            unpriced=Count("pk", filter=Q(cost=None) & (Q(prompt_tokens__gt=0) | Q(completion_tokens__gt=0))),
        )
    )
