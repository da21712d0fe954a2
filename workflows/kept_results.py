"""Forgetting kept results when people ask for it, with a record of who did. Keeping them is the engine's work.

Refuses to touch another customer's. Source: subsystem-cache 3 and 5.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import transaction

from workflows import audit
from workflows.models import CachedResult


def forget(customer: UUID, chosen: Mapping[str, Any], *, by: str) -> int:
    """Delete the customer's results that ``chosen`` (look-ups of CachedResult; none: all) names; returns how many.

    What is being made at this moment will not be kept, either.
    """
    with transaction.atomic():
        gone, _ = CachedResult.objects.filter(customer_id=customer, **chosen).delete()
        if gone:
            what = next(iter(chosen), "all").removesuffix("__in")
            details = {} if what in ("all", "pk") else {what: str(chosen[what])}
            audit.record(
                customer, "cache.cleared", target=("cache", what), actor=by, details={**details, "results": gone}
            )
    return gone
