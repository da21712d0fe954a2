"""Running programs that a repository brings along, which may be anything: without network, secrets or other files.

Linux namespaces do it, without privileges. Refuses to run them where there are none, unless the operator allows that
(contract-activities 5, 16.4).
"""

import json
import os
import shutil
import sys
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path

import psutil
from django.conf import settings

from workflows.activities import confined_entry, subprocesses
from workflows.errors import ActivityError, LimitExceeded, PermanentError

OUTPUT_CAP = 1024 * 1024
MOST_PROCESSES = 256
MOST_MEMORY = 3 * 2**30  # bytes, of all processes together
MEASURE_EVERY = 1.0
LIMITS: Mapping[str, int] = {
    "RLIMIT_CORE": 0,
    "RLIMIT_FSIZE": 2**30,
    "RLIMIT_NOFILE": 4096,
    "RLIMIT_CPU": 1800,
    "RLIMIT_NPROC": MOST_PROCESSES,  # counted in the namespace alone; root is exempt, so they are counted here too
}
# Where credentials of the user and of the machine are kept.
_PRIVATE = (".ssh", ".aws", ".config", ".gnupg", ".docker", ".kube", ".azure", ".netrc.d")
_MACHINE = ("/run/secrets", "/var/run/secrets", "/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - taken away, not used


class NotStarted(PermanentError):
    """There is no such program where it is confined, or it may not be run; nothing of it ran."""


@dataclass(frozen=True)
class Confinement:
    """Where repository code may run: it reads and writes ``writable`` and reads the programs of the machine.

    ``home`` is one of them; HOME and the temporary directory are in there. ``namespaced`` says whether the rest of the
    machine is out of reach.
    """

    writable: tuple[Path, ...]
    home: Path
    namespaced: bool

    @classmethod
    def of(cls, *writable: Path, home: Path) -> "Confinement":
        """Return one for these directories, which exist and are resolved.

        Raises :class:`PermanentError` ``NotConfined`` where the machine gives no namespaces, unless
        ``POIMEN_UNCONFINED_CHECKS`` is on.
        """
        (home / "tmp").mkdir(mode=0o700, parents=True, exist_ok=True)
        problem = namespaces_problem()
        if problem and not settings.POIMEN_UNCONFINED_CHECKS:
            raise PermanentError(
                "the code of a repository is not run here: this machine gives unprivileged processes no namespaces "
                f"({problem}), so that code could read this installation's secrets; where that is no danger an "
                "operator sets POIMEN_UNCONFINED_CHECKS",
                name="NotConfined",
            )
        return cls((*writable, home), home, not problem)

    def run(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        timeout: timedelta,
        env: Mapping[str, str],
        cancelled: Callable[[], bool],
    ) -> subprocesses.Finished:
        """Run the program and return how it ended; raises as :func:`subprocesses.run`.

        :class:`LimitExceeded` if it had more than ``MOST_PROCESSES`` processes or ``MOST_MEMORY`` bytes: all of them
        are killed then. :class:`NotStarted` if it did not even begin.
        """
        plan = {
            "namespaced": self.namespaced,
            **_files(),
            "keep": [str(path) for path in self.writable],
            "cwd": str(cwd),
            "user": os.getuid() or 1000,
            "limits": dict(LIMITS) if self.namespaced or os.getuid() == 0 else _without(LIMITS, "RLIMIT_NPROC"),
            "command": list(command),
            "token": (token := f"{uuid.uuid4().hex}: "),
        }
        finished = subprocesses.run(
            _entry(plan),
            cwd=cwd,
            home=self.home,
            timeout=timeout,
            env={"TMPDIR": str(self.home / "tmp"), "CI": "1", **env},
            output_cap=OUTPUT_CAP,
            cancelled=cancelled,
            watch=_Scale().look,
        )
        _, was_told, reason = finished.stderr.rpartition(token)
        if was_told and finished.returncode == confined_entry.NOT_STARTED:
            raise NotStarted(f"{Path(command[0]).name} cannot be started: {self._why_not(command[0], reason.strip())}")
        if was_told:
            raise ActivityError(f"the confinement could not be made: {reason.strip()[-200:]}")
        return finished

    def _why_not(self, program: str, reason: str) -> str:
        found, files = shutil.which(program), _files()
        if not found or not self.namespaced:
            return reason
        real = Path(found).resolve()
        over = [place for place in files["hide"] if real.is_relative_to(place)]
        if not over or any(real.is_relative_to(Path(place).resolve()) for place in files["show"]):
            return reason
        return f"{found} is in {over[0]}, which the code of a repository does not see"


@cache
def namespaces_problem() -> str:
    """Return why programs cannot be confined on this machine, in a few words; empty if they can."""
    if sys.platform != "linux":
        return f"{sys.platform} has none"
    home = Path(settings.POIMEN_HOME).resolve()
    plan = {
        "namespaced": True, **_files(), "keep": [str(home)], "cwd": str(home), "user": os.getuid() or 1000,
        "limits": {}, "command": ["true"], "token": "",
    }  # fmt: skip
    try:
        finished = subprocesses.run(_entry(plan), cwd=home, home=home, timeout=timedelta(seconds=60))
    except PermanentError:
        return "there is no unshare"
    return "" if finished.returncode == 0 else (finished.stderr.strip().splitlines() or ["unshare failed"])[-1][:200]


def _entry(plan: Mapping[str, object]) -> list[str]:
    entry = [sys.executable, "-I", "-S", confined_entry.__file__, json.dumps(plan)]
    if not plan["namespaced"]:
        return entry
    # The first process in a process namespace takes all others along when it goes, and goes with unshare.
    return [
        "unshare", "--user", "--map-root-user", "--net", "--ipc", "--pid", "--mount", "--fork", "--kill-child",
        "--mount-proc", "--", *entry,
    ]  # fmt: skip


def _files() -> dict[str, list[str]]:
    """What is hidden, and what within that is shown nevertheless: Python and what is installed beside Poimen.

    A secret place within what is shown is hidden again.
    """
    hidden = _hidden()
    show, hide_again = [], []
    for path in _python():
        if not any(path != Path(other) and path.is_relative_to(other) for other in hidden):
            continue
        show.append(str(path))
        real = path.resolve()
        hide_again += [str(path / place.relative_to(real)) for place in _secret() if place.is_relative_to(real)]
    return {"hide": hidden, "show": show, "hide_again": hide_again}


def _python() -> list[Path]:
    """The directories of this interpreter and its packages: as they are called, and where links lead; outer first."""
    called = [Path(place).absolute() for place in (sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix)]
    return sorted({*called, *(path.resolve() for path in called)})


def _hidden() -> list[str]:
    found = _secret()
    return [str(path) for path in found if not any(path != other and path.is_relative_to(other) for other in found)]


def _secret() -> list[Path]:
    user = Path.home()
    candidates = [Path(settings.POIMEN_HOME).resolve(), *(user / name for name in _PRIVATE), *map(Path, _MACHINE)]
    return sorted({path.resolve() for path in candidates if path.is_dir()})


def _without(limits: Mapping[str, int], name: str) -> dict[str, int]:
    # Outside of a namespace it would count all processes of the user, the worker's own too.
    return {key: value for key, value in limits.items() if key != name}


class _Scale:
    """Counts and weighs what the program has started; ``look`` raises :class:`LimitExceeded` when it is too much."""

    def __init__(self) -> None:
        self._next = 0.0

    def look(self) -> None:
        """Count now, and weigh if it is time to."""
        processes = psutil.Process().children(recursive=True)
        if len(processes) > MOST_PROCESSES:
            raise LimitExceeded(f"it ran more than {MOST_PROCESSES} processes and was killed")
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + MEASURE_EVERY
        weight = 0
        for process in processes:
            try:
                weight += process.memory_info().rss
            except psutil.Error:
                continue
        if weight > MOST_MEMORY:
            raise LimitExceeded(f"it took more than {MOST_MEMORY // 2**30} GiB of memory and was killed")
