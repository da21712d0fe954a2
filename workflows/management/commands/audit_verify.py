"""``manage.py audit_verify``: prove that no record of the audit trail was changed, removed or put in.

Changes nothing; exit code 1 and the place of the break if there is one. After a restored backup, whose trail ends
before the anchor, ``--anchor-anew`` takes the end there is, and says so in the trail.
"""

from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from workflows.audit import anchor, record
from workflows.audit.verification import verify
from workflows.models import Customer
from workflows.models.audit import INSTALLATION, AuditHead


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
            help="after a restored backup: anchor the ends there are, and record it",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Check and tell."""
        names = {row.pk: row.slug for row in Customer.objects.all()} | {INSTALLATION: "the installation"}
        if options["anchor_anew"]:
            self._anchor_anew()
        customer = self._chosen(options["customer"])
        broken = 0
        try:
            for finding in verify(customer):
                name = names.get(finding.customer, f"customer {finding.customer} (deleted)")
                if finding.problem:
                    broken += 1
                    self.stdout.write(f"{name}: BROKEN after {finding.sound} sound records: {finding.problem}")
                else:
                    self.stdout.write(f"{name}: {finding.sound} records, whole")
        except anchor.AnchorError as error:
            raise CommandError(str(error)) from error
        if anchor.read() is None:
            self.stdout.write("There is no anchor yet; the clock writes one within a minute.")
        if broken:
            raise CommandError(f"{broken} audit trail{'s are' if broken > 1 else ' is'} broken")

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

    def _anchor_anew(self) -> None:
        with transaction.atomic():
            record(None, "audit.anchored_anew", target=("anchor", anchor.path().name), actor="")
        ends = {str(head.customer_id): (head.seq, head.hash) for head in AuditHead.objects.filter(seq__gt=0)}
        anchor.write(ends)
