"""The whole way in a browser: the check-up of a repository drawn from nothing, run, approved, and run again."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlparse
from uuid import uuid4

import pytest
from playwright.sync_api import Page, expect

from poimen_site.tests.browsing import Account, Site
from poimen_site.tests.sketching import Sketch

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300), pytest.mark.xdist_group("browser")]

STATUS = "data-status"
LONG = 60_000  # ms, for a run on a busy machine
STEPS = ("Clone repo", "Analyze code", "Security scan", "Write it up", "Ask")


@pytest.fixture
def repository(site: Site) -> Path:
    """A repository with something that a scan finds, where the installation may read."""
    made = site.installation.home / f"shop-{uuid4().hex[:8]}"
    made.mkdir()
    (made / "deploy.py").write_text("import subprocess\n\nsubprocess.call('ls ' + input(), shell=True)\n")
    identity = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"]
    for command in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "Begin"]):
        subprocess.run(["git", "-C", str(made), *command], check=True)
    return made


def draw(sketch: Sketch) -> None:
    """The check-up with a person at its end, by mouse; what is not clear by itself is filled in."""
    page = sketch.page
    sketch.drag_in("Start", 60, 250)
    sketch.drag_in("Clone repo", 240, 250)
    sketch.drag_in("Analyze code", 420, 120)
    sketch.drag_in("Security scan", 420, 400)
    sketch.drag_in("Generate report", 620, 250)
    for source, target in (
        ("Start", "Clone repo"),
        ("Clone repo", "Analyze code"),
        ("Clone repo", "Security scan"),
        ("Analyze code", "Generate report"),
        ("Security scan", "Generate report"),
    ):
        sketch.connect(source, target)
    sketch.choose("Clone repo")
    sketch.field("repo").fill("${workflow.input.repo}")
    for step in ("Analyze code", "Security scan"):
        sketch.choose(step)
        sketch.take("path", "Clone repo", "path")
    sketch.choose("Generate report")
    page.get_by_label("Label").fill("Write it up")
    sketch.take("analysisResult", "Analyze code", "the whole output")
    sketch.take("securityResult", "Security scan", "the whole output")
    sketch.field("format").select_option(label="html")

    sketch.pull("Write it up", 60, 150)
    page.get_by_placeholder("What comes here?").fill("approve")
    page.keyboard.press("Enter")
    page.get_by_label("Label").fill("Ask")
    sketch.field("workflowId").fill("check-up")
    sketch.field("description").fill("Publish it?")
    sketch.pull("Ask", 60, 0)
    page.get_by_placeholder("What comes here?").fill("end")
    page.keyboard.press("Enter")
    expect(sketch.nodes).to_have_count(7)
    expect(sketch.edges).to_have_count(7)


def approve(page: Page) -> None:
    """In place, where the run waits."""
    expect(page.locator(".run-strip")).to_have_attribute(STATUS, "waiting", timeout=LONG)
    page.get_by_role("button", name="A decision is asked for").click()
    decision = page.get_by_role("region", name="Decision: check-up")
    expect(decision).to_contain_text("Publish it?")
    decision.get_by_role("button", name="Approve").click()
    expect(page.locator(".run-strip")).to_have_attribute(STATUS, "success", timeout=LONG)


def run_of(page: Page) -> str:
    """The run that the page watches."""
    return parse_qs(urlparse(page.url).query)["run"][0]


def reused(ann: Account, run: str) -> dict[str, bool]:
    """By the key of its node, whether a state's result was taken over."""
    states = ann.get(f"/executions/{run}/states")["states"]
    return {one["state"]: one["reused"] for one in states if not one["state"].startswith("parallel")}


def test_the_check_up_is_drawn_from_nothing_run_approved_and_run_again_from_a_step(
    open_page: Callable[..., Page], site: Site, repository: Path
) -> None:
    team = site.team("Check-up")
    ann = site.account(team.approver)
    page = open_page(team.approver, viewport={"width": 1600, "height": 900})
    page.goto("/ui/workflows")
    page.get_by_role("button", name="New workflow").click()
    page.locator("#ask-name").fill("Repository check-up")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Nothing is drawn yet")).to_be_visible()
    sketch = Sketch(page, page.url.split("/")[-2])
    draw(sketch)
    expect(page.locator(".problems-button")).to_have_text("valid")
    sketch.save()

    page.get_by_role("button", name="Run", exact=True).click()
    dialog = page.get_by_role("dialog", name="Run")
    dialog.get_by_role("button", name="Run", exact=True).click()
    expect(dialog).to_contain_text("has no default")  # what is read must be given
    dialog.get_by_role("textbox", name="repo").fill(str(repository))
    dialog.get_by_role("button", name="Run", exact=True).click()
    approve(page)
    for step in STEPS:
        expect(sketch.node(step).locator(".fate")).to_have_attribute(STATUS, "success")
    expect(page.locator(".react-flow__edge.taken")).to_have_count(7)
    first = run_of(page)
    assert "shell=True" in str(ann.get(f"/executions/{first}/states"))
    page.reload()
    expect(page.locator(f".fate[{STATUS}=success]")).to_have_count(5)

    sketch.choose("Security scan")  # which reads the clone of the first run
    page.get_by_role("tab", name="Run").click()
    page.get_by_role("button", name="Run again from here").click()
    expect(page.locator(".run-strip")).not_to_contain_text(first[-8:])
    approve(page)
    assert run_of(page) != first
    assert reused(ann, run_of(page)) == {"clone-repo": True, "analyze-code": True, "security-scan": False,
                                         "generate-report": False, "approve-workflow": False}  # fmt: skip
    expect(sketch.node("Analyze code").locator(".fate")).to_contain_text("reused")
