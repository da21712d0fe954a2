"""The admin of approvals: what waits for people, who has voted, and approve or reject with a reason."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import Prefetch, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from workflows import approvals
from workflows.admin import display
from workflows.admin.history import LARGE_COLUMNS
from workflows.admin.scoping import ScopedAdmin, user_of
from workflows.models import ApprovalGate, ApprovalVote, Role
from workflows.models.approval import GateStatus
from workflows.terminal_text import plain


class VoteForm(forms.Form):
    """A vote's reason; a rejection needs one."""

    reason = forms.CharField(
        required=False,
        max_length=approvals.MAX_REASON,
        widget=forms.Textarea(attrs={"rows": 3, "class": "vLargeTextField"}),
    )

    def __init__(self, *args: Any, approve: bool, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["reason"].required = not approve
        self.fields["reason"].help_text = (
            "Optional; kept with your vote" if approve else "Those who started it will read why"
        )
        self.fields["reason"].error_messages["required"] = "Say why: a rejection needs a reason."


class StandingFilter(admin.SimpleListFilter):
    """What waits, unless something else is asked for."""

    title = "status"
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """The decided ones, and all."""
        return [(s.value, s.label.lower()) for s in GateStatus if s != GateStatus.PENDING] + [("all", "all")]

    def choices(self, changelist: Any) -> Any:
        """Call the default what it is."""
        first, *others = super().choices(changelist)
        yield {**first, "display": "waiting for people"}
        yield from others

    def queryset(self, request: HttpRequest, queryset: QuerySet[ApprovalGate]) -> QuerySet[ApprovalGate]:
        """Narrow the list."""
        if self.value() == "all":
            return queryset
        return queryset.filter(status=self.value() or GateStatus.PENDING)


@admin.register(ApprovalGate)
class ApprovalGateAdmin(ScopedAdmin):
    """Gates. Approvers of the gate's customer vote from the list or on the gate's page."""

    list_title = "Approvals: what waits for people"
    empty_hint = "Nothing waits for people. A workflow asks here when it reaches an approval; “all” shows decided ones."
    list_display = ("subject_text", "quorum", "voters", "time_left", "execution_link", "standing")
    list_filter = (StandingFilter,)
    list_select_related = ("execution",)
    ordering = ("expires_at",)
    search_fields = ("subject",)
    search_help_text = "Part of the subject, or id of an execution"
    text_search = "subject__icontains"
    id_search = ("pk", "execution_id")
    actions = ("approve_selected", "reject_selected")
    change_form_template = "admin/workflows/approvalgate/change_form.html"
    fields = (
        "standing", "question", "quorum", "time_left", "execution_link", "state", "customer", "created", "decided",
        "reason",
    )  # fmt: skip
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Bring votes and voters along."""
        votes = ApprovalVote.objects.select_related("user").order_by("voted_at")
        rows: QuerySet[Any] = super().get_queryset(request).prefetch_related(Prefetch("votes", votes))
        return rows.defer(*(f"execution__{name}" for name in LARGE_COLUMNS))

    def get_list_display(self, request: HttpRequest) -> Any:
        """Add the user's own vote, and leave out the status where it is the same for all."""

        @admin.display(description="your vote")
        def own_vote(gate: ApprovalGate) -> SafeString | str:
            return _own_vote(gate, user_of(request).pk)

        shown = [name for name in super().get_list_display(request) if name != "standing" or request.GET.get("status")]
        return (*shown, own_vote)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Leave out what only a decided gate has."""
        is_pending = obj is not None and obj.status == GateStatus.PENDING
        only_decided = ("decided", "reason")
        return [name for name in self.fields if not (is_pending and name in only_decided)]

    # -- voting -----------------------------------------------------------------------------------------------------

    def has_vote_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whether the user is an approver; Django asks this for the actions below."""
        return self.may(request, Role.APPROVER, obj)

    def get_urls(self) -> list[Any]:
        """The gate's page, and where its two buttons lead."""
        wrap = self.admin_site.admin_view
        return [path("<uuid:pk>/vote/", wrap(self.vote_view), name="workflows_approvalgate_vote"), *super().get_urls()]

    @admin.action(description="Approve the selected…", permissions=["vote"])
    def approve_selected(self, request: HttpRequest, queryset: QuerySet[ApprovalGate]) -> HttpResponse | None:
        """Ask for a reason, which may be empty, then vote."""
        return self._ask_and_vote(request, list(queryset), approve=True)

    @admin.action(description="Reject the selected…", permissions=["vote"])
    def reject_selected(self, request: HttpRequest, queryset: QuerySet[ApprovalGate]) -> HttpResponse | None:
        """Ask for the reason, then vote."""
        return self._ask_and_vote(request, list(queryset), approve=False)

    def vote_view(self, request: HttpRequest, pk: Any) -> HttpResponse:
        """Count the vote that the form on the gate's page sends: ``decision`` approve or reject, and ``reason``."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        gate = self.get_object(request, str(pk))
        if gate is None:
            self.message_user(request, f"There is no approval {pk} that you may see.", messages.ERROR)
            return HttpResponseRedirect(reverse("admin:workflows_approvalgate_changelist"))
        decision = request.POST.get("decision")
        if decision not in ("approve", "reject"):
            self.message_user(request, "Choose approve or reject.", messages.ERROR)
        else:
            form = VoteForm(request.POST, approve=decision == "approve")
            if form.is_valid():
                self._vote(request, gate, approve=decision == "approve", reason=form.cleaned_data["reason"])
            else:
                for errors in form.errors.values():
                    self.message_user(request, " ".join(map(str, errors)), messages.ERROR)
        return HttpResponseRedirect(reverse("admin:workflows_approvalgate_change", args=[gate.pk]))

    def _ask_and_vote(self, request: HttpRequest, gates: list[ApprovalGate], *, approve: bool) -> HttpResponse | None:
        form = VoteForm(request.POST if "apply" in request.POST else None, approve=approve)
        if not form.is_valid():
            verb = "Approve" if approve else "Reject"
            context = {
                **self.admin_site.each_context(request), "opts": self.opts, "media": self.media, "form": form,
                "title": f"{verb} {len(gates)} approval{'s' if len(gates) != 1 else ''}" if gates else verb,
                "verb": verb, "tone": "approve" if approve else "reject",
                "action": "approve_selected" if approve else "reject_selected",
                "rows": [
                    (gate.pk, display.page_of("approvalgate", gate.pk, gate.subject), _quorum(gate)) for gate in gates
                ],
            }  # fmt: skip
            return TemplateResponse(request, "admin/workflows/ask.html", context)
        for gate in gates:
            self._vote(request, gate, approve=approve, reason=form.cleaned_data["reason"])
        return None

    def _vote(self, request: HttpRequest, gate: ApprovalGate, *, approve: bool, reason: str) -> None:
        """Vote, record it in the audit trail, and say what came of it."""
        try:
            now = approvals.vote(gate.pk, user_of(request), approve=approve, reason=reason)
        except approvals.VoteRefused as refused:
            self.message_user(request, f"{gate.subject}: {refused}.", messages.ERROR)
            return
        word = "Approved" if approve else "Rejected"
        self.log_change(request, gate, f"{word}: {reason}" if reason else word)
        if now.status == GateStatus.PENDING:
            missing = now.required_approvals - now.votes.filter(approve=True).count()
            text = f"{gate.subject}: your approval counts; {missing} more {'is' if missing == 1 else 'are'} needed."
        elif now.status == GateStatus.APPROVED:
            text = f"{gate.subject} is approved; the execution goes on."
        else:
            text = f"{gate.subject} is rejected; the execution goes on with that answer."
        self.message_user(request, text, messages.SUCCESS)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the gate with its votes, and the form to vote or why there is none."""
        gate = self.get_object(request, object_id)
        extra = dict(extra_context or {})
        if gate is not None:
            extra |= {
                "gate": gate,
                "votes": [
                    {
                        "user": vote.user.get_username(),
                        "status": display.status("approved" if vote.approve else "rejected"),
                        "reason": plain(vote.reason),
                        "time": display.moment(vote.voted_at),
                    }
                    for vote in gate.votes.all()
                ],
                "vote_form": VoteForm(approve=True),
                "no_vote": self._why_no_vote(request, gate),
            }
        return super().change_view(request, object_id, form_url, extra)

    def _why_no_vote(self, request: HttpRequest, gate: ApprovalGate) -> str:
        """Why the user cannot vote now; empty if they can."""
        if gate.status != GateStatus.PENDING:
            return "This has been decided; a decision is final."
        if not self.has_vote_permission(request, gate):
            return "Voting needs the role approver at this customer."
        if any(vote.user_id == user_of(request).pk for vote in gate.votes.all()):
            return "You have voted; it now takes others to decide."
        return ""

    # -- columns and fields -----------------------------------------------------------------------------------------

    @admin.display(description="status")
    def standing(self, gate: ApprovalGate) -> SafeString:
        """Where it stands."""
        return display.status(gate.status)

    @admin.display(description="subject")
    def subject_text(self, gate: ApprovalGate) -> str:
        """What is to be approved."""
        return plain(gate.subject)

    @admin.display(description="question")
    def question(self, gate: ApprovalGate) -> SafeString:
        """What is asked."""
        return format_html('<div class="question">{}</div>', plain(gate.description or gate.subject))

    @admin.display(description="approvals")
    def quorum(self, gate: ApprovalGate) -> SafeString:
        """How many of those needed there are."""
        return _quorum(gate)

    @admin.display(description="who voted")
    def voters(self, gate: ApprovalGate) -> SafeString | str:
        """Names, with what they said."""
        votes = [("✓" if vote.approve else "✗", vote.user.get_username()) for vote in gate.votes.all()]
        return format_html_join(", ", "{} {}", votes) or display.NOTHING

    @admin.display(description="still open for")
    def time_left(self, gate: ApprovalGate) -> SafeString | str:
        """How long it can be decided."""
        return display.remaining(gate.expires_at) if gate.status == GateStatus.PENDING else display.NOTHING

    @admin.display(description="execution")
    def execution_link(self, gate: ApprovalGate) -> SafeString:
        """What waits for it."""
        return display.execution(gate.execution)

    @admin.display(description="asked (UTC)")
    def created(self, gate: ApprovalGate) -> Any:
        """When it was opened."""
        return display.moment(gate.created_at)

    @admin.display(description="decided (UTC)")
    def decided(self, gate: ApprovalGate) -> Any:
        """When it was decided."""
        return display.moment(gate.decided_at)


@admin.register(ApprovalVote)
class ApprovalVoteAdmin(ScopedAdmin):
    """Every vote there was, the newest first."""

    customer_path = "gate__customer"
    list_title = "Votes, the newest first"
    empty_hint = "Nobody has voted yet."
    list_display = ("gate", "user", "word", "reason", "cast")
    list_select_related = ("gate", "user")
    ordering = ("-pk",)
    search_fields = ("user",)
    search_help_text = "User name, or id of an approval"
    text_search = "user__username__icontains"
    id_search = ("gate_id",)
    fields = ("gate", "user", "word", "reason", "cast")
    readonly_fields = fields

    @admin.display(description="vote")
    def word(self, vote: ApprovalVote) -> SafeString:
        """What was said."""
        return display.status("approved" if vote.approve else "rejected")

    @admin.display(description="cast (UTC)")
    def cast(self, vote: ApprovalVote) -> Any:
        """When it was said."""
        return display.moment(vote.voted_at)


def _quorum(gate: ApprovalGate) -> SafeString:
    given = sum(vote.approve for vote in gate.votes.all())
    return format_html(
        '<span class="quorum"><progress max="{}" value="{}" aria-hidden="true"></progress> {} of {}</span>',
        gate.required_approvals,
        min(given, gate.required_approvals),
        given,
        gate.required_approvals,
    )


def _own_vote(gate: ApprovalGate, user_id: Any) -> SafeString | str:
    for vote in gate.votes.all():
        if vote.user_id == user_id:
            return display.status("approved" if vote.approve else "rejected")
    return display.NOTHING
