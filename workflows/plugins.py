"""Which plugins may run, and how they are set up: rows that every process reads again every few seconds.

Refuses configurations that the plugin's own schema does not take. Source: subsystem-plugins 5 and 6.
"""

import threading
import time
from collections.abc import Mapping
from typing import Any

from django.db import DatabaseError, transaction
from django.db.models import Q, Sum
from django.utils import timezone
from pydantic import ValidationError

from workflows import secrets
from workflows.activities.registry import registry
from workflows.activities.shapes import told
from workflows.address_passwords import MASK
from workflows.models import MetricTally, Plugin

FRESH_SECONDS = 2.0  # how long a plugin that was disabled may still be offered by a process
_lock = threading.Lock()
_known: tuple[float, frozenset[str]] = (0.0, frozenset())


class WrongConfig(ValueError):
    """The plugin does not take this configuration; the text names every wrong field."""


def disabled() -> frozenset[str]:
    """Return the slugs of the plugins that are disabled, as they stood a few seconds ago at most.

    Asks nothing where no plugin is installed. Without the database it is what was known last.
    """
    global _known  # noqa: PLW0603 - one for the process
    registry.all()
    if not registry.plugins:
        return frozenset()
    with _lock:
        read_at, slugs = _known
        if time.monotonic() - read_at < FRESH_SECONDS and read_at:
            return slugs
        try:
            slugs = frozenset(Plugin.objects.filter(enabled=False).values_list("slug", flat=True))
        except DatabaseError:
            return slugs
        _known = (time.monotonic(), slugs)
        return slugs


def forget_known() -> None:
    """Read again at the next question: something was changed here."""
    global _known  # noqa: PLW0603
    with _lock:
        _known = (0.0, frozenset())


def refusal(resource: str) -> str:
    """Say why a Task must not use ``resource`` although its code is there; empty if it may."""
    activity = registry.all().get(resource)
    if activity is None or not activity.plugin or activity.plugin not in disabled():
        return ""
    return f"the plugin {activity.plugin!r} is disabled; an administrator can enable it"


def note_installed() -> None:
    """Write down which plugins this process has, in which version; what is enabled and set up stays."""
    registry.all()
    for package in registry.plugins.values():
        facts: dict[str, Any] = {
            "distribution": package.distribution[:128],
            "version": package.version[:64],
            "author": package.author,
            "description": package.summary,
            "activities": list(package.activities),
            "load_error": package.error,
        }
        with transaction.atomic():
            row, is_new = Plugin.objects.select_for_update().get_or_create(
                slug=package.slug, defaults={**facts, "loaded_at": timezone.now()}
            )
            changed = {name: value for name, value in facts.items() if getattr(row, name) != value}
            if is_new or not changed:
                continue
            if "version" in changed:
                changed |= {"loaded_at": timezone.now(), "reload_count": row.reload_count + 1}
            Plugin.objects.filter(pk=row.pk).update(**changed)


def schema_of(slug: str) -> dict[str, Any]:
    """Return the JSON Schema of the plugin's configuration; with no property if it takes none."""
    models = [a.config_model for a in registry if a.plugin == slug and a.config_model is not None]
    properties: dict[str, Any] = {}
    required: set[str] = set()
    definitions: dict[str, Any] = {}
    for model in models:
        schema = model.model_json_schema(by_alias=True)
        properties |= schema.get("properties", {})
        definitions |= schema.get("$defs", {})
        required |= set(schema.get("required", ()))
    whole = {"type": "object", "properties": properties, "required": sorted(required)}
    return whole | ({"$defs": definitions} if definitions else {})


def check_config(slug: str, config: Any) -> None:
    """Raise :class:`WrongConfig` for a configuration that the plugin does not take."""
    if not isinstance(config, dict):
        raise WrongConfig("expected an object")
    known = schema_of(slug)["properties"]
    if unknown := sorted(set(config) - set(known)):
        raise WrongConfig(f"unknown: {', '.join(unknown)}; known are: {', '.join(known) or 'none'}")
    for activity in registry:
        if activity.plugin == slug and activity.config_model is not None:
            try:
                activity.config_model.model_validate(config)
            except ValidationError as error:
                raise WrongConfig(told(error, "config")) from None


def config_of(row: Plugin) -> dict[str, Any]:
    """Return the configuration with its secrets; raises :class:`~workflows.secrets.SecretError` if the key is lost."""
    config: dict[str, Any] = secrets.decrypted(bytes(row.config)) if row.config is not None else {}
    return config


def shown_config(row: Plugin) -> Any:
    """Return the configuration as people may see it."""
    return secrets.mask(config_of(row))


def merged(row: Plugin, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``given`` with the secrets that were left as they are shown, at the top of it, as they were."""
    before = config_of(row)
    return {name: before[name] if value == MASK and name in before else value for name, value in given.items()}


def figures_of(row: Plugin) -> dict[str, Any]:
    """Return ``{runs, succeeded, failed, average_seconds}`` of the plugin's activities, counted from their runs."""
    runs = MetricTally.objects.filter(metric="run", label__in=row.activities)
    found = runs.aggregate(
        runs=Sum("count"), seconds=Sum("seconds"), succeeded=Sum("count", filter=Q(status="success"))
    )
    count, succeeded = found["runs"] or 0, found["succeeded"] or 0
    return {
        "runs": count,
        "succeeded": succeeded,
        "failed": count - succeeded,
        "average_seconds": round((found["seconds"] or 0.0) / count, 3) if count else None,
    }
