"""Keys of programs: a random text that is shown once, kept as its digest, with what it may do and until when."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

from workflows.identifiers import new_id
from workflows.models.tenancy import Customer, Role


class Scope(models.TextChoices):
    """What a key may be used for; its role must allow it as well."""

    READ = "read"
    WRITE = "write"
    RUN = "run"
    APPROVE = "approve"


class ApiKey(models.Model):
    """A key of a customer. With a user it acts as that person and never in a higher role; without, under its name."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    customer = models.ForeignKey(Customer, on_delete=models.CASCADE, related_name="api_keys")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="api_keys"
    )
    name = models.CharField(max_length=128, help_text="What the key is for, as people recognise it")
    prefix = models.CharField(max_length=16, help_text="The first characters of the key, to tell keys apart")
    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the whole key, in hex")
    scopes = ArrayField(models.CharField(max_length=16, choices=Scope.choices))
    role = models.CharField(max_length=16, choices=Role.choices, default=Role.VIEWER)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True, help_text="To the minute")
    revoked_at = models.DateTimeField(null=True, blank=True)
    revoked_by = models.CharField(max_length=254, blank=True)
    created_by = models.CharField(max_length=254, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = "API key"
        indexes = [models.Index(fields=["customer", "-created_at"], name="api_key_newest")]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"
