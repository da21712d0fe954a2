"""When a failed attempt is tried again, and after how long (contract-workflow-spec 4, 5).

Owns the arithmetic of retry policies; knows nothing of timers, workers or the database.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta

from workflows.errors import Canceled, WorkflowError
from workflows.spec import schema
from workflows.spec.durations import parse_duration


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how patiently a state is tried. ``max_attempts`` counts the first try; ``jitter`` is 0 to 1."""

    max_attempts: int = 1
    initial_interval: timedelta = timedelta(seconds=2)
    backoff_coefficient: float = 2.0
    max_interval: timedelta = timedelta(minutes=5)
    jitter: float = 0.1
    non_retryable_errors: frozenset[str] = frozenset()

    def delay_before(self, attempt: int, random: Callable[[], float]) -> timedelta:
        """Return the wait before ``attempt`` (2 is the first retry): initial x coefficient^(attempt-2), capped.

        ``random`` gives numbers in [0, 1); the wait is spread evenly over plus and minus ``jitter`` of itself and
        never passes ``max_interval``. Raises ``ValueError`` for an attempt below 2, which nothing waits for.
        """
        if attempt < 2:
            raise ValueError(f"attempt {attempt} is not a retry; the first retry is attempt 2")
        cap = self.max_interval.total_seconds()
        try:
            seconds = min(self.initial_interval.total_seconds() * self.backoff_coefficient ** (attempt - 2), cap)
        except OverflowError:
            seconds = cap
        if self.jitter:
            seconds = min(seconds * (1 + self.jitter * (2 * random() - 1)), cap)
        return timedelta(seconds=seconds)

    def allows(self, error: WorkflowError, failed_attempts: int) -> bool:
        """Whether another attempt may follow ``failed_attempts`` failures, the last of them being ``error``."""
        if isinstance(error, Canceled) or not error.retryable or error.name in self.non_retryable_errors:
            return False
        return failed_attempts < self.max_attempts


def policy_for(retry: schema.Retry | None, defaults: RetryPolicy, error_handling: schema.ErrorHandling) -> RetryPolicy:
    """Return the policy of a state: what its ``retry`` says, else ``defaults`` (those of the activity).

    Under ``fail-fast`` there is one attempt, whatever the state says. Raises ``ValueError`` for an interval that is
    no duration, which validation reports long before.
    """
    if error_handling == "fail-fast":
        return replace(defaults, max_attempts=1)
    if retry is None:
        return defaults
    return RetryPolicy(
        max_attempts=defaults.max_attempts if retry.max_attempts is None else retry.max_attempts,
        initial_interval=(
            defaults.initial_interval if retry.initial_interval is None else parse_duration(retry.initial_interval)
        ),
        backoff_coefficient=(
            defaults.backoff_coefficient if retry.backoff_coefficient is None else retry.backoff_coefficient
        ),
        max_interval=defaults.max_interval if retry.max_interval is None else parse_duration(retry.max_interval),
        jitter=defaults.jitter if retry.jitter is None else retry.jitter,
        non_retryable_errors=defaults.non_retryable_errors | frozenset(retry.non_retryable_errors),
    )
