"""``manage.py web``: the web process - pages, REST and the admin - under Daphne."""

from typing import Any

from daphne.cli import CommandLineInterface
from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser


class Command(BaseCommand):
    """Serves until SIGTERM or SIGINT."""

    help = "Serve pages and REST on $HOST:$PORT, or on a listening socket that was inherited."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the inherited socket."""
        parser.add_argument("--fd", type=int, help="file descriptor of a listening socket")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run Daphne."""
        settings.STATIC_ROOT.mkdir(exist_ok=True)  # empty unless collectstatic was run; the finders serve as well
        place = (
            ["--fd", str(options["fd"])]
            if options["fd"] is not None
            else ["-b", settings.HOST, "-p", str(settings.PORT)]
        )
        CommandLineInterface().run(
            [*place, "--no-server-name", "--application-close-timeout", "5", "-v", "0", "poimen_site.asgi:application"]
        )
