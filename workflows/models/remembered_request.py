"""Requests that named an idempotency key, and what came of them: sent again, they do nothing again."""

from django.db import models

from workflows.models.tenancy import Customer


class RememberedRequest(models.Model):
    """Written in the transaction of what was asked for, so that there are both or none.

    Executions have their keys on their own rows; these are of what makes other things, or several at once.
    """

    customer = models.ForeignKey(Customer, on_delete=models.CASCADE, related_name="+", db_index=False)
    key = models.CharField(max_length=255)
    request_hash = models.CharField(max_length=64)
    target = models.UUIDField(null=True, help_text="What was made")
    answer = models.JSONField(null=True, help_text="What was answered, where nothing that is kept says it")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["customer", "key"], name="one_request_a_key")]
        indexes = [models.Index(fields=["created_at"], name="rememberedrequest_by_age")]

    def __str__(self) -> str:
        return self.key
