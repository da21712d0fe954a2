"""The reference of activities as Markdown: an index and a page each, with an example that is a whole, valid spec.

Owns how they look. Everything in them comes from the registry and the activities' own modules: their schemas, and
``ERRORS``, which says by what names they fail.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from workflows.activities.knowledge_base import entry
from workflows.activities.registry import Activity, registry
from workflows.spec.secret_handles import SecretUse

INDEX: Final = """\
# Activities

What a `Task` state can run, by exact name, with a page for each. `manage.py activity_docs` writes them from the
registry; the same facts are served as JSON by `GET /activities`. How to add one:
[write an activity](../how-to/write-an-activity.md). How to use two of them: [tell people, and keep
results](../how-to/notify-and-archive.md).

The timeout is the default for one attempt; a state's own `timeout` and `retry` win. Attempts count the first try.
Paths must lie in the execution's workspace or artifacts or in `POIMEN_REPO_ROOTS`; a relative path starts in the
workspace. Hosts must be public or listed in `POIMEN_ALLOWED_PRIVATE_HOSTS`.

"""
ANYWHERE: Final[Mapping[str, str]] = {
    "ValidationError": "an input does not fit: the message names the field and what was expected",
    "Timeout": "an attempt took longer than the timeout, and was killed",
    "Canceled": "the execution was cancelled",
    "ActivityError": "anything else; whether another attempt may help is in the error's `retryable`",
}
# What one activity gives the next: the input field, the activity that has it as output, and the reference to it.
_WIRED: Final[Mapping[str, tuple[str, str]]] = {
    "path": ("CloneRepoActivity", "output.path"),
    "analysisResult": ("AnalyzeCodeActivity", "output"),
    "securityResult": ("SecurityScanActivity", "output"),
}
_SECRETS: Final[Mapping[SecretUse, str]] = {
    "value": "May hold a `secret:` handle.",
    "url": "User information and query may hold a `secret:` handle.",
    "handle": "Shows a `secret:` handle as it is.",
}


def index(activities: Sequence[Activity]) -> str:
    """Return the page that lists ``activities``."""
    lines = [
        "| Activity | What it does | Category | Timeout | Flaky | Attempts | Backoff |",
        "|---|---|---|---|---|---|---|",
    ]
    for item in map(entry, activities):
        limits = item["constraints"]
        lines.append(
            f"| [{item['name']}](activities/{item['name']}.md) | {_cell(item['description'])} | {item['category']} "
            f"| {limits['defaultTimeout']} | {_yes(limits['isFlaky'])} | {limits['recommendedRetries']} "
            f"| {limits['retryBackoff']:g} |"
        )
    lines += ["", "## Errors that any of them can end with", "", *_errors(ANYWHERE)]
    return INDEX + "\n".join(lines) + "\n"


def page(activity: Activity) -> str:
    """Return the page about ``activity``."""
    item = entry(activity)
    limits = item["constraints"]
    lines = [f"# {item['name']}", "", item["description"], ""]
    if limits["notes"]:
        lines += [limits["notes"], ""]
    policy = f"Category {item['category']}; one attempt may take {limits['defaultTimeout']}, and there are "
    lines += [f"{policy}{_attempts(activity)}. A state's own `timeout` and `retry` win.", ""]
    if limits["dependencies"]:
        names = ", ".join(f"[{name}]({name}.md)" for name in limits["dependencies"])
        lines += [f"Usually after {names}.", ""]
    lines += ["## Input", "", "| Field | Type | Required | Default | Meaning |", "|---|---|---|---|---|"]
    for name, field in item["inputs"].items():
        default = f"`{json.dumps(field['default'], ensure_ascii=False)}`" if "default" in field else ""
        use = activity.secret_uses.get(name)
        meaning = f"{_cell(field['description'])}. {_SECRETS[use]}" if use else _cell(field["description"])
        lines.append(f"| `{name}` | {_type(field)} | {_yes(field['required'])} | {default} | {meaning} |")
    lines += ["", "## Output", "", "| Field | Type | Meaning |", "|---|---|---|"]
    for name, field in item["outputs"].items():
        lines.append(f"| `{name}` | {_type(field)} | {_cell(field['description'])} |")
    lines += ["", "## Errors", "", *_errors(errors_of(activity))]
    lines += ["", "Those that [any activity](../activities.md#errors-that-any-of-them-can-end-with) has come on top."]
    lines += ["", "## Example", "", "```json", json.dumps(example(activity), ensure_ascii=False, indent=2), "```"]
    return "\n".join(lines) + "\n"


def errors_of(activity: Activity) -> Mapping[str, str]:
    """Return the errors that its module says it has of its own: the names that ``catch`` matches, and when."""
    return getattr(sys.modules[activity.function.__module__], "ERRORS", {})


def example(activity: Activity) -> dict[str, Any]:
    """Return a spec that runs the activity, after those it usually follows; every reference in it resolves."""
    states: list[dict[str, Any]] = []
    _append(activity, states)
    for state, following in pairwise(states):
        state["next"] = following["name"]
    return {"name": f"{_state_name(activity.name).lower()}-example", "states": states}


def _append(activity: Activity, states: list[dict[str, Any]]) -> None:
    known = registry.all()
    for name in activity.dependencies:
        if name in known and _state_name(name) not in [state["name"] for state in states]:
            _append(known[name], states)
    parameters = {}
    before = {state["resource"] for state in states}
    for name, field in entry(activity)["inputs"].items():
        source, path = _WIRED.get(name, ("", ""))
        if source in before:
            parameters[name] = f"${{{_state_name(source)}.{path}}}"
        elif "examples" in field:
            parameters[name] = field["examples"][0]
        elif field["required"]:
            parameters[name] = _value(name, field)
    states.append(
        {"name": _state_name(activity.name), "type": "Task", "resource": activity.name, "parameters": parameters}
    )


def _value(name: str, field: Mapping[str, Any]) -> Any:
    if "enum" in field:
        return field["enum"][0]
    by_type: dict[str, Any] = {"string": f"some {name}", "integer": 1, "number": 1, "boolean": True, "object": {}}
    items = field.get("items", {}).get("type")
    return [by_type.get(items, f"some {name}")] if field["type"] == "array" else by_type[field["type"]]


def _state_name(activity: str) -> str:
    return activity.removesuffix("Activity")


def _attempts(activity: Activity) -> str:
    if activity.max_attempts == 1:
        return "no further attempts"
    return f"{activity.max_attempts} attempts, each wait {activity.backoff:g} times as long as the one before"


def _errors(errors: Mapping[str, str]) -> list[str]:
    if not errors:
        return ["None of its own."]
    return ["| Name | When |", "|---|---|", *(f"| `{name}` | {_cell(when)} |" for name, when in errors.items())]


def _type(field: Mapping[str, Any]) -> str:
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    items = field.get("items", {}).get("type")
    return f"{field['type']} of {items}s" if items else str(field["type"])


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").replace("<", "\\<").split())


def _yes(value: bool) -> str:
    return "yes" if value else "no"
