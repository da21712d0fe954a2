"""``manage.py activity_docs``: write docs/reference/activities.md from the registry, or check that it is current.

Refuses to document what only tests have, and what other installed packages bring.
"""

import json
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from workflows.activities.knowledge_base import entry
from workflows.activities.registry import Activity, registry

INTRODUCTION = """\
# Activities

What a `Task` state can run, by exact name. `manage.py activity_docs` writes this page from the registry; the same
facts are served as JSON by `GET /activities`. How to add one: [write an activity](../how-to/write-an-activity.md).

The timeout is the default for one attempt; a state's own `timeout` and `retry` win. Attempts count the first try.
Paths must lie in the execution's workspace or artifacts or in `POIMEN_REPO_ROOTS`; a relative path starts in the
workspace. Hosts must be public or listed in `POIMEN_ALLOWED_PRIVATE_HOSTS`.
"""


class Command(BaseCommand):
    """See the module."""

    help = "Write docs/reference/activities.md from the registered activities."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take ``--check``."""
        parser.add_argument("--check", action="store_true", help="change nothing; fail if the page is not current")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the page, or compare it."""
        page = Path(settings.BASE_DIR) / "docs" / "reference" / "activities.md"
        text = render([activity for activity in registry if _is_documented(activity)])
        if not options["check"]:
            page.write_text(text, encoding="utf-8")
            self.stdout.write(f"{page} written")
        elif not page.exists() or page.read_text(encoding="utf-8") != text:
            raise CommandError(f"{page} is not what the registry says; run manage.py activity_docs")


def _is_documented(activity: Activity) -> bool:
    is_ours = apps.get_containing_app_config(activity.function.__module__) is not None
    return is_ours and not (activity.internal and activity.category == "testing")


def render(activities: list[Activity]) -> str:
    """Return the page about ``activities``, in Markdown."""
    lines = [
        INTRODUCTION,
        "| Activity | Category | Timeout | Flaky | Attempts | Backoff |",
        "|---|---|---|---|---|---|",
    ]
    entries = [entry(activity) for activity in activities]
    for item in entries:
        limits = item["constraints"]
        lines.append(
            f"| [{item['name']}](#{item['name'].lower()}) | {item['category']} | {limits['defaultTimeout']} "
            f"| {'yes' if limits['isFlaky'] else 'no'} | {limits['recommendedRetries']} | {limits['retryBackoff']:g} |"
        )
    for item in entries:
        lines += _section(item)
    return "\n".join(lines) + "\n"


def _section(item: dict[str, Any]) -> list[str]:
    limits = item["constraints"]
    lines = ["", f"## {item['name']}", "", item["description"]]
    if limits["notes"]:
        lines += ["", limits["notes"]]
    if limits["dependencies"]:
        lines += ["", f"Usually after: {', '.join(limits['dependencies'])}."]
    lines += ["", "| Input | Type | Required | Default | Meaning |", "|---|---|---|---|---|"]
    for name, field in item["inputs"].items():
        default = f"`{json.dumps(field['default'], ensure_ascii=False)}`" if "default" in field else ""
        required = "yes" if field["required"] else "no"
        lines.append(f"| `{name}` | {_type(field)} | {required} | {default} | {_cell(field['description'])} |")
    lines += ["", "| Output | Type | Meaning |", "|---|---|---|"]
    for name, field in item["outputs"].items():
        lines.append(f"| `{name}` | {_type(field)} | {_cell(field['description'])} |")
    return lines


def _type(field: dict[str, Any]) -> str:
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    items = field.get("items", {}).get("type")
    return f"{field['type']} of {items}s" if items else str(field["type"])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
