"""What administrators set about models - prices, budgets, prompts - is in the audit trail."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from agents.models import Budget, Price, PromptVersion
from workflows.models import AuditRecord, Customer

pytestmark = pytest.mark.django_db


def test_a_price_that_is_set_raised_and_deleted_leaves_three_records() -> None:
    price = Price.objects.create(
        model="big", kind="prompt", amount=Decimal("2.5"), effective_from=datetime(2026, 1, 1, tzinfo=UTC)
    )
    price.amount = Decimal(3)
    price.save()
    price.delete()

    made, raised, deleted = AuditRecord.objects.filter(target_kind="llm_price").order_by("seq")

    assert made.action == "llm_price.created"
    assert '"amount":"2.5"' in made.details
    assert raised.action == "llm_price.changed"
    assert '"amount":{"from":"2.50000000","to":"3"}' in raised.details
    assert "currency" not in raised.details
    assert deleted.action == "llm_price.deleted"


def test_a_budget_is_told_of_in_its_customers_trail() -> None:
    customer = Customer.objects.create(name="Spender", slug="spender")
    budget = Budget.objects.create(customer=customer, hard_limit=Decimal(10))

    record = AuditRecord.objects.get(target_kind="llm_budget")

    assert (record.customer_id, record.action, record.target_id) == (customer.pk, "llm_budget.created", str(budget.pk))


def test_a_new_version_of_a_prompt_is_told_of_without_its_text() -> None:
    PromptVersion.objects.create(name="router/system.j2", number=1, source="the whole text", note="shorter")

    record = AuditRecord.objects.get(target_kind="prompt")

    assert record.action == "prompt.created"
    assert '"note":"shorter"' in record.details
    assert "the whole text" not in record.details
