"""What REST tells of exchanges with language models: lists, one with its texts, and usage by state and model."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from agents import llm
from agents.demo_llm.server import DemoServer
from agents.models import Price
from workflows.models import Execution, Role
from workflows.tests.people import customer, member, signed_in, started

pytestmark = pytest.mark.django_db


def ask(execution: Execution, state: str, text: str, model: str = "reasoning") -> llm.Completion:
    context = llm.CallContext(
        customer=str(execution.customer_id), execution=str(execution.pk), state=state, visit=1, attempt=1
    )
    return llm.complete_now(llm.ChatRequest(model, [{"role": "user", "content": text}], attempts=1, context=context))


def test_an_executions_exchanges_and_what_they_cost(model: DemoServer) -> None:
    for kind in ("prompt", "completion"):
        Price.objects.create(model="reasoning", kind=kind, amount=Decimal(3), effective_from=datetime.now(UTC))
    execution = started(customer())
    first = ask(execution, "Ask", "hello")
    ask(execution, "Ask", "hello again")
    ask(execution, "Tell", "hello", "ornith:13b")
    with pytest.raises(llm.LLMError):
        ask(execution, "Tell", "[[401]]")
    viewer = signed_in(member(customer(), Role.VIEWER))
    answer = viewer.get(f"/executions/{execution.pk}/exchanges")
    assert answer.headers["X-Total-Count"] == "4"
    assert [(row["state"], row["model"], row["status"]) for row in answer.json()] == [
        ("Ask", "reasoning", "success"), ("Ask", "reasoning", "success"), ("Tell", "ornith:13b", "success"),
        ("Tell", "reasoning", "failure"),
    ]  # fmt: skip
    told = answer.json()[0]
    assert first.cost is not None
    assert (told["id"], Decimal(told["cost"]), told["currency"]) == (first.exchange, first.cost, "USD")
    assert "request" not in told
    assert "LLMHTTPError" in answer.json()[3]["error"]
    assert len(viewer.get(f"/executions/{execution.pk}/exchanges?state=Tell&status=failure").json()) == 1

    whole = viewer.get(f"/exchanges/{first.exchange}").json()
    assert whole["request"]["messages"][-1]["content"] == "hello"
    assert whole["answer"]["text"] == first.text

    lines = viewer.get(f"/executions/{execution.pk}/usage").json()
    assert [(line["state"], line["model"], line["calls"], line["unpricedCalls"]) for line in lines] == [
        ("Ask", "reasoning", 2, 0), ("Tell", "ornith:13b", 1, 1), ("Tell", "reasoning", 1, 0),
    ]  # fmt: skip
    assert lines[1]["cost"] is None


def test_what_is_another_customers_is_not_found(model: DemoServer) -> None:
    execution = started(customer("other"))
    asked = ask(execution, "Ask", "hello")
    viewer = signed_in(member(customer(), Role.VIEWER))
    for path, thing in (
        (f"/executions/{execution.pk}/exchanges", "Execution"),
        (f"/executions/{execution.pk}/usage", "Execution"),
        (f"/exchanges/{asked.exchange}", "Exchange"),
        ("/exchanges/x", "Exchange"),
    ):
        answer = viewer.get(path)
        assert (answer.status_code, answer.json()) == (404, {"error": f"{thing} not found"})
