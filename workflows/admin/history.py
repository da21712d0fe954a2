"""The admin of what happened: state runs, log lines, branches, signals and specs. All of it is the engine's: read-only.

These tables are large. Without an execution in the address, a list shows the newest rows only: of the whole table to
superusers, of their newest executions to others; filters are offered once an execution is chosen.
"""

from collections.abc import Sequence
from typing import Any, ClassVar
from uuid import UUID

from django.contrib import admin
from django.db.models import QuerySet
from django.db.models.expressions import RawSQL
from django.http import HttpRequest
from django.utils.safestring import SafeString

from workflows.activities.context import LEVELS
from workflows.admin import display
from workflows.admin.scoping import ScopedAdmin, user_of
from workflows.models import Branch, Execution, LogEntry, Signal, SpecDocument, StateRun
from workflows.spec.schema import STATE_TYPES
from workflows.terminal_text import plain

BY_EXECUTION = "execution__id__exact"
LARGE_COLUMNS = ("inputs", "output", "error", "errors")  # of an execution; lists leave them out
_NEWEST_EXECUTIONS = 20
_NEWEST_LINES_EACH = 100
_NEWEST_LINES = """
SELECT line.id FROM unnest(%s::uuid[]) AS chosen(execution_id) CROSS JOIN LATERAL (
    SELECT id FROM workflows_logentry WHERE execution_id = chosen.execution_id ORDER BY tx DESC, id DESC LIMIT %s
) line
"""


def among(field: str, values: Sequence[str]) -> type[admin.SimpleListFilter]:
    """Return a filter on known values: Django's own would look for them in every row of the table."""

    class KnownValues(admin.SimpleListFilter):
        title = field
        parameter_name = field

        def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
            return [(value, value) for value in values]

        def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
            return queryset.filter(**{field: self.value()}) if self.value() in values else queryset

    return KnownValues


class HistoryAdmin(ScopedAdmin):
    """Rows of one execution, or the newest ones."""

    customer_path = "execution__customer"
    id_search: tuple[str, ...] = ("execution_id",)
    search_help_text = "Id of an execution"
    search_fields = ("execution",)
    filters_of_execution: Sequence[Any] = ()
    list_select_related: ClassVar[Any] = ("execution",)
    narrowed_ordering: Sequence[str] = ()

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Bound what a list has to look through: by one execution, or by the newest of the user's."""
        rows: QuerySet[Any] = admin.ModelAdmin.get_queryset(self, request)
        if _is_list(request):
            rows = rows.defer(*(f"execution__{name}" for name in LARGE_COLUMNS))
        if user_of(request).is_superuser:
            return rows
        own = Execution.objects.filter(customer__in=self.customers_where(request, self.view_role))
        if _is_list(request) and not _is_narrowed(request):
            own = own.order_by("-created_at")[:_NEWEST_EXECUTIONS]
            return self.newest_of(rows, list(own.values_list("pk", flat=True)))
        return rows.filter(execution__in=own)

    def newest_of(self, rows: QuerySet[Any], executions: list[UUID]) -> QuerySet[Any]:
        """Return the rows of a few executions."""
        return rows.filter(execution__in=executions)

    def get_ordering(self, request: HttpRequest) -> Any:
        """Newest first: by the primary key over a whole table, by time among the rows of a few executions.

        With the primary key PostgreSQL would walk through everybody's rows to find those few.
        """
        is_whole_table = user_of(request).is_superuser and _is_list(request) and not _is_narrowed(request)
        return ("-pk",) if is_whole_table else self.narrowed_ordering

    def get_list_filter(self, request: HttpRequest) -> Any:
        """Offer filters once few rows are left to filter."""
        return self.filters_of_execution if BY_EXECUTION in request.GET else ()

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Allow the links of an execution to narrow the list."""
        return lookup == BY_EXECUTION or super().lookup_allowed(lookup, value, request)

    @admin.display(description="execution")
    def execution_link(self, row: Any) -> SafeString:
        """A link to the execution."""
        return display.execution(row.execution)


def _is_narrowed(request: HttpRequest) -> bool:
    return BY_EXECUTION in request.GET or bool(request.GET.get("q"))


def _is_list(request: HttpRequest) -> bool:
    match = request.resolver_match
    return match is not None and str(match.url_name).endswith("_changelist")


@admin.register(StateRun)
class StateRunAdmin(HistoryAdmin):
    """Attempts of states: what went in, what came out, how long it took."""

    list_title = "State runs, the newest first"
    narrowed_ordering = ("-started_at", "-pk")
    list_display = (
        "state",
        "attempt_text",
        "outcome",
        "type",
        "activity",
        "execution_link",
        "place",
        "started",
        "took",
    )
    list_select_related = ("execution", "branch")
    filters_of_execution = ("status", among("type", STATE_TYPES))
    fields = (
        "execution_link", "state", "type", "activity", "outcome", "attempt_text", "place", "started", "ended", "took",
        "next_state", "worker", "reused", "input_text", "output_text", "assigned_text", "error_text",
    )  # fmt: skip
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Leave inputs and outputs out of lists: they are large."""
        rows = super().get_queryset(request)
        return rows.defer("input", "output", "error", "assigned") if _is_list(request) else rows

    @admin.display(description="visit, attempt")
    def attempt_text(self, run: StateRun) -> str:
        """Which visit of the state by its branch, and which attempt of that."""
        return f"visit {run.visit}, attempt {run.attempt}"

    @admin.display(description="status")
    def outcome(self, run: StateRun) -> SafeString:
        """How it ended."""
        return display.status(run.status)

    @admin.display(description="branch")
    def place(self, run: StateRun) -> str:
        """Which branch, and which item of a Map."""
        return _place(run.branch)

    @admin.display(description="started (UTC)")
    def started(self, run: StateRun) -> Any:
        """When it began."""
        return display.moment(run.started_at)

    @admin.display(description="ended (UTC)")
    def ended(self, run: StateRun) -> Any:
        """When it was over."""
        return display.moment(run.ended_at)

    @admin.display(description="took")
    def took(self, run: StateRun) -> str:
        """How long it took."""
        return display.lasted(run.started_at, run.ended_at)

    @admin.display(description="input")
    def input_text(self, run: StateRun) -> SafeString:
        """What it was given."""
        return display.pretty(run.input)

    @admin.display(description="output")
    def output_text(self, run: StateRun) -> SafeString:
        """What it gave back."""
        return display.pretty(run.output)

    @admin.display(description="variables it set")
    def assigned_text(self, run: StateRun) -> SafeString:
        """What it assigned."""
        return display.pretty(run.assigned)

    @admin.display(description="error")
    def error_text(self, run: StateRun) -> SafeString:
        """Why it failed."""
        return display.pretty(run.error)


@admin.register(LogEntry)
class LogEntryAdmin(HistoryAdmin):
    """Log lines, the newest first."""

    list_title = "Log, the newest lines first"
    narrowed_ordering = ("-tx", "-pk")
    list_display = ("logged", "level_text", "node_id", "message_text", "execution_link")
    list_display_links = ("logged",)
    list_per_page = 100
    filters_of_execution = (among("level", LEVELS),)
    fields = ("execution_link", "logged", "level_text", "node_id", "event", "message", "fields_text")
    readonly_fields = fields

    def newest_of(self, rows: QuerySet[Any], executions: list[UUID]) -> QuerySet[Any]:
        """Return the newest lines of each: one execution may have said a million things."""
        return rows.filter(pk__in=RawSQL(_NEWEST_LINES, (executions, _NEWEST_LINES_EACH)))  # noqa: S611 - a constant

    @admin.display(description="time (UTC)")
    def logged(self, entry: LogEntry) -> Any:
        """When it was said."""
        return display.moment(entry.logged_at)

    @admin.display(description="level")
    def level_text(self, entry: LogEntry) -> SafeString:
        """How serious it is."""
        return display.level(entry.level)

    @admin.display(description="message")
    def message_text(self, entry: LogEntry) -> str:
        """The message, cut to a line or two."""
        text = plain(entry.message)
        return text if len(text) <= 240 else f"{text[:239]}…"

    @admin.display(description="fields")
    def fields_text(self, entry: LogEntry) -> SafeString:
        """What was said beside the message."""
        return display.pretty(entry.fields)


@admin.register(Branch)
class BranchAdmin(HistoryAdmin):
    """Lines of control: where each stands and what it waits for."""

    list_title = "Branches, the newest first"
    narrowed_ordering = ("-created_at", "-pk")
    list_display = ("place", "standing", "state", "waits_for", "wakes", "execution_link", "lease")
    filters_of_execution = ("status",)
    fields = (
        "execution_link", "place", "standing", "stop", "state", "visit", "attempt", "failures", "interruptions",
        "entered", "activity", "waits_for", "wakes", "open_children", "depends_on", "lease", "epoch", "seq",
        "item_text", "variables_text", "output_text", "error_text",
    )  # fmt: skip
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Leave variables and outputs out of lists."""
        rows = super().get_queryset(request)
        return rows.defer("variables", "item", "previous", "output", "error", "caught") if _is_list(request) else rows

    @admin.display(description="branch")
    def place(self, branch: Branch) -> str:
        """Which branch, and which item of a Map."""
        return _place(branch)

    @admin.display(description="status")
    def standing(self, branch: Branch) -> SafeString:
        """Whether it runs, waits, or has ended."""
        return display.status(branch.status)

    @admin.display(description="waits for")
    def waits_for(self, branch: Branch) -> str:
        """A timer, a signal, its children."""
        return " ".join(filter(None, (branch.waiting_for, branch.wait_signal))) or display.NOTHING

    @admin.display(description="wakes at (UTC)")
    def wakes(self, branch: Branch) -> Any:
        """When it goes on by itself."""
        return display.moment(branch.wake_at)

    @admin.display(description="entered the state (UTC)")
    def entered(self, branch: Branch) -> Any:
        """When it came to the state."""
        return display.moment(branch.state_entered_at)

    @admin.display(description="lease until (UTC)")
    def lease(self, branch: Branch) -> Any:
        """How long its worker holds it."""
        return display.moment(branch.lease_expires_at)

    @admin.display(description="item")
    def item_text(self, branch: Branch) -> SafeString:
        """The item of the Map it works on."""
        return display.pretty(branch.item)

    @admin.display(description="variables")
    def variables_text(self, branch: Branch) -> SafeString:
        """What states of it have assigned."""
        return display.pretty(branch.variables)

    @admin.display(description="output")
    def output_text(self, branch: Branch) -> SafeString:
        """What it came to."""
        return display.pretty(branch.output)

    @admin.display(description="error")
    def error_text(self, branch: Branch) -> SafeString:
        """Why it failed."""
        return display.pretty(branch.error)


@admin.register(Signal)
class SignalAdmin(HistoryAdmin):
    """What the outside said, and whether somebody has taken it."""

    list_title = "Signals, the newest first"
    narrowed_ordering = ("-sent_at", "-pk")
    list_display = ("name", "taken", "sent_by", "sent", "execution_link")
    fields = ("execution_link", "name", "payload_text", "dedupe_key", "sent_by", "sent", "taken")
    readonly_fields = fields

    @admin.display(description="sent (UTC)")
    def sent(self, signal: Signal) -> Any:
        """When it was sent."""
        return display.moment(signal.sent_at)

    @admin.display(description="taken (UTC)")
    def taken(self, signal: Signal) -> Any:
        """When a branch took it."""
        return display.moment(signal.consumed_at) if signal.consumed_at else "not yet"

    @admin.display(description="payload")
    def payload_text(self, signal: Signal) -> SafeString:
        """What it carries."""
        return display.pretty(signal.payload)


@admin.register(SpecDocument)
class SpecDocumentAdmin(ScopedAdmin):
    """Specs by checksum, shared by executions. For superusers: others see the spec of an execution on its page."""

    customer_path = None
    list_title = "Specs"
    list_display = ("__str__", "created_at")
    ordering = ("checksum",)
    fields = ("checksum", "created_at", "document_text")
    readonly_fields = fields

    @admin.display(description="document")
    def document_text(self, spec: SpecDocument) -> SafeString:
        """The spec."""
        return display.pretty(spec.document)


def _place(branch: Branch) -> str:
    item = f" [{branch.index}]" if branch.body.endswith("*") else ""
    return f"{branch.body or 'root'}{item}"
