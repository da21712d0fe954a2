"""``manage.py poimen_start``: run a spec or a sentence and wait for its result, or tell the health. See docs, cli.

Refuses wrong flags with exit code 2 before it connects to anything; 1 says that what was asked did not go well.
"""

import sys
from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand

from poimen_site.cli.arguments import duration
from poimen_site.cli.routing import add_context
from poimen_site.cli.running import exit_code_of
from poimen_site.cli.session import Session
from poimen_site.cli.starting import start
from poimen_site.cli.verbs import add_common, name_after_script

PATIENCE = timedelta(seconds=30)


class Command(BaseCommand):
    """See the module."""

    help = "Run a spec file, or a sentence, and wait for what comes of it."
    requires_system_checks: list[str] = []
    suppressed_base_arguments = {"--version", "--verbosity", "--settings", "--pythonpath", "--traceback"}

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags of the starter."""
        name_after_script(parser)
        parser.add_argument("--spec", metavar="FILE", help="a spec as JSON, - for standard input; wins over --route")
        parser.add_argument("--route", metavar="SENTENCE", help="what should happen, and how often, in words")
        add_context(parser)
        parser.add_argument("--cron", action="store_true", help="--spec is a CronWorkflowSpec: make a schedule of it")
        parser.add_argument("--dry-run", action="store_true", help="print the spec as JSON, start nothing")
        parser.add_argument("--health", action="store_true", help="print the health as JSON; 1 unless all is healthy")
        parser.add_argument(
            "--timeout", type=duration, default=PATIENCE, metavar="DURATION", help="wait so long at most (30s)"
        )
        add_common(parser)
        reserved = parser.add_argument_group("the orchestrator, which is not part of this version")
        reserved.add_argument("--repo", default="", help="path of the target repository")
        reserved.add_argument("--remote", default="", help="URL of its remote")
        reserved.add_argument("--milestone", default="T0", help="id of the milestone")
        reserved.add_argument("--planner-model", default="reasoning")
        reserved.add_argument("--judge-model", default="reasoning")
        reserved.add_argument("--implementer-model", default="ornith:35b")
        reserved.add_argument("--pi-provider", default="local-llm", help="name of the provider of skills")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do it, and end with its exit code."""
        session = Session(
            self.stdout, self.stderr, self.style, options["is_json"], options["customer"], options["user"]
        )
        code = exit_code_of(session, lambda: start(session, options))
        if code:
            sys.exit(code)
