"""The admin of schedules: what starts when, what became of it, and pause, resume and start now for operators.

Refuses to change settings: those are checked together, by REST and the pages.
"""

from collections.abc import Callable, Sequence
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from workflows.admin import display
from workflows.admin.scoping import ScopedAdmin, user_of
from workflows.api.schedule_bodies import last_runs_of, reading, status_of
from workflows.models import Execution, Role, Schedule, ScheduleRun
from workflows.schedules import changes
from workflows.schedules.firing import database_now
from workflows.schedules.timing import coming_runs
from workflows.schedules.zones import zone_of
from workflows.spec.durations import format_duration

RUNS_SHOWN = 20
RUNS_AHEAD = 5


@admin.register(Schedule)
class ScheduleAdmin(ScopedAdmin):
    """Schedules, by name."""

    list_title = "Schedules"
    empty_hint = "Nothing starts by the calendar yet. Make a schedule on its page, /ui/schedules, or over REST."
    list_display = ("name", "standing", "runs_text", "next_run", "last_result", "customer", "created_by")
    list_filter = ("overlap",)
    list_select_related = ("customer",)
    search_fields = ("name",)
    search_help_text = "Id of a schedule or a workflow, or part of a schedule's name"
    text_search = "name__icontains"
    id_search = ("pk", "workflow_id")
    ordering = ("name", "pk")
    actions = ("pause_selected", "resume_selected", "trigger_selected")
    fieldsets = (
        (None, {"fields": ("standing", "runs_text", "coming", "customer", "starts_what", "description", "page")}),
        (
            "Rules",
            {
                "fields": (
                    "overlap",
                    "catch_up_text",
                    "jitter_text",
                    "max_runs",
                    "runs",
                    "starts_at",
                    "ends_at",
                    "priority",
                )
            },
        ),
        ("History", {"fields": ("history_text",)}),
        ("Inputs and spec", {"classes": ("collapse",), "fields": ("inputs_text", "spec_text")}),
    )
    readonly_fields = (
        "standing", "runs_text", "coming", "customer", "starts_what", "description", "page", "overlap",
        "catch_up_text", "jitter_text", "max_runs", "runs", "starts_at", "ends_at", "priority", "history_text",
        "inputs_text", "spec_text",
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Bring along what columns show."""
        return super().get_queryset(request).select_related("customer", "workflow", "spec")

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """Learn what became of the last run of each schedule of the page, in one query for all."""
        page = super().get_changelist_instance(request)
        last = last_runs_of([row.pk for row in page.result_list])
        for row in page.result_list:
            row.last_run = last.get(row.pk)
        return page

    # -- acts -------------------------------------------------------------------------------------------------------

    def has_operate_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whether the user may step in; Django asks this for the actions below."""
        return self.may(request, Role.OPERATOR, obj)

    @admin.action(description="Pause the selected schedules", permissions=["operate"])
    def pause_selected(self, request: HttpRequest, queryset: QuerySet[Schedule]) -> None:
        """Let nothing start by the clock."""
        self._each(request, list(queryset), "paused", changes.pause_schedule)

    @admin.action(description="Resume the selected schedules", permissions=["operate"])
    def resume_selected(self, request: HttpRequest, queryset: QuerySet[Schedule]) -> None:
        """Go on with the next run to come."""
        self._each(request, list(queryset), "resumed", changes.resume_schedule)

    @admin.action(description="Start the selected schedules now", permissions=["operate"])
    def trigger_selected(self, request: HttpRequest, queryset: QuerySet[Schedule]) -> None:
        """Start each once, beside its runs by the clock."""
        self._each(request, list(queryset), "started", changes.trigger_schedule)

    def _each(self, request: HttpRequest, chosen: Sequence[Schedule], done: str, act: Callable[..., Any]) -> None:
        """Do it for each that the user may, and tell what could not be done and why."""
        succeeded = 0
        for schedule in chosen:
            if not self.has_operate_permission(request, schedule):
                self.message_user(request, f"{schedule.name}: this needs the role operator there", messages.WARNING)
                continue
            try:
                act(schedule.pk, schedule.customer, by=user_of(request).get_username())
            except (changes.NotPossible, changes.ScheduleNotFound) as error:
                self.message_user(request, f"{schedule.name}: {error}", messages.WARNING)
            else:
                self.log_change(request, schedule, done.capitalize())
                succeeded += 1
        if succeeded:
            what = "schedule was" if succeeded == 1 else "schedules were"
            self.message_user(request, f"{succeeded} {what} {done}.", messages.SUCCESS)

    # -- columns and fields -----------------------------------------------------------------------------------------

    @admin.display(description="status")
    def standing(self, schedule: Schedule) -> SafeString:
        """Active, paused by whom and why, or ended."""
        shown = display.status(status_of(schedule))
        if schedule.paused_at is None:
            return shown
        why = f": {schedule.pause_reason}" if schedule.pause_reason else ""
        return format_html('{} <span class="quiet">by {}{}</span>', shown, schedule.paused_by or "?", why)

    @admin.display(description="runs")
    def runs_text(self, schedule: Schedule) -> SafeString:
        """Its cron text in plain English."""
        return format_html('{} <code class="quiet">{}</code>', reading(schedule), schedule.cron)

    @admin.display(description="next run (UTC)")
    def next_run(self, schedule: Schedule) -> Any:
        """When it is due next."""
        return display.moment(schedule.due_at) if status_of(schedule) == "active" else display.NOTHING

    @admin.display(description="last result")
    def last_result(self, schedule: Any) -> Any:
        """What became of the last instant at which it was due."""
        last = schedule.last_run
        if last is None:
            return display.NOTHING
        if last["executionStatus"] is None:
            return display.status(last["outcome"])
        return display.page_of("execution", last["executionId"], display.status(last["executionStatus"]))

    @admin.display(description="next runs")
    def coming(self, schedule: Schedule) -> Any:
        """The next five, in its zone."""
        zone = zone_of(schedule.zone)
        runs = [due.astimezone(zone) for due in coming_runs(schedule, database_now(), RUNS_AHEAD)]
        return format_html_join(", ", "{}", ((f"{due:%a %Y-%m-%d %H:%M %Z}",) for due in runs)) or display.NOTHING

    @admin.display(description="starts")
    def starts_what(self, schedule: Schedule) -> Any:
        """The workflow, or its own spec."""
        if schedule.workflow is not None:
            version = f" version {schedule.workflow_version}" if schedule.workflow_version else ""
            return display.page_of("workflow", schedule.workflow_id, f"{schedule.workflow.name}{version}")
        return "its own spec, below" if schedule.spec is not None else "nothing: its workflow was deleted"

    @admin.display(description="page")
    def page(self, schedule: Schedule) -> SafeString:
        """Where to change it, and to backfill."""
        return format_html('<a href="/ui/schedules/{}">change or backfill it</a>', schedule.pk)

    @admin.display(description="missed runs")
    def catch_up_text(self, schedule: Schedule) -> str:
        """How far back missed runs are made up for."""
        return f"made up for, up to {format_duration(schedule.catch_up)} late" if schedule.catch_up else "left out"

    @admin.display(description="jitter")
    def jitter_text(self, schedule: Schedule) -> str:
        """How much later each run may start."""
        return f"up to {format_duration(schedule.jitter)}" if schedule.jitter else display.NOTHING

    @admin.display(description="last runs")
    def history_text(self, schedule: Schedule) -> Any:
        """The newest instants, and what became of each."""
        runs = list(ScheduleRun.objects.filter(schedule=schedule).order_by("-due_at")[:RUNS_SHOWN])
        known = Execution.objects.in_bulk([run.execution_id for run in runs if run.execution_id is not None])
        rows = []
        for run in runs:
            execution = known.get(run.execution_id) if run.execution_id is not None else None
            shown = display.status(run.outcome if execution is None else execution.status)
            link = "" if execution is None else display.execution(execution)
            by = f"{run.get_trigger_display().lower()}{f', {run.triggered_by}' if run.triggered_by else ''}"
            rows.append((display.moment(run.due_at), shown, by, link, run.reason))
        cells = format_html_join("", "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>", rows)
        return format_html("<table>{}</table>", cells) if rows else "It has not been due yet."

    @admin.display(description="inputs")
    def inputs_text(self, schedule: Schedule) -> SafeString:
        """What each run is given."""
        return display.pretty(schedule.inputs)

    @admin.display(description="spec")
    def spec_text(self, schedule: Schedule) -> SafeString:
        """What it starts, where that is no workflow."""
        return display.pretty(schedule.spec.document if schedule.spec is not None else None)
