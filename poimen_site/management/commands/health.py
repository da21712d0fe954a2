"""``manage.py health``: the report of ``/health`` on the command line; exit code 1 unless all is healthy."""

import json
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from poimen_site.health import whole


class Command(BaseCommand):
    """See the module."""

    help = "Tell whether Poimen is healthy, and what is not."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """Take ``--json``."""
        parser.add_argument("--json", action="store_true", help="print the report as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the report."""
        verdict, body = whole()
        if options["json"]:
            self.stdout.write(json.dumps(body, indent=2))
        else:
            self.stdout.write(verdict)
            for name, check in body["checks"].items():
                self.stdout.write(f"  {name:<11} {check['status']:<10} {check['message']}")
        if verdict != "healthy":
            sys.exit(1)
