"""One HTTP exchange with a language model: who asked, what, what came back, what it cost. Secrets are masked."""

from django.db import models

from workflows.identifiers import new_id
from workflows.models import Customer


class ExchangeStatus(models.TextChoices):
    """``running`` also counts against the model's limits, until ``expires_at``."""

    RUNNING = "running"
    SUCCESS = "success"
    FAILURE = "failure"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"


class Exchange(models.Model):
    """A row is written before anything is sent, so that a call whose worker died is on record too.

    Executions are named, not pointed to: the record of what was spent outlives them.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    customer = models.ForeignKey(
        Customer, null=True, on_delete=models.CASCADE, related_name="llm_exchanges", db_index=False
    )
    workflow = models.UUIDField(null=True)
    execution = models.UUIDField(null=True)
    branch = models.UUIDField(null=True)
    state = models.CharField(max_length=128, blank=True)
    visit = models.IntegerField(null=True)
    attempt = models.IntegerField(null=True)
    call = models.PositiveSmallIntegerField(default=1, help_text="Which try of the same question, from 1")
    purpose = models.CharField(max_length=64, blank=True)
    idempotency_key = models.CharField(max_length=400, blank=True)
    request_hash = models.CharField(max_length=64)

    alias = models.CharField(max_length=200, help_text="What the caller named")
    model = models.CharField(max_length=200, help_text="What the endpoint was asked for")
    prompt_name = models.CharField(max_length=128, blank=True)
    prompt_version = models.ForeignKey(
        "agents.PromptVersion", null=True, on_delete=models.SET_NULL, related_name="exchanges", db_index=False
    )
    request = models.JSONField(null=True)
    answer = models.JSONField(null=True)
    is_exact = models.BooleanField(default=False, help_text="Nothing of the answer had to be masked or cut")

    status = models.CharField(max_length=16, choices=ExchangeStatus.choices, default=ExchangeStatus.RUNNING)
    error_name = models.CharField(max_length=64, blank=True)
    error = models.TextField(blank=True)
    http_status = models.PositiveSmallIntegerField(null=True)
    finish_reason = models.CharField(max_length=64, blank=True)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField()

    reserved_tokens = models.PositiveBigIntegerField(
        default=0, db_default=0, help_text="What it may use at most; counts against budgets while it runs"
    )
    reserved_cost = models.DecimalField(max_digits=20, decimal_places=10, default=0, db_default=0)
    reserved_currency = models.CharField(max_length=8, blank=True, default="", db_default="")

    prompt_tokens = models.PositiveIntegerField(default=0)
    completion_tokens = models.PositiveIntegerField(default=0)
    cached_tokens = models.PositiveIntegerField(default=0, help_text="Of the prompt's, those that were cheaper")
    usage_is_estimated = models.BooleanField(default=False)
    cost = models.DecimalField(max_digits=20, decimal_places=10, null=True, help_text="Empty: the model has no price")
    currency = models.CharField(max_length=8, blank=True)
    prices = models.JSONField(default=list, help_text="The ids of the prices that it was counted with")

    class Meta:
        indexes = [
            models.Index(fields=["customer", "-started_at"], name="exchange_newest"),
            models.Index(fields=["model", "started_at"], name="exchange_by_model"),
            models.Index(fields=["started_at"], name="exchange_by_age"),
            models.Index(
                fields=["execution", "started_at"],
                name="exchange_of_execution",
                condition=models.Q(execution__isnull=False),
            ),
            models.Index(
                fields=["idempotency_key"], name="exchange_by_key", condition=models.Q(idempotency_key__gt="")
            ),
            models.Index(fields=["model", "expires_at"], name="exchange_running", condition=models.Q(status="running")),
        ]

    def __str__(self) -> str:
        return f"{self.alias} {self.id}"
