"""The admin of API keys: made with their text shown once, told apart by their first characters, revoked for good.

Refuses to change a key or to delete one: what it was, and who made it, stays in the list.
"""

from datetime import UTC, datetime
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.widgets import AdminSplitDateTime
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.safestring import SafeString

from workflows.admin import display
from workflows.admin.scoping import ScopedAdmin, user_of
from workflows.api_keys import RoleRefused, create_key, revoke, role_of, with_member_role
from workflows.models import ApiKey, Customer, Membership, Role, Scope


class KeyForm(forms.Form):
    """A new key: whose, what for, what it may do and until when."""

    customer = forms.ModelChoiceField(queryset=Customer.objects.none())
    name = forms.CharField(max_length=128, help_text="What the key is for, as people recognise it")
    scopes = forms.MultipleChoiceField(choices=Scope.choices, widget=forms.CheckboxSelectMultiple)
    role = forms.ChoiceField(choices=Role.choices, initial=Role.VIEWER, help_text="It may do no more than this role")
    username = forms.CharField(
        label="Acts as", max_length=150, required=False,
        help_text="User name of a member whose acts these are; empty: the key acts under its own name",
    )  # fmt: skip
    expires_at = forms.SplitDateTimeField(
        label="Expires (UTC)", required=False, widget=AdminSplitDateTime, help_text="Empty: never"
    )

    def __init__(self, *args: Any, customers: QuerySet[Customer], **options: Any) -> None:
        super().__init__(*args, **options)
        field = self.fields["customer"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = customers
        field.initial = customers.first() if customers.count() == 1 else None

    def clean_expires_at(self) -> datetime | None:
        """Refuse moments that have passed."""
        moment: datetime | None = self.cleaned_data["expires_at"]
        if moment is not None and moment <= datetime.now(UTC):
            raise ValidationError("This moment has passed")
        return moment

    def clean(self) -> dict[str, Any]:
        """Find the member; refuse votes by nobody. Raises ``ValidationError``."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        name, customer = cleaned.get("username"), cleaned.get("customer")
        cleaned["user"] = None
        if name and customer is not None:
            membership = Membership.objects.select_related("user").filter(user__username=name, customer=customer)
            found = membership.first()
            if found is None:
                self.add_error("username", "There is no member of this name at the customer")
            else:
                cleaned["user"] = found.user
        elif Scope.APPROVE in cleaned.get("scopes", ()):
            self.add_error("username", "The scope approve needs a person: decisions are made by people")
        return cleaned


def _made(form: KeyForm, *, by: str) -> tuple[ApiKey, str] | None:
    """The key that a valid form asks for, with its text; None, with the error in the form, if it cannot be made."""
    wanted = form.cleaned_data
    try:
        return create_key(
            wanted["customer"],
            name=wanted["name"],
            scopes=set(map(Scope, wanted["scopes"])),
            role=Role(wanted["role"]),
            user=wanted["user"],
            expires_at=wanted["expires_at"],
            by=by,
        )
    except RoleRefused as refused:
        form.add_error("role", str(refused))
        return None


@admin.register(ApiKey)
class ApiKeyAdmin(ScopedAdmin):
    """Keys of a customer's programs, for its admins."""

    view_role = add_role = Role.ADMIN
    list_title = "API keys"
    empty_hint = "There is no key yet. Programs sign in with one: make a key, and copy its text, which is shown once."
    list_display = ("name", "start", "standing", "customer", "acts_as", "acts_in", "scopes_text", "last_used", "expiry")
    list_select_related = ("customer", "user")
    ordering = ("-created_at",)
    search_fields = ("name",)
    search_help_text = "Name, or id"
    text_search = "name__icontains"
    actions = ("revoke_selected",)
    fields = (
        "name", "start", "standing", "customer", "acts_as", "acts_in", "scopes_text", "last_used", "expiry",
        "created_by", "created", "revoked",
    )  # fmt: skip
    readonly_fields = fields

    def get_urls(self) -> list[Any]:
        """Make keys on a page of our own: their text is shown in the answer and nowhere else."""
        wrap = self.admin_site.admin_view
        return [path("add/", wrap(self.make_view), name="workflows_apikey_add"), *super().get_urls()]

    def make_view(self, request: HttpRequest) -> HttpResponse:
        """Ask what the key is for, make it, and show it this once."""
        if not self.has_add_permission(request):
            self.message_user(request, "Making keys needs the role admin at a customer.", messages.ERROR)
            return HttpResponseRedirect(reverse("admin:index"))
        customers = Customer.objects.order_by("name")
        if not user_of(request).is_superuser:
            customers = customers.filter(pk__in=self.customers_where(request, Role.ADMIN))
        form = KeyForm(request.POST if request.method == "POST" else None, customers=customers)
        context = {**self.admin_site.each_context(request), "opts": self.opts, "media": self.media + form.media}
        made = _made(form, by=user_of(request).get_username()) if form.is_valid() else None
        if made is None:
            context |= {"title": "Make an API key", "form": form, "verb": "Make it", "rows": []}
            return TemplateResponse(request, "admin/workflows/ask.html", context)
        key, text = made
        self.log_addition(request, key, "Made")
        context |= {"title": "The key is made", "key": key, "text": text}
        response = TemplateResponse(request, "admin/workflows/apikey/made.html", context)
        response["Cache-Control"] = "no-store"
        return response

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Load the roles of the persons along."""
        return with_member_role(super().get_queryset(request))

    def has_revoke_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whether the user may revoke; Django asks this for the action below."""
        return self.may(request, Role.ADMIN, obj)

    @admin.action(description="Revoke the selected keys", permissions=["revoke"])
    def revoke_selected(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
        """End the keys, each for good."""
        ended = 0
        for key in queryset:
            if self.has_revoke_permission(request, key) and key.revoked_at is None:
                revoke(key, by=user_of(request).get_username())
                self.log_change(request, key, "Revoked")
                ended += 1
        what = "key works" if ended == 1 else "keys work"
        self.message_user(request, f"{ended} {what} no more.", messages.SUCCESS if ended else messages.WARNING)

    @admin.display(description="begins with")
    def start(self, key: ApiKey) -> str:
        """What tells it apart."""
        return f"{key.prefix}…"

    @admin.display(description="status")
    def standing(self, key: ApiKey) -> SafeString:
        """Whether it works."""
        if key.revoked_at is not None:
            return display.status("revoked")
        return display.status("expired" if key.expires_at and key.expires_at <= datetime.now(UTC) else "active")

    @admin.display(description="acts as")
    def acts_as(self, key: ApiKey) -> str:
        """The person whose acts these are."""
        return key.user.get_username() if key.user else "itself"

    @admin.display(description="role")
    def acts_in(self, key: ApiKey) -> str:
        """The role in which it acts: never a higher one than its person's."""
        return role_of(key).label

    @admin.display(description="may be used to")
    def scopes_text(self, key: ApiKey) -> str:
        """Its scopes."""
        return ", ".join(key.scopes)

    @admin.display(description="last used (UTC)")
    def last_used(self, key: ApiKey) -> Any:
        """To the minute."""
        return display.moment(key.last_used_at)

    @admin.display(description="expires")
    def expiry(self, key: ApiKey) -> Any:
        """How long it works."""
        return display.remaining(key.expires_at) if key.expires_at else "never"

    @admin.display(description="made (UTC)")
    def created(self, key: ApiKey) -> Any:
        """When it was made."""
        return display.moment(key.created_at)

    @admin.display(description="revoked")
    def revoked(self, key: ApiKey) -> str:
        """By whom and when."""
        return f"by {key.revoked_by} at {key.revoked_at:%Y-%m-%d %H:%M:%S} UTC" if key.revoked_at else display.NOTHING
