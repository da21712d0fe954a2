"""What is learned about models and kept for all processes: how long to wait, and whether a schema is understood.

Each bounded and forgotten after a week. Source: contract-router-and-llm 2 (504 learning).
"""

from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from agents.models import ModelTrait

MOST_TIMEOUT_SECONDS = 600.0
MEMORY = timedelta(days=7)


def traits_of(model: str) -> ModelTrait:
    """Return what is known and not forgotten about a model; a row that is not stored if that is nothing."""
    trait = ModelTrait.objects.filter(pk=model).first() or ModelTrait(model=model)
    forgotten = timezone.now() - MEMORY
    if trait.timeout_learned_at is None or trait.timeout_learned_at < forgotten:
        trait.timeout_seconds = None
    if trait.schema_learned_at is None or trait.schema_learned_at < forgotten:
        trait.takes_schema = None
    return trait


def timeout_of(trait: ModelTrait) -> float:
    """Return the seconds to wait for a whole answer of the model."""
    return max(trait.timeout_seconds or 0.0, settings.POIMEN_LLM_TIMEOUT_SECONDS)


def took_too_long(model: str, waited: float) -> None:
    """Double the time for a model that was too slow for ``waited`` seconds, up to ten minutes.

    Of calls that ran at once and were all too slow, one doubles it: what is longer than twice ``waited`` stays.
    """
    with transaction.atomic():
        ModelTrait.objects.get_or_create(pk=model)
        trait = ModelTrait.objects.select_for_update().get(pk=model)
        known = traits_of(model).timeout_seconds or 0.0
        trait.timeout_seconds = min(max(known, 2 * waited), max(MOST_TIMEOUT_SECONDS, waited))
        trait.timeout_learned_at = timezone.now()
        trait.save(update_fields=["timeout_seconds", "timeout_learned_at"])


def takes_schema(model: str, takes: bool) -> None:
    """Remember whether the model's server takes ``response_format`` with a schema."""
    ModelTrait.objects.update_or_create(pk=model, defaults={"takes_schema": takes, "schema_learned_at": timezone.now()})
