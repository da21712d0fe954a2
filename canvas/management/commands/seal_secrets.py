"""``manage.py seal_secrets``: find secrets that old rows keep in the open, and with ``--write`` put handles there.

Changes nothing without ``--write``. Artifacts (outputs above 256 KiB) and the audit trail stay as they were written.
"""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from canvas.sealing_old_rows import seal_old_rows


class Command(BaseCommand):
    """See the module."""

    help = "Seal secrets that earlier versions kept in the open: passwords in addresses, and values under secret names."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the permission to write."""
        parser.add_argument("--write", action="store_true", help="seal them; left out: only count")

    def handle(self, *args: Any, **options: Any) -> None:
        """Go through every table and tell."""
        write: bool = options["write"]
        total = left = 0
        for found in seal_old_rows(write=write):
            total, left = total + found.rows, left + found.left
            if found.rows:
                self.stdout.write(f"{found.table}: {found.rows} {'sealed' if write else 'with secrets in the open'}")
        if left:
            self.stdout.write(
                f"{left} of them belong to executions that have not ended; run this again when they have."
            )
        if not total:
            self.stdout.write("No secrets are kept in the open.")
        elif not write:
            self.stdout.write("Nothing was changed; --write seals them.")
