"""The errors a running state can end with, by the names that ``catch`` and ``nonRetryableErrors`` match.

Source: contract-workflow-spec 5, contract-activities 17.
"""

from typing import Any


class WorkflowError(Exception):
    """A failure of a state. ``name`` is what specs match on; ``retryable`` says whether another attempt may help."""

    name = "ActivityError"
    retryable = True

    def __init__(
        self, message: str, *, name: str | None = None, retryable: bool | None = None, details: Any = None
    ) -> None:
        super().__init__(message)
        self.message = message
        if name is not None:
            self.name = name
        if retryable is not None:
            self.retryable = retryable
        self.details = details

    def as_json(self) -> dict[str, Any]:
        """``{name, message, retryable, details?}``: the error object specs read, without attempt and state."""
        body: dict[str, Any] = {"name": self.name, "message": self.message, "retryable": self.retryable}
        if self.details is not None:
            body["details"] = self.details
        return body


class ActivityError(WorkflowError):
    """What an activity raises for a failure that another attempt may mend (unreachable host, 5xx)."""


class PermanentError(WorkflowError):
    """What an activity raises when trying again cannot help (bad path, 4xx, missing configuration)."""

    retryable = False


class InvalidInput(PermanentError):
    """The activity's input does not fit its schema, or names something that is refused."""

    name = "ValidationError"


class UnresolvedReference(PermanentError):
    """A ``${...}`` reference names a state that has not run or a field that is not there."""

    name = "ReferenceError"


class ExpressionError(PermanentError):
    """A JSONata expression failed or passed its time, depth or size bounds."""

    name = "ExpressionError"


class ActivityTimeout(WorkflowError):
    """The attempt passed its start-to-close or heartbeat timeout."""

    name = "Timeout"


class Canceled(WorkflowError):
    """The execution, or the branch, was asked to stop while the state ran. Never retried."""

    name = "Canceled"
    retryable = False


class WorkerLost(WorkflowError):
    """The state was interrupted by dying workers too often to be tried again."""

    name = "WorkerLost"
    retryable = False


class LimitExceeded(WorkflowError):
    """A bound of the engine was passed: transitions, output size, map items, depth of child workflows."""

    name = "LimitExceeded"
    retryable = False
