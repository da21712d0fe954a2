"""``manage.py activity_docs``: write the reference of activities from the registry, or check that it is current.

Refuses to document what only tests have, and what other installed packages bring.
"""

from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from workflows.activities import reference_pages
from workflows.activities.registry import Activity, registry


class Command(BaseCommand):
    """See the module."""

    help = "Write docs/reference/activities.md and a page for each activity from the registered activities."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take ``--check``."""
        parser.add_argument("--check", action="store_true", help="change nothing; fail if a page is not current")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the pages, or compare them; a page of an activity that is gone goes too."""
        reference = Path(settings.BASE_DIR) / "docs" / "reference"
        pages = _pages(reference)
        strays = sorted(set((reference / "activities").glob("*.md")) - set(pages))
        stale = [page for page, text in pages.items() if not page.exists() or page.read_text(encoding="utf-8") != text]
        if options["check"]:
            if stale or strays:
                names = ", ".join(page.name for page in (*stale, *strays))
                raise CommandError(f"{names}: this is not what the registry says; run manage.py activity_docs")
            return
        (reference / "activities").mkdir(exist_ok=True)
        for page in stale:
            page.write_text(pages[page], encoding="utf-8")
        for page in strays:
            page.unlink()
        self.stdout.write(f"{len(pages)} pages, {len(stale)} written, {len(strays)} removed")


def _pages(reference: Path) -> dict[Path, str]:
    activities = [activity for activity in registry if _is_documented(activity)]
    pages = {reference / "activities.md": reference_pages.index(activities)}
    for activity in activities:
        pages[reference / "activities" / f"{activity.name}.md"] = reference_pages.page(activity)
    return pages


def _is_documented(activity: Activity) -> bool:
    is_ours = apps.get_containing_app_config(activity.function.__module__) is not None
    return is_ours and not (activity.internal and activity.category == "testing")
