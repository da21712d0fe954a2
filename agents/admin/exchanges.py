"""The admin of recorded exchanges, and of what was learned about models. Nothing can be changed."""

from decimal import Decimal
from typing import Any

from django.contrib import admin
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from agents.models import Exchange, ModelTrait
from workflows.admin import display
from workflows.admin.scoping import ScopedAdmin
from workflows.models import Role


def cost_text(cost: Decimal | None, currency: str, tokens: int) -> str:
    """Return an amount without needless zeros; what has no price is not free."""
    if cost is None:
        return "unpriced" if tokens else display.NOTHING
    return f"{cost.normalize():f} {currency}"


@admin.register(Exchange)
class ExchangeAdmin(ScopedAdmin):
    """Exchanges with language models, newest first."""

    view_role = Role.VIEWER
    list_title = "Exchanges with language models"
    empty_hint = "No language model has been asked yet."
    list_display = ("began", "outcome", "alias", "state", "tokens", "cost_shown", "took", "customer")
    list_filter = ("status", "alias")
    list_select_related = ("customer",)
    ordering = ("-started_at",)
    search_fields = ("execution",)
    search_help_text = "Id of an exchange or an execution"
    id_search = ("pk", "execution")
    fields = (
        "id", "outcome", "error_text", "alias", "model", "customer", "run", "state", "visit", "attempt", "call",
        "purpose", "prompt_used", "began", "took", "finish_reason", "tokens", "cost_shown", "asked", "answered",
    )  # fmt: skip
    readonly_fields = fields

    @admin.display(description="began (UTC)")
    def began(self, row: Exchange) -> Any:
        """When it was sent."""
        return display.moment(row.started_at)

    @admin.display(description="status")
    def outcome(self, row: Exchange) -> SafeString:
        """How it ended."""
        return display.status({"failure": "failed", "timeout": "timed_out"}.get(row.status, row.status))

    @admin.display(description="error")
    def error_text(self, row: Exchange) -> str:
        """What went wrong."""
        return f"{row.error_name}: {row.error}" if row.error_name else display.NOTHING

    @admin.display(description="took")
    def took(self, row: Exchange) -> str:
        """How long it took, or has been running."""
        return display.lasted(row.started_at, row.ended_at)

    @admin.display(description="tokens")
    def tokens(self, row: Exchange) -> str:
        """Of the question and of the answer."""
        about = "about " if row.usage_is_estimated else ""
        return f"{about}{row.prompt_tokens:,} + {row.completion_tokens:,}"

    @admin.display(description="cost")
    def cost_shown(self, row: Exchange) -> str:
        """By the prices of its time."""
        return cost_text(row.cost, row.currency, row.prompt_tokens + row.completion_tokens)

    @admin.display(description="execution")
    def run(self, row: Exchange) -> SafeString | str:
        """The page of the run it belongs to."""
        if row.execution is None:
            return display.NOTHING
        url = reverse("execution", args=[row.execution])
        return format_html('<a href="{}">{}</a>', url, row.execution)

    @admin.display(description="prompt")
    def prompt_used(self, row: Exchange) -> SafeString | str:
        """Which prompt, and which version of it."""
        if row.prompt_version is None:
            return f"{row.prompt_name}, as built in" if row.prompt_name else display.NOTHING
        url = reverse("admin:agents_promptversion_change", args=[row.prompt_version_id])
        return format_html('<a href="{}">{}</a>', url, row.prompt_version)

    @admin.display(description="request")
    def asked(self, row: Exchange) -> SafeString:
        """What was sent, masked."""
        return display.pretty(row.request)

    @admin.display(description="answer")
    def answered(self, row: Exchange) -> SafeString:
        """What came back, masked."""
        return display.pretty(row.answer)


@admin.register(ModelTrait)
class ModelTraitAdmin(ScopedAdmin):
    """What was learned about models, for superusers; to delete one is to forget it."""

    customer_path = None
    delete_role = Role.ADMIN
    list_title = "What was learned about models"
    list_display = ("model", "timeout_seconds", "timeout_learned_at", "takes_schema", "schema_learned_at")
    ordering = ("model",)
    fields = list_display
    readonly_fields = fields
