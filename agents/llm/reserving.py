"""Whether there is money for a call, and how much of it is held for the call until it ends: no limit is ever passed.

What a call may cost at most is known before it is made, and stands on its record while that runs: a process that dies
holds it no longer than until the record expires. Source: subsystem-cost (budgets checked before dispatch).
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_FLOOR, ROUND_UP, Decimal
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db.models import Q, Sum

from agents.llm.errors import BudgetExceeded
from agents.llm.spending import MILLION, Prices, prices_of, spent
from agents.models import Budget, Exchange, ExchangeStatus
from agents.models.budget import TOKENS

TOKENS_OF_A_MESSAGE: Final = 16  # that servers put around each
WAIT_SECONDS: Final = 0.2
_EXACT: Final = Decimal("1e-10")


@dataclass(frozen=True, slots=True)
class Reservation:
    """What a call may use at most; ``answer_tokens`` is None where no budget bounds its answer."""

    tokens: int
    cost: Decimal
    currency: str
    answer_tokens: int | None


@dataclass(frozen=True, slots=True)
class Wait:
    """Not now: after ``seconds``, perhaps. ``why`` goes on in a sentence that begins with the model's name."""

    seconds: float
    why: str


def reserve(
    customer: UUID | None,
    workflow: UUID | None,
    model: str,
    body: Mapping[str, Any],
    at: datetime,
    warn: Callable[[str], None],
) -> Reservation | Wait:
    """Return what may be held for the call of ``body``; within a transaction that then writes its record.

    Whoever comes second waits for that transaction, and counts what is held by it. A call that names no longest answer
    gets one that fits. Raises :class:`BudgetExceeded` where no end of other calls would help; tells ``warn`` of soft
    limits that are reached.
    """
    mine = Q(customer=None, workflow=None)
    if customer is not None:
        mine |= Q(customer=customer, workflow=None)
    if workflow is not None:
        mine |= Q(workflow=workflow)
    # All that are to be held are locked in one order, before anything is counted.
    budgets = list(
        Budget.objects.filter(mine, is_active=True)
        .select_related("customer", "workflow")
        .select_for_update(of=("self",), no_key=True)
        .order_by("pk")
    )
    question, wanted = _most_tokens_of(body), body.get("max_tokens")
    answer: int = wanted if wanted is not None else settings.POIMEN_LLM_ANSWER_TOKENS
    prices = prices_of(model, at)
    is_bounded = False
    for budget in budgets:
        held = _held(budget, at)  # before what is spent: a call that ends between the two counts twice, not never
        used = spent(budget, at)
        _warn_of(budget, used, warn)
        if budget.hard_limit is None:
            continue
        left = budget.hard_limit - used
        if left <= 0:
            raise BudgetExceeded(
                f"the budget of {budget} is used up: {_text(used, budget)} of {_text(budget.hard_limit)}; no call is "
                "made until it is raised or its period ends"
            )
        each = _each(budget, prices)
        if each is None:
            continue  # without a price nobody knows what a call costs: it is flagged as unpriced
        is_bounded = True
        fitting = _answer_tokens(left - held, question, each)
        if fitting >= answer:
            continue
        if held > 0 and _answer_tokens(left, question, each) > 0:
            return Wait(WAIT_SECONDS, f"what is left of the budget of {budget} is held for calls that run now")
        if wanted is not None or fitting < 1:
            least = question * each[0] + (wanted or 1) * each[1]
            raise BudgetExceeded(
                f"the budget of {budget} has {_text(left, budget)} left of {_text(budget.hard_limit)}, and this call "
                f"may take up to {_text(least, budget)}; shorten the question{' or max_tokens' if wanted else ''}, or "
                "raise the budget"
            )
        answer = fitting
    cost = Decimal(0) if prices is None else question * prices.dearest_prompt + answer * prices.completion.amount
    return Reservation(
        tokens=question + answer,
        cost=(cost / MILLION).quantize(_EXACT, ROUND_UP),
        currency="" if prices is None else prices.currency,
        answer_tokens=answer if is_bounded else None,
    )


def _most_tokens_of(body: Mapping[str, Any]) -> int:
    """Return what a question may count at most: a token is at least a byte, whatever the model and the language."""
    messages = body.get("messages") or ()
    texts = [body.get(key) for key in ("tools", "response_format") if body.get(key)]
    texts += [message.get("content") for message in messages]
    texts += [message[key] for message in messages for key in ("tool_calls",) if message.get(key)]
    sizes = (len(t.encode("utf-8", "replace")) if isinstance(t, str) else len(json.dumps(t)) for t in texts if t)
    return sum(sizes) + TOKENS_OF_A_MESSAGE * (len(messages) + 1)


def _each(budget: Budget, prices: Prices | None) -> tuple[Decimal, Decimal] | None:
    """What a token of the question and one of the answer take of the budget at most; None if nobody knows."""
    if budget.unit == TOKENS:
        return Decimal(1), Decimal(1)
    if prices is None or prices.currency != budget.unit:
        return None
    return prices.dearest_prompt / MILLION, prices.completion.amount / MILLION


def _answer_tokens(left: Decimal, question: int, each: tuple[Decimal, Decimal]) -> int:
    """How long an answer ``left`` pays for, after the question."""
    rest = left - question * each[0]
    if rest < 0:
        return -1
    return int((rest / each[1]).to_integral_value(ROUND_FLOOR)) if each[1] else settings.POIMEN_LLM_ANSWER_TOKENS * 1000


def _held(budget: Budget, at: datetime) -> Decimal:
    """What calls that run may still take of the budget."""
    rows = Exchange.objects.filter(status=ExchangeStatus.RUNNING, expires_at__gt=at)
    if budget.workflow_id is not None:
        rows = rows.filter(workflow=budget.workflow_id)
    elif budget.customer_id is not None:
        rows = rows.filter(customer=budget.customer_id)
    if budget.unit == TOKENS:
        return Decimal(rows.aggregate(sum=Sum("reserved_tokens"))["sum"] or 0)
    return Decimal(rows.filter(reserved_currency=budget.unit).aggregate(sum=Sum("reserved_cost"))["sum"] or 0)


def _warn_of(budget: Budget, used: Decimal, warn: Callable[[str], None]) -> None:
    if budget.soft_limit is not None and used >= budget.soft_limit:
        warn(
            f"the budget of {budget} is nearly used up: {_text(used, budget)}, and the warning is at "
            f"{_text(budget.soft_limit)}"
        )


def _text(amount: Decimal, budget: Budget | None = None) -> str:
    return f"{amount.normalize():f}" + (f" {budget.unit}" if budget is not None else "")
