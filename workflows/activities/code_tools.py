"""The analysers that activities run on a repository's files, and their answers as plain findings.

Refuses to let the repository say how it is analysed: no configuration, plug-in or module of its own is loaded, since
that would be running its code (contract-activities 16.4).
"""

import json
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from workflows.activities import subprocesses
from workflows.activities.context import ActivityContext
from workflows.errors import ActivityError

LONGEST_RUN = timedelta(minutes=30)  # the activity's own timeout is shorter
OUTPUT_CAP = 64 * 1024 * 1024
FILES_AT_ONCE = 200
# Correctness rules that need no configuration: what is left out depends on a project's own setup (imports, globals).
ESLINT_RULES = (
    "for-direction", "no-async-promise-executor", "no-compare-neg-zero", "no-cond-assign", "no-const-assign",
    "no-constant-condition", "no-dupe-args", "no-dupe-class-members", "no-dupe-else-if", "no-dupe-keys",
    "no-duplicate-case", "no-func-assign", "no-import-assign", "no-loss-of-precision", "no-obj-calls",
    "no-self-assign", "no-sparse-arrays", "no-this-before-super", "no-unreachable", "no-unsafe-finally",
    "no-unsafe-negation", "no-unused-vars", "use-isnan", "valid-typeof",
)  # fmt: skip
_VET_LINE = re.compile(r"(?:vet: )?(?P<file>[^\s:][^:]*\.go):(?P<line>\d+)(?::\d+)?: (?P<message>.+)")
# go vet compiles; offline it cannot when modules are missing. That says nothing about the code.
_MODULES_MISSING = re.compile(
    r"no required module provides|cannot find module|module lookup disabled|missing go\.sum entry|"
    r"is not in (?:GOROOT|std)|could not import|updates to go\.mod needed|go\.mod requires go|inconsistent vendoring"
)


@dataclass(frozen=True)
class Finding:
    """One thing a tool found; ``file`` is relative to the root, ``severity`` the tool's own word, if it has any."""

    tool: str
    rule: str
    message: str
    file: str
    line: int
    severity: str = ""


@dataclass
class Toolbox:
    """The tools, for one activity on one root. ``used`` and ``failed`` tell afterwards which of them did run."""

    context: ActivityContext
    root: Path
    used: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)

    def ruff(self, names: Sequence[str], rules: str) -> list[Finding]:
        """Check Python files with ruff, ``rules`` being its selection. Raises :class:`ActivityError` if it breaks."""
        found = []
        command = [
            sys.executable, "-I", "-m", "ruff", "check", "--isolated", "--no-cache", "--quiet", "--no-fix",
            "--exit-zero", "--output-format=json", f"--select={rules}", "--line-length=120",
        ]  # fmt: skip
        for chunk in _chunks(names):
            for hit in self._json("ruff", [*command, "--", *chunk]):
                rule, file = hit["code"] or "syntax", self._relative(hit["filename"])
                line = (hit["location"] or {"row": 1})["row"]  # a file as a whole has no place in it
                found.append(Finding("ruff", rule, hit["message"], file, line))
        return found

    def bandit(self, names: Sequence[str]) -> list[Finding]:
        """Check Python files with bandit. Raises :class:`ActivityError` if it breaks."""
        found = []
        command = [sys.executable, "-I", "-m", "bandit", "--format=json", "--quiet", "--exit-zero"]
        for chunk in _chunks(names):
            answer = self._json("bandit", [*command, *chunk])
            for problem in answer["errors"]:
                self.context.debug("bandit skipped a file", file=self._relative(problem["filename"]))
            for hit in answer["results"]:
                file, severity = self._relative(hit["filename"]), hit["issue_severity"]
                found.append(
                    Finding("bandit", hit["test_id"], hit["issue_text"], file, hit["line_number"], severity.lower())
                )
        return found

    def go_vet(self, modules: Sequence[str]) -> list[Finding]:
        """Vet the Go modules in these directories, offline. Nothing if there is no go."""
        found: list[Finding] = []
        if shutil.which("go") is None:
            return found
        for module in modules:
            finished = self._run(["go", "vet", "./..."], cwd=self.root / module, env=self._go_environment())
            if finished.returncode == 0:
                self._note("go vet")
                continue
            lines = [line for line in finished.stderr.splitlines() if not line.startswith("#")]
            if any(_MODULES_MISSING.search(line) for line in lines):
                self._fail("go vet", f"the modules that {module} needs are not at hand")
                continue
            self._note("go vet")
            for match in filter(None, map(_VET_LINE.match, map(str.strip, lines))):
                file = (Path(module) / match["file"].removeprefix("./")).as_posix()
                found.append(Finding("go vet", "vet", match["message"], file, int(match["line"])))
        return found

    def gosec(self, modules: Sequence[str]) -> list[Finding]:
        """Check the Go modules in these directories with gosec. Nothing if there is none."""
        found: list[Finding] = []
        if shutil.which("gosec") is None or shutil.which("go") is None:
            return found
        for module in modules:
            command = ["gosec", "-fmt=json", "-quiet", "-no-fail", "./..."]
            try:
                answer = self._json("gosec", command, cwd=self.root / module, env=self._go_environment())
            except ActivityError as error:
                self._fail("gosec", error.message)
                continue
            for hit in answer.get("Issues") or []:
                line = int(str(hit["line"]).partition("-")[0])
                file, severity = self._relative(hit["file"]), str(hit["severity"]).lower()
                found.append(Finding("gosec", hit["rule_id"], hit["details"], file, line, severity))
        return found

    def eslint(self, names: Sequence[str]) -> list[Finding]:
        """Check JavaScript files with an installed eslint 9 or later. Nothing if there is none."""
        found: list[Finding] = []
        if not names or shutil.which("eslint") is None:
            return found
        version = self._run(["eslint", "--version"], cwd=self.root).stdout.strip().lstrip("v")
        if not version.partition(".")[0].isdigit() or int(version.partition(".")[0]) < 9:
            self._fail("eslint", f"version {version} is too old: 9 is needed")
            return found
        command = [
            "eslint", "--no-config-lookup", "--no-inline-config", "--no-ignore", "--no-warn-ignored", "--format=json",
            f"--rule={json.dumps(dict.fromkeys(ESLINT_RULES, 'error'))}",
        ]  # fmt: skip
        for chunk in _chunks(names):
            for file in self._json("eslint", [*command, "--", *chunk], accepted=(0, 1)):
                for hit in file["messages"]:
                    rule, name = hit["ruleId"] or "syntax", self._relative(file["filePath"])
                    found.append(Finding("eslint", rule, hit["message"], name, hit.get("line") or 1))
        return found

    def _json(
        self,
        tool: str,
        command: Sequence[str],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        accepted: tuple[int, ...] = (0,),
    ) -> Any:
        finished = self._run(command, cwd=cwd or self.root, env=env)
        try:
            answer = json.loads(finished.stdout)
        except ValueError:
            answer = None
        if finished.returncode not in accepted or answer is None or finished.truncated:
            said = (finished.stderr.strip().splitlines() or ["it said nothing"])[-1][:300]
            raise ActivityError(f"{tool} broke off with exit code {finished.returncode}: {said}")
        self._note(tool)
        return answer

    def _run(self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str] | None = None) -> subprocesses.Finished:
        return subprocesses.run(
            command,
            cwd=cwd,
            home=self._scratch,
            timeout=LONGEST_RUN,
            env=env,
            output_cap=OUTPUT_CAP,
            cancelled=lambda: self.context.is_cancelled,
        )

    @property
    def _scratch(self) -> Path:
        scratch = self.context.workspace / ".tools"
        scratch.mkdir(mode=0o700, exist_ok=True)
        return scratch

    def _go_environment(self) -> dict[str, str]:
        # No downloads of modules or toolchains, no C compiler: vetting must not run or fetch what a repository names.
        return {
            "GOPROXY": "off", "GOTOOLCHAIN": "local", "GOVCS": "*:off", "GOWORK": "off", "GOENV": "off",
            "CGO_ENABLED": "0", "GOFLAGS": "", "GOTELEMETRY": "off",
            "GOPATH": str(self._scratch / "go"), "GOCACHE": str(self._scratch / "go-build"),
        }  # fmt: skip

    def _relative(self, name: str) -> str:
        path = Path(name)
        return path.relative_to(self.root).as_posix() if path.is_absolute() else path.as_posix().removeprefix("./")

    def _note(self, tool: str) -> None:
        if tool not in self.used:
            self.used.append(tool)

    def _fail(self, tool: str, reason: str) -> None:
        self.failed[tool] = reason
        self.context.warn(f"{tool} could not be used: {reason}")


def _chunks(names: Sequence[str]) -> Iterator[list[str]]:
    # "./" so that no name looks like an option.
    for start in range(0, len(names), FILES_AT_ONCE):
        yield [f"./{name}" for name in names[start : start + FILES_AT_ONCE]]
