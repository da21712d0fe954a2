"""What was learned about a model by using it. Each is forgotten after a while, since servers change."""

from django.db import models


class ModelTrait(models.Model):
    """How long it may take, and whether its server takes a JSON Schema."""

    model = models.CharField(max_length=200, primary_key=True)
    timeout_seconds = models.FloatField(null=True)
    timeout_learned_at = models.DateTimeField(null=True)
    takes_schema = models.BooleanField(null=True)
    schema_learned_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.model
