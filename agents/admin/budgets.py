"""The admin of money: prices by model and day, and budgets with what is spent of them. Superusers write."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils import timezone

from agents.admin.exchanges import cost_text
from agents.llm.spending import spent
from agents.models import Budget, Price, UsageTally
from agents.models.usage import NOBODY
from workflows.admin.scoping import ScopedAdmin, user_of
from workflows.models import Customer, Role


@admin.register(Price)
class PriceAdmin(ScopedAdmin):
    """Prices. One that was used is kept as it is: a new price is a new row."""

    customer_path = None
    add_role = change_role = delete_role = Role.ADMIN
    list_title = "Prices for a million tokens"
    empty_hint = "There is no price yet: all models are unpriced, and cost is not counted."
    list_display = ("model", "kind", "amount", "currency", "effective_from")
    list_filter = ("kind",)
    ordering = ("model", "kind", "-effective_from")
    search_fields = ("model",)
    text_search = "model__icontains"
    fields = ("model", "kind", "amount", "currency", "effective_from")

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Start with a price from now on."""
        return {"effective_from": timezone.now(), **super().get_changeform_initial_data(request)}


@admin.register(Budget)
class BudgetAdmin(ScopedAdmin):
    """Budgets: each customer's members see theirs."""

    view_role = Role.VIEWER
    list_title = "Budgets"
    empty_hint = "There is no budget: anything may be spent."
    list_display = ("whose", "period", "spent_now", "soft_limit", "hard_limit", "unit", "is_active")
    list_select_related = ("customer", "workflow")
    ordering = ("pk",)
    fields = ("customer", "workflow", "period", "unit", "soft_limit", "hard_limit", "is_active", "spent_now")
    readonly_fields = ("spent_now",)
    raw_id_fields = ("workflow",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Only superusers: a budget binds those it is about."""
        return user_of(request).is_superuser if request.user.is_authenticated else False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Only superusers."""
        return self.has_add_permission(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Only superusers."""
        return self.has_add_permission(request)

    @admin.display(description="whose")
    def whose(self, budget: Budget) -> str:
        """Whom it is for."""
        return str(budget.workflow or budget.customer or "everybody")

    @admin.display(description="spent in this period")
    def spent_now(self, budget: Budget) -> str:
        """What was spent of it so far."""
        if budget._state.adding:  # noqa: SLF001 - documented by Django
            return "nothing yet"
        used = spent(budget, timezone.now())
        whole = budget.hard_limit or budget.soft_limit
        share = f" ({100 * used / whole:.0f} %)" if whole else ""
        return f"{used.normalize():f} {budget.unit}{share}"


@admin.register(UsageTally)
class UsageTallyAdmin(ScopedAdmin):
    """What was used, by day, customer and model: for superusers."""

    customer_path = None
    list_title = "Usage of language models by day"
    list_display = (
        "day",
        "customer_name",
        "model",
        "status",
        "calls",
        "prompt_tokens",
        "completion_tokens",
        "cost_shown",
    )
    list_filter = ("status",)
    ordering = ("-day", "model", "status")
    search_fields = ("model",)
    text_search = "model__icontains"
    fields = list_display
    readonly_fields = fields

    @admin.display(description="customer")
    def customer_name(self, row: UsageTally) -> str:
        """Whose calls these were."""
        if row.customer == NOBODY:
            return "(nobody)"
        return Customer.objects.filter(pk=row.customer).values_list("name", flat=True).first() or str(row.customer)

    @admin.display(description="cost")
    def cost_shown(self, row: UsageTally) -> str:
        """What they cost; how many had no price."""
        unpriced = f" + {row.unpriced} calls without a price" if row.unpriced else ""
        return (
            f"{cost_text(row.cost, row.currency, 0)}{unpriced}" if row.currency else unpriced.removeprefix(" + ") or "0"
        )
