"""What all admin pages share: rows of the user's customers only, rights by role, lists that never scan a table.

Refuses by default: a page that wants to allow adding, changing or deleting names the role for it.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.contrib import admin
from django.contrib.auth.models import AnonymousUser, User
from django.db.models import QuerySet
from django.http import HttpRequest

from workflows.access import roles_of
from workflows.admin.pagination import EstimatingPaginator
from workflows.models import Role

if TYPE_CHECKING:  # generic for the type checker only
    ModelAdmin = admin.ModelAdmin[Any]
else:
    ModelAdmin = admin.ModelAdmin

_ROLES = "poimen.admin.roles"


def roles_in(request: HttpRequest) -> Mapping[UUID, Role]:
    """Return the roles of the request's user by customer id; one query for the whole request."""
    roles: Mapping[UUID, Role] | None = request.META.get(_ROLES)
    if roles is None:
        roles = request.META[_ROLES] = roles_of(request.user)
    return roles


def user_of(request: HttpRequest) -> User:
    """Return the signed-in user; the admin site lets nobody else in."""
    assert not isinstance(request.user, AnonymousUser)
    return request.user


class ScopedAdmin(ModelAdmin):
    """Read-only for viewers of the row's customer, unless a subclass names roles for more.

    ``customer_path`` is the lookup from a row to its customer; None means superusers only.
    """

    customer_path: str | None = "customer"
    view_role: Role = Role.VIEWER
    add_role: Role | None = None
    change_role: Role | None = None
    delete_role: Role | None = None

    paginator = EstimatingPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER  # counts per filter read whole tables
    list_per_page = 50
    list_max_show_all = 0
    sortable_by = ()  # a click must not sort a million rows
    text_search: str | None = None  # a lookup on a small or indexed column; ids are always found
    id_search: tuple[str, ...] = ("pk",)
    list_title = ""
    empty_hint = ""  # what to do next when there is no row at all

    class Media:
        css = {"all": ["workflows/admin.css"]}

    # -- rows -------------------------------------------------------------------------------------------------------

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return what the user may see; superusers see all."""
        rows: QuerySet[Any] = super().get_queryset(request)
        if user_of(request).is_superuser:
            return rows
        if self.customer_path is None:
            return rows.none()
        return rows.filter(**{f"{self.customer_path}__in": self.customers_where(request, self.view_role)})

    def customers_where(self, request: HttpRequest, role: Role) -> list[UUID]:
        """Return the ids of the customers at which the user has at least ``role``."""
        return [customer for customer, has in roles_in(request).items() if has.covers(role)]

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Find an id exactly, anything else by ``text_search``: both can use an index."""
        term = search_term.strip()
        if not term:
            return queryset, False
        try:
            wanted = UUID(term)
        except ValueError:
            if self.text_search is None or "\0" in term:
                return queryset.none(), False
            return queryset.filter(**{self.text_search: term}), False
        found = queryset.none()
        for lookup in self.id_search:
            found = found | queryset.filter(**{lookup: wanted})
        return found, False

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """Show the list under ``list_title``."""
        title = {"title": self.list_title} if self.list_title else {}
        return super().changelist_view(request, {**title, **(extra_context or {})})

    def get_list_display(self, request: HttpRequest) -> Any:
        """Leave out the customer for those who have one only."""
        shown = super().get_list_display(request)
        has_several = user_of(request).is_superuser or len(roles_in(request)) > 1
        return shown if has_several else [name for name in shown if name != "customer"]

    # -- rights -----------------------------------------------------------------------------------------------------

    def may(self, request: HttpRequest, role: Role | None, row: Any = None) -> bool:
        """Whether the user has ``role`` at the row's customer, or without a row at any; never without a role."""
        user = request.user  # anonymous on the sign-in page
        if role is None or not (user.is_active and user.is_staff):
            return False
        if user.is_superuser:
            return True
        if self.customer_path is None:
            return False
        customers = self.customers_where(request, role)
        return bool(customers) if row is None else self.customer_id_of(row) in customers

    def customer_id_of(self, row: Any) -> UUID:
        """Return the id of the customer the row belongs to."""
        *path, _ = (self.customer_path or "").split("__")
        for name in path:
            row = getattr(row, name)
        customer_id: UUID = row.customer_id
        return customer_id

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Whether the page is on the index."""
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whether rows can be seen; which, ``get_queryset`` decides."""
        return self.may(request, self.view_role, obj)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Whether the user has ``add_role`` somewhere."""
        return self.may(request, self.add_role)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whether the user has ``change_role`` at the row's customer."""
        return self.may(request, self.change_role, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whether the user has ``delete_role`` at the row's customer."""
        return self.may(request, self.delete_role, obj)
