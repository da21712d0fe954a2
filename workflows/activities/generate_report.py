"""GenerateReportActivity: one document out of what an analysis and a security scan found (contract-activities 4).

Writes only into the execution's artifact directory, whole or not at all. Missing parts are named, not invented.
"""

import contextlib
import json
import os
import re
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from pydantic import Field

from workflows.activities.context import ActivityContext
from workflows.activities.registry import activity
from workflows.activities.shapes import KEEPS_HANDLES, Fields
from workflows.errors import ActivityError

EXTENSIONS = {"markdown": "md", "html": "html", "json": "json"}
SEVERITIES = ("critical", "high", "medium", "low")
_SHOWN = 200  # findings and issues listed in full; the rest are counted

_TEMPLATES = Path(__file__).parent / "report_templates"


class GenerateReportInput(Fields):
    """What was found."""

    analysis_result: dict[str, Any] | None = Field(
        default=None, description="Output of AnalyzeCodeActivity", json_schema_extra=KEEPS_HANDLES
    )
    security_result: dict[str, Any] | None = Field(
        default=None, description="Output of SecurityScanActivity", json_schema_extra=KEEPS_HANDLES
    )
    format: Literal["markdown", "html", "json"] = Field(default="markdown", description="What to write")
    title: str = Field(
        default="Analysis Report", max_length=200, description="The report's heading", json_schema_extra=KEEPS_HANDLES
    )


class GenerateReportOutput(Fields):
    """The report, and where it is."""

    report: str = Field(description="The whole text")
    report_path: str = Field(description="The file it was written to")


@activity(
    "GenerateReportActivity",
    keywords=("report", "summary of the findings", "write up"),
    category="reporting",
    timeout="2m",
    max_attempts=1,
    backoff=1.0,
    dependencies=("AnalyzeCodeActivity", "SecurityScanActivity"),
)
def generate_report(input: GenerateReportInput, context: ActivityContext) -> GenerateReportOutput:
    """Writes a Markdown, HTML or JSON report of an analysis and a security scan."""
    generated = datetime.now(UTC).replace(microsecond=0)
    if input.format == "json":
        text = json.dumps(
            {
                "title": input.title,
                "timestamp": generated.isoformat(),
                "analysis": input.analysis_result,
                "security": input.security_result,
            },
            ensure_ascii=False,
            indent=2,
        )
    else:
        text = _render(input, generated)
    identity = context.identity
    # The end of the branch's id keeps the items of a Map apart: they enter the same state on their first visit.
    name = f"report-{_safe(identity.state)}-{identity.visit}-{_safe(identity.branch[-8:])}.{EXTENSIONS[input.format]}"
    path = context.artifacts / name
    _write(path, text)
    context.info(f"report written: {name}", bytes=len(text.encode()))
    return GenerateReportOutput(report=text, report_path=str(path))


def _render(input: GenerateReportInput, generated: datetime) -> str:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=select_autoescape(enabled_extensions=("html.jinja",)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["cell"] = _cell
    environment.filters["plain"] = _plain
    environment.filters["fenced"] = _fenced
    template = environment.get_template("report.html.jinja" if input.format == "html" else "report.md.jinja")
    return template.render(
        title=input.title,
        generated=generated.strftime("%Y-%m-%d %H:%M:%S UTC"),
        analysis=_analysis(input.analysis_result),
        security=_security(input.security_result),
    )


def _analysis(result: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if result is None:
        return None
    rest = dict(result)
    issues, quality, summary = _list(rest.pop("issues", None)), rest.pop("quality", None), rest.pop("summary", None)
    metrics = dict(found) if isinstance(found := rest.pop("metrics", None), Mapping) else {}
    languages = _rows(metrics.pop("languages", None), ("files", "lines"))
    functions = [f for f in _list(metrics.pop("mostComplex", None)) if isinstance(f, Mapping)]
    return {
        "summary": _text(summary) if summary else "",
        "quality": _number(quality),
        "metrics": {_words(str(name)): _text(value) for name, value in metrics.items() if value not in ({}, [], None)},
        "languages": languages,
        "functions": [
            {
                "name": _text(f.get("function", "")),
                "place": _place(f),
                "complexity": _text(f.get("complexity", "")),
                "lines": _text(f.get("lines", "")),
            }
            for f in functions
        ],
        "issues": [_issue(str(issue)) for issue in issues[:_SHOWN]],
        "more": max(0, len(issues) - _SHOWN),
        "rest": _rest(rest),
    }


def _security(result: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if result is None:
        return None
    rest = dict(result)
    findings = [f for f in _list(rest.pop("vulnerabilities", None)) if isinstance(f, Mapping)]
    findings.sort(key=lambda f: SEVERITIES.index(f["severity"]) if f.get("severity") in SEVERITIES else len(SEVERITIES))
    score, risk = rest.pop("securityScore", None), rest.pop("riskLevel", None)
    facts = {name: rest.pop(name) for name in ("filesScanned", "filesSkipped", "tools") if name in rest}
    total = rest.pop("totalFindings", len(findings))
    return {
        "score": _number(score),
        "risk": _text(risk) if risk else "not available",
        "counts": {severity: sum(1 for f in findings if f.get("severity") == severity) for severity in SEVERITIES},
        "facts": {_words(name): _text(value) for name, value in facts.items()},
        "findings": [
            {
                "id": _text(f.get("id", "")),
                "severity": _text(f.get("severity", "")),
                "place": _place(f),
                "description": _text(f.get("description", "")),
            }
            for f in findings[:_SHOWN]
        ],
        "more": max(0, (total if isinstance(total, int) else len(findings)) - _SHOWN),
        "rest": _rest(rest),
    }


def _rows(value: Any, columns: tuple[str, ...]) -> list[list[str]]:
    """The rows of a table out of ``{name: {column: value}}``."""
    if not isinstance(value, Mapping):
        return []
    return [
        [str(name), *(_text(row.get(column, "")) for column in columns)]
        for name, row in value.items()
        if isinstance(row, Mapping)
    ]


def _place(found: Mapping[str, Any]) -> str:
    file, line = found.get("file"), found.get("line")
    return f"{_text(file) if file else ''}{f':{line}' if line else ''}"


def _issue(text: str) -> dict[str, str]:
    match = re.match(r"(?P<place>\S+:\d+): (?P<what>.*)", text, re.DOTALL)
    return match.groupdict() if match else {"place": "", "what": text}


def _rest(values: Mapping[str, Any]) -> str:
    """What the result holds besides what is known here, as JSON text; empty if that is nothing."""
    return json.dumps(values, ensure_ascii=False, indent=2) if values else ""


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, int | float) and not isinstance(value, bool) else "not available"


def _words(name: str) -> str:
    """``totalFiles`` as people write it: total files."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda match: " " + match[1].lower(), name)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list) and all(isinstance(part, str | int | float) for part in value):
        return ", ".join(str(part) for part in value)
    return json.dumps(value, ensure_ascii=False)


def _plain(text: str) -> str:
    """Text that Markdown shows as it is: one line, with its signs escaped."""
    return re.sub(r"([\\`*{}\[\]<>#|!]|(?<!\w)_|_(?!\w))", r"\\\1", " ".join(text.split()))


def _cell(text: str) -> str:
    """Text for a cell of a Markdown table; empty ones are shown as a dash."""
    return _plain(text) or "-"


def _fenced(text: str) -> str:
    """A fenced block of JSON that no text inside can end."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}json\n{text}\n{fence}"


def _safe(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "-", name)[:100]


def _write(path: Path, text: str) -> None:
    """Write whole or not at all, for the owner only; raises :class:`ActivityError` when the disk refuses."""
    draft = ""
    try:
        handle, draft = tempfile.mkstemp(dir=path.parent, prefix=".report-")
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(draft).replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            Path(draft).unlink()
        raise ActivityError(f"the report cannot be written: {error.strerror or error}") from None
