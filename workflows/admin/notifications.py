"""The admin of notifications: what was told to whom, and whether it arrived. Nothing can be changed there."""

from typing import Any

from django.contrib import admin
from django.utils.safestring import SafeString

from workflows.admin import display
from workflows.admin.scoping import ScopedAdmin
from workflows.models import NotificationRecord
from workflows.terminal_text import plain


@admin.register(NotificationRecord)
class NotificationAdmin(ScopedAdmin):
    """Notifications, the newest first."""

    list_title = "Notifications, the newest first"
    empty_hint = "A state that runs NotifyStatusActivity leaves a line here."
    list_display = ("__str__", "to", "message_text", "outcome", "attempts", "execution_link", "created", "customer")
    list_filter = ("status",)
    list_select_related = ("execution", "customer")
    ordering = ("-pk",)
    fields = (
        "id", "customer", "execution_link", "state", "channel", "to", "severity", "text", "outcome", "attempts",
        "problem", "created", "delivered",
    )  # fmt: skip
    readonly_fields = fields

    @admin.display(description="status")
    def outcome(self, row: NotificationRecord) -> SafeString:
        """What became of it."""
        return display.status(row.status)

    @admin.display(description="to")
    def to(self, row: NotificationRecord) -> str:
        """Who was to get it; for some of several, how many have it."""
        some = f" ({len(row.delivered_to)} have it)" if 0 < len(row.delivered_to) < len(row.recipients) else ""
        return display.short(", ".join(map(str, row.recipients))) + some

    @admin.display(description="message")
    def message_text(self, row: NotificationRecord) -> str:
        """Its beginning."""
        return display.short(row.message)

    @admin.display(description="message")
    def text(self, row: NotificationRecord) -> str:
        """All of it that is kept."""
        return plain(row.message)

    @admin.display(description="error")
    def problem(self, row: NotificationRecord) -> str:
        """Why the last attempt did not get through."""
        return plain(row.error)

    @admin.display(description="execution")
    def execution_link(self, row: NotificationRecord) -> SafeString:
        """A link to the execution."""
        return display.execution(row.execution)

    @admin.display(description="created (UTC)")
    def created(self, row: NotificationRecord) -> Any:
        """When the first attempt began."""
        return display.moment(row.created_at)

    @admin.display(description="delivered (UTC)")
    def delivered(self, row: NotificationRecord) -> Any:
        """When it arrived."""
        return display.moment(row.delivered_at)
