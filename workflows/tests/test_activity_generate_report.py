"""Reports: every format shows what was found, safely, in a file of its own."""

import json
import stat
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from workflows.activities.context import ActivityContext, Identity
from workflows.activities.registry import registry
from workflows.errors import ActivityError, InvalidInput
from workflows.tests.activity_case import Case

ANALYSIS: dict[str, Any] = {
    "quality": 0.876,
    "summary": "Analysed 2 files with 10 lines of code: 1 issue, quality 0.88.",
    "metrics": {
        "totalFiles": 2, "totalLines": 12345, "tools": ["lizard", "ruff"], "goVetRan": False, "toolsFailed": {},
        "languages": {"python": {"files": 2, "lines": 10}},
        "mostComplex": [{"function": "f", "file": "a.py", "line": 3, "complexity": 21, "lines": 40}],
    },
    "issues": ["a.py:1: `os` imported but unused (ruff F401)"],
}  # fmt: skip
SECURITY: dict[str, Any] = {
    "vulnerabilities": [
        {"id": "SEC-2", "severity": "low", "description": "mild", "file": "b.py", "line": 2},
        {"id": "SEC-1", "severity": "critical", "description": "bad | worse", "file": "a.py", "line": 9},
        {"id": "SEC-3", "severity": "high", "description": "somewhere"},
    ],
    "securityScore": 50.0,
    "riskLevel": "high",
    "filesScanned": 2,
}
HOSTILE = '<script>alert(1)</script> | `x` **b** [l](javascript:1) & "q" \n# Heading\n```'


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path / "home")


def report(case: Case, **parameters: Any) -> str:
    output = case.run("GenerateReportActivity", parameters, state="Report")
    assert Path(output["reportPath"]).read_text() == output["report"]
    text: str = output["report"]
    return text


class Page(HTMLParser):
    """The tags, and the text, of an HTML page; fails if tags are not closed in order."""

    VOID = frozenset({"meta", "br", "hr", "img", "link", "input"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.words = ""
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


def test_markdown_has_the_sections_and_tables_of_everything_found(case: Case) -> None:
    text = report(case, analysisResult=ANALYSIS, securityResult=SECURITY)
    assert text.startswith("# Analysis Report\n\nGenerated 20")
    assert "## Code Analysis" in text
    assert "| total lines | 12,345 |" in text
    assert "| python | 2 | 10 |" in text
    assert "| f | a.py:3 | 21 | 40 |" in text
    assert r"| a.py:1 | \`os\` imported but unused (ruff F401) |" in text
    assert "## Security Scan" in text
    assert "Score **50** of 100, risk **high**: 1 critical, 1 high, 0 medium, 1 low." in text
    rows = [line for line in text.splitlines() if line.startswith("| SEC-")]
    assert rows == [
        r"| SEC-1 | critical | a.py:9 | bad \| worse |",
        "| SEC-3 | high | - | somewhere |",
        "| SEC-2 | low | b.py:2 | mild |",
    ]


def test_html_is_a_whole_page_that_loads_nothing(case: Case) -> None:
    text = report(case, analysisResult=ANALYSIS, securityResult=SECURITY, format="html")
    page = Page(text)
    assert text.startswith("<!doctype html>")
    assert {"html", "head", "title", "body", "h1", "table"} <= set(page.tags)
    assert not {"script", "link", "img", "iframe"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name in {"src", "href"} or name.startswith("on")]
    for words in ("SEC-1", "critical", "a.py:9", "bad | worse", "12,345", "0.876"):
        assert words in page.words


def test_json_is_json(case: Case) -> None:
    document = json.loads(report(case, analysisResult=ANALYSIS, securityResult=SECURITY, format="json"))
    assert document["analysis"] == ANALYSIS
    assert document["security"] == SECURITY
    assert document["timestamp"].endswith("+00:00")


def test_missing_parts_are_said_to_be_missing(case: Case) -> None:
    assert report(case).count("Not available.") == 2
    assert report(case, analysisResult=ANALYSIS).count("Not available.") == 1
    assert Page(report(case, securityResult=SECURITY, format="html")).words.count("Not available.") == 1
    assert json.loads(report(case, format="json"))["analysis"] is None


def test_hostile_text_stays_text_in_html(case: Case) -> None:
    analysis = {"summary": HOSTILE, "issues": [HOSTILE], "metrics": {HOSTILE: HOSTILE}, "more": HOSTILE}
    security = {"vulnerabilities": [{"id": HOSTILE, "severity": HOSTILE, "description": HOSTILE, "file": HOSTILE}]}
    page = Page(report(case, analysisResult=analysis, securityResult=security, title=HOSTILE, format="html"))
    assert "script" not in page.tags
    assert page.words.count("<script>alert(1)</script>") >= 8


def test_hostile_text_breaks_no_table_of_markdown(case: Case) -> None:
    security = {"vulnerabilities": [{"id": "SEC-1", "severity": "high", "description": HOSTILE, "file": HOSTILE}]}
    text = report(case, analysisResult={"issues": [HOSTILE]}, securityResult=security)
    row = next(line for line in text.splitlines() if line.startswith("| SEC-1"))
    assert row.replace(r"\|", "").count("|") == 5
    assert "\n# Heading" not in text
    assert "<script>" not in text.replace(r"\<", "")


def test_results_of_other_shapes_are_shown_as_they_are(case: Case) -> None:
    text = report(case, analysisResult={"custom": {"a": [1, "```"]}, "quality": "n/a", "issues": "none"})
    assert '"custom": {' in text
    assert "````json" in text  # a longer fence than any inside
    assert "| quality | not available |" in text
    odd = {"vulnerabilities": ["x", None, {"severity": 7, "line": "9"}], "securityScore": True, "riskLevel": 3}
    assert "Score **not available**" in report(case, securityResult=odd)


def test_long_lists_are_cut_and_counted(case: Case) -> None:
    text = report(case, analysisResult={"issues": [f"a.py:{n}: x" for n in range(1, 301)]})
    assert "a.py:200" in text
    assert "a.py:201" not in text
    assert "... and 100 more." in text


def test_the_file_is_private_named_after_the_state_and_alone(case: Case) -> None:
    for form, extension in (("markdown", "md"), ("html", "html"), ("json", "json")):
        output = case.run("GenerateReportActivity", {"format": form}, state="Final-Report", visit=3)
        path = Path(output["reportPath"])
        assert path.parent == case.context().artifacts
        assert path.name == f"report-Final-Report-3-branch.{extension}"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(list(case.context().artifacts.iterdir())) == 3


def test_the_items_of_a_map_do_not_overwrite_each_other(case: Case) -> None:
    activity = registry.get("GenerateReportActivity")
    paths = set()
    for branch in ("018f0000-0000-7000-8000-00000000000a", "018f0000-0000-7000-8000-00000000000b"):
        identity = Identity(case.execution, "customer", branch, "Report", 1, 1)
        context = ActivityContext(identity, home=case.home, sink=case.reports.append)
        paths.add(activity.function(activity.parse_input({}), context).report_path)
    assert len(paths) == 2


def test_another_attempt_replaces_the_report(case: Case) -> None:
    first = case.run("GenerateReportActivity", {"title": "one"}, attempt=1)["reportPath"]
    second = case.run("GenerateReportActivity", {"title": "two"}, attempt=2)["reportPath"]
    assert first == second
    assert "# two" in Path(second).read_text()


def test_a_report_that_cannot_be_written_fails_and_leaves_nothing(case: Case) -> None:
    artifacts = case.context().artifacts
    (artifacts / "report-Report-1-branch.md").mkdir()
    with pytest.raises(ActivityError, match="the report cannot be written"):
        report(case)
    assert [entry.name for entry in artifacts.iterdir()] == ["report-Report-1-branch.md"]


@pytest.mark.parametrize(
    "wrong", [{"format": "pdf"}, {"format": "../../etc/x"}, {"analysisResult": "text"}, {"title": 7}]
)
def test_wrong_inputs_are_named(case: Case, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        report(case, **wrong)
