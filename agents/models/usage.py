"""What was used, added up by day: it stays when the exchanges themselves are deleted."""

from uuid import UUID

from django.db import models

NOBODY = UUID(int=0)  # stands for no customer, or no workflow: unique constraints do not compare nulls


class UsageTally(models.Model):
    """Calls of one day, by whom, of what model, with what result and how long they took (``bucket``)."""

    day = models.DateField()
    customer = models.UUIDField(default=NOBODY)
    workflow = models.UUIDField(default=NOBODY)
    model = models.CharField(max_length=200)
    status = models.CharField(max_length=16)
    bucket = models.PositiveSmallIntegerField()
    currency = models.CharField(max_length=8, blank=True)
    calls = models.BigIntegerField(default=0)
    seconds = models.FloatField(default=0)
    prompt_tokens = models.BigIntegerField(default=0)
    completion_tokens = models.BigIntegerField(default=0)
    cost = models.DecimalField(max_digits=24, decimal_places=10, default=0)
    unpriced = models.BigIntegerField(default=0, help_text="Calls that used tokens of a model without a price")

    class Meta:
        verbose_name_plural = "usage tallies"
        constraints = [
            models.UniqueConstraint(
                fields=["day", "customer", "workflow", "model", "status", "bucket", "currency"], name="one_usage_tally"
            )
        ]

    def __str__(self) -> str:
        return f"{self.model} {self.day}"
