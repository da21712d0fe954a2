"""What calls cost, and what may be spent: prices of their time, tallies that stay, budgets that warn and stop."""

import asyncio
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import Settings

from agents import llm
from agents.demo_llm.server import DemoServer
from agents.llm import retention, spending
from agents.llm.messages import Usage
from agents.models import Budget, Exchange, Price, UsageTally
from poimen_site import llm_health
from workflows.models import Customer, Execution, Workflow
from workflows.tests.people import customer, started

pytestmark = pytest.mark.django_db

NOW = datetime.now(UTC)


def priced(kind: str, amount: str, *, days_ago: float = 1, model: str = "reasoning", currency: str = "USD") -> Price:
    return Price.objects.create(
        model=model, kind=kind, amount=Decimal(amount), currency=currency, effective_from=NOW - timedelta(days=days_ago)
    )


def ask(of: Customer | None = None, execution: Execution | None = None, **more: Any) -> llm.Completion:
    context = llm.CallContext(customer=str(of.pk) if of else None, execution=str(execution.pk) if execution else None)
    asked = [{"role": "user", "content": "hello there"}]
    return llm.complete_now(llm.ChatRequest(**{"model": "reasoning", "messages": asked, "context": context, **more}))


# -- prices ---------------------------------------------------------------------------------------------------------


def test_the_price_of_its_time_counts_exactly() -> None:
    old = [priced("prompt", "1", days_ago=30), priced("completion", "2", days_ago=30)]
    new = [priced("prompt", "0.15"), priced("completion", "0.60"), priced("cached", "0.075")]
    priced("prompt", "100", days_ago=-1)
    usage = Usage(prompt=1001, completion=7, cached=1000)
    cost = spending.cost_of("reasoning", usage, NOW)
    assert cost.amount == Decimal("0.0000793500")  # (1 x 0.15 + 1000 x 0.075 + 7 x 0.60) / 1,000,000
    assert set(cost.prices) == {price.pk for price in new}
    before = spending.cost_of("reasoning", usage, NOW - timedelta(days=10))
    assert before.amount == Decimal("0.0010150000")
    assert set(before.prices) == {price.pk for price in old}


def test_a_model_without_a_whole_price_is_unpriced_and_not_free(model: DemoServer) -> None:
    assert spending.cost_of("reasoning", Usage(1, 1), NOW).amount is None
    priced("prompt", "1")
    assert spending.cost_of("reasoning", Usage(1, 1), NOW).amount is None
    priced("completion", "1", currency="EUR")
    assert spending.cost_of("reasoning", Usage(1, 1), NOW).amount is None, "two currencies do not add up"
    assert ask().cost is None
    tally = UsageTally.objects.get()
    assert tally.unpriced == 1
    assert tally.cost == 0


def test_what_was_spent_stays_as_it_was_when_prices_change(model: DemoServer) -> None:
    priced("prompt", "1000")
    priced("completion", "1000")
    first = ask()
    assert first.cost == Decimal(first.usage.total) / 1000
    Price.objects.update(amount=5)
    row = Exchange.objects.get()
    assert (row.cost, row.currency, len(row.prices)) == (first.cost, "USD", 2)


def test_negative_prices_and_budgets_are_refused() -> None:
    for wrong in (
        lambda: priced("prompt", "-1"),
        lambda: Budget.objects.create(hard_limit=-1),
        lambda: Budget.objects.create(),
        lambda: Budget.objects.create(soft_limit=2, hard_limit=1),
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            wrong()
    other = Workflow.objects.create(customer=customer("other"), name="w")
    with pytest.raises(ValidationError, match="another customer"):
        Budget(customer=customer(), workflow=other, hard_limit=1).full_clean()


# -- budgets --------------------------------------------------------------------------------------------------------


def test_a_hard_limit_stops_before_anything_is_sent(model: DemoServer) -> None:
    Budget.objects.create(customer=customer(), unit="tokens", hard_limit=100, period="day")
    used = ask(customer()).usage.total
    Budget.objects.update(hard_limit=used)
    with pytest.raises(llm.BudgetExceeded, match=f"Acme a day is used up: {used} tokens of {used}") as caught:
        ask(customer())
    assert not caught.value.retryable
    assert len(model.seen) == 1
    ask(customer("other"))
    ask()
    UsageTally.objects.update(day=NOW.date() - timedelta(days=1))
    Budget.objects.update(hard_limit=100)
    ask(customer())


def test_a_soft_limit_warns_and_a_global_one_binds_everybody(model: DemoServer) -> None:
    priced("prompt", "1000")
    priced("completion", "1000")
    budget = Budget.objects.create(unit="USD", soft_limit=Decimal("0.001"), hard_limit=1000, period="total")
    heard: list[str] = []
    ask(customer("other"))
    ask(customer(), on_warning=heard.append)
    assert len(heard) == 1
    assert "the budget of everybody in all is nearly used up" in heard[0]
    budget.hard_limit = Decimal("0.001")
    budget.save()
    with pytest.raises(llm.BudgetExceeded, match="is used up"):
        ask(customer())
    budget.is_active = False
    budget.save()
    ask(customer())


def test_a_workflow_has_a_budget_of_its_own(model: DemoServer) -> None:
    workflow = Workflow.objects.create(customer=customer(), name="Ship")
    execution = started(customer())
    Execution.objects.filter(pk=execution.pk).update(workflow=workflow)
    Budget.objects.create(workflow=workflow, unit="tokens", hard_limit=100)
    Budget.objects.update(hard_limit=ask(customer(), execution).usage.total)
    with pytest.raises(llm.BudgetExceeded, match="Ship"):
        ask(customer(), execution)
    ask(customer(), started(customer()))


def test_what_a_call_may_take_at_most_must_be_left(model: DemoServer) -> None:
    Budget.objects.create(customer=customer(), unit="tokens", hard_limit=200)
    with pytest.raises(llm.BudgetExceeded, match="has 200 tokens left of 200, and this call may take up to 359 tokens"):
        ask(customer(), max_tokens=300)
    assert not model.seen
    ask(customer(), max_tokens=100)
    used = Decimal(sum(UsageTally.objects.values_list("prompt_tokens", flat=True)))
    used += sum(UsageTally.objects.values_list("completion_tokens", flat=True))
    ask(customer())
    assert model.seen[-1].body["max_tokens"] == 200 - used - 59, "an answer that nobody bounded gets what is left"
    assert (Exchange.objects.latest("started_at").request or {})["max_tokens"] == 200 - used - 59
    ask(customer("other"))
    assert "max_tokens" not in model.seen[-1].body


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("unit", ["tokens", "USD"])
def test_calls_at_once_never_pass_a_hard_limit_together(quickly_emptied: None, model: DemoServer, unit: str) -> None:
    priced("prompt", "1000000")
    priced("completion", "1000000")
    Budget.objects.create(unit=unit, hard_limit=400, period="total")
    asked = [{"role": "user", "content": "[[slow 0.1]] one two three four five six seven eight nine ten"}]

    async def many() -> list[llm.Completion | BaseException]:
        calls = (llm.complete(llm.ChatRequest("reasoning", asked, max_tokens=60, timeout=30.0)) for _ in range(20))
        return await asyncio.gather(*calls, return_exceptions=True)

    ended = asyncio.run(many())
    answered = [one for one in ended if isinstance(one, llm.Completion)]
    assert {type(one) for one in ended if not isinstance(one, llm.Completion)} == {llm.BudgetExceeded}
    used = sum(one.usage.total for one in answered)
    assert spending.spent(Budget.objects.get(), datetime.now(UTC)) == used <= 400
    assert len(answered) > 4, "what was held and not used is there for those that waited"
    assert len(model.seen) == len(answered)


def test_what_a_dead_call_held_is_free_again_when_its_record_expires(model: DemoServer) -> None:
    Budget.objects.create(unit="tokens", hard_limit=400)
    now = datetime.now(UTC)
    lost = Exchange(alias="reasoning", model="reasoning", started_at=now, reserved_tokens=300)
    lost.expires_at = now + timedelta(hours=1)
    lost.save()
    with pytest.raises(llm.LLMTimeout, match="the budget of everybody a month is held for calls that run now"):
        ask(max_tokens=100, timeout=0.3)
    assert not model.seen
    Exchange.objects.update(expires_at=now - timedelta(seconds=1))
    ask(max_tokens=100)


# -- what stays -----------------------------------------------------------------------------------------------------


def test_old_exchanges_go_and_what_they_cost_stays(model: DemoServer, settings: Settings) -> None:
    old, new = ask(), ask()
    Exchange.objects.filter(pk=old.exchange).update(started_at=NOW - timedelta(days=31))
    lost = Exchange.objects.create(
        alias="reasoning", model="reasoning", started_at=NOW, expires_at=NOW - timedelta(seconds=1)
    )
    connection.ensure_connection()
    retention.forget(connection.connection)
    assert {str(pk) for pk in Exchange.objects.values_list("pk", flat=True)} == {new.exchange, str(lost.pk)}
    lost.refresh_from_db()
    assert (lost.status, lost.error_name) == ("cancelled", "WorkerLost")
    assert sum(UsageTally.objects.values_list("calls", flat=True)) == 2
    Exchange.objects.update(started_at=NOW - timedelta(days=400))
    settings.POIMEN_LLM_RETENTION_DAYS = 0
    retention.forget(connection.connection)
    assert Exchange.objects.count() == 2


# -- metrics and health ---------------------------------------------------------------------------------------------


def test_calls_are_told_to_prometheus(model: DemoServer) -> None:
    priced("prompt", "1000000")
    priced("completion", "1000000")
    got = ask()
    with pytest.raises(llm.LLMError):
        ask(messages=[{"role": "user", "content": "[[401]]"}])
    families = text_string_to_metric_families(Client().get("/metrics").content.decode())
    samples = {(s.name, frozenset(s.labels.items())): s.value for family in families for s in family.samples}

    def value(name: str, **labels: str) -> float:
        return samples[name, frozenset({"model_id": "reasoning", **labels}.items())]

    assert value("poimen_llm_api_calls_total", status="success") == 1
    assert value("poimen_llm_api_calls_total", status="failure") == 1
    assert value("poimen_llm_api_latency_seconds_count") == 2
    assert value("poimen_llm_api_latency_seconds_bucket", le="300.0") == 2
    assert value("poimen_llm_tokens_total", kind="prompt") == got.usage.prompt
    assert value("poimen_llm_cost_total", currency="USD") == got.usage.total
    assert value("poimen_llm_unpriced_calls_total") == 0


def test_health_tells_of_the_model_and_readiness_does_not_depend_on_it(server: DemoServer, settings: Settings) -> None:
    def told(path: str = "/health") -> tuple[int, dict[str, Any]]:
        llm_health._problem.cache_clear()
        answer = Client().get(path)
        return answer.status_code, answer.json()["checks"]["llm"]

    settings.LOCAL_LLM_BASE_URL = ""
    assert told()[1] == {"status": "healthy", "message": "not configured", "latencyMs": 0.0}
    settings.LOCAL_LLM_BASE_URL = server.url
    assert told()[1]["status"] == "healthy"
    server.stop()
    code, check = told("/health/ready")
    assert (code, check["status"]) == (200, "unhealthy")
    assert check["message"] == "the language model is not to be had: it cannot be reached (ConnectError)"
    assert server.url not in check["message"]
