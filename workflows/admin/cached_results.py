"""The admin of kept results: what is there, who made it, how often it was used. Operators may forget it."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from workflows import kept_results
from workflows.admin import display
from workflows.admin.scoping import ScopedAdmin, user_of
from workflows.models import CachedResult, Role


@admin.register(CachedResult)
class CachedResultAdmin(ScopedAdmin):
    """Kept results, the newest first."""

    delete_role = Role.OPERATOR
    list_title = "Kept results, the newest first"
    empty_hint = "A state with a cache leaves its result here."
    list_display = ("__str__", "status_shown", "made", "expires", "hits", "size", "made_by", "customer")
    list_filter = ("status",)
    search_fields = ("activity",)
    search_help_text = "Exact name of an activity, or id of a result, an execution or a workflow"
    text_search = "activity"
    id_search = ("pk", "execution", "workflow")
    list_select_related = ("execution", "customer", "workflow")
    ordering = ("-pk",)
    actions = ("forget_activity", "forget_workflow")
    fields = (
        "id", "customer", "activity", "version", "workflow", "made_by", "state", "status_shown", "made", "used",
        "expires", "hits", "size", "result",
    )  # fmt: skip
    readonly_fields = fields

    def delete_model(self, request: HttpRequest, obj: CachedResult) -> None:
        """Forget one, with a record in the audit trail."""
        self._forget_those(request, [obj])

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[CachedResult]) -> None:
        """Forget several, with a record for each customer."""
        self._forget_those(request, list(queryset))

    def _forget_those(self, request: HttpRequest, rows: list[CachedResult]) -> None:
        for customer in {row.customer_id for row in rows}:
            ids = [row.pk for row in rows if row.customer_id == customer]
            kept_results.forget(customer, {"pk__in": ids}, by=user_of(request).get_username())

    @admin.action(description="Forget all results of these activities", permissions=["delete"])
    def forget_activity(self, request: HttpRequest, queryset: QuerySet[CachedResult]) -> None:
        """Delete what the same activities gave, for the same customers."""
        self._forget(request, {(row.customer_id, "activity", row.activity) for row in queryset})

    @admin.action(description="Forget all results of these workflows", permissions=["delete"])
    def forget_workflow(self, request: HttpRequest, queryset: QuerySet[CachedResult]) -> None:
        """Delete what runs of the same workflows made, for the same customers."""
        self._forget(request, {(row.customer_id, "workflow", row.workflow_id) for row in queryset if row.workflow_id})

    def _forget(self, request: HttpRequest, chosen: set[tuple[Any, str, Any]]) -> None:
        may = {row for row in chosen if user_of(request).is_superuser or row[0] in self._mine(request)}
        gone = sum(
            kept_results.forget(customer, {column: value}, by=user_of(request).get_username())
            for customer, column, value in may
        )
        self.message_user(request, f"{gone} kept results are forgotten.", messages.SUCCESS)

    def _mine(self, request: HttpRequest) -> list[Any]:
        return list(self.customers_where(request, Role.OPERATOR))

    @admin.display(description="status")
    def status_shown(self, row: CachedResult) -> SafeString:
        """Whether it is there."""
        return display.status(row.status)

    @admin.display(description="made (UTC)")
    def made(self, row: CachedResult) -> Any:
        """When it was made."""
        return display.moment(row.made_at)

    @admin.display(description="used (UTC)")
    def used(self, row: CachedResult) -> Any:
        """When it was taken last."""
        return display.moment(row.used_at)

    @admin.display(description="expires (UTC)")
    def expires(self, row: CachedResult) -> Any:
        """When it goes by itself."""
        return display.moment(row.expires_at)

    @admin.display(description="size")
    def size(self, row: CachedResult) -> str:
        """How large its JSON is."""
        return f"{row.bytes:,} bytes"

    @admin.display(description="made by")
    def made_by(self, row: CachedResult) -> SafeString | str:
        """A link to the execution."""
        return display.execution(row.execution) if row.execution else display.NOTHING

    @admin.display(description="result")
    def result(self, row: CachedResult) -> SafeString:
        """The output, masked."""
        return display.pretty(row.output)
