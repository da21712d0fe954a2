"""``manage.py database start|stop|restart|status``: the embedded PostgreSQL of this home, by hand.

It refuses when DATABASE_URL is set: that server is not ours.
"""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from poimen_site.embedded_postgres import EmbeddedPostgres, EmbeddedPostgresError
from poimen_site.postgres_account import AccountError


class Command(BaseCommand):
    """Prints the address and where the server's programs are."""

    help = "Start, stop, restart or show the embedded PostgreSQL of POIMEN_HOME."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        """One word."""
        parser.add_argument("action", choices=["start", "stop", "restart", "status"])

    def handle(self, *args: Any, **options: Any) -> None:
        """Do it; ``status`` exits with 1 when the server does not run."""
        if settings.DATABASE_URL:
            raise CommandError("DATABASE_URL is set, so Poimen uses that server and leaves it alone.")
        server = EmbeddedPostgres(settings.POIMEN_HOME)
        action = options["action"]
        try:
            if action != "status":
                getattr(server, action)()
        except (AccountError, EmbeddedPostgresError) as error:
            raise CommandError(str(error)) from error
        is_running = server.is_running()
        self.stdout.write(f"{'running' if is_running else 'stopped'}: {server.directory}")
        self.stdout.write(f"  address   {server.url}")
        self.stdout.write(f"  programs  {server.bin_dir}")
        self.stdout.write(f"  log       {server.log}")
        if action == "status" and not is_running:
            raise SystemExit(1)
