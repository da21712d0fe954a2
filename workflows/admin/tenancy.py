"""The admin of who owns what: customers, and who acts for them in which role."""

from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.contrib import admin
from django.contrib.auth.models import User
from django.db.models import Count, ForeignKey, QuerySet
from django.http import HttpRequest

from workflows.access import may_add_member
from workflows.admin import display
from workflows.admin.scoping import ScopedAdmin, user_of
from workflows.models import Customer, Membership, Role

if TYPE_CHECKING:  # generic for the type checker only
    MembershipModelForm = forms.ModelForm[Membership]
else:
    MembershipModelForm = forms.ModelForm


@admin.register(Customer)
class CustomerAdmin(ScopedAdmin):
    """Customers; superusers make and limit them, members see their own."""

    customer_path = "pk"
    list_title = "Customers"
    list_display = ("name", "slug", "members", "max_running_branches", "created_at")
    search_fields = ("slug",)
    search_help_text = "Slug, or id"
    text_search = "slug__icontains"
    ordering = ("slug",)
    fields = ("name", "slug", "max_running_branches", "created_at")
    readonly_fields = ("created_at",)
    prepopulated_fields = {"slug": ("name",)}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Count the members along."""
        rows: QuerySet[Any] = super().get_queryset(request).annotate(members=Count("memberships"))
        return rows

    def customer_id_of(self, row: Any) -> Any:
        """A customer belongs to itself."""
        return row.pk

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Only superusers make customers."""
        return request.user.is_active and request.user.is_superuser

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Only superusers change them: their limits are about the whole installation."""
        return request.user.is_active and request.user.is_superuser

    def get_prepopulated_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Make the slug from the name while it is new."""
        return {} if obj is not None or not self.has_change_permission(request) else self.prepopulated_fields

    @admin.display(description="members")
    def members(self, customer: Any) -> Any:
        """A link to the memberships."""
        return display.list_of("membership", str(customer.members), customer__id__exact=customer.pk)


# One sentence whether the name is somebody's or not: names of other customers' users are not told.
NOT_TO_ADD = "No user of this name can be added; ask whoever runs this installation"


class MembershipForm(MembershipModelForm):
    """A membership by user name: who may add members need not be able to look through all users."""

    adder: ClassVar[User]  # who fills it in; set by the admin page
    username = forms.CharField(label="User name", max_length=150, help_text="As the person signs in")

    class Meta:
        model = Membership
        fields = ("customer", "role")

    def clean(self) -> dict[str, Any]:
        """Find the user; refuse one that is not to be added, and a second role. Raises ``ValidationError``."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        name, customer = cleaned.get("username"), cleaned.get("customer")
        if name is None or customer is None:
            return cleaned
        user = User.objects.filter(username=name).first()
        if user is not None and Membership.objects.filter(user=user, customer=customer).exists():
            self.add_error("username", "This person is a member already; change the role there")
        elif user is None or not may_add_member(self.adder, user):
            self.add_error("username", NOT_TO_ADD)
        else:
            self.instance.user = user
        return cleaned


@admin.register(Membership)
class MembershipAdmin(ScopedAdmin):
    """Who acts for a customer; its admins decide."""

    add_role = change_role = delete_role = Role.ADMIN
    form = MembershipForm
    list_title = "Memberships"
    list_display = ("user", "customer", "role")
    list_select_related = ("user", "customer")
    list_filter = ("role",)
    search_fields = ("user",)
    search_help_text = "User name, or id of a customer"
    text_search = "user__username__icontains"
    id_search = ("customer_id",)
    ordering = ("customer", "user")

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Who and where are chosen once; the role can change."""
        return ("customer", "username", "role") if obj is None else ("customer", "user", "role")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """The role can change."""
        return () if obj is None else ("customer", "user")

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **options: Any) -> Any:
        """Ask for a user name only where there is no user yet."""
        if obj is not None:
            options["form"] = forms.ModelForm
        form: Any = super().get_form(request, obj, change, **options)
        if obj is None:
            form.adder = user_of(request)  # the class is made for this request alone
        return form

    def formfield_for_foreignkey(self, db_field: "ForeignKey[Any, Any]", request: HttpRequest, **options: Any) -> Any:
        """Offer the customers at which the user is admin."""
        if db_field.name == "customer" and not user_of(request).is_superuser:
            options["queryset"] = Customer.objects.filter(pk__in=self.customers_where(request, Role.ADMIN))
        return super().formfield_for_foreignkey(db_field, request, **options)

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Allow the links of a customer to narrow the list."""
        return lookup == "customer__id__exact" or super().lookup_allowed(lookup, value, request)
