"""The admin of what runs: executions and their history, approvals, secrets, customers. One file per concern.

Shows each member of the staff what belongs to their customers, and lets them do what their role there covers.
"""

from django.contrib import admin

from workflows.admin import (
    api_keys,
    approvals,
    audit,
    cached_results,
    executions,
    history,
    notifications,
    plugins,
    processes,
    schedules,
    secrets,
    tenancy,
)

__all__ = [
    "api_keys",
    "approvals",
    "audit",
    "cached_results",
    "executions",
    "history",
    "notifications",
    "plugins",
    "processes",
    "schedules",
    "secrets",
    "tenancy",
]

admin.site.site_header = "Poimen"
admin.site.site_title = "Poimen"
admin.site.index_title = "What runs, and what waits for you"
