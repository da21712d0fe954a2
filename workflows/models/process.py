"""The processes that do the work, by their heartbeats: what health shows and the clock watches."""

from django.db import models

from workflows.identifiers import new_id


class ProcessKind(models.TextChoices):
    """``cluster`` is a qcluster command, ``pump`` one of its workers while it drives branches."""

    CLUSTER = "cluster"
    PUMP = "pump"
    CLOCK = "clock"


class Process(models.Model):
    """One running process; it is alive while its heartbeat is recent."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    kind = models.CharField(max_length=16, choices=ProcessKind.choices)
    host = models.CharField(max_length=255)
    pid = models.PositiveIntegerField()
    started_at = models.DateTimeField(auto_now_add=True)
    heartbeat_at = models.DateTimeField()
    details = models.JSONField(default=dict, help_text="cluster: {workers}; pump: {running, capacity}")

    class Meta:
        indexes = [models.Index(fields=["kind", "heartbeat_at"], name="process_alive")]
        verbose_name_plural = "processes"

    def __str__(self) -> str:
        return f"{self.kind} {self.pid}@{self.host}"
