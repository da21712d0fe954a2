"""The admin of secrets: a value can be set and replaced, and is never shown again."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin
from django.db.models import ForeignKey
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from workflows import secrets
from workflows.admin import display
from workflows.admin.scoping import ScopedAdmin, user_of
from workflows.models import Customer, Role, Secret

if TYPE_CHECKING:  # generic for the type checker only
    SecretModelForm = forms.ModelForm[Secret]
else:
    SecretModelForm = forms.ModelForm


class SecretForm(SecretModelForm):
    """Name, customer and expiry of a secret, and a value that only goes in."""

    value = forms.CharField(
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password", "class": "vTextField"}),
        strip=False,
        max_length=65_536,
        required=False,
    )

    class Meta:
        model = Secret
        fields = ("customer", "name", "expires_at")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        is_new = self.instance._state.adding  # noqa: SLF001 - documented by Django
        if "name" in self.fields:  # not where it can only be read
            self.fields["name"].required = True
            self.fields["name"].help_text = "What people know it by; workflows use the handle"
        self.fields["value"].required = is_new
        self.fields["value"].help_text = (
            "Encrypted when you save; nobody can read it here afterwards"
            if is_new
            else "Leave empty to keep the value; type a new one to replace it, under the same handle"
        )

    def clean(self) -> dict[str, Any]:
        """Refuse a second secret of the same name and value; raises ``ValidationError`` without saying the value."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        value, customer = cleaned.get("value"), cleaned.get("customer") or getattr(self.instance, "customer", None)
        if value and customer is not None and cleaned.get("name"):
            same = secrets.equal_secrets(customer, value, name=cleaned["name"]).exclude(pk=self.instance.pk)
            if same.exists():
                self.add_error("name", "There is a secret of this name with this value already; use its handle")
        return cleaned


@admin.register(Secret)
class SecretAdmin(ScopedAdmin):
    """Secrets by name and handle. Editors may use them, admins of the customer may write them."""

    view_role = Role.EDITOR
    add_role = change_role = delete_role = Role.ADMIN
    form = SecretForm
    list_title = "Secrets"
    empty_hint = "There is no secret yet. Add one, and write its handle where a workflow needs the value."
    list_display = ("name_text", "handle", "customer", "created_at", "expiry")
    list_select_related = ("customer",)
    ordering = ("-pk",)
    search_fields = ("name",)
    search_help_text = "Name, or id"
    text_search = "name__icontains"
    readonly_fields = ("handle", "created_at")

    def get_fields(self, request: HttpRequest, obj: Secret | None = None) -> Any:
        """A secret stays with its customer: handles are looked up there."""
        if obj is None:
            return ("customer", "name", "value", "expires_at")
        return (
            ("handle", "customer", "name", "value", "expires_at", "created_at")
            if self.has_change_permission(request, obj)
            else ("handle", "customer", "name", "expires_at", "created_at")
        )

    def get_readonly_fields(self, request: HttpRequest, obj: Secret | None = None) -> Any:
        """The customer can be chosen for a new secret only."""
        return self.readonly_fields if obj is None else (*self.readonly_fields, "customer")

    def formfield_for_foreignkey(self, db_field: "ForeignKey[Any, Any]", request: HttpRequest, **options: Any) -> Any:
        """Offer the customers at which the user may write secrets."""
        if db_field.name == "customer" and not user_of(request).is_superuser:
            options["queryset"] = Customer.objects.filter(pk__in=self.customers_where(request, Role.ADMIN))
        return super().formfield_for_foreignkey(db_field, request, **options)

    def save_model(self, request: HttpRequest, obj: Secret, form: Any, change: bool) -> None:
        """Encrypt the value, or keep the one there is."""
        value = form.cleaned_data.get("value")
        if value:
            secrets.write_secret(obj.customer, value, name=obj.name, expires_at=obj.expires_at, secret=obj)
        else:
            obj.save(update_fields=["name", "expires_at"])

    @admin.display(description="name")
    def name_text(self, secret: Secret) -> str:
        """The name; those that the engine found in inputs are named by their key."""
        return secret.name or "(no name)"

    @admin.display(description="handle")
    def handle(self, secret: Secret) -> SafeString:
        """What to write where the value is wanted."""
        return format_html('<code class="handle">{}</code>', secrets.handle_of(secret))

    @admin.display(description="expires")
    def expiry(self, secret: Secret) -> Any:
        """How long it can still be used."""
        return display.remaining(secret.expires_at) if secret.expires_at else "never"
