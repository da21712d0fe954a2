"""SecurityScanActivity: secrets and dangerous code in a source tree, with a score (contract-activities 3).

Refuses to repeat a secret: findings say of what kind it is and where, never what it is.
"""

from typing import Literal

from pydantic import Field

from workflows.activities.analyze_code import go_modules
from workflows.activities.code_files import CodeFile, find
from workflows.activities.code_tools import Finding, Toolbox
from workflows.activities.context import ActivityContext
from workflows.activities.paths import Territory
from workflows.activities.registry import activity
from workflows.activities.shapes import Fields

Severity = Literal["low", "medium", "high", "critical"]
SEVERITIES: tuple[Severity, ...] = ("low", "medium", "high", "critical")
MAX_FINDINGS_LISTED = 1000
# The kind of all findings that are about a secret in a line, whoever found it.
WRITTEN_DOWN = "written-down"
# The tools' own names of rules that are about secrets; their messages quote the secret.
SECRET_RULES = {
    "B105": "hardcoded password",
    "B106": "hardcoded password argument",
    "B107": "hardcoded default password",
    "G101": "hardcoded credentials",
}
# Up to how many findings give which score and risk.
SCORES: tuple[tuple[int, float, Severity], ...] = ((0, 100.0, "low"), (2, 80.0, "medium"), (9, 50.0, "high"))
WORST: tuple[float, Severity] = (20.0, "critical")


class SecurityScanInput(Fields):
    """What to scan, and what to mention."""

    path: str = Field(
        min_length=1, max_length=4096, description="Directory or file to scan", examples=["${Clone.output.path}"]
    )
    severity: Severity = Field(default="medium", description="Mention findings of this severity and worse")


class Vulnerability(Fields):
    """One finding."""

    id: str = Field(description="SEC-1, SEC-2, ... from the worst to the mildest")
    severity: Severity = Field(description="How bad it is")
    description: str = Field(description="What it is, without the secret itself")
    file: str | None = Field(default=None, description="Where it is, from the scanned directory")
    line: int | None = Field(default=None, description="The line, from 1")
    tool: str | None = Field(default=None, description="Who found it")


class SecurityScanOutput(Fields):
    """What was found."""

    vulnerabilities: list[Vulnerability] = Field(description="The findings, worst first; 1,000 at most")
    security_score: float = Field(description="100 without findings, 80 for one or two, 50 for up to nine, else 20")
    risk_level: Severity = Field(description="low, medium, high or critical, as the score")
    total_findings: int = Field(description="How many findings there are")
    files_scanned: int = Field(description="How many files were looked at")
    files_skipped: int = Field(description="How many were not: binary, over 1 MiB or unreadable")
    tools: list[str] = Field(description="What they were looked at with")


class _Findings:
    """The findings so far: one for each file, line and kind, the worst of those reported."""

    def __init__(self, minimum: Severity) -> None:
        self.minimum = SEVERITIES.index(minimum)
        self.worst: dict[tuple[str, int, str], tuple[int, str, str]] = {}

    def add(self, file: str, line: int, kind: str, severity: str, description: str, tool: str) -> None:
        rank = SEVERITIES.index(severity) if severity in SEVERITIES else SEVERITIES.index("medium")
        if rank < self.minimum:
            return
        key = (file, line, kind)
        if key not in self.worst or self.worst[key][0] < rank:
            self.worst[key] = (rank, description, tool)

    def add_all(self, found: list[Finding]) -> None:
        for hit in found:
            what = SECRET_RULES.get(hit.rule)
            kind = WRITTEN_DOWN if what else hit.rule
            description = f"{what or hit.message} ({hit.tool} {hit.rule})"
            # What can be read can be used: a secret is never a mild finding.
            self.add(hit.file, hit.line, kind, "high" if what else hit.severity, description, hit.tool)

    def listed(self) -> list[Vulnerability]:
        ordered = sorted(self.worst.items(), key=lambda item: (-item[1][0], item[0]))
        return [
            Vulnerability(
                id=f"SEC-{number}", severity=SEVERITIES[rank], description=description, file=file, line=line, tool=tool
            )
            for number, ((file, line, _), (rank, description, tool)) in enumerate(ordered, start=1)
        ]


@activity(
    "SecurityScanActivity", category="security", timeout="8m", max_attempts=2, backoff=1.5,
    keywords=("security scan", "vulnerabilities", "leaked secrets", "audit"),
    dependencies=("CloneRepoActivity",),
    notes="Uses bandit and detect-secrets, gosec where it is installed. Secrets are located, never shown.",
)  # fmt: skip
def security_scan(input: SecurityScanInput, context: ActivityContext) -> SecurityScanOutput:
    """Searches a source tree for secrets and dangerous code."""
    territory = Territory.of(context)
    path = territory.confine(input.path)
    files = find(path, territory, configuration=True)
    found = _Findings(input.severity)
    scanned = _search_secrets(files, found, context)
    toolbox = Toolbox(context, path if path.is_dir() else path.parent)
    if python := [file.name for file in scanned if file.language == "python"]:
        found.add_all(toolbox.bandit(python))
    if go := [file.name for file in scanned if file.language == "go"]:
        found.add_all(toolbox.gosec(go_modules(go, toolbox)))
    vulnerabilities = found.listed()
    score, risk = _score(len(vulnerabilities))
    context.info(
        f"scanned {len(scanned)} files: {len(vulnerabilities)} findings of severity {input.severity} or worse, "
        f"score {score:g}, risk {risk}"
    )
    return SecurityScanOutput(
        vulnerabilities=vulnerabilities[:MAX_FINDINGS_LISTED],
        security_score=score,
        risk_level=risk,
        total_findings=len(vulnerabilities),
        files_scanned=len(scanned),
        files_skipped=len(files) - len(scanned),
        tools=["patterns", "detect-secrets", *toolbox.used],
    )


def _search_secrets(files: list[CodeFile], found: _Findings, context: ActivityContext) -> list[CodeFile]:
    """Search every file for secrets; returns those that could be: not binary, not too large, readable."""
    from workflows.activities import secret_search  # not for every process that only knows of this activity

    scanned = []
    for number, file in enumerate(files):
        context.check_cancelled()
        if number % 200 == 0:
            context.progress(80 * number / len(files), f"searched {number} of {len(files)} files")
        try:
            text = file.read()
        except OSError as error:
            context.warn(f"{file.name} cannot be read: {error.strerror}", file=file.name)
            text = None
        if text is None:
            continue
        scanned.append(file)
        for hit in secret_search.search(file.name, text):
            found.add(file.name, hit.line, WRITTEN_DOWN, hit.severity, hit.what, hit.source)
    return scanned


def _score(findings: int) -> tuple[float, Severity]:
    for most, score, risk in SCORES:
        if findings <= most:
            return score, risk
    return WORST
