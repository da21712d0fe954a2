"""What a run asked language models: beside an attempt, and each exchange on a page of its own."""

from dataclasses import dataclass
from uuid import UUID

from django.db.models import QuerySet
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase

from agents.api.exchanges import amount_text
from agents.llm.spending import usage_of
from agents.models import Exchange
from poimen_site.pages.visitor import Visitor, draw, own_or_404, page
from workflows.models import Execution, StateRun

SHOWN = 50


@dataclass(frozen=True, slots=True)
class Usage:
    """Of a whole run; ``costs`` are amounts, one for each currency, and words for what has no price."""

    calls: int
    tokens: int
    costs: tuple[str, ...]


def exchanges_of(run: StateRun) -> QuerySet[Exchange]:
    """Return the exchanges of one attempt, oldest first, without their texts."""
    rows = Exchange.objects.filter(execution=run.execution_id, branch=run.branch_id, state=run.state, visit=run.visit)
    return rows.filter(attempt=run.attempt).defer("request", "answer").order_by("started_at", "pk")[:SHOWN]


def usage_of_run(execution: Execution) -> Usage | None:
    """Return what the run used; None if it asked no model (one query)."""
    lines = usage_of(Exchange.objects.filter(execution=execution.pk))
    if not lines:
        return None
    priced = [f"{amount_text(line['amount'])} {line['currency']}" for line in lines if line["amount"] is not None]
    unpriced = sum(line["unpriced"] for line in lines)
    words = [f"{unpriced} without a price"] if unpriced else []
    tokens = sum(line["prompt"] + line["completion"] for line in lines)
    return Usage(sum(line["calls"] for line in lines), tokens, (*priced, *words))


@page
def exchange_page(request: HttpRequest, visitor: Visitor, exchange_id: str) -> HttpResponseBase:
    """Draw one exchange: what was sent, what came back, what it took. All of it is masked."""
    try:
        row = Exchange.objects.select_related("prompt_version").filter(pk=UUID(exchange_id)).first()
    except ValueError:
        row = None
    if row is None or row.customer_id is None:
        raise Http404("Exchange not found")
    own_or_404(visitor, row.customer_id, "Exchange")
    run = Execution.objects.filter(pk=row.execution, customer=row.customer_id).first() if row.execution else None
    context = {
        "exchange": row,
        "run": run,
        "cost": amount_text(row.cost),
        "status": _STATUS.get(row.status, row.status),
    }
    return draw(request, visitor, "ui/exchange.html", context)


# In the words, and with the signs, of attempts of states.
_STATUS = {"failure": "failed", "timeout": "timed_out"}
