"""Who owns what: customers, and the people who act for them in a role."""

from django.conf import settings
from django.core.validators import MinValueValidator
from django.db import models

from workflows.identifiers import new_id

NO_ROOM = "With less than 1 nothing of this customer would ever run; leave it empty for no limit"


class Customer(models.Model):
    """A tenant. Every other row belongs to exactly one; a foreign row does not exist for its users."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    slug = models.SlugField(max_length=64, unique=True)
    name = models.CharField(max_length=128)
    max_running_branches = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1, NO_ROOM)],
        help_text="Most branches of this customer that run at once, at least 1; empty: no limit",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(max_running_branches=None) | models.Q(max_running_branches__gte=1),
                name="room_for_one_branch",
                violation_error_message=NO_ROOM,
            )
        ]

    def __str__(self) -> str:
        return self.name


class Role(models.TextChoices):
    """Each role may do what the ones before it may."""

    VIEWER = "viewer"
    EDITOR = "editor"
    OPERATOR = "operator"
    APPROVER = "approver"
    ADMIN = "admin"

    def covers(self, needed: "Role") -> bool:
        """Whether someone in this role may do what needs ``needed``."""
        order = list(Role)
        return order.index(self) >= order.index(needed)


class Membership(models.Model):
    """A user's role at a customer."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    customer = models.ForeignKey(Customer, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=16, choices=Role.choices, default=Role.VIEWER)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "customer"], name="one_role_per_customer")]

    def __str__(self) -> str:
        return f"{self.user} ({self.role} at {self.customer})"
