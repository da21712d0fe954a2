"""The admin of imported tasks: what the trackers say can be read, and where a task stands with us can be set."""

from typing import Any

from django.contrib import admin
from django.utils.html import format_html
from django.utils.safestring import SafeString

from agents.models import ExternalTask
from workflows.admin import display
from workflows.admin.scoping import ScopedAdmin
from workflows.models import Role
from workflows.terminal_text import plain


@admin.register(ExternalTask)
class ExternalTaskAdmin(ScopedAdmin):
    """Imported tasks, the newest first."""

    change_role = Role.OPERATOR
    delete_role = Role.OPERATOR
    list_title = "Imported tasks"
    empty_hint = "A state that runs ImportTasksActivity brings the tasks of a tracker here."
    list_display = (
        "__str__", "title_text", "external_status", "status", "local_status", "assignee", "updated", "customer",
    )  # fmt: skip
    list_filter = ("source", "status", "local_status")
    list_select_related = ("customer",)
    ordering = ("-pk",)
    search_fields = ("external_id",)
    search_help_text = "Id in the tracker, or id"
    text_search = "external_id"
    fields = (
        "id", "customer", "source", "project", "external_id", "title_text", "body_text", "link", "external_status",
        "status", "local_status", "labels", "assignee", "author", "milestone", "priority", "created", "updated",
        "imported_by", "synced",
    )  # fmt: skip
    readonly_fields = tuple(name for name in fields if name != "local_status")

    @admin.display(description="title")
    def title_text(self, row: ExternalTask) -> str:
        """Its title."""
        return plain(row.title)

    @admin.display(description="body")
    def body_text(self, row: ExternalTask) -> SafeString:
        """What it says, as text."""
        return format_html("<pre>{}</pre>", plain(row.body))

    @admin.display(description="address")
    def link(self, row: ExternalTask) -> SafeString | str:
        """Where it is; only addresses of the web are kept."""
        shown = '<a href="{}" rel="noreferrer noopener">{}</a>'
        return format_html(shown, row.url, row.url) if row.url else display.NOTHING

    @admin.display(description="created (UTC)")
    def created(self, row: ExternalTask) -> Any:
        """When it was made."""
        return display.moment(row.remote_created_at)

    @admin.display(description="changed (UTC)")
    def updated(self, row: ExternalTask) -> Any:
        """When it was changed last."""
        return display.moment(row.remote_updated_at)

    @admin.display(description="read (UTC)")
    def synced(self, row: ExternalTask) -> Any:
        """When it was read last."""
        return display.moment(row.last_synced_at)
