"""What both activities share: their fields' names, which are not camelCase, and the context of their calls.

Source: contract-activities 10, whose names these are.
"""

from pydantic import BaseModel

from agents.llm import CallContext
from workflows.activities.context import ActivityContext

MOST_PROMPT = 1_000_000  # characters


class PlainFields(BaseModel):
    """An object whose keys in JSON are the names in Python: ``system_prompt``."""


def call_context(context: ActivityContext, purpose: str, *, part: int | None = None) -> CallContext:
    """Return for whom a call is made; ``part`` tells apart the questions of one state visit."""
    who = context.identity
    return CallContext(
        customer=who.customer,
        execution=who.execution,
        branch=who.branch,
        state=who.state,
        visit=who.visit,
        attempt=who.attempt,
        idempotency_key=context.idempotency_key if part is None else f"{context.idempotency_key}:{part}",
        may_reuse=True,
        purpose=purpose,
    )
