"""What the engine asks of the database about an activity that a plugin brings: may it run, and how is it set up.

One small read for each such run, so that what an administrator decides counts from the next one on.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from workflows import secrets
from workflows.activities.registry import Activity
from workflows.activities.shapes import told
from workflows.engine.store import Store
from workflows.errors import PermanentError, WorkflowError
from workflows.secret_texts import masked

MOST_ERROR = 1000

_READ = "SELECT enabled, config FROM workflows_plugin WHERE slug = %s"
_FAILED = "UPDATE workflows_plugin SET run_error = %s, run_error_at = now() WHERE slug = %s"


class PluginDisabled(PermanentError):
    """An administrator has switched the plugin off."""

    name = "PluginDisabled"


class PluginNotConfigured(PermanentError):
    """What the plugin is set up with is not what it needs."""

    name = "PluginNotConfigured"


def configuration(store: Store, activity: Activity) -> tuple[Mapping[str, Any], Mapping[str, str]]:
    """Return the activity's configuration, defaults filled in, and the secrets in it with what to show for them.

    A plugin that nobody has decided about is enabled. Raises :class:`PluginDisabled` and :class:`PluginNotConfigured`.
    """
    rows = store.rows(_READ, (activity.plugin,))
    enabled, ciphertext = rows[0] if rows else (True, None)
    if not enabled:
        raise PluginDisabled(f"the plugin {activity.plugin!r} is disabled; an administrator can enable it")
    if activity.config_model is None:
        return {}, {}
    config = secrets.decrypted(ciphertext) if ciphertext is not None else {}
    try:
        whole = activity.config_model.model_validate(config).model_dump(mode="json", by_alias=True)
    except ValidationError as error:
        problems = told(error, "config")
        raise PluginNotConfigured(f"the plugin {activity.plugin!r} needs to be set up: {problems}") from None
    return whole, secrets.secret_texts_in(whole)


def failed(store: Store, activity: Activity, error: WorkflowError) -> None:
    """Note how the last failed run ended, for those who look after plugins."""
    text = masked(f"{activity.name}: {error.name}: {error.message}").replace("\0", "\ufffd")
    store.write(_FAILED, (text.encode("utf-8", "replace").decode()[:MOST_ERROR], activity.plugin))
