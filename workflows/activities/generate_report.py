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
from workflows.activities.shapes import Fields
from workflows.errors import ActivityError

EXTENSIONS = {"markdown": "md", "html": "html", "json": "json"}
SEVERITIES = ("critical", "high", "medium", "low")
_SHOWN = 200  # findings and issues listed in full; the rest are counted

_TEMPLATES = Path(__file__).parent / "report_templates"


class GenerateReportInput(Fields):
    """What was found."""

    analysis_result: dict[str, Any] | None = Field(default=None, description="Output of AnalyzeCodeActivity")
    security_result: dict[str, Any] | None = Field(default=None, description="Output of SecurityScanActivity")
    format: Literal["markdown", "html", "json"] = Field(default="markdown", description="What to write")
    title: str = Field(default="Analysis Report", max_length=200, description="The report's heading")


class GenerateReportOutput(Fields):
    """The report, and where it is."""

    report: str = Field(description="The whole text")
    report_path: str = Field(description="The file it was written to")


@activity(
    "GenerateReportActivity",
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
    name = f"report-{_safe(identity.state)}-{identity.visit}.{EXTENSIONS[input.format]}"
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
    issues = [str(issue) for issue in _list(result.get("issues"))]
    metrics = result.get("metrics")
    quality = result.get("quality")
    return {
        "summary": str(result.get("summary") or ""),
        "quality": f"{quality:.2f}" if isinstance(quality, int | float) else "not available",
        "metrics": {str(k): _text(v) for k, v in metrics.items()} if isinstance(metrics, Mapping) else {},
        "issues": issues[:_SHOWN],
        "more": max(0, len(issues) - _SHOWN),
    }


def _security(result: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if result is None:
        return None
    findings = [f for f in _list(result.get("vulnerabilities")) if isinstance(f, Mapping)]
    findings.sort(key=lambda f: SEVERITIES.index(f["severity"]) if f.get("severity") in SEVERITIES else len(SEVERITIES))
    score = result.get("securityScore")
    return {
        "score": f"{score:g}" if isinstance(score, int | float) else "not available",
        "risk": str(result.get("riskLevel") or "not available"),
        "counts": {s: sum(1 for f in findings if f.get("severity") == s) for s in SEVERITIES},
        "findings": [
            {
                "id": str(f.get("id") or ""),
                "severity": str(f.get("severity") or ""),
                "place": f"{f.get('file') or ''}{':' + str(f['line']) if f.get('line') else ''}",
                "description": str(f.get("description") or ""),
            }
            for f in findings[:_SHOWN]
        ],
        "more": max(0, len(findings) - _SHOWN),
    }


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(part, str | int | float) for part in value):
        return ", ".join(str(part) for part in value)
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def _plain(text: str) -> str:
    """Text that Markdown shows as it is: one line, with its signs escaped."""
    return re.sub(r"([\\`*_{}\[\]<>#|!])", r"\\\1", " ".join(text.split()))


def _cell(text: str) -> str:
    """Text for a cell of a Markdown table; empty ones are shown as a dash."""
    return _plain(text) or "-"


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
