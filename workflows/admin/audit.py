"""The admin of the audit trail: who did what, the newest first. Nobody can add, change or remove anything here."""

import json
from typing import Any

from django.contrib import admin
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest
from django.utils.safestring import SafeString

from workflows.admin import display
from workflows.admin.scoping import ScopedAdmin, user_of
from workflows.models import AuditRecord, Customer, Role
from workflows.models.audit import INSTALLATION


class DayFilter(admin.DateFieldListFilter):
    """When it was done."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.title = "day"


class KindFilter(admin.ChoicesFieldListFilter):
    """Who did it."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.title = "who"


@admin.register(AuditRecord)
class AuditRecordAdmin(ScopedAdmin):
    """Records of the customers at which the user is admin; superusers see the installation's too."""

    customer_path = "customer_id"
    view_role = Role.ADMIN
    list_title = "Audit trail, the newest first"
    list_display = ("time", "actor_text", "action", "target", "customer_name", "details_text")
    list_filter = (("at", DayFilter), ("actor_kind", KindFilter))
    search_fields = ("actor",)
    search_help_text = "Whole name of an actor, a whole action like approval.approved, or id of what it was done to"
    id_search = ("execution_id", "workflow_id", "target_id")
    fields = (
        "seq", "time", "actor_text", "actor_kind", "action", "target", "customer_name", "execution_id", "workflow_id",
        "details_whole", "request_id", "key_id", "previous_hash", "hash",
    )  # fmt: skip
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Bring the customer's name along, if there is (still) such a customer."""
        named = Customer.objects.filter(pk=OuterRef("customer_id")).values("name")[:1]
        rows: QuerySet[Any] = super().get_queryset(request).annotate(named=Subquery(named)).order_by("-at", "-id")
        return rows

    def get_list_display(self, request: HttpRequest) -> Any:
        """Leave out the customer for those who have one only."""
        shown = super().get_list_display(request)
        several = user_of(request).is_superuser or len(self.customers_where(request, Role.ADMIN)) > 1
        return [name for name in shown if several or name != "customer_name"]

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Find an actor or an action exactly, by their indexes, or an id."""
        found, _ = super().get_search_results(request, queryset, search_term)
        term = search_term.strip()
        if term and "\0" not in term:
            found = found | queryset.filter(actor=term) | queryset.filter(action=term)
        return found, False

    def customer_id_of(self, row: Any) -> Any:
        """The chain the record belongs to."""
        return row.customer_id

    @admin.display(description="at (UTC)")
    def time(self, row: AuditRecord) -> Any:
        """When it was done."""
        return display.moment(row.at)

    @admin.display(description="who")
    def actor_text(self, row: AuditRecord) -> str:
        """Who did it."""
        return row.actor or "Poimen"

    @admin.display(description="what it was done to")
    def target(self, row: AuditRecord) -> SafeString | str:
        """A link where there is a page."""
        short = f"{row.target_kind} …{row.target_id[-6:]}"
        pages = {"execution": "execution", "approval": "approvalgate", "workflow": "workflow", "secret": "secret"}
        page = pages.get(row.target_kind)
        if page is not None:
            return display.page_of(page, row.target_id, short)
        return short if len(row.target_id) > 12 else f"{row.target_kind} {row.target_id}"

    @admin.display(description="customer")
    def customer_name(self, row: Any) -> str:
        """Whose trail it is in."""
        return "the installation" if row.customer_id == INSTALLATION else row.named or f"{row.customer_id} (deleted)"

    @admin.display(description="details")
    def details_text(self, row: AuditRecord) -> str:
        """The details in a line, without what only programs compare."""
        told = {key: value for key, value in json.loads(row.details).items() if key != "checksum" and value is not None}
        return " · ".join(f"{key} {_in_words(value)}" for key, value in told.items())[:120]

    @admin.display(description="details")
    def details_whole(self, row: AuditRecord) -> SafeString:
        """All details."""
        return display.pretty(json.loads(row.details))


def _in_words(value: Any) -> str:
    match value:
        case {"from": before, "to": after}:
            return f"{before} → {after}"
        case list():
            return ", ".join(map(str, value))
        case bool():
            return "yes" if value else "no"
        case _:
            return str(value)
