"""AnalyzeCodeActivity: sizes, complexity and linter findings of a source tree, as one quality figure.

Refuses paths outside the execution's workspace and the repository roots (contract-activities 2).
"""

import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from pydantic import Field, field_validator

from workflows.activities.code_files import CodeFile, chosen_language, find
from workflows.activities.code_tools import Toolbox
from workflows.activities.context import ActivityContext
from workflows.activities.paths import Territory
from workflows.activities.registry import activity
from workflows.activities.shapes import Fields

MAX_ISSUES_LISTED = 1000
MAX_COMPLEXITY = 15  # cyclomatic; above it a function is an issue
MAX_FUNCTION_LINES = 150
MOST_COMPLEX_LISTED = 10
# Measuring complexity is the slowest part; in a huge tree it must leave time for the linters.
COMPLEXITY_SECONDS = 240.0
# What each depth adds to the one before it, as ruff's rule groups.
RUFF_RULES = {
    1: "E9,F63,F7,F82",  # what cannot run
    2: "F",  # what is unused or undefined
    3: "B,PLE",  # what is probably wrong; complexity and the linters of other languages too
    4: "C4,PERF,PIE,RET,SIM",  # what could be simpler
    5: "A,N,PLR,PLW,S,UP",  # what a strict reviewer would mention; long functions too
}


class AnalyzeCodeInput(Fields):
    """What to look at, and how closely."""

    path: str = Field(
        min_length=1, max_length=4096, description="Directory or file to analyse", examples=["${Clone.output.path}"]
    )
    language: str | None = Field(default=None, description="Look only at files of this language, such as python or go")
    depth: int = Field(
        default=3, ge=1, le=5, description="1: what cannot run; 3: probable bugs and complexity too; 5: everything"
    )

    @field_validator("language")
    @classmethod
    def _is_known(cls, value: str | None) -> str | None:
        return chosen_language(value) if value else None


class AnalyzeCodeOutput(Fields):
    """What was found."""

    quality: float = Field(description="0 to 1: one minus a tenth of the issues per file; 0.5 without files")
    metrics: dict[str, Any] = Field(
        description="totalFiles, totalLines, totalIssues, languages, functions, averageComplexity, maxComplexity, "
        "mostComplex, tools, goVetRan and what could not be looked at"
    )
    issues: list[str] = Field(description="One text per issue, as file:line: message")
    summary: str = Field(description="All of it in one sentence")


@dataclass
class _Measures:
    """What reading the files gives."""

    files: int = 0
    lines: int = 0
    languages: dict[str, dict[str, int]] = field(default_factory=lambda: defaultdict(lambda: {"files": 0, "lines": 0}))
    functions: list[tuple[int, str, str, int, int]] = field(default_factory=list)
    readable: list[CodeFile] = field(default_factory=list)
    unmeasured: int = 0

    @property
    def average(self) -> float:
        return round(sum(f[0] for f in self.functions) / len(self.functions), 2) if self.functions else 0.0


@activity(
    "AnalyzeCodeActivity", category="analysis", timeout="10m", is_flaky=True, max_attempts=3, backoff=2.0,
    keywords=("analyse", "analyze", "code quality", "review the code", "technical debt"),
    dependencies=("CloneRepoActivity",), notes="Uses ruff and lizard, go vet and eslint where they are installed.",
)  # fmt: skip
def analyze_code(input: AnalyzeCodeInput, context: ActivityContext) -> AnalyzeCodeOutput:
    """Counts files and lines, measures complexity and runs linters over a source tree."""
    territory = Territory.of(context)
    path = territory.confine(input.path)
    files = [f for f in find(path, territory) if input.language in (None, f.language)]
    measures = _measure(files, context)
    toolbox = Toolbox(context, path if path.is_dir() else path.parent)
    issues = _lint(measures.readable, toolbox, input.depth) + _complexity_issues(measures, input.depth)
    issues.sort()
    quality = max(0.0, 1 - 0.1 * len(issues) / measures.files) if measures.files else 0.5
    metrics = {
        "totalFiles": measures.files,
        "totalLines": measures.lines,
        "totalIssues": len(issues),
        "languages": dict(sorted(measures.languages.items())),
        "functions": len(measures.functions),
        "averageComplexity": measures.average,
        "maxComplexity": max((f[0] for f in measures.functions), default=0),
        "mostComplex": [
            {"function": name, "file": file, "line": line, "complexity": complexity, "lines": length}
            for complexity, file, name, line, length in sorted(measures.functions, key=lambda f: (-f[0], *f[1:]))
        ][:MOST_COMPLEX_LISTED],
        "tools": ["lizard", *toolbox.used],
        "toolsFailed": toolbox.failed,
        "goVetRan": "go vet" in toolbox.used,
        "filesNotRead": measures.files - len(measures.readable),
        "filesNotMeasured": measures.unmeasured,
    }
    summary = (
        f"Analysed {_count(measures.files, 'file')} with {_count(measures.lines, 'line')} of code: "
        f"{_count(len(issues), 'issue')}, quality {quality:.2f}."
    )
    context.info(summary)
    listed = [f"{file}:{line}: {message}" for file, line, message in issues[:MAX_ISSUES_LISTED]]
    return AnalyzeCodeOutput(quality=round(quality, 4), metrics=metrics, issues=listed, summary=summary)


def _measure(files: list[CodeFile], context: ActivityContext) -> _Measures:
    """Read every file: lines, and the complexity of its functions while there is time for it."""
    measures = _Measures()
    import lizard  # not for every process that only knows of this activity

    stop = time.monotonic() + COMPLEXITY_SECONDS
    for number, file in enumerate(files):
        context.check_cancelled()
        if number % 200 == 0:
            context.progress(50 * number / len(files), f"measured {number} of {len(files)} files")
        try:
            text = file.read()
        except OSError as error:
            context.warn(f"{file.name} cannot be read: {error.strerror}", file=file.name)
            text = None
        measures.files += 1
        if text is None:  # binary or very large, whatever its name says
            continue
        measures.readable.append(file)
        lines = len(text.splitlines())
        measures.lines += lines
        if file.language is not None:
            measures.languages[file.language]["files"] += 1
            measures.languages[file.language]["lines"] += lines
        if time.monotonic() > stop:
            measures.unmeasured += 1
            continue
        try:
            functions = lizard.analyze_file.analyze_source_code(file.name, text).function_list
        except Exception as error:  # noqa: BLE001 - its readers raise anything on text that is no code
            context.debug(f"the complexity of {file.name} cannot be measured: {type(error).__name__}", file=file.name)
            measures.unmeasured += 1
            continue
        measures.functions += [
            (f.cyclomatic_complexity, file.name, str(f.name)[:200], f.start_line, f.length) for f in functions
        ]
    return measures


def _lint(files: list[CodeFile], toolbox: Toolbox, depth: int) -> list[tuple[str, int, str]]:
    """Run the linters that fit the languages there are; returns (file, line, message)."""
    by_language = defaultdict(list)
    for file in files:
        by_language[file.language].append(file.name)
    found = []
    if by_language["python"]:
        rules = ",".join(RUFF_RULES[level] for level in range(1, depth + 1))
        found += toolbox.ruff(by_language["python"], rules)
    if depth >= 3:
        if by_language["go"]:
            found += toolbox.go_vet(go_modules(by_language["go"], toolbox))
        found += toolbox.eslint(by_language["javascript"])
    return [(f.file, f.line, f"{f.message} ({f.tool} {f.rule})") for f in found]


def go_modules(names: list[str], toolbox: Toolbox) -> list[str]:
    """Return the directories, relative to the root, of the go.mod files that these Go files belong to."""
    folders = {parent for name in names for parent in (toolbox.root / name).relative_to(toolbox.root).parents}
    return sorted(str(folder) for folder in folders if (toolbox.root / folder / "go.mod").is_file())


def _complexity_issues(measures: _Measures, depth: int) -> list[tuple[str, int, str]]:
    found = []
    for complexity, file, name, line, length in measures.functions:
        if depth >= 3 and complexity > MAX_COMPLEXITY:
            found.append((file, line, f"{name} has a cyclomatic complexity of {complexity}, over {MAX_COMPLEXITY}"))
        if depth >= 5 and length > MAX_FUNCTION_LINES:
            found.append((file, line, f"{name} is {length} lines long, over {MAX_FUNCTION_LINES}"))
    return found


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
