"""What both activities share: their fields' names, which are not camelCase, and the context of their calls.

Source: contract-activities 10, whose names these are.
"""

from collections.abc import Mapping
from typing import Final

from pydantic import BaseModel

from agents.llm import CallContext
from workflows.activities.context import ActivityContext

MOST_PROMPT = 1_000_000  # characters
LLM_ERRORS: Final[Mapping[str, str]] = {
    "LLMNotConfigured": "`LOCAL_LLM_BASE_URL` is not set; not tried again",
    "UnsupportedModel": "the model is none of `POIMEN_LLM_MODELS`; not tried again",
    "BudgetExceeded": "a budget is used up, and nothing was sent; not tried again",
    "LLMConnectionError": "the model's server cannot be reached, or the connection broke",
    "LLMTimeout": "no whole answer in time, a 504, or no place among the calls that may run at once",
    "LLMHTTPError": "another status than 200; tried again for 408, 425, 429 and 5xx",
    "LLMResponseError": "an answer that cannot be used, twice; not tried again",
}


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
