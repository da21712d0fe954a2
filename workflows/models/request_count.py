"""How many requests a customer has made in the current minute, counted by all web processes together."""

from django.db import models

from workflows.models.tenancy import Customer


class RequestCount(models.Model):
    """One row a customer, in an unlogged table: after a crash of the server counting begins anew."""

    customer = models.OneToOneField(Customer, on_delete=models.CASCADE, primary_key=True, related_name="+")
    window_started_at = models.DateTimeField()
    count = models.PositiveIntegerField()

    def __str__(self) -> str:
        return f"{self.count} since {self.window_started_at}"
