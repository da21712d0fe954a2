"""``manage.py database start|stop|restart|status``: the embedded PostgreSQL of this home."""

import os
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from poimen_site.embedded_postgres import EmbeddedPostgres


class Command(BaseCommand):
    """Acts on the embedded server; refuses where DATABASE_URL names another one."""

    help = "Start, stop, restart or look at the embedded database of POIMEN_HOME."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """Take what to do."""
        parser.add_argument("action", choices=("start", "stop", "restart", "status"))

    def handle(self, *args: Any, **options: Any) -> None:
        """Do it, and say how it stands."""
        if os.environ.get("DATABASE_URL"):
            raise CommandError("DATABASE_URL is set: that server is not Poimen's to start or stop")
        server = EmbeddedPostgres(Path(settings.POIMEN_HOME))
        match options["action"]:
            case "start":
                server.start()
            case "stop":
                server.stop()
            case "restart":
                server.restart()
        running = server.is_running()
        self.stdout.write(f"running: {server.url}" if running else "not running")
        if not running and options["action"] == "status":
            raise SystemExit(3)  # as pg_ctl does
