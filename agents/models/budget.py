"""How much may be spent: in all, by a customer, or by a workflow; in a day, a month, or ever."""

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import F, Q

from workflows.models import Customer, Workflow

TOKENS = "tokens"


class BudgetPeriod(models.TextChoices):
    """Days and months of UTC."""

    DAY = "day"
    MONTH = "month"
    TOTAL = "total"


class Budget(models.Model):
    """At the soft limit a call warns in its log, at the hard limit it is refused before anything is sent."""

    customer = models.ForeignKey(
        Customer, null=True, blank=True, on_delete=models.CASCADE, related_name="llm_budgets",
        help_text="Empty: everything that is spent here",
    )  # fmt: skip
    workflow = models.ForeignKey(
        Workflow, null=True, blank=True, on_delete=models.CASCADE, related_name="llm_budgets",
        help_text="Only what executions of this workflow spend",
    )  # fmt: skip
    period = models.CharField(max_length=8, choices=BudgetPeriod.choices, default=BudgetPeriod.MONTH)
    unit = models.CharField(max_length=8, default="USD", help_text='A currency, or "tokens"')
    soft_limit = models.DecimalField(max_digits=20, decimal_places=6, null=True, blank=True)
    hard_limit = models.DecimalField(max_digits=20, decimal_places=6, null=True, blank=True)
    is_active = models.BooleanField(default=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(soft_limit__isnull=False) | Q(hard_limit__isnull=False), name="budget_has_a_limit"
            ),
            models.CheckConstraint(
                condition=(Q(soft_limit=None) | Q(soft_limit__gte=0)) & (Q(hard_limit=None) | Q(hard_limit__gte=0)),
                name="budget_is_not_negative",
            ),
            models.CheckConstraint(
                condition=Q(soft_limit=None) | Q(hard_limit=None) | Q(soft_limit__lte=F("hard_limit")),
                name="budget_warns_first",
            ),
        ]

    def __str__(self) -> str:
        whose = self.workflow or self.customer or "everybody"
        return f"{whose} a {self.period}" if self.period != BudgetPeriod.TOTAL else f"{whose} in all"

    def clean(self) -> None:
        """Refuse a workflow of another customer, no limit at all, limits below zero, and a warning after the end."""
        if self.workflow is not None and self.customer_id not in (None, self.workflow.customer_id):
            raise ValidationError({"workflow": "This workflow belongs to another customer"})
        if self.soft_limit is None and self.hard_limit is None:
            raise ValidationError({"hard_limit": "Give a soft limit, a hard limit, or both"})
        limits = {"soft_limit": self.soft_limit, "hard_limit": self.hard_limit}
        if negative := {
            name: "A limit is 0 or more" for name, limit in limits.items() if limit is not None and limit < 0
        }:
            raise ValidationError(negative)
        if self.soft_limit is not None and self.hard_limit is not None and self.soft_limit > self.hard_limit:
            raise ValidationError({"soft_limit": "The soft limit warns first: it is at most the hard limit"})
