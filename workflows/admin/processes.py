"""The admin of the processes that do the work: which are alive. For superusers."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib import admin
from django.utils.safestring import SafeString

from workflows.admin import display
from workflows.admin.scoping import ScopedAdmin
from workflows.models import Process

_SILENT_AFTER = timedelta(seconds=30)


@admin.register(Process)
class ProcessAdmin(ScopedAdmin):
    """Clusters, pumps and clocks by their heartbeats."""

    customer_path = None
    list_title = "Processes by their heartbeats"
    list_display = ("__str__", "life", "heartbeat", "started_at", "details_text")
    ordering = ("-heartbeat_at",)
    fields = ("id", "kind", "host", "pid", "life", "started_at", "heartbeat", "details_text")
    readonly_fields = fields

    @admin.display(description="life")
    def life(self, process: Process) -> SafeString:
        """Whether its heart has beaten lately."""
        is_alive = datetime.now(UTC) - process.heartbeat_at < _SILENT_AFTER
        return display.status("running" if is_alive else "interrupted")

    @admin.display(description="heartbeat (UTC)")
    def heartbeat(self, process: Process) -> Any:
        """When it last said that it lives."""
        return display.moment(process.heartbeat_at)

    @admin.display(description="details")
    def details_text(self, process: Process) -> str:
        """What it does."""
        return display.short(process.details)
