"""``manage.py poimen <verb>``: start workflows, follow and steer what runs, decide, schedule. Reference: docs, cli.

Refuses what REST refuses; exit code 0 if all went well, 1 if it did not, 2 if it was asked wrongly.
"""

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from poimen_site.cli import approvals, executions, logs, routing, schedules
from poimen_site.cli.running import exit_code_of
from poimen_site.cli.session import Session
from poimen_site.cli.verbs import Verbs, name_after_script


class Command(BaseCommand):
    """See the module."""

    help = "Start workflows, follow and steer what runs, decide."
    requires_system_checks: list[str] = []
    suppressed_base_arguments = {"--version", "--verbosity", "--settings", "--pythonpath", "--traceback"}

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the verbs."""
        name_after_script(parser)
        verbs = Verbs(parser)
        for module in (executions, logs, approvals, schedules, routing):
            module.add_verbs(verbs)

    def handle(self, *args: Any, **options: Any) -> None:
        """Do it, and end with its exit code."""
        session = Session(
            self.stdout, self.stderr, self.style, options["is_json"], options["customer"], options["user"]
        )
        code = exit_code_of(session, lambda: int(options["run"](session, options)))
        if code:
            sys.exit(code)
