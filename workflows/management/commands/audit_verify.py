"""``manage.py audit_verify``: prove that no record of the audit trail was changed, removed or put in.

Changes nothing; exit code 1 and the place of the break if there is one, or if there are records and no anchor. Where
an anchor is gone or knows of more than a restored backup holds, ``--anchor-anew`` takes the ends there are, and says so
in the trail.
"""

from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from workflows.audit import anchor
from workflows.audit.verification import verify
from workflows.models import Customer
from workflows.models.audit import INSTALLATION


class Command(BaseCommand):
    """See the module."""

    help = "Check the audit trail; say exactly where it breaks."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the customer, and the way on after a restore."""
        parser.add_argument("--customer", help="slug or id; left out: every trail, the installation's too")
        parser.add_argument(
            "--anchor-anew",
            action="store_true",
            help="where the anchor is gone, or newer than a restored backup: anchor the ends there are, and record it",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Check and tell."""
        names = {row.pk: row.slug for row in Customer.objects.all()} | {INSTALLATION: "the installation"}
        if options["anchor_anew"]:
            anchor.renew_anew()
        customer = self._chosen(options["customer"])
        broken = records = 0
        try:
            is_anchored = anchor.read() is not None
            for finding in verify(customer):
                name = names.get(finding.customer, f"customer {finding.customer} (deleted)")
                records += finding.sound
                if finding.problem:
                    broken += 1
                    self.stdout.write(f"{name}: BROKEN after {finding.sound} sound records: {finding.problem}")
                elif is_anchored:
                    self.stdout.write(f"{name}: {finding.sound} records, whole")
                else:
                    self.stdout.write(f"{name}: {finding.sound} records without a break; no anchor tells of the end")
        except anchor.AnchorError as error:
            raise CommandError(str(error)) from error
        since = anchor.anchored_since()
        if is_anchored and since is not None:
            self.stdout.write(f"Anchored since {since:%Y-%m-%d %H:%M:%S} UTC.")
        if broken:
            raise CommandError(f"{broken} audit trail{'s are' if broken > 1 else ' is'} broken")
        if records and not is_anchored:
            raise CommandError(
                anchor.problem()
                or f"there is no audit anchor ({anchor.path()}) and never was: the clock writes the first one within a "
                "minute of its start. Until then nothing shows that no tail was cut"
            )

    def _chosen(self, text: str | None) -> UUID | None:
        if text is None:
            return None
        found = Customer.objects.filter(slug=text).first()
        if found is not None:
            return found.pk
        try:
            return UUID(text)
        except ValueError:
            raise CommandError(f"there is no customer with the slug or id {text!r}") from None
