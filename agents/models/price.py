"""What tokens cost: by model and kind, from a day on. Amounts are per million tokens, exact."""

from django.core.validators import MinValueValidator
from django.db import models


class PriceKind(models.TextChoices):
    """``cached``: tokens of the prompt that the endpoint had read before; without a price they cost as others."""

    PROMPT = "prompt"
    COMPLETION = "completion"
    CACHED = "cached"


class Price(models.Model):
    """The newest that is in force counts. A model without one is unpriced, which is not the same as free."""

    model = models.CharField(max_length=200, help_text="As the endpoint names it")
    kind = models.CharField(max_length=16, choices=PriceKind.choices)
    amount = models.DecimalField(
        max_digits=18, decimal_places=8, validators=[MinValueValidator(0)], help_text="For a million tokens"
    )
    currency = models.CharField(max_length=8, default="USD")
    effective_from = models.DateTimeField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["model", "kind", "effective_from"], name="one_price_at_a_time"),
            models.CheckConstraint(condition=models.Q(amount__gte=0), name="no_negative_price"),
        ]

    def __str__(self) -> str:
        return f"{self.model} {self.kind} {self.amount} {self.currency}"
