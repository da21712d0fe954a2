"""What was said: the append-only log of executions, in an order that a tailing reader can trust."""

from django.db import models
from django.db.models.expressions import RawSQL
from django.db.models.functions import Now

from workflows.models.execution import Execution


class LogEntry(models.Model):
    """One line. ``tx`` is the writing transaction's id: a reader that takes rows below the oldest running
    transaction, ordered by (tx, id), sees every line once although workers commit out of order."""

    id = models.BigAutoField(primary_key=True)
    tx = models.BigIntegerField(db_default=RawSQL("(pg_current_xact_id()::text::bigint)", ()), editable=False)
    execution = models.ForeignKey(
        Execution, on_delete=models.CASCADE, related_name="log_entries", db_constraint=False, db_index=False
    )
    branch_id = models.UUIDField(null=True)
    node_id = models.CharField(max_length=128, blank=True)
    level = models.CharField(max_length=8)
    event = models.CharField(max_length=32, blank=True)
    message = models.TextField()
    fields = models.JSONField(null=True)
    logged_at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name_plural = "log entries"
        indexes = [models.Index(fields=["execution", "tx", "id"], name="log_of_execution")]

    def __str__(self) -> str:
        return self.message[:80]
