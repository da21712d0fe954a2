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


def test_with_patience_a_cluster_has_longer_to_get_up_until_it_has_lasted(now: Now) -> None:
    watch = qcluster._Watch(2, patience=4)
    now.seconds += 23
    assert watch.judge(0, True) == "fine"
    for _ in range(31):
        now.seconds += 1
        assert watch.judge(2, True) == "fine"
    assert watch.has_lasted
    now.seconds += 7
    assert watch.judge(0, True) == "silent"


def test_clusters_that_do_not_last_are_given_more_time_one_after_another(
    now: Now, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = qcluster.Command()
    command._stopping, command._in_vain = False, 0
    lived: list[float] = []
    began = now.seconds

    def tick(seconds: float) -> None:
        now.seconds += seconds

    monkeypatch.setattr(command, "_beat", lambda: True)
    for name, deed in {
        "control_block.create": lambda: None,
        "control_block.alive": lambda _: 0,
        "os.fork": lambda: 1,
        "_collect": lambda _: False,
        "_kill_tree": lambda: lived.append(now.seconds - began),
        "time.sleep": tick,
    }.items():
        monkeypatch.setattr(f"workflows.management.commands.qcluster.{name}", deed)
    for _ in range(8):
        began = now.seconds
        command._run_cluster()
    assert [round(seconds) for seconds in lived] == [6, 6, 12, 24, 48, 96, 96, 96]
