"""``manage.py backup DIRECTORY``: see poimen_site/backup.py and docs/how-to/back-up-and-restore.md."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from poimen_site import backup


class Command(BaseCommand):
    """Everything may go on running meanwhile."""

    help = "Write database, artifacts and keys of this installation into a new directory."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the directory."""
        parser.add_argument("directory", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        """Make the backup."""
        try:
            manifest = backup.make(options["directory"])
        except backup.BackupError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"backed up into {options['directory']}: {', '.join(manifest['sha256'])}")
        self.stdout.write("It holds secrets and the key to them: keep it as safe as the installation itself.")
