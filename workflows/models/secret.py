"""Values that must not be shown: encrypted once, then known by the handle ``secret:<id>``."""

from django.db import models

from workflows.identifiers import new_id
from workflows.models.tenancy import Customer


class Secret(models.Model):
    """An encrypted JSON value. The key comes from ``POIMEN_SECRET_KEY``; the value never leaves through API or logs."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    customer = models.ForeignKey(Customer, on_delete=models.CASCADE, related_name="secrets")
    name = models.CharField(max_length=128, blank=True)
    digest = models.CharField(max_length=64, help_text="Keyed hash of the value: equal values share one row")
    ciphertext = models.BinaryField()
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["customer", "digest", "name"], name="one_secret_per_value")]

    def __str__(self) -> str:
        return self.name or f"secret:{self.id}"
