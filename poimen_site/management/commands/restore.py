"""``manage.py restore DIRECTORY``: see poimen_site/backup.py and docs/how-to/back-up-and-restore.md."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from poimen_site import backup


class Command(BaseCommand):
    """The database must be empty, and nothing may run on it meanwhile."""

    help = "Bring a backup into the empty database and home of this installation."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the directory."""
        parser.add_argument("directory", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        """Restore it."""
        try:
            manifest = backup.restore(options["directory"])
        except backup.BackupError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"restored the backup of {manifest['madeAt']}")
        self.stdout.write("Now bring the schema up to date (manage.py migrate) and start as usual.")
