"""The audit trail: who did what, as a chain of records for each customer, and where each chain ends.

The tables are made by SQL in a migration, with triggers that refuse to change or remove records; to Django they are
unmanaged, so that no command of its empties them. Customers are named by id only: the trail outlives what it is about.
"""

from uuid import UUID

from django.db import models

INSTALLATION = UUID(int=0)  # the chain of what concerns no single customer
GENESIS = "0" * 64  # the hash before the first record of a chain


class ActorKind(models.TextChoices):
    """Who acted: a person, a program with a key, or Poimen itself."""

    USER = "user"
    API_KEY = "api_key"
    SYSTEM = "system"


class AuditRecord(models.Model):
    """One act. ``hash`` is a keyed hash over all other fields and ``previous_hash`` (workflows.audit.chain)."""

    id = models.BigAutoField(primary_key=True)
    customer_id = models.UUIDField()
    seq = models.BigIntegerField(help_text="Counts the customer's records from 1, without gaps")
    at = models.DateTimeField()
    actor = models.TextField(help_text="User name, or name of the key; empty for Poimen itself")
    actor_kind = models.CharField(max_length=16, choices=ActorKind.choices)
    action = models.CharField(max_length=64, help_text="As in execution.cancelled")
    target_kind = models.CharField(max_length=32)
    target_id = models.TextField()
    execution_id = models.UUIDField(null=True)
    workflow_id = models.UUIDField(null=True)
    details = models.TextField(help_text="JSON, as text: exactly what was hashed; secrets are masked")
    request_id = models.TextField(help_text="The request that brought it about, as in the log; empty if none did")
    key_id = models.CharField(max_length=16, help_text="Which key the hash was made with")
    previous_hash = models.CharField(max_length=64)
    hash = models.CharField(max_length=64)

    class Meta:
        managed = False
        db_table = "workflows_auditrecord"
        verbose_name_plural = "audit trail"
        ordering = ["-at"]

    def __str__(self) -> str:
        return f"{self.seq} {self.action}"


class AuditHead(models.Model):
    """Where a customer's chain ends: kept in the transaction that adds a record, so that a cut tail shows."""

    customer_id = models.UUIDField(primary_key=True)
    seq = models.BigIntegerField()
    hash = models.CharField(max_length=64)

    class Meta:
        managed = False
        db_table = "workflows_audithead"

    def __str__(self) -> str:
        return f"{self.customer_id} at {self.seq}"
