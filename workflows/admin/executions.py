"""The admin of executions: what runs, what it did, and cancel, pause, resume and run again for operators."""

from collections.abc import Callable, Sequence
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from workflows import control, reruns
from workflows.admin import display
from workflows.admin.execution_story import story_of
from workflows.admin.history import LARGE_COLUMNS
from workflows.admin.scoping import ScopedAdmin, user_of
from workflows.api.executions import current_states_of
from workflows.models import Execution, ExecutionStatus, Role
from workflows.models.execution import TERMINAL
from workflows.terminal_text import plain


class ReasonForm(forms.Form):
    """Why an operator steps in."""

    reason = forms.CharField(
        required=False, max_length=4000, widget=forms.Textarea(attrs={"rows": 3, "class": "vLargeTextField"})
    )


class RerunForm(forms.Form):
    """From which state to run again."""

    from_state = forms.ChoiceField(required=False, label="Start at")

    def __init__(self, *args: Any, states: Sequence[str], **options: Any) -> None:
        super().__init__(*args, **options)
        field = self.fields["from_state"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", "the beginning"), *((state, state) for state in states)]
        field.help_text = "States before it are not run again; their outputs are reused"


@admin.register(Execution)
class ExecutionAdmin(ScopedAdmin):
    """Executions, the newest first. The engine owns the rows: people ask it for changes."""

    list_title = "Executions, the newest first"
    empty_hint = "Nothing has run yet. Start a workflow on its page, or over REST."
    list_display = ("title", "standing", "at", "customer", "created_by", "created", "took")
    list_display_links = ("title",)
    list_filter = ("status",)
    list_select_related = ("customer",)
    search_fields = ("workflow",)
    search_help_text = "Id of an execution or a workflow, or part of a workflow's name"
    text_search = "workflow__name__icontains"
    id_search = ("pk", "workflow_id")
    actions = ("cancel_selected", "pause_selected", "resume_selected", "rerun_selected")
    change_form_template = "admin/workflows/execution/change_form.html"
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "standing", "failure", "customer", "workflow_text", "created_by", "created", "started", "ended",
                    "took", "priority", "family",
                )
            },
        ),
        ("Stepping in", {"fields": ("stepping_in",)}),
        ("Inputs and output", {"fields": ("inputs_text", "output_text", "errors_text")}),
        ("Spec", {"classes": ("collapse",), "fields": ("spec_text",)}),
    )  # fmt: skip
    readonly_fields = (
        "standing", "failure", "customer", "workflow_text", "created_by", "created", "started", "ended", "took",
        "priority", "family", "stepping_in", "inputs_text", "output_text", "errors_text", "spec_text",
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Leave the large columns out of lists."""
        rows = super().get_queryset(request)
        match = request.resolver_match
        if match is not None and str(match.url_name).endswith("_changelist"):
            return rows.defer(*LARGE_COLUMNS)
        return rows.select_related(
            "customer", "workflow", "workflow_version", "spec", "parent", "rerun_of", "continued_from"
        )

    def get_ordering(self, request: HttpRequest) -> Any:
        """Newest first by an index: ids are ordered by time, and each customer's rows are indexed by it."""
        return ("-pk",) if user_of(request).is_superuser else ("-created_at", "-pk")

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Leave out what says nothing about this execution."""
        said = {
            "failure": obj is not None and bool(obj.error),
            "errors_text": obj is not None and bool(obj.errors),
            "stepping_in": obj is not None and any((obj.pause_requested_at, obj.resumed_at, obj.cancel_requested_at)),
            "output_text": obj is not None and obj.status in TERMINAL,
            "ended": obj is not None and obj.ended_at is not None,
        }
        shown = []
        for title, options in self.fieldsets:
            kept = [name for name in options["fields"] if said.get(str(name), True)]
            if kept:
                shown.append((title, {**options, "fields": kept}))
        return shown

    # -- asking the engine ------------------------------------------------------------------------------------------

    def has_operate_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whether the user may step in; Django asks this for the actions below."""
        return self.may(request, Role.OPERATOR, obj)

    def get_urls(self) -> list[Any]:
        """The pages of one execution, and a page for each thing to ask."""
        wrap = self.admin_site.admin_view
        own = [
            path(f"<uuid:pk>/{name}/", wrap(view), name=f"workflows_execution_{name}")
            for name, view in (
                ("cancel", self.cancel_view), ("pause", self.pause_view), ("resume", self.resume_view),
                ("rerun", self.rerun_view),
            )
        ]  # fmt: skip
        return own + super().get_urls()

    @admin.action(description="Cancel the selected executions…", permissions=["operate"])
    def cancel_selected(self, request: HttpRequest, queryset: QuerySet[Execution]) -> HttpResponse | None:
        """Ask for a reason, then cancel."""
        form = ReasonForm(request.POST if "apply" in request.POST else None)
        chosen = list(queryset)
        if not form.is_valid():
            return self._page(request, "Cancel executions", form, chosen, action="cancel_selected", verb="Cancel them")
        self._ask_each(
            request, chosen, "cancelled", lambda row: self._cancel(request, row, form.cleaned_data["reason"])
        )
        return None

    @admin.action(description="Pause the selected executions", permissions=["operate"])
    def pause_selected(self, request: HttpRequest, queryset: QuerySet[Execution]) -> None:
        """Pause each at its next state boundary."""
        by = user_of(request).get_username()
        self._ask_each(request, list(queryset), "paused", lambda row: control.request_pause(row.pk, by=by))

    @admin.action(description="Resume the selected executions", permissions=["operate"])
    def resume_selected(self, request: HttpRequest, queryset: QuerySet[Execution]) -> None:
        """Let each go on."""
        by = user_of(request).get_username()
        self._ask_each(request, list(queryset), "resumed", lambda row: control.request_resume(row.pk, by=by))

    @admin.action(description="Run the selected executions again", permissions=["operate"])
    def rerun_selected(self, request: HttpRequest, queryset: QuerySet[Execution]) -> None:
        """Start each again from its beginning, as a new execution."""
        by = user_of(request).get_username()
        self._ask_each(request, list(queryset), "started again", lambda row: reruns.rerun_execution(row.pk, by=by))

    def cancel_view(self, request: HttpRequest, pk: Any) -> HttpResponse:
        """Ask for a reason, then cancel one execution."""
        execution = self._own(request, pk)
        if execution is None:
            return self._gone(request, pk)
        form = ReasonForm(request.POST or None) if request.method == "POST" else ReasonForm()
        if not form.is_bound or not form.is_valid():
            return self._page(request, f"Cancel {execution.name}", form, [execution], verb="Cancel it")
        self._ask_each(
            request, [execution], "cancelled", lambda row: self._cancel(request, row, form.cleaned_data["reason"])
        )
        return self._back(execution)

    def pause_view(self, request: HttpRequest, pk: Any) -> HttpResponse:
        """Pause one execution."""
        by = user_of(request).get_username()
        return self._at_once(request, pk, "paused", lambda row: control.request_pause(row.pk, by=by))

    def resume_view(self, request: HttpRequest, pk: Any) -> HttpResponse:
        """Resume one execution."""
        by = user_of(request).get_username()
        return self._at_once(request, pk, "resumed", lambda row: control.request_resume(row.pk, by=by))

    def rerun_view(self, request: HttpRequest, pk: Any) -> HttpResponse:
        """Ask from which state, then run one execution again."""
        execution = self._own(request, pk)
        if execution is None:
            return self._gone(request, pk)
        states = reruns.states_to_rerun_from(execution)
        form = RerunForm(request.POST if request.method == "POST" else None, states=states)
        if not form.is_valid():
            return self._page(request, f"Run {execution.name} again", form, [execution], verb="Run it again")
        try:
            started = reruns.rerun_execution(
                execution.pk, from_state=form.cleaned_data["from_state"] or None, by=user_of(request).get_username()
            )
        except reruns.NotRerunnable as error:
            self.message_user(request, f"{execution.name}: {error}", messages.ERROR)
            return self._back(execution)
        self.log_change(request, execution, f"Ran again as {started.pk}")
        self.message_user(request, format_html("It runs again as {}.", display.execution(started)), messages.SUCCESS)
        return self._back(started)

    def _cancel(self, request: HttpRequest, execution: Execution, reason: str) -> None:
        control.request_cancel(execution.pk, by=user_of(request).get_username(), reason=reason)

    def _own(self, request: HttpRequest, pk: Any) -> Execution | None:
        """The execution, if the user may step in."""
        execution = self.get_object(request, str(pk))
        return execution if execution is not None and self.has_operate_permission(request, execution) else None

    def _gone(self, request: HttpRequest, pk: Any) -> HttpResponse:
        self.message_user(request, f"There is no execution {pk} in which you may step in.", messages.ERROR)
        return HttpResponseRedirect(reverse("admin:workflows_execution_changelist"))

    def _back(self, execution: Execution) -> HttpResponse:
        return HttpResponseRedirect(reverse("admin:workflows_execution_change", args=[execution.pk]))

    def _at_once(self, request: HttpRequest, pk: Any, done: str, ask: Callable[[Execution], Any]) -> HttpResponse:
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        execution = self._own(request, pk)
        if execution is None:
            return self._gone(request, pk)
        self._ask_each(request, [execution], done, ask)
        return self._back(execution)

    def _ask_each(
        self, request: HttpRequest, executions: Sequence[Execution], done: str, ask: Callable[[Execution], Any]
    ) -> None:
        """Ask for each that the user may, record it in the audit trail, and tell what could not be done and why."""
        succeeded = 0
        for execution in executions:
            try:
                if not self.has_operate_permission(request, execution):
                    raise control.NotPossible("this needs the role operator at its customer")
                ask(execution)
            except (control.NotPossible, reruns.NotRerunnable) as error:
                self.message_user(request, f"{execution.name} …{str(execution.pk)[-6:]}: {error}", messages.WARNING)
            else:
                self.log_change(request, execution, done.capitalize())
                succeeded += 1
        if succeeded:
            what = "execution was" if succeeded == 1 else "executions were"
            self.message_user(request, f"{succeeded} {what} {done}.", messages.SUCCESS)

    def _page(
        self, request: HttpRequest, title: str, form: forms.Form, chosen: Sequence[Execution], *, verb: str,
        action: str = "",
    ) -> HttpResponse:  # fmt: skip
        context = {
            **self.admin_site.each_context(request), "opts": self.opts, "title": title, "form": form, "verb": verb,
            "action": action, "media": self.media,
            "rows": [(row.pk, display.execution(row), display.status(row.status)) for row in chosen],
        }  # fmt: skip
        return TemplateResponse(request, "admin/workflows/ask.html", context)

    # -- one execution ----------------------------------------------------------------------------------------------

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the execution with its newest runs and log lines, and what may be asked of it now."""
        execution = self.get_object(request, object_id)
        extra = dict(extra_context or {})
        if execution is not None:
            extra |= {"story": story_of(execution), "may_ask": self._askable(request, execution)}
        return super().change_view(request, object_id, form_url, extra)

    def _askable(self, request: HttpRequest, execution: Execution) -> dict[str, bool]:
        ended = execution.status in TERMINAL
        is_paused = execution.pause_requested_at is not None
        is_ending = ended or execution.cancel_requested_at is not None
        may = self.has_operate_permission(request, execution)
        return {
            "cancel": may and not is_ending,
            "pause": may and not is_ending and not is_paused,
            "resume": may and not ended and is_paused,
            "rerun": may and ended,
        }

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """Learn where the executions of the page stand, in one query for all."""
        page = super().get_changelist_instance(request)
        states = current_states_of(row for row in page.result_list if row.status not in TERMINAL)
        for row in page.result_list:
            row.current_states = states.get(row.pk, [])
        return page

    # -- columns and fields -----------------------------------------------------------------------------------------

    @admin.display(description="execution")
    def title(self, execution: Execution) -> str:
        """Its name, and the end of its id."""
        return f"{execution.name} …{str(execution.pk)[-6:]}"

    @admin.display(description="status")
    def standing(self, execution: Execution) -> SafeString:
        """Where it stands."""
        shown = display.status(execution.status)
        if execution.status not in TERMINAL and execution.cancel_requested_at:
            return format_html('{} <span class="quiet">being cancelled</span>', shown)
        if execution.pause_requested_at and execution.status != ExecutionStatus.PAUSED:
            return format_html('{} <span class="quiet">being paused</span>', shown)
        return shown

    @admin.display(description="at")
    def at(self, execution: Any) -> str:
        """The states at which its branches stand."""
        states: list[str] = execution.current_states
        more = f" +{len(states) - 3}" if len(states) > 3 else ""
        return ", ".join(states[:3]) + more

    @admin.display(description="created (UTC)")
    def created(self, execution: Execution) -> Any:
        """When it was asked for."""
        return display.moment(execution.created_at)

    @admin.display(description="started (UTC)")
    def started(self, execution: Execution) -> Any:
        """When a worker first took it."""
        return display.moment(execution.started_at)

    @admin.display(description="ended (UTC)")
    def ended(self, execution: Execution) -> Any:
        """When it was over."""
        return display.moment(execution.ended_at)

    @admin.display(description="took")
    def took(self, execution: Execution) -> str:
        """How long it ran, or has run."""
        return display.lasted(execution.started_at, execution.ended_at)

    @admin.display(description="failure")
    def failure(self, execution: Execution) -> Any:
        """What ended it, if it failed."""
        if not execution.error:
            return display.NOTHING
        return format_html(
            '<span class="failure"><b>{}</b> {}</span>',
            execution.error.get("name"),
            plain(str(execution.error.get("message"))),
        )

    @admin.display(description="workflow")
    def workflow_text(self, execution: Execution) -> Any:
        """The workflow it runs, and which version of it."""
        if execution.workflow is None:
            return f"{execution.name} (not kept as a workflow)"
        version = f" version {execution.workflow_version.version}" if execution.workflow_version else ""
        return display.page_of("workflow", execution.workflow.pk, f"{execution.workflow.name}{version}")

    @admin.display(description="related executions")
    def family(self, execution: Execution) -> Any:
        """Its parent and children, what it reruns, what it goes on from and what goes on from it."""
        related = [
            ("child of", execution.parent),
            ("reruns", execution.rerun_of),
            ("goes on from", execution.continued_from),
        ]
        related += [("parent of", child) for child in execution.children.all()[:20]]
        related += [("rerun as", again) for again in execution.reruns.all()[:20]]
        related += [("goes on as", after) for after in execution.continued_as.all()[:1]]
        shown = [format_html("{} {}", word, display.execution(row)) for word, row in related if row is not None]
        return format_html("{}" + " · {}" * (len(shown) - 1), *shown) if shown else display.NOTHING

    @admin.display(description="history")
    def stepping_in(self, execution: Execution) -> str:
        """Who paused or cancelled it, when and why."""
        told = []
        if execution.pause_requested_at:
            told.append(_sentence("Paused", execution.paused_by, execution.pause_requested_at, execution.pause_reason))
        elif execution.resumed_at:
            told.append(_sentence("Resumed", "", execution.resumed_at, ""))
        if execution.cancel_requested_at:
            told.append(
                _sentence("Cancelled", execution.cancelled_by, execution.cancel_requested_at, execution.cancel_reason)
            )
        return " ".join(told) or "Nobody has."

    @admin.display(description="inputs")
    def inputs_text(self, execution: Execution) -> SafeString:
        """What it was given."""
        return display.pretty(execution.inputs)

    @admin.display(description="output")
    def output_text(self, execution: Execution) -> SafeString:
        """What it came to."""
        return display.pretty(execution.output)

    @admin.display(description="errors")
    def errors_text(self, execution: Execution) -> SafeString:
        """Every failure, those survived included."""
        return display.pretty([plain(str(error)) for error in execution.errors] or None)

    @admin.display(description="spec")
    def spec_text(self, execution: Execution) -> SafeString:
        """The spec it pins."""
        return display.pretty(execution.spec.document)


def _sentence(what: str, by: str, when: Any, why: str) -> str:
    who = f" by {by}" if by else ""
    return f"{what}{who} at {when:%Y-%m-%d %H:%M:%S} UTC{f': {why}' if why else ''}."
