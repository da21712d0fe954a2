"""The admin of what is drawn: workflows, their versions, and what their edges mean, for the user's customers.

Everything here is read-only: a save has to go through ``canvas.saving``, which keeps versions, specs and relations.
Refuses to show staff without a membership anything.
"""

import json
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from canvas.models import Relation, RelationVersion
from canvas.problems import report_of
from workflows import secrets
from workflows.admin.scoping import roles_in
from workflows.models import Role, Workflow, WorkflowStatus, WorkflowVersion

if TYPE_CHECKING:  # generic for the type checker only
    ModelAdmin = admin.ModelAdmin[Any]
else:
    ModelAdmin = admin.ModelAdmin


class DrawnAdmin(ModelAdmin):
    """What all these pages share: read-only, scoped by membership, lists in few queries."""

    customer_path = "workflow__customer"
    show_full_result_count = False
    list_per_page = 50

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return the rows of the user's customers; a superuser sees all."""
        rows: QuerySet[Any] = super().get_queryset(request)
        if request.user.is_superuser:
            return rows
        return rows.filter(**{f"{self.customer_path}__in": list(roles_in(request))})

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Whether the app is listed for the user."""
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Members see what belongs to their customers; which rows that are, ``get_queryset`` decides."""
        user = request.user
        if not (user.is_active and user.is_staff):
            return False
        return user.is_superuser or any(role.covers(Role.VIEWER) for role in roles_in(request).values())

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Never here."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never here."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never here."""
        return False


@admin.register(Workflow)
class WorkflowAdmin(DrawnAdmin):
    """Workflows, the newest change first."""

    customer_path = "customer"
    list_display = ("name", "status", "version", "customer", "node_count", "created_by", "updated_at")
    list_filter = ("status",)
    list_select_related = ("customer",)
    search_fields = ("name", "description")
    ordering = ("-updated_at",)
    fields = (
        "id", "name", "description", "status", "version", "customer", "created_by", "created_at", "updated_at",
        "versions", "relations", "nodes_text", "edges_text",
    )  # fmt: skip
    readonly_fields = fields

    @admin.display(description="nodes")
    def node_count(self, workflow: Workflow) -> int:
        """How many nodes the newest canvas has."""
        return len(workflow.nodes)

    @admin.display(description="versions")
    def versions(self, workflow: Workflow) -> str:
        """A link to all saves of the workflow."""
        return _link("admin:workflows_workflowversion_changelist", workflow, f"{workflow.version} saved")

    @admin.display(description="relations")
    def relations(self, workflow: Workflow) -> str:
        """A link to what the edges of the newest version mean."""
        query = f"&version={workflow.version}"
        return _link("admin:canvas_relation_changelist", workflow, f"of version {workflow.version}", query)

    @admin.display(description="nodes")
    def nodes_text(self, workflow: Workflow) -> str:
        """The nodes as indented JSON."""
        return _pretty(workflow.nodes)

    @admin.display(description="edges")
    def edges_text(self, workflow: Workflow) -> str:
        """The edges as indented JSON."""
        return _pretty(workflow.edges)


@admin.register(WorkflowVersion)
class WorkflowVersionAdmin(DrawnAdmin):
    """Saves, the newest first; each with its spec and what was wrong with it."""

    list_display = ("name", "version", "verdict", "created_by", "created_at")
    search_fields = ("=workflow__id", "name")
    search_help_text = "Name, or id of the workflow"
    ordering = ("-id",)
    fields = (
        "workflow", "version", "name", "checksum", "created_by", "created_at", "verdict", "problems_text", "spec_text",
        "nodes_text", "edges_text",
    )  # fmt: skip
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Leave the canvases out of the list: they are the largest columns there are."""
        rows = super().get_queryset(request)
        match = request.resolver_match
        is_list = match is not None and str(match.url_name).endswith("changelist")
        return rows.defer("nodes", "edges") if is_list else rows.select_related("workflow", "spec")

    @admin.display(description="canvas")
    def verdict(self, version: WorkflowVersion) -> str:
        """Whether the version can run, and if not, how much is wrong."""
        errors = len(report_of(version.problems, WorkflowStatus.ACTIVE)["errors"])
        return f"✗ {errors} error{'s' if errors != 1 else ''}" if errors else "✓ valid"

    @admin.display(description="problems")
    def problems_text(self, version: WorkflowVersion) -> str:
        """One problem a line."""
        lines = [f"{row.get('severity', 'error')}: {row['message']}" for row in version.problems]
        return format_html("<pre>{}</pre>", "\n".join(lines) or "none")

    @admin.display(description="spec")
    def spec_text(self, version: WorkflowVersion) -> str:
        """The spec the version compiled to."""
        return _pretty(version.spec.document) if version.spec is not None else "none: the canvas has errors"

    @admin.display(description="nodes")
    def nodes_text(self, version: WorkflowVersion) -> str:
        """The nodes as indented JSON."""
        return _pretty(version.nodes)

    @admin.display(description="edges")
    def edges_text(self, version: WorkflowVersion) -> str:
        """The edges as indented JSON."""
        return _pretty(version.edges)


@admin.register(Relation)
class RelationAdmin(DrawnAdmin):
    """The edges of every version with their meaning."""

    list_display = ("__str__", "relation_type", "workflow", "version", "confidence", "created_at")
    list_filter = ("relation_type",)
    list_select_related = ("workflow",)
    search_fields = ("label", "=workflow__id")
    search_help_text = "Label, or id of the workflow"
    ordering = ("-id",)
    fields = (
        "id", "workflow", "version", "edge_id", "source_node_id", "target_node_id", "relation_type", "label",
        "wording_text", "confidence", "transformer_needed", "created_at", "indexed_at",
    )  # fmt: skip
    readonly_fields = fields

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Allow the links of a workflow to narrow the list."""
        return lookup in ("workflow__id__exact", "version") or super().lookup_allowed(lookup, value, request)

    @admin.display(description="wording")
    def wording_text(self, relation: Relation) -> str:
        """The wording as indented JSON."""
        return _pretty(relation.relation_wording)


@admin.register(RelationVersion)
class RelationVersionAdmin(DrawnAdmin):
    """How the meaning of edges changed, the newest change first."""

    list_display = ("edge_id", "version", "relation_type", "label", "workflow", "changed_by", "changed_at")
    list_filter = ("relation_type",)
    list_select_related = ("workflow",)
    search_fields = ("edge_id", "label", "=workflow__id")
    search_help_text = "Edge, label, or id of the workflow"
    ordering = ("-id",)
    fields = (
        "workflow", "edge_id", "version", "workflow_version", "relation_type", "label", "wording_text",
        "change_reason", "changed_by", "changed_at",
    )  # fmt: skip
    readonly_fields = fields

    @admin.display(description="wording")
    def wording_text(self, version: RelationVersion) -> str:
        """The wording as indented JSON."""
        return _pretty(version.relation_wording)


def _link(view: str, workflow: Workflow, text: str, query: str = "") -> str:
    return format_html('<a href="{}?workflow__id__exact={}{}">{}</a>', reverse(view), workflow.pk, query, text)


def _pretty(value: Any) -> str:
    return format_html("<pre>{}</pre>", json.dumps(secrets.mask(value), indent=2, ensure_ascii=False))
