"""The activities made for testing an engine do what they say."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from workflows.activities import testing  # noqa: F401 - registers its activities
from workflows.errors import InvalidInput, PermanentError, WorkflowError
from workflows.tests.activity_case import Case

STUBBORN = """
import sys
from pathlib import Path
import django
django.setup()
from workflows.activities import testing
from workflows.tests.activity_case import Case
Case(Path(sys.argv[1])).run("StubbornActivity", {"seconds": 300, "forks": 2, "pidFile": "pids"})
"""


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path / "home")


def test_sleeping_takes_as_long_as_it_says(case: Case) -> None:
    began = time.monotonic()
    assert 0.2 <= case.run("SleepActivity", {"seconds": 0.2})["slept"] <= time.monotonic() - began


def test_failing_always_and_failing_at_first(case: Case) -> None:
    with pytest.raises(WorkflowError, match="as you wish") as failed:
        case.run("FailActivity", {"message": "as you wish", "name": "Custom", "retryable": False}, attempt=9)
    assert (failed.value.name, failed.value.retryable) == ("Custom", False)
    for attempt in (1, 2):
        with pytest.raises(WorkflowError) as failed:
            case.run("FailActivity", {"failures": 2}, attempt=attempt)
        assert (failed.value.name, failed.value.retryable) == ("ActivityError", True)
    assert case.run("FailActivity", {"failures": 2}, attempt=3) == {"attempt": 3}


def test_every_run_is_recorded_on_a_line_of_its_own(case: Case) -> None:
    for attempt in (1, 2):
        assert case.run("RecordActivity", {"path": "log", "value": 7}, attempt=attempt)["value"] == 7
    lines = [json.loads(line) for line in (case.context().workspace / "log").read_text().splitlines()]
    assert [(line["key"], line["attempt"]) for line in lines] == [
        (case.context().idempotency_key, 1), (case.context().idempotency_key, 2),
    ]  # fmt: skip


@pytest.mark.parametrize("path", ["/etc/x", "../x", "no/such/x", "link"])
def test_nothing_is_recorded_elsewhere(case: Case, path: str, tmp_path: Path) -> None:
    (case.context().workspace / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PermanentError):
        case.run("RecordActivity", {"path": path})
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("seconds", [-1, 86_401, "long"])
def test_sleeping_is_bounded(case: Case, seconds: object) -> None:
    with pytest.raises(InvalidInput, match="seconds"):
        case.run("SleepActivity", {"seconds": seconds})


def test_the_stubborn_one_and_its_children_survive_everything_but_a_kill(case: Case, tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", STUBBORN, str(case.home)], start_new_session=True)
    file = case.context().workspace / "pids"
    try:
        deadline = time.monotonic() + 60
        while not file.exists() and time.monotonic() < deadline:
            assert process.poll() is None
            time.sleep(0.05)
        pids = [int(line) for line in file.read_text().splitlines()]
        assert len(pids) == 3
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.killpg(process.pid, number)
        gone, alive = psutil.wait_procs([psutil.Process(pid) for pid in pids], timeout=1)
        assert (len(gone), len(alive)) == (0, 3)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    deadline = time.monotonic() + 10
    while any(map(_runs, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(_runs, pids))


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_stubborn_one_that_nobody_kills_ends_with_its_children(case: Case) -> None:
    code = STUBBORN.replace('"seconds": 300', '"seconds": 0.3')
    subprocess.run([sys.executable, "-c", code, str(case.home)], check=True, timeout=60)
    pids = [int(line) for line in (case.context().workspace / "pids").read_text().splitlines()]
    assert not any(map(_runs, pids))
