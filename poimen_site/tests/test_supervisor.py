"""Keeping processes running: restarts, labelled output, and an end within seconds even for those that resist."""

import io
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from poimen_site.supervisor import GRACE_SECONDS, Service, Supervisor
from poimen_site.tests.polling import until

TALKER = "import time, os; print('here', os.getpid(), flush=True); time.sleep(600)"
STUBBORN = "import signal, time; signal.signal(15, signal.SIG_IGN); print('deaf', flush=True); time.sleep(600)"
PARENT = (
    "import subprocess, sys, time; c = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']); "
    "print('child', c.pid, flush=True); time.sleep(600)"
)


@contextmanager
def running(supervisor: Supervisor) -> Iterator[None]:
    thread = threading.Thread(target=supervisor.run)
    thread.start()
    try:
        yield
    finally:
        supervisor.stop()
        thread.join(timeout=GRACE_SECONDS + 10)
        assert not thread.is_alive()


def python(name: str, code: str) -> Service:
    return Service(name, [sys.executable, "-c", code])


def number_after(output: io.StringIO, word: str) -> Callable[[], int | None]:
    def find() -> int | None:
        found = [line.split()[-1] for line in output.getvalue().splitlines() if f"| {word} " in line]
        return int(found[-1]) if found else None

    return find


def test_a_process_that_dies_is_started_again_and_says_so_under_its_name() -> None:
    output = io.StringIO()
    with running(Supervisor([python("web", TALKER), python("worker", TALKER)], output=output)):
        first = until(number_after(output, "here"))
        psutil.Process(first).kill()
        until(lambda: number_after(output, "here")() != first)
        until(lambda: "killed by SIGKILL" in output.getvalue())
    lines = output.getvalue().splitlines()
    assert any(line.startswith("web    | here ") for line in lines)
    assert any(line.startswith("worker | here ") for line in lines)
    assert all(line.split("|")[0].strip() in ("web", "worker", "poimen") for line in lines)


def test_a_process_that_keeps_dying_is_tried_less_and_less_often() -> None:
    output = io.StringIO()
    with running(Supervisor([python("worker", "raise SystemExit(3)")], output=output)):
        until(lambda: "in 2 s" in output.getvalue())
    said = [line for line in output.getvalue().splitlines() if "exit code 3" in line]
    assert [line.rsplit(" in ", 1)[1] for line in said[:3]] == ["0.2 s", "1 s", "2 s"]


def test_what_ignores_being_asked_is_killed_with_all_it_started() -> None:
    output = io.StringIO()
    with running(Supervisor([python("deaf", STUBBORN), python("parent", PARENT)], output=output)):
        child = until(number_after(output, "child"))
        until(lambda: "| deaf" in output.getvalue())
        began = time.monotonic()
    assert time.monotonic() - began < GRACE_SECONDS + 3
    until(lambda: not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE)
    assert "deaf did not end" in output.getvalue()


def test_a_duty_that_fails_is_told_once_and_tried_again() -> None:
    output = io.StringIO()
    calls: list[float] = []

    def duty() -> None:
        calls.append(time.monotonic())
        raise ValueError("not yet")

    supervisor = Supervisor([python("web", TALKER)], output=output)
    supervisor.every(0.05, duty)
    with running(supervisor):
        until(lambda: len(calls) > 3)
    assert output.getvalue().count("ValueError: not yet") == 1


def test_a_duty_that_waits_holds_nothing_up() -> None:
    output = io.StringIO()
    released = threading.Event()
    calls: list[float] = []

    def wait() -> None:
        calls.append(time.monotonic())
        released.wait(60)

    supervisor = Supervisor([python("web", TALKER)], output=output)
    supervisor.every(0.05, wait, aside=True)
    with running(supervisor):
        first = until(number_after(output, "here"))
        until(lambda: calls)
        psutil.Process(first).kill()
        until(lambda: number_after(output, "here")() != first)
        assert len(calls) == 1  # never twice at once
        began = time.monotonic()
    assert time.monotonic() - began < GRACE_SECONDS
    released.set()


def test_one_service_can_be_replaced_while_the_others_go_on() -> None:
    output = io.StringIO()
    supervisor = Supervisor([python("web", TALKER), python("clock", TALKER.replace("here", "tick"))], output=output)
    with running(supervisor):
        web, clock = until(number_after(output, "here")), until(number_after(output, "tick"))
        supervisor.replace("web")
        until(lambda: number_after(output, "here")() != web)
        assert psutil.pid_exists(clock)
        assert output.getvalue().count("tick") == 1


def test_a_terminal_that_is_gone_stops_nothing(tmp_path: Path) -> None:
    output = (tmp_path / "log").open("w")
    mark = tmp_path / "mark"
    code = f"""
import pathlib, time
for number in range(600):
    print(number, flush=True)
    pathlib.Path({str(mark)!r}).write_text(str(number))
    time.sleep(0.05)
"""
    with running(Supervisor([python("web", code)], output=output)):
        until(mark.exists)
        output.close()
        seen = int(mark.read_text() or 0)
        until(lambda: int(mark.read_text() or 0) > seen + 5)


def test_the_guard_ends_what_a_killed_supervisor_leaves() -> None:
    from poimen_site.supervisor_guard import SUPERVISED, end_services

    marked = psutil.Popen([sys.executable, "-c", STUBBORN], env={SUPERVISED: "4711"}, stdout=-1)
    other = psutil.Popen([sys.executable, "-c", STUBBORN], env={SUPERVISED: "4712"}, stdout=-1)
    try:
        assert marked.stdout.readline()
        assert other.stdout.readline()
        end_services("4711")
        assert marked.wait(timeout=5) == -signal.SIGKILL
        assert other.poll() is None
    finally:
        for process in (marked, other):
            if process.poll() is None:
                process.kill()
            process.wait()
