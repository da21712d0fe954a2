"""What tokens cost, and whether there is still money: prices, tallies and budgets.

Counts in ``Decimal``. Refuses to call a model without a price free: its cost is unknown, and flagged.
Source: subsystem-cost.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Count, Q, QuerySet, Sum

from agents.llm.errors import BudgetExceeded
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


def cost_of(model: str, usage: Usage, at: datetime) -> Cost:
    """Return what ``usage`` of ``model`` costs by the prices in force ``at``.

    Both kinds must have a price, in one currency; otherwise the model counts as unpriced.
    """
    rows = (
        Price.objects.filter(model=model, effective_from__lte=at).order_by("kind", "-effective_from").distinct("kind")
    )
    by_kind = {price.kind: price for price in rows}
    prompt, completion = by_kind.get(PriceKind.PROMPT), by_kind.get(PriceKind.COMPLETION)
    if prompt is None or completion is None or prompt.currency != completion.currency:
        return Cost(None, "", ())
    cached = by_kind.get(PriceKind.CACHED)
    if cached is None or cached.currency != prompt.currency:
        cached = prompt
    amount = (
        prompt.amount * (usage.prompt - usage.cached)
        + cached.amount * usage.cached
        + completion.amount * usage.completion
    ) / MILLION
    used = {price.pk for price in (prompt, completion, cached)}
    return Cost(amount.quantize(Decimal("1e-10")), prompt.currency, tuple(sorted(used)))


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


def check_budgets(customer: UUID | None, workflow: UUID | None, at: datetime, warn: Callable[[str], None]) -> None:
    """Raise :class:`BudgetExceeded` at a hard limit; tell ``warn`` of soft ones that are reached.

    What runs at this moment is not counted yet: calls made at once may pass a limit together.
    """
    mine = Q(customer=None, workflow=None)
    if customer is not None:
        mine |= Q(customer=customer, workflow=None)
    if workflow is not None:
        mine |= Q(workflow=workflow)
    for budget in Budget.objects.filter(mine, is_active=True).select_related("customer", "workflow"):
        used = spent(budget, at)
        shown = f"{used.normalize():f} {budget.unit}"
        if budget.hard_limit is not None and used >= budget.hard_limit:
            raise BudgetExceeded(
                f"the budget of {budget} is used up: {shown} of {budget.hard_limit.normalize():f}; no call is made "
                "until it is raised or its period ends"
            )
        if budget.soft_limit is not None and used >= budget.soft_limit:
            warn(f"the budget of {budget} is nearly used up: {shown}, and the warning is at {budget.soft_limit:f}")


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
