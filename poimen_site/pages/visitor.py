"""Who looks at a page, for which customer: sign-in wanted, the customer kept in the session, one way to render.

It refuses to guess rights: role and customer come from the memberships, as in ``workflows.access``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, ParamSpec
from uuid import UUID

from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.shortcuts import render

from workflows.access import CUSTOMER_HEADER, default_customer
from workflows.models import Customer, Membership, Role

CUSTOMER_KEY = "customer"  # in the session: the id of the customer that pages are for
SIGN_IN = "/ui/sign-in"
THEME_COOKIE = "theme"
THEMES = ("light", "dark")

P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Visitor:
    """A signed-in user at one of their customers; ``customers`` are all they may switch to, by name."""

    user: User
    customer: Customer
    role: Role
    customers: tuple[Customer, ...]

    def may(self, needed: Role) -> bool:
        """Whether the role at this customer covers ``needed``."""
        return self.role.covers(needed)

    @property
    def may_operate(self) -> bool:
        """Whether they may start and stop runs."""
        return self.may(Role.OPERATOR)

    @property
    def may_approve(self) -> bool:
        """Whether they may decide approvals."""
        return self.may(Role.APPROVER)


class WrongCustomer(Exception):
    """What was asked for belongs to another customer of the visitor."""

    def __init__(self, customer: Customer) -> None:
        super().__init__(customer.name)
        self.customer = customer


def visitor_of(request: HttpRequest) -> Visitor | None:
    """Return who looks, for the customer chosen in the session, else the one they have belonged to longest.

    None without any customer.
    """
    user = request.user
    assert isinstance(user, User)
    memberships = list(Membership.objects.select_related("customer").filter(user=user).order_by("pk"))
    if not memberships and user.is_superuser:
        memberships = [Membership(user=user, customer=default_customer(), role=Role.ADMIN)]
    if not memberships:
        return None
    wanted = request.session.get(CUSTOMER_KEY)
    chosen = next((m for m in memberships if str(m.customer_id) == wanted), memberships[0])
    role = Role.ADMIN if user.is_superuser else Role(chosen.role)
    customers = sorted((m.customer for m in memberships), key=lambda customer: customer.name)
    return Visitor(user, chosen.customer, role, tuple(customers))


def page(
    view: Callable[Concatenate[HttpRequest, Visitor, P], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """Make a view of ``(request, visitor, ...)`` a page: GET only, for people who are signed in at a customer.

    ``Http404`` and :class:`WrongCustomer` become pages that say what to do next.
    """

    @wraps(view)
    def shown(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if request.method not in ("GET", "HEAD"):
            return HttpResponseNotAllowed(["GET", "HEAD"])
        if not request.user.is_authenticated:
            return redirect_to_login(request.get_full_path(), SIGN_IN)
        visitor = visitor_of(request)
        if visitor is None:
            return draw(request, None, "ui/no_customer.html", {}, status=403)
        try:
            return view(request, visitor, *args, **kwargs)
        except WrongCustomer as wrong:
            return draw(request, visitor, "ui/other_customer.html", {"other": wrong.customer}, status=404)
        except Http404 as missing:
            return draw(request, visitor, "ui/not_found.html", {"message": str(missing)}, status=404)

    return shown


def draw(
    request: HttpRequest, visitor: Visitor | None, template: str, context: dict[str, Any], *, status: int = 200
) -> HttpResponse:
    """Render a page in the visitor's theme; it is never kept by caches, since it shows a customer's data."""
    given = {
        "visitor": visitor,
        "theme": theme_of(request),
        "customer_header": CUSTOMER_HEADER,
        "section": request.path.split("/")[2] if request.path.startswith("/ui/") else "home",
    }
    response = render(request, template, given | context, status=status)
    response["Cache-Control"] = "no-store"
    return response


def theme_of(request: HttpRequest) -> str:
    """Return ``light`` or ``dark`` as chosen on this device, "" to follow the system."""
    chosen = request.COOKIES.get(THEME_COOKIE, "")
    return chosen if chosen in THEMES else ""


def own_or_404(visitor: Visitor, customer_id: UUID, thing: str) -> None:
    """Raise :class:`WrongCustomer` for what another customer of the visitor has, ``Http404`` for everybody else's."""
    if customer_id == visitor.customer.pk:
        return
    for customer in visitor.customers:
        if customer.pk == customer_id:
            raise WrongCustomer(customer)
    raise Http404(f"{thing} not found")
