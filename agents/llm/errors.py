"""What can go wrong with a call of a language model, by the names that ``catch`` rules match.

Refuses to hold secrets: keys are in no message, and of what the endpoint said 300 characters, masked.
Source: contract-router-and-llm 2, contract-activities 17.
"""

from agents.llm.messages import Answer
from workflows.errors import WorkflowError

PATIENCE_STATUS = frozenset({408, 425, 429})  # ask for patience rather than for another request


class LLMError(WorkflowError):
    """The parent of them all. ``exchange`` is the id of the recorded call, if there was one.

    ``partial`` is what had been answered until it failed: it is recorded, and was paid for.
    """

    name = "LLMError"
    exchange: str | None = None
    partial: Answer | None = None
    retry_after: float | None = None  # seconds, where the endpoint said so


class LLMNotConfigured(LLMError):
    """There is no endpoint. Ask beforehand with ``llm.is_configured()``."""

    name = "LLMNotConfigured"
    retryable = False


class UnsupportedModel(LLMError):
    """The model is none of those in ``POIMEN_LLM_MODELS``; nothing was sent."""

    name = "UnsupportedModel"
    retryable = False


class LLMConnectionError(LLMError):
    """The endpoint cannot be reached, or the connection broke."""

    name = "LLMConnectionError"


class LLMHTTPError(LLMError):
    """The endpoint answered with another status than 200. 408, 425, 429 and 5xx may pass."""

    name = "LLMHTTPError"

    def __init__(self, message: str, *, status: int, retry_after: float | None = None) -> None:
        retryable = status >= 500 or status in PATIENCE_STATUS
        super().__init__(message, retryable=retryable, details={"status": status})
        self.status = status
        self.retry_after = retry_after


class LLMTimeout(LLMError):
    """No whole answer within the time; or no place among the calls that may run at once."""

    name = "LLMTimeout"


class LLMResponseError(LLMError):
    """The answer cannot be used: no JSON, no choices, not what the schema asks for, too large, or without end.

    The client has tried once more by itself where that could help: another attempt of the state does not.
    """

    name = "LLMResponseError"
    retryable = False
    may_mend = True  # whether asking once more can help

    def __init__(self, message: str, *, may_mend: bool = True) -> None:
        super().__init__(message)
        self.may_mend = may_mend


class BudgetExceeded(LLMError):
    """A hard limit of a budget is reached; nothing was sent."""

    name = "BudgetExceeded"
    retryable = False
