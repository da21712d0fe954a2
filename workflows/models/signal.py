"""What the outside said to an execution; each signal is taken by exactly one waiting branch."""

from django.db import models

from workflows.identifiers import new_id
from workflows.models.execution import Execution


class Signal(models.Model):
    """A named message. ``consumed_at`` is set in the transition that takes it."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    execution = models.ForeignKey(Execution, on_delete=models.CASCADE, related_name="signals")
    name = models.CharField(max_length=255)
    payload = models.JSONField(null=True)
    dedupe_key = models.CharField(max_length=255, null=True)
    sent_by = models.CharField(max_length=254, blank=True)
    sent_at = models.DateTimeField(auto_now_add=True)
    consumed_at = models.DateTimeField(null=True)
    consumed_by = models.UUIDField(null=True)
    consumed_visit = models.PositiveIntegerField(null=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["execution", "name", "id"], name="signal_waiting", condition=models.Q(consumed_at=None)
            )
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["execution", "dedupe_key"],
                name="one_signal_per_key",
                condition=models.Q(dedupe_key__isnull=False),
            )
        ]

    def __str__(self) -> str:
        return self.name
