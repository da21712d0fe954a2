"""DeploymentPreCheckActivity: lints, tests and builds the projects of a repository by the usual tools of each.

That runs the repository's own code, so it runs confined: no network, no secrets, nothing written but in a
copy. Refuses to run it anywhere else (contract-activities 5, 16.4).
"""

import shutil
import stat
import time
from datetime import timedelta
from pathlib import Path
from typing import Final, Literal

from pydantic import Field

from workflows.activities import project_checks
from workflows.activities.confinement import Confinement, NotStarted
from workflows.activities.context import ActivityContext
from workflows.activities.paths import Territory, printable
from workflows.activities.project_checks import Check, CheckName, Missing, Project
from workflows.activities.registry import activity
from workflows.activities.shapes import Fields
from workflows.errors import ActivityError, ActivityTimeout, InvalidInput, LimitExceeded, PermanentError
from workflows.secret_texts import masked
from workflows.terminal_text import plain

ALL: Final[tuple[CheckName, ...]] = ("lint", "build", "test")
# A little less than the activity's own timeout, so that what was found until then is told.
LONGEST: Final = timedelta(minutes=14)
MOST_OUTPUT: Final = 4000  # characters of what a failed command said
MOST_COPIED: Final = 2**30
NOT_COPIED: Final = frozenset({".venv", "venv"})

# By name, for catch rules and for the reference.
ERRORS = {
    "NotConfined": "the machine gives no namespaces to run code in, and `POIMEN_UNCONFINED_CHECKS` is off",
    "LimitExceeded": "the repository is too large to be copied",
}


class DeploymentPreCheckInput(Fields):
    """What to check."""

    path: str = Field(
        min_length=1,
        max_length=4096,
        description="The repository, as CloneRepoActivity gives it",
    )
    check_type: Literal["lint", "test", "build", "all"] = Field(default="all", description="Which checks to make")


class DeploymentPreCheckOutput(Fields):
    """What came of it."""

    passed: bool = Field(description="Whether nothing failed; warnings do not count")
    failures: list[str] = Field(description="Builds and tests that failed, with the end of what they said")
    warnings: list[str] = Field(description="What linters found, and what could not be checked and why")
    checks: list[str] = Field(description="What was run, in order")


@activity(
    "DeploymentPreCheckActivity",
    category="deployment",
    timeout="15m",
    is_flaky=True,
    max_attempts=2,
    backoff=2.0,
    dependencies=("CloneRepoActivity",),
    notes="Runs the code of a copy of the repository, without network; dependencies must be vendored or installed.",
)
def deployment_pre_check(input: DeploymentPreCheckInput, context: ActivityContext) -> DeploymentPreCheckOutput:
    """Lints, builds and tests Go, Python, Node, Rust and Make projects, confined, and says what failed."""
    territory = Territory.of(context)
    try:
        root = territory.confine(input.path)
    except PermanentError as error:
        if not str(error).endswith("does not exist"):
            raise
        return DeploymentPreCheckOutput(passed=False, failures=[error.message], warnings=[], checks=[])
    if not root.is_dir():
        raise InvalidInput(f"path: {printable(input.path)!r} is a file; name the directory of a repository")
    projects = project_checks.projects_in(root, territory)
    if not projects:
        told = "no checkers: this is no Go, Python, Node, Rust or Make project"
        context.warn(told)
        return DeploymentPreCheckOutput(passed=True, failures=[], warnings=[told], checks=[])
    wanted = ALL if input.check_type == "all" else (input.check_type,)
    scratch = context.workspace.resolve() / ".checks"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(mode=0o700, exist_ok=True)  # where a check took away the right to empty it
    try:
        return _Run(root, scratch, context).of(projects, wanted)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


class _Run:
    """The checks of one attempt, one after the other, until the time is over."""

    def __init__(self, root: Path, scratch: Path, context: ActivityContext) -> None:
        self.root, self.scratch, self.context = root, scratch, context
        self.deadline = time.monotonic() + LONGEST.total_seconds()
        self.failures: list[str] = []
        self.warnings: list[str] = []
        self.made: list[str] = []

    def of(self, projects: list[Project], wanted: tuple[CheckName, ...]) -> DeploymentPreCheckOutput:
        if len(projects) > project_checks.MOST_PROJECTS:
            left = len(projects) - project_checks.MOST_PROJECTS
            self.warnings.append(f"{left} more projects were not checked: {project_checks.MOST_PROJECTS} are the most")
        planned = [
            item
            for project in projects[: project_checks.MOST_PROJECTS]
            for item in project_checks.checks_of(project, wanted, self.scratch)
        ]
        checks = [item for item in planned if isinstance(item, Check)]
        self.warnings += [
            f"{item.check} of {_where(item.project)} was not checked: {item.reason}"
            for item in planned
            if isinstance(item, Missing)
        ]
        if checks:
            where = self._working_copy()
            confinement = Confinement.of(where, home=self.scratch)
            if not confinement.namespaced:
                self.context.warn("the repository's code runs unconfined: POIMEN_UNCONFINED_CHECKS is on")
            for number, check in enumerate(checks):
                self.context.check_cancelled()
                self._make(check, where, confinement)
                self.context.progress(100 * (number + 1) / len(checks), f"{number + 1} of {len(checks)} checks made")
        return DeploymentPreCheckOutput(
            passed=not self.failures, failures=self.failures, warnings=self.warnings, checks=self.made
        )

    def _working_copy(self) -> Path:
        """A copy that code may write, and that goes with the attempt.

        What it left in the clone itself others would trust: git runs programs that the config in ``.git`` names.
        """
        copy = self.scratch / "copy"
        try:
            shutil.copytree(self.root, copy, symlinks=True, ignore=_Copied(Territory.of(self.context), self.scratch))
        except (OSError, shutil.Error) as error:
            raise ActivityError(f"path: the repository cannot be copied: {type(error).__name__}") from None
        return copy

    def _make(self, check: Check, where: Path, confinement: Confinement) -> None:
        name = check.name if check.project.place == "." else f"{check.name} (in {check.project.place})"
        left = self.deadline - time.monotonic()
        if left <= 0:
            self._tell(check, f"{name} failed: there was no time left for it")
            return
        self.context.info(f"running {name}")
        try:
            finished = confinement.run(
                check.command,
                cwd=where / check.project.directory.relative_to(self.root),
                timeout=timedelta(seconds=left),
                env=check.env,
                cancelled=lambda: self.context.is_cancelled,
            )
        except ActivityTimeout:
            self.made.append(name)
            self._tell(check, f"{name} failed: it did not end within {left:.0f} s and was killed")
            return
        except NotStarted as error:
            told = f"{check.check} of {_where(check.project)} was not checked: {error.message}"
            self.warnings.append(told)
            self.context.warn(told)
            return
        except LimitExceeded as error:
            self.made.append(name)
            self._tell(check, f"{name} failed: {error.message}")
            return
        self.made.append(name)
        is_idle = check.nothing_said and check.nothing_said in f"\n{finished.stderr}"
        if finished.returncode == check.nothing or (finished.returncode == 0 and is_idle):
            self.warnings.append(f"{name} found nothing to run{check.hint}")
            return
        if finished.returncode == 0:
            return
        said = _end_of(f"{finished.stdout.strip()}\n{finished.stderr.strip()}", finished.truncated)
        self._tell(check, f"{name} failed: {said or f'exit code {finished.returncode}'}")

    def _tell(self, check: Check, problem: str) -> None:
        (self.warnings if check.check == "lint" else self.failures).append(problem)
        self.context.log("warn" if check.check == "lint" else "error", problem.partition("\n")[0][:300])


class _Copied:
    """What ``shutil.copytree`` leaves out: special files, other executions' directories, and what is not sources.

    Raises :class:`LimitExceeded` once the rest is more than ``MOST_COPIED`` bytes.
    """

    def __init__(self, territory: Territory, scratch: Path) -> None:
        self.territory, self.scratch = territory, scratch
        self.bytes = 0

    def __call__(self, directory: str, names: list[str]) -> set[str]:
        """Return those of ``names`` that are not copied."""
        left_out = set()
        for name in names:
            path = Path(directory) / name
            status = path.lstat()
            is_kept = stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode) or stat.S_ISLNK(status.st_mode)
            is_closed = stat.S_ISDIR(status.st_mode) and (path == self.scratch or not self.territory.admits(path))
            if not is_kept or name in NOT_COPIED or is_closed:
                left_out.add(name)
            elif stat.S_ISREG(status.st_mode):
                self.bytes += status.st_size
        if self.bytes > MOST_COPIED:
            raise LimitExceeded(
                f"path: the repository is larger than {MOST_COPIED // 2**20} MiB, the most that is copied"
            )
        return left_out


def _where(project: Project) -> str:
    return f"the {project.kind.title()} project" + ("" if project.place == "." else f" in {project.place}")


def _end_of(text: str, is_truncated: bool) -> str:
    """The end of what a command said, which tells why it failed, without terminal sequences and secrets.

    Linters and tracebacks quote the lines of a repository, and so what somebody wrote into it.
    """
    clean = plain(text.replace("\r\n", "\n")).strip()
    cut = "... " if is_truncated or len(clean) > MOST_OUTPUT else ""
    return cut + masked(clean[-2 * MOST_OUTPUT :])[-MOST_OUTPUT:]
