"""Running the git program for activities: no prompts, no hooks, no filters, one protocol, a bound on the size.

Refuses to read the machine's or a user's git configuration (contract-activities 1).
"""

import os
import re
import shutil
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from workflows.activities import subprocesses
from workflows.activities.git_source import Source
from workflows.activities.paths import printable
from workflows.errors import LimitExceeded, WorkflowError

# Only a guard against a git that never ends where nobody else is watching: the activity's own timeout is shorter.
LONGEST_RUN = timedelta(hours=24)
_SIZE_EVERY = 1.0  # seconds between measuring what a clone has grown to
# Settings that win over those in a repository's own config.
_HARDENING = (
    ("core.hooksPath", os.devnull),
    ("core.fsmonitor", "false"),
    ("core.askPass", ""),
    ("credential.helper", ""),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("submodule.recurse", "false"),
    ("advice.detachedHead", "false"),
    ("filter.lfs.smudge", ""),
    ("filter.lfs.process", ""),
    ("filter.lfs.required", "false"),
    ("uploadpack.packObjectsHook", ""),
)
# What git says when trying again cannot help; the rest (timeouts, resets, 5xx) may be mended by another attempt.
_PERMANENT = re.compile(
    r"not found|does not exist|access denied|permission denied|authentication failed|could not read (?:user|pass)|"
    r"not appear to be a git repository|returned error: (?:401|403|404|3\d\d)|host key verification failed|"
    r"no supported authentication|redirect|not allowed|dubious ownership|couldn't find remote ref|"
    r"certificate|bad object|corrupt",
    re.IGNORECASE,
)


class GitFailed(WorkflowError):
    """git ended with an error; the message is its own last words, without credentials."""

    name = "GitError"


class Git:
    """git on behalf of one source; ``private`` is a directory for its configuration, remade here."""

    def __init__(self, source: Source, *, private: Path, cancelled: Callable[[], bool]) -> None:
        self.source = source
        self._private = private
        self._cancelled = cancelled
        shutil.rmtree(private, ignore_errors=True)
        private.mkdir(mode=0o700, parents=True)
        # The server side of a local fetch reads safe.directory from files only, never from the environment.
        lines = ["[safe]", *(f"\tdirectory = {_quoted(str(path))}" for path in source.safe_directories)]
        (private / "config").write_text("\n".join(lines) + "\n")

    def run(self, *arguments: str, cwd: Path, limit: "SizeLimit | None" = None) -> str:
        """Run git and return what it printed. Raises :class:`GitFailed`, or what ``limit`` and the runner raise."""
        finished = subprocesses.run(
            ["git", *arguments],
            cwd=cwd,
            home=self._private,
            timeout=LONGEST_RUN,
            env=self._environment(),
            cancelled=self._cancelled,
            watch=limit.look if limit is not None else None,
        )
        if finished.returncode != 0:
            words = self.source.scrub(finished.stderr.strip() or f"git {arguments[0]} failed")
            told = printable(" ".join(line for line in words.splitlines()[-3:]), 500)
            retryable = not _PERMANENT.search(words)
            raise GitFailed(f"{self.source.shown}: {told}", retryable=retryable)
        if finished.truncated:
            raise LimitExceeded(f"{self.source.shown}: git {arguments[0]} printed more than can be read")
        return finished.stdout

    def close(self) -> None:
        """Remove the private configuration."""
        shutil.rmtree(self._private, ignore_errors=True)

    def _environment(self) -> dict[str, str]:
        settings = (*_HARDENING, *self.source.config)
        environment = {
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": str(self._private / "config"),
            "GIT_CONFIG_COUNT": str(len(settings)),
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_LFS_SKIP_SMUDGE": "1",
            "GIT_ALLOW_PROTOCOL": self.source.protocol,
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_ATTR_NOSYSTEM": "1",
        }
        for number, (key, value) in enumerate(settings):
            environment[f"GIT_CONFIG_KEY_{number}"] = key
            environment[f"GIT_CONFIG_VALUE_{number}"] = value
        if self.source.ssh_command is not None:
            environment |= {"GIT_SSH_COMMAND": self.source.ssh_command, "GIT_SSH_VARIANT": "ssh"}
        return environment


class SizeLimit:
    """Raises :class:`LimitExceeded` from ``look`` once a directory holds more than ``limit`` bytes."""

    def __init__(self, directory: Path, limit: int) -> None:
        self.directory, self.limit = directory, limit
        self._next = 0.0

    def look(self) -> None:
        """Measure if it is time to."""
        if time.monotonic() >= self._next:
            self.check()
            self._next = time.monotonic() + _SIZE_EVERY

    def check(self) -> None:
        """Measure now."""
        total = 0
        for folder, _, files in os.walk(self.directory):
            for file in files:
                try:
                    total += os.lstat(os.path.join(folder, file)).st_size  # noqa: PTH118 - many files, quickly
                except FileNotFoundError:
                    continue  # git renames and removes its temporary files meanwhile
            if total > self.limit:
                raise LimitExceeded(
                    f"the repository is larger than {self.limit / 2**20:g} MiB, the most a clone may be"
                )


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
