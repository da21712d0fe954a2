"""Programs that activities run: what they see, and that nothing of them stays."""

import os
import sys
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import psutil
import pytest

from workflows.activities.subprocesses import Finished, run
from workflows.errors import ActivityTimeout, Canceled, PermanentError

# Ignores SIGTERM, leaves its parent and its session, and says its pid in a file.
DAEMON = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open(sys.argv[1] + "/pid.part", "w").write(str(os.getpid()))
        os.rename(sys.argv[1] + "/pid.part", sys.argv[1] + "/pid")
        time.sleep(300)
        os._exit(0)
    os._exit(0)
"""


def python(code: str, tmp_path: Path, *arguments: str, **options: object) -> Finished:
    defaults: dict[str, object] = {"cwd": tmp_path, "home": tmp_path, "timeout": timedelta(seconds=30)}
    return run([sys.executable, "-c", code, *arguments], **(defaults | options))  # type: ignore[arg-type]


def gone(pid: int, seconds: float = 10) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.05)
    return False


@pytest.fixture
def daemon_pid(tmp_path: Path) -> Iterator[Path]:
    """The file in which the daemon says its pid; a daemon that stayed is killed after the test."""
    file = tmp_path / "pid"
    yield file
    if file.exists() and psutil.pid_exists(int(file.read_text())):
        psutil.Process(int(file.read_text())).kill()


def test_output_and_exit_code_come_back(tmp_path: Path) -> None:
    done = python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)", tmp_path)
    assert (done.returncode, done.stdout, done.stderr, done.truncated) == (3, "out\n", "err\n", False)


def test_the_environment_has_none_of_our_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POIMEN_SECRET_KEY", "s3cret")
    monkeypatch.setenv("DATABASE_URL", "postgres://x")
    done = python("import os; print(sorted(os.environ))", tmp_path, env={"EXTRA": "1"})
    assert done.stdout.strip() in {
        str(sorted(["EXTRA", "HOME", "LANG", "PATH", "POIMEN_SUBPROCESS", *also])) for also in ([], ["LC_CTYPE"])
    }


def test_output_over_the_cap_is_dropped_and_said_so(tmp_path: Path) -> None:
    done = python("print('x' * 3_000_000)", tmp_path, output_cap=1000)
    assert len(done.stdout) == 1000
    assert done.truncated


def test_bytes_that_are_no_text_do_not_break_it(tmp_path: Path) -> None:
    assert python(r"import sys; sys.stdout.buffer.write(b'\xff\xfe')", tmp_path).stdout == "\ufffd\ufffd"


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(PermanentError, match="'no-such-program' is not installed"):
        run(["no-such-program"], cwd=tmp_path, home=tmp_path, timeout=timedelta(seconds=1))


def test_standard_input_is_empty(tmp_path: Path) -> None:
    assert python("print(repr(input.__self__ and __import__('sys').stdin.read()))", tmp_path).stdout == "''\n"


def test_after_the_timeout_the_daemons_are_gone_too(tmp_path: Path, daemon_pid: Path) -> None:
    began = time.monotonic()
    with pytest.raises(ActivityTimeout, match=r"did not end within 1\.5 s"):
        python(DAEMON + "time.sleep(300)", tmp_path, str(tmp_path), timeout=timedelta(seconds=1.5))
    assert time.monotonic() - began < 10
    assert gone(int(daemon_pid.read_text()))


def test_a_daemon_that_holds_the_pipes_does_not_hold_us(tmp_path: Path, daemon_pid: Path) -> None:
    began = time.monotonic()
    done = python(DAEMON + "print('done')", tmp_path, str(tmp_path))
    assert done.returncode == 0
    assert "done" in done.stdout
    assert time.monotonic() - began < 15
    assert gone(int(daemon_pid.read_text()))


def test_cancelling_kills_the_program(tmp_path: Path) -> None:
    cancelled = threading.Event()
    timer = threading.Timer(0.5, cancelled.set)
    timer.start()
    began = time.monotonic()
    with pytest.raises(Canceled):
        python("import time; time.sleep(300)", tmp_path, cancelled=cancelled.is_set)
    assert time.monotonic() - began < 10


def test_a_watcher_can_stop_the_program_while_it_prints(tmp_path: Path) -> None:
    def watch() -> None:
        raise PermanentError("too much")

    with pytest.raises(PermanentError, match="too much"):
        python("while True: print('x' * 1000)", tmp_path, watch=watch)


def test_a_program_stays_in_our_process_group(tmp_path: Path) -> None:
    """So that killing the activity's group takes its tools along."""
    assert int(python("import os; print(os.getpgid(0))", tmp_path).stdout) == os.getpgid(0)
