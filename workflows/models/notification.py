"""What was told to people outside: one row for each notification, whatever became of it (contract-activities 6)."""

from django.db import models

from workflows.identifiers import new_id
from workflows.models.execution import Execution
from workflows.models.tenancy import Customer


class NotificationStatus(models.TextChoices):
    """``sending`` after a crash means that nobody knows."""

    SENDING = "sending"
    DELIVERED = "delivered"
    FAILED = "failed"


class NotificationRecord(models.Model):
    """One visit of a state that notifies; its attempts share the row, so that what arrived is not sent again."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    customer = models.ForeignKey(Customer, on_delete=models.CASCADE, related_name="notifications", db_index=False)
    execution = models.ForeignKey(
        Execution, on_delete=models.CASCADE, related_name="notifications", db_constraint=False
    )
    idempotency_key = models.CharField(max_length=255, unique=True)
    state = models.CharField(max_length=128)
    channel = models.CharField(max_length=32, help_text="slack, email, webhook, or the scheme of another service")
    recipients = models.JSONField(default=list, help_text="Mail addresses, or the host; never a whole address")
    delivered_to = models.JSONField(default=list, help_text="Those of the recipients that have it")
    severity = models.CharField(max_length=16, help_text="success, failure, warning or info, as the workflow says")
    message = models.TextField()
    status = models.CharField(max_length=16, choices=NotificationStatus.choices, default=NotificationStatus.SENDING)
    attempts = models.PositiveIntegerField(default=0)
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    delivered_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = "notification"
        ordering = ["-id"]
        indexes = [models.Index(fields=["customer", "-id"], name="notifications_of_customer")]

    def __str__(self) -> str:
        return f"{self.channel} {self.severity} ({self.status})"
