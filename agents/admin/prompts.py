"""The admin of prompts: every save is a new version, and an earlier text can be used again. For superusers."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from agents.models import PromptVersion
from agents.prompts import rendering
from agents.prompts.sandbox import PromptError
from workflows.admin import display
from workflows.admin.scoping import ScopedAdmin, user_of
from workflows.models import Role

if TYPE_CHECKING:  # generic for the type checker only
    PromptModelForm = forms.ModelForm[PromptVersion]
else:
    PromptModelForm = forms.ModelForm


class PromptForm(PromptModelForm):
    """The next version of a prompt."""

    name = forms.ChoiceField(choices=lambda: [(name, name) for name in rendering.builtin_names()])

    class Meta:
        model = PromptVersion
        fields = ("name", "source", "note")
        widgets = {"source": forms.Textarea(attrs={"rows": 30, "cols": 110, "class": "vLargeTextField"})}

    def clean(self) -> dict[str, Any] | None:
        """Refuse what is no template, and what cannot be rendered."""
        given = super().clean()
        name, source = self.cleaned_data.get("name"), self.cleaned_data.get("source")
        if name and source:
            try:
                rendering.check(name, source)
            except PromptError as error:
                self.add_error("source", error.message)
        return given


@admin.register(PromptVersion)
class PromptVersionAdmin(ScopedAdmin):
    """Edited prompts by name and number; the highest number is in use."""

    customer_path = None
    add_role = Role.ADMIN
    form = PromptForm
    list_title = "Edited prompts"
    empty_hint = "No prompt has been edited: those that are built in are used. Add one to change its text."
    list_display = ("name", "number", "standing", "author", "made", "note")
    list_filter = ("name",)
    list_select_related = ("author",)
    ordering = ("name", "-number")
    actions = ("use_again", "use_builtin")

    def get_fields(self, request: HttpRequest, obj: PromptVersion | None = None) -> Any:
        """A new version, or one as it is."""
        if obj is None:
            return ("name", "source", "note")
        return ("name", "number", "standing", "author", "made", "note", "text", "edit")

    def get_readonly_fields(self, request: HttpRequest, obj: PromptVersion | None = None) -> Any:
        """Versions are never changed."""
        return () if obj is None else self.get_fields(request, obj)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Start with the text of the version ``from``, or with what is in use of the prompt ``name``."""
        chosen = request.GET.get("from", "")
        names = rendering.builtin_names()
        name = request.GET.get("name", "")
        try:
            earlier = PromptVersion.objects.filter(pk=chosen).first() if chosen else None
        except (ValueError, forms.ValidationError):
            earlier = None
        if earlier is not None:
            return {"name": earlier.name, "source": earlier.source}
        name = name if name in names else (names[0] if names else "")
        version = rendering.current(name)
        return {"name": name, "source": version.source if version else rendering.builtin(name) if name else ""}

    def save_model(self, request: HttpRequest, obj: PromptVersion, form: Any, change: bool) -> None:
        """Make a new version."""
        made = rendering.edit(obj.name, obj.source, author=user_of(request), note=obj.note)
        obj.pk, obj.number = made.pk, made.number
        obj._state.adding = False  # noqa: SLF001 - documented by Django; the row is there

    @admin.action(description="Use this text again", permissions=["add"])
    def use_again(self, request: HttpRequest, chosen: QuerySet[PromptVersion]) -> None:
        """Make the chosen text the newest."""
        if chosen.count() != 1:
            self.message_user(request, "Choose one version", messages.ERROR)
            return
        try:
            made = rendering.go_back(chosen[0], author=user_of(request))
        except PromptError as error:
            self.message_user(request, f"This text cannot be used any more: {error.message}", messages.ERROR)
            return
        self.message_user(request, f"{made.name} is as in version {chosen[0].number} again: version {made.number}")

    @admin.action(description="Use the built-in text again", permissions=["add"])
    def use_builtin(self, request: HttpRequest, chosen: QuerySet[PromptVersion]) -> None:
        """Make the built-in text of the chosen prompts the newest."""
        for name in sorted(set(chosen.values_list("name", flat=True))):
            made = rendering.use_builtin(name, author=user_of(request))
            self.message_user(request, f"{name} is as built in again: version {made.number}")

    @admin.display(description="in use")
    def standing(self, version: PromptVersion) -> SafeString | str:
        """Whether it is the text that counts."""
        newest = rendering.current(version.name)
        return display.status("active") if newest is not None and newest.pk == version.pk else display.NOTHING

    @admin.display(description="made (UTC)")
    def made(self, version: PromptVersion) -> Any:
        """When it was saved."""
        return display.moment(version.created_at)

    @admin.display(description="text")
    def text(self, version: PromptVersion) -> SafeString:
        """The template."""
        return format_html('<pre class="json" tabindex="0">{}</pre>', version.source)

    @admin.display(description="change")
    def edit(self, version: PromptVersion) -> SafeString:
        """A new version that starts with this text."""
        url = reverse("admin:agents_promptversion_add")
        return format_html('<a href="{}?from={}">Edit this text</a>', url, version.pk)
