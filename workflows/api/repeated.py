"""Doing once what is asked for twice: acts under an ``Idempotency-Key`` that are not the start of one execution.

Owns the order of things: the key is taken first, so that of two requests at once one waits for the other. Refuses a key
that was used for another request.
"""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.db import transaction

from workflows.api.requests import Conflict
from workflows.models import Customer, RememberedRequest
from workflows.submission import checksum_of

Done = tuple[UUID | None, Any]  # what was made, and what was answered where nothing that is kept says it


def once(customer: Customer, key: str | None, request: list[Any], act: Callable[[], Done]) -> tuple[Done, bool]:
    """Return what ``act`` gives and True; or what it gave when the same ``request`` came with the ``key``, and False.

    Whatever ``act`` raises leaves the key free. Raises ``Conflict`` (409) if the key came with another request.
    """
    if key is None:
        return act(), True
    digest = checksum_of(request)
    mine = RememberedRequest(customer=customer, key=key, request_hash=digest)
    with transaction.atomic():
        # Waits for another transaction that has taken the key and not ended.
        RememberedRequest.objects.bulk_create([mine], ignore_conflicts=True)
        kept = RememberedRequest.objects.select_for_update().get(customer=customer, key=key)
        if kept.request_hash != digest:
            raise Conflict("the idempotency key was used for another request.")
        if kept.target is not None or kept.answer is not None:
            return (kept.target, kept.answer), False
        kept.target, kept.answer = act()
        kept.save(update_fields=["target", "answer"])
        return (kept.target, kept.answer), True
