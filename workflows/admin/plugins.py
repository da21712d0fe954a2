"""The admin of plugins: switch them on and off, set them up, see what they did.

For superusers only: a plugin is no customer's own.
"""

import json
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from workflows import audit, plugins, secrets
from workflows.admin import display
from workflows.admin.scoping import ScopedAdmin, user_of
from workflows.models import Plugin
from workflows.secrets import SecretError
from workflows.terminal_text import plain

if TYPE_CHECKING:  # generic for the type checker only
    PluginModelForm = forms.ModelForm[Plugin]
else:
    PluginModelForm = forms.ModelForm


class PluginForm(PluginModelForm):
    """Whether it runs, and its configuration as JSON; secrets in it are shown as ``***`` and stay if left so."""

    configuration = forms.JSONField(widget=forms.Textarea(attrs={"rows": 12, "class": "vLargeTextField"}))

    class Meta:
        model = Plugin
        fields = ("enabled",)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        try:
            self.initial["configuration"] = plugins.shown_config(self.instance)
        except SecretError as lost:
            self.initial["configuration"] = {}
            self.fields["configuration"].help_text = str(lost)
        self.fields["configuration"].required = False

    def clean_configuration(self) -> dict[str, Any]:
        """Return the configuration with the secrets that stay; refuses what the plugin does not take."""
        given = self.cleaned_data["configuration"] or {}
        try:
            config = plugins.merged(self.instance, given) if isinstance(given, dict) else given
            plugins.check_config(self.instance.slug, config)
        except (plugins.WrongConfig, SecretError) as wrong:
            raise forms.ValidationError(str(wrong)) from None
        return dict(config)


@admin.register(Plugin)
class PluginAdmin(ScopedAdmin):
    """Plugins by name."""

    customer_path = None
    form = PluginForm
    list_title = "Plugins"
    empty_hint = "Install a package with an entry point in poimen.activities, and start Poimen again."
    list_display = ("slug", "version", "standing", "runs", "failures", "average", "problem")
    ordering = ("slug",)
    actions = ("enable", "disable")
    fields = (
        "slug", "version", "distribution", "author", "description", "address", "names", "enabled", "configuration",
        "takes", "standing", "runs", "failures", "average", "problem", "problem_at", "found", "loaded", "reload_count",
    )  # fmt: skip
    readonly_fields = tuple(name for name in fields if name not in ("enabled", "configuration"))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return all, those that this process has found just now too."""
        plugins.note_installed()
        return super().get_queryset(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Superusers may."""
        return self.has_view_permission(request, obj)

    def save_model(self, request: HttpRequest, obj: Plugin, form: Any, change: bool) -> None:
        """Save, and record what was changed: of the configuration only that it was."""
        before = Plugin.objects.get(pk=obj.pk)
        config = form.cleaned_data["configuration"]
        is_set_up = plugins.config_of(before) != config if before.config is not None else bool(config)
        if is_set_up:
            obj.config = secrets.encrypted(config)
        with transaction.atomic():
            super().save_model(request, obj, form, change)
            if before.enabled != obj.enabled:
                self._record(request, obj, "enabled" if obj.enabled else "disabled")
            if is_set_up:
                self._record(request, obj, "configured")
        plugins.forget_known()

    @admin.action(description="Enable", permissions=["change"])
    def enable(self, request: HttpRequest, queryset: QuerySet[Plugin]) -> None:
        """Let them run."""
        self._switch(request, queryset, enabled=True)

    @admin.action(description="Disable", permissions=["change"])
    def disable(self, request: HttpRequest, queryset: QuerySet[Plugin]) -> None:
        """Let them run no more: states that need them fail."""
        self._switch(request, queryset, enabled=False)

    def _switch(self, request: HttpRequest, queryset: QuerySet[Plugin], *, enabled: bool) -> None:
        word = "enabled" if enabled else "disabled"
        with transaction.atomic():
            rows = list(queryset.select_for_update().exclude(enabled=enabled))
            for row in rows:
                Plugin.objects.filter(pk=row.pk).update(enabled=enabled)
                self._record(request, row, word)
        plugins.forget_known()
        self.message_user(request, f"{len(rows)} plugins were {word}.", messages.SUCCESS)

    def _record(self, request: HttpRequest, row: Plugin, what: str) -> None:
        audit.record(None, f"plugin.{what}", target=("plugin", row.slug), actor=user_of(request).get_username())

    @admin.display(description="status")
    def standing(self, row: Plugin) -> SafeString:
        """Whether it can run."""
        return display.status("failed" if row.load_error else "active" if row.enabled else "paused")

    @admin.display(description="address")
    def address(self, row: Plugin) -> str:
        """What a Task says to run it."""
        return f"plugin://{row.slug}"

    @admin.display(description="activities")
    def names(self, row: Plugin) -> str:
        """What it brings."""
        return ", ".join(map(str, row.activities))

    @admin.display(description="takes")
    def takes(self, row: Plugin) -> SafeString:
        """The JSON Schema of its configuration."""
        return display.pretty(json.loads(json.dumps(plugins.schema_of(row.slug))))

    @admin.display(description="runs")
    def runs(self, row: Plugin) -> str:
        """How many attempts of its activities have ended."""
        return f"{plugins.figures_of(row)['runs']:,}"

    @admin.display(description="of them failed")
    def failures(self, row: Plugin) -> str:
        """How many did not succeed."""
        return f"{plugins.figures_of(row)['failed']:,}"

    @admin.display(description="average time")
    def average(self, row: Plugin) -> str:
        """How long an attempt took."""
        seconds = plugins.figures_of(row)["average_seconds"]
        return display.NOTHING if seconds is None else f"{seconds:g} s"

    @admin.display(description="last error")
    def problem(self, row: Plugin) -> str:
        """Why it cannot be loaded, or how its last failure ended."""
        return plain(row.load_error or row.run_error)

    @admin.display(description="last error at (UTC)")
    def problem_at(self, row: Plugin) -> Any:
        """When a run of it failed last."""
        return display.moment(row.run_error_at)

    @admin.display(description="found (UTC)")
    def found(self, row: Plugin) -> Any:
        """When it was seen first."""
        return display.moment(row.found_at)

    @admin.display(description="loaded (UTC)")
    def loaded(self, row: Plugin) -> Any:
        """When this version was seen first."""
        return display.moment(row.loaded_at)
