"""Results that need not be made again: one row per activity and input of a customer, while it is made and after."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from workflows.identifiers import new_id
from workflows.models.execution import Execution
from workflows.models.tenancy import Customer
from workflows.models.workflow import Workflow


class CacheStatus(models.TextChoices):
    """Whether the result is there, or a branch makes it now."""

    COMPUTING = "computing"
    READY = "ready"


class CachedResult(models.Model):
    """What an activity gave for one input. The key is a keyed hash: it tells nothing of the input to whoever reads it.

    While it is made, ``owner`` and ``owner_epoch`` name the branch that does: the claim is good for as long as that
    branch's lease (subsystem-cache 5). Large outputs are artifacts of the execution that made them and go with it.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    customer = models.ForeignKey(Customer, on_delete=models.CASCADE, related_name="+", db_index=False)
    key = models.CharField(max_length=64, help_text="Keyed SHA-256 of everything that the output depends on")
    activity = models.CharField(max_length=128)
    version = models.CharField(max_length=64, help_text="The activity's own, as it was registered with")
    workflow = models.ForeignKey(Workflow, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False)
    execution = models.ForeignKey(
        Execution, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False, db_constraint=False
    )
    state = models.CharField(max_length=128)
    status = models.CharField(max_length=16, choices=CacheStatus.choices, default=CacheStatus.COMPUTING)
    owner = models.UUIDField(null=True, help_text="The branch that makes it")
    owner_epoch = models.BigIntegerField(default=0)
    claimed_until = models.DateTimeField(null=True, help_text="Then nobody waits for it any more")
    waiters = ArrayField(models.UUIDField(), default=list, help_text="Branches to wake when it is there")
    output = models.JSONField(null=True)
    is_stored = models.BooleanField(default=False, help_text="The output is an artifact of the execution")
    bytes = models.BigIntegerField(default=0)
    hits = models.BigIntegerField(default=0)
    made_at = models.DateTimeField(null=True)
    used_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = "kept result"
        constraints = [models.UniqueConstraint(fields=["customer", "key"], name="one_result_per_input")]
        indexes = [
            models.Index(fields=["customer", "activity"], name="cached_of_activity"),
            models.Index(fields=["workflow"], name="cached_of_workflow"),
            models.Index(fields=["execution"], name="cached_of_execution"),
            models.Index(fields=["expires_at"], name="cached_expiry"),
        ]

    def __str__(self) -> str:
        return f"{self.activity} {self.key[:12]}"
