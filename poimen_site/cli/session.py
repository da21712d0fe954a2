"""Who acts on the command line, for which customer, and how they are answered.

Refuses to guess: with several customers or people to choose from it lists them, unless an id says which. Rights are
those of REST: a person acts in the role that their membership gives.
"""

import getpass
import json
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.core.management.base import OutputWrapper

from poimen_site.cli.faults import Fault, usage
from workflows.access import Access, refuse_lesser
from workflows.audit import Origin
from workflows.models import Customer, Execution, Membership, Role
from workflows.terminal_text import plain

Paint = Callable[[str], str]
_GOOD = frozenset({"success", "approved", "healthy", "started"})
_BAD = frozenset({"failed", "timed_out", "rejected", "expired", "unhealthy", "error"})
_MIXED = frozenset({"waiting", "paused", "pending", "cancelled", "degraded", "warn", "queued", "skipped"})


@dataclass
class Session:
    """One call of a command. ``style`` is Django's, which paints only on a terminal."""

    stdout: OutputWrapper
    stderr: OutputWrapper
    style: Any
    is_json: bool = False
    customer_name: str | None = None
    user_name: str | None = None

    @cached_property
    def customer(self) -> Customer:
        """The customer that was named, or the only one there is; raises a fault that lists them."""
        known = list(Customer.objects.order_by("slug"))
        slugs = ", ".join(customer.slug for customer in known)
        if self.customer_name is not None:
            name = self.customer_name.lower()
            found = [c for c in known if name in (c.slug.lower(), str(c.pk))]
            if not found:
                raise usage(
                    f"--customer: there is no customer {self.customer_name!r}; there are: {slugs or 'none yet'}"
                )
            return found[0]
        if not known:
            raise usage("there is no customer yet: the first start of bin/run makes one")
        if len(known) > 1:
            raise usage(f"there are several customers; choose one with --customer: {slugs}")
        return known[0]

    def choose_by_execution(self, pk: UUID) -> None:
        """Act for the customer whose execution that is, where none was named and whoever was named belongs to it.

        Raises a fault if no customer has it.
        """
        if self.customer_name is not None or "customer" in self.__dict__:
            return
        owner = Customer.objects.filter(pk__in=Execution.objects.filter(pk=pk).values("customer")).first()
        if owner is None:
            slugs = ", ".join(Customer.objects.order_by("slug").values_list("slug", flat=True))
            raise Fault(f"there is no execution {pk} at {slugs or 'any customer: there is none yet'}")
        self.act_for(owner)

    def act_for(self, owner: Customer | None) -> None:
        """Act for ``owner``, whose the thing that was named by its id is, on the conditions of an execution's."""
        if owner is None or self.customer_name is not None or "customer" in self.__dict__:
            return
        user = User.objects.filter(username=self.user_name).first() if self.user_name else None
        if user is None or user.is_superuser or Membership.objects.filter(user=user, customer=owner).exists():
            self.customer = owner

    def user(self, needed: Role) -> User:
        """Who acts: the person that was named, or the only one whose role covers ``needed``.

        Raises a fault that lists those who could; without any, the only person there is, for ``access`` to refuse.
        """
        if self.user_name is not None:
            found = User.objects.filter(username=self.user_name).first() if "\0" not in self.user_name else None
            if found is None or not found.is_active:
                why = "there is no user" if found is None else "deactivated is the user"
                raise usage(f"--user: {why} {self.user_name!r}; those who can do this: {self._people(needed)}")
            return found
        slug = self.customer.slug
        able = self._candidates(needed)
        if len(able) > 1:
            raise usage(f"several people can do this for {slug}; say as whom with --user: {self._people(needed)}")
        if able:
            return able[0]
        people = self._candidates(Role.VIEWER)
        if not people:
            raise usage(f"nobody can act for {slug} yet: make somebody a member of it in the admin")
        if len(people) > 1:
            raise Fault(f"this needs the role {needed.value} at {slug}, which none of its members has")
        return people[0]

    def access(self, needed: Role) -> Access:
        """Return what the one who acts may do, as REST sees it; raises 403 with the role that is missing."""
        user, customer = self.user(needed), self.customer
        membership = Membership.objects.filter(user=user, customer=customer).first()
        if membership is None and not user.is_superuser:
            raise usage(
                f"--user: {user.get_username()} is no member of {customer.slug}; "
                f"those who can do this: {self._people(needed)}"
            )
        role = Role.ADMIN if user.is_superuser or membership is None else Role(membership.role)
        access = Access(customer=customer, role=role, actor=user.get_username())
        refuse_lesser(access, needed)
        return access

    def readable(self) -> Customer:
        """Return the customer, for looking: whoever reaches the database may; who is named must be a viewer."""
        if self.user_name is not None:
            self.access(Role.VIEWER)
        return self.customer

    @staticmethod
    def origin() -> Origin:
        """Return what the audit trail keeps beside who acted: whose shell it was."""
        try:
            login = getpass.getuser()
        except (KeyError, OSError):  # a container's user without a name
            login = "unknown"
        return Origin(f"cli:{login}@{socket.gethostname()}")

    def document(self, body: Any) -> None:
        """Print one JSON document."""
        self.stdout.write(json.dumps(body, indent=2, ensure_ascii=False))

    def line(self, body: Any) -> None:
        """Print one JSON document on one line, at once."""
        self.stdout.write(json.dumps(body, ensure_ascii=False, separators=(",", ":")))
        self.stdout.flush()

    def say(self, text: str = "") -> None:
        """Print a line for people; control sequences of programs that ran are left out."""
        self.stdout.write(plain(text))

    def painted(self, text: str, paint: Paint) -> None:
        """Print a line in a colour, if there are colours."""
        self.stdout.write(paint(plain(text)))

    def remark(self, text: str) -> None:
        """Say something beside the answer, on standard error."""
        self.stderr.write(plain(text), self.style.NOTICE)

    def complain(self, text: str) -> None:
        """Say what is wrong, on standard error."""
        self.stderr.write(plain(text))

    def status(self, word: str) -> str:
        """Return a status in its colour."""
        if word in _GOOD:
            return str(self.style.SUCCESS(word))
        if word in _BAD:
            return str(self.style.ERROR(word))
        return str(self.style.WARNING(word)) if word in _MIXED else word

    def fields(self, pairs: Iterable[tuple[str, Any]]) -> None:
        """Print names and values, a line each; values that say nothing are left out."""
        for name, value in pairs:
            if value not in (None, "", [], {}):
                shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                self.say(f"  {name:<10} {shown}")

    def table(self, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Print columns, as wide as they need to be; one called ``status`` is painted."""
        lines = [[plain(cell).replace("\n", " ") for cell in row] for row in rows]
        widths = [max(len(row[i]) for row in [list(head), *lines]) for i in range(len(head))]
        self.say("  ".join(name.upper().ljust(width) for name, width in zip(head, widths, strict=True)).rstrip())
        for row in lines:
            cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
            cells = [
                cell.replace(row[i], self.status(row[i]), 1) if head[i] == "status" and row[i] else cell
                for i, cell in enumerate(cells)
            ]
            self.stdout.write("  ".join(cells).rstrip())

    def _candidates(self, needed: Role) -> list[User]:
        roles = [role for role in Role if role.covers(needed)]
        members = User.objects.filter(
            is_active=True, memberships__in=Membership.objects.filter(customer=self.customer, role__in=roles)
        )
        return sorted(
            {*members, *User.objects.filter(is_active=True, is_superuser=True)}, key=lambda user: user.get_username()
        )

    def _people(self, needed: Role) -> str:
        return ", ".join(user.get_username() for user in self._candidates(needed)) or "nobody yet"


def uuid_in(text: str) -> UUID | None:
    """Return the id that ``text`` is, None if it is none."""
    try:
        return UUID(text)
    except ValueError:
        return None


def given(options: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return those options that were given."""
    return {name: options[name] for name in names if options[name] is not None}
