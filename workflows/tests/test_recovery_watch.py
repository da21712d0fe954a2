"""How a cluster is judged from its signs of life, apart from the processes that test_recovery.py stops and kills."""

from typing import Any

import pytest

from workflows.management.commands import qcluster


class Now:
    """A monotonic clock that is moved by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds = 100.0
        monkeypatch.setattr("workflows.management.commands.qcluster.time.monotonic", lambda: self.seconds)


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> Any:
    return Now(monkeypatch)


def test_a_cluster_without_any_pump_is_silent_after_six_seconds(now: Now) -> None:
    watch = qcluster._Watch(2)
    now.seconds += 5
    assert watch.judge(0, True) == "fine"
    now.seconds += 2
    assert watch.judge(0, True) == "silent"


def test_a_cluster_with_too_few_is_short_after_twenty(now: Now) -> None:
    watch = qcluster._Watch(2)
    now.seconds += 15
    assert watch.judge(1, True) == "fine"
    now.seconds += 6
    assert watch.judge(1, True) == "short"


def test_while_the_database_is_away_nobody_is_judged(now: Now) -> None:
    watch = qcluster._Watch(2)
    now.seconds += 60
    assert watch.judge(0, False) == "fine"


def test_after_a_hang_of_the_database_the_count_begins_anew(now: Now) -> None:
    watch = qcluster._Watch(2)
    now.seconds += 21
    watch.forgive()
    assert watch.judge(0, True) == "fine"
    now.seconds += 7
    assert watch.judge(0, True) == "silent"
