"""``manage.py spec_schema``: writes the JSON Schemas of the spec language, or checks that they are current."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from workflows.spec.cron_schema import CronWorkflowSpec
from workflows.spec.schema import WorkflowSpec


def schema_text(shape: type[WorkflowSpec]) -> str:
    """Return the JSON Schema (2020-12) of ``shape``, as it is written."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **shape.model_json_schema()}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


class Command(BaseCommand):
    help = "Write docs/reference/spec.schema.json and cron-spec.schema.json from the shapes in workflows.spec."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("--check", action="store_true", help="fail if a file is not what would be written")
        parser.add_argument("--output", type=Path, help="another file than docs/reference/spec.schema.json")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write or check; raises :class:`CommandError` if a file is out of date."""
        path: Path = options["output"] or Path(settings.BASE_DIR) / "docs" / "reference" / "spec.schema.json"
        for place, shape in ((path, WorkflowSpec), (path.with_name(f"cron-{path.name}"), CronWorkflowSpec)):
            self._write_or_check(place, schema_text(shape), is_check=options["check"])

    def _write_or_check(self, path: Path, text: str, *, is_check: bool) -> None:
        if is_check:
            if not path.exists() or path.read_text() != text:
                raise CommandError(f"{path} is out of date; run manage.py spec_schema")
            self.stdout.write(f"{path} is current")
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        self.stdout.write(f"wrote {path}")
