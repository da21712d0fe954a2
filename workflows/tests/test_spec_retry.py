"""Retry policies: how long is waited before an attempt, and when there is none."""

from datetime import timedelta

import pytest

from workflows.errors import ActivityError, ActivityTimeout, Canceled, InvalidInput, WorkflowError
from workflows.spec.retry import RetryPolicy, policy_for
from workflows.spec.schema import Retry

CALM = RetryPolicy(max_attempts=5, jitter=0)


@pytest.mark.parametrize("attempt,seconds", [(2, 2), (3, 4), (4, 8), (9, 256), (10, 300), (10_000, 300)])
def test_the_wait_doubles_up_to_five_minutes(attempt: int, seconds: int) -> None:
    assert CALM.delay_before(attempt, lambda: 0.5) == timedelta(seconds=seconds)


@pytest.mark.parametrize("chance,seconds", [(0.0, 9), (0.5, 10), (1.0, 11)])
def test_jitter_spreads_the_wait_evenly_around_itself(chance: float, seconds: float) -> None:
    policy = RetryPolicy(initial_interval=timedelta(seconds=10), jitter=0.1)
    assert policy.delay_before(2, lambda: chance) == timedelta(seconds=seconds)


def test_jitter_never_passes_the_longest_wait() -> None:
    policy = RetryPolicy(initial_interval=timedelta(seconds=10), max_interval=timedelta(seconds=10), jitter=1)
    assert policy.delay_before(2, lambda: 1.0) == timedelta(seconds=10)


def test_nothing_waits_for_the_first_attempt() -> None:
    with pytest.raises(ValueError, match="first retry is attempt 2"):
        CALM.delay_before(1, lambda: 0.5)


@pytest.mark.parametrize(
    "error,failed,allowed",
    [
        (ActivityError("unreachable"), 1, True),
        (ActivityError("unreachable"), 4, True),
        (ActivityError("unreachable"), 5, False),
        (ActivityTimeout("slow"), 1, True),
        (InvalidInput("no path"), 1, False),
        (Canceled("stop"), 1, False),
        (WorkflowError("full", name="DiskFull"), 1, False),
        (WorkflowError("odd", name="Odd"), 1, True),
    ],
)
def test_another_attempt_follows_only_an_error_that_it_may_mend(
    error: WorkflowError, failed: int, allowed: bool
) -> None:
    policy = RetryPolicy(max_attempts=5, non_retryable_errors=frozenset({"DiskFull"}))
    assert policy.allows(error, failed) is allowed


def test_a_state_says_what_differs_from_its_activity() -> None:
    defaults = RetryPolicy(max_attempts=3, backoff_coefficient=1.5, non_retryable_errors=frozenset({"A"}))
    retry = Retry(initial_interval="1s", max_interval="1m30s", jitter=0, non_retryable_errors=["B"])
    assert policy_for(retry, defaults, "retry") == RetryPolicy(
        max_attempts=3,
        initial_interval=timedelta(seconds=1),
        backoff_coefficient=1.5,
        max_interval=timedelta(seconds=90),
        jitter=0,
        non_retryable_errors=frozenset({"A", "B"}),
    )
    assert policy_for(None, defaults, "continue") is defaults
    assert policy_for(Retry(max_attempts=7, backoff_coefficient=1), defaults, "retry").max_attempts == 7


def test_fail_fast_tries_once_whatever_the_state_says() -> None:
    assert policy_for(Retry(max_attempts=7), RetryPolicy(max_attempts=3), "fail-fast").max_attempts == 1
