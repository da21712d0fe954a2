"""Language models behind any OpenAI-compatible endpoint: ask with :func:`complete` or :func:`complete_now`.

``is_configured()`` says whether there is one at all; everything that can work without a model asks that first.
Source: contract-router-and-llm 2.
"""

from agents.llm.client import complete, complete_now
from agents.llm.configuration import is_configured, models
from agents.llm.errors import (
    BudgetExceeded,
    LLMConnectionError,
    LLMError,
    LLMHTTPError,
    LLMNotConfigured,
    LLMResponseError,
    LLMTimeout,
    UnsupportedModel,
)
from agents.llm.messages import CallContext, ChatRequest, Completion, ToolCall, Usage

__all__ = [
    "BudgetExceeded",
    "CallContext",
    "ChatRequest",
    "Completion",
    "LLMConnectionError",
    "LLMError",
    "LLMHTTPError",
    "LLMNotConfigured",
    "LLMResponseError",
    "LLMTimeout",
    "ToolCall",
    "UnsupportedModel",
    "Usage",
    "complete",
    "complete_now",
    "is_configured",
    "models",
]
