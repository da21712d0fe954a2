"""What the editor offers by itself, in a real browser: fixes, connections that fit, and what is not understood.

Everything is one step that undo takes back, and nothing of it runs. The server has no model.
"""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from poimen_site.tests.browsing import Site

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300), pytest.mark.xdist_group("browser")]

REPO = "https://git.example.org/acme/shop.git"


def node(node_id: str, activity: str, x: int, **config: Any) -> dict[str, Any]:
    data = {"label": node_id, "activity": activity, "config": config}
    return {"id": node_id, "type": "activity", "position": {"x": x, "y": 0}, "data": data}


START = {"id": "start", "type": "start", "position": {"x": 0, "y": 0}, "data": {"label": "Start", "config": {}}}
END = {"id": "end", "type": "end", "position": {"x": 1200, "y": 0}, "data": {"label": "End"}}


def edge(source: str, target: str) -> dict[str, Any]:
    return {"id": f"{source}-{target}", "source": source, "target": target}


@pytest.fixture
def page(open_page: Callable[..., Page]) -> Page:
    """Of the administrator."""
    return open_page()


def drawn(site: Site, page: Page, name: str, nodes: list[Any], edges: list[Any]) -> str:
    """Save a draft and open it; returns its id."""
    workflow = str(site.post("/workflows", name=name, nodes=nodes, edges=edges)["id"])
    page.goto(f"/ui/workflows/{workflow}/edit")
    expect(page.locator(".problems-button")).to_have_attribute("data-checking", "done")
    return workflow


def steps(page: Page) -> Locator:
    return page.locator(".react-flow__node")


def connections(page: Page) -> Locator:
    return page.locator(".react-flow__edge:not(.suggested)")


def test_problems_are_mended_one_by_one_or_all_at_once_and_undo_takes_it_back(site: Site, page: Page) -> None:
    nodes = [START, node("scan", "SecurityScanActivity", 500), node("note", "EchoActivity", 900, value=1), END]
    drawn(site, page, "Broken", nodes, [edge("start", "scan"), edge("note", "scan"), edge("scan", "note")])
    page.keyboard.press("p")
    problems = page.get_by_label("Problems", exact=True)
    expect(problems.get_by_role("button", name="Remove the connection")).to_have_count(1)
    problems.get_by_role("button", name="Add the missing Clone repo").click()
    expect(steps(page)).to_have_count(5)
    expect(page.locator(".panel h2")).to_have_text("Clone repo")  # what was added is chosen
    page.keyboard.press("Control+z")
    expect(steps(page)).to_have_count(4)
    expect(problems.get_by_role("button", name="Add the missing Clone repo")).to_be_visible()

    problems.get_by_role("button", name=re.compile(r"Mend the \d that can be")).click()
    expect(page.locator(".problems-button")).to_have_text("valid")
    expect(problems.get_by_text("Nothing is wrong with this canvas.")).to_be_visible()
    page.keyboard.press("Control+z")
    expect(steps(page)).to_have_count(4)
    expect(connections(page)).to_have_count(3)


def test_a_connection_that_does_not_fit_is_marked_and_says_what_would_help(site: Site, page: Page) -> None:
    nodes = [node("call", "HttpRequestActivity", 0, url="https://example.org"),
             node("tell", "NotifyStatusActivity", 400, channel="slack", status="info", message="${call.output.status}"),
             node("count", "NotifyStatusActivity", 400, channel="slack", message="done")]  # fmt: skip
    nodes[2]["position"]["y"] = 200
    drawn(site, page, "Odd", nodes, [edge("call", "tell"), edge("call", "count")])
    expect(page.locator(".react-flow__edge.marked")).to_have_count(2)
    page.keyboard.press("p")
    item = page.locator(".problem-list li", has_text="NotifyStatusActivity takes string")
    expect(item).to_have_count(1)
    expect(item).to_contain_text('"message" reads "status", which is integer as HttpRequestActivity gives it')
    expect(item).to_contain_text("Put an LLMInferenceActivity between them")
    item.get_by_role("button").first.click()
    expect(page.locator(".panel h2")).to_have_text("call → tell")
    expect(page.locator(".panel .marks")).to_contain_text("NotifyStatusActivity takes string")

    # What is missing is told once in the list, at its node; the connection says why the one before does not give it.
    missing = page.locator(".problem-list li", has_text='"count" needs "status"')
    expect(missing).to_contain_text("no node before it has an output of that name and type")
    page.locator('.react-flow__edge[data-id="call-count"] .react-flow__edge-interaction').click(force=True)
    expect(page.locator(".panel h2")).to_have_text("call → count")
    expect(page.locator(".panel .marks")).to_contain_text('"status" is integer as HttpRequestActivity gives it')


def test_suggestions_are_accepted_and_rejected_by_keys_and_become_relations(site: Site, page: Page) -> None:
    nodes = [START, node("clone", "CloneRepoActivity", 250, repo=REPO), node("scan", "SecurityScanActivity", 550),
             node("look", "AnalyzeCodeActivity", 850), END]  # fmt: skip
    workflow = drawn(site, page, "Loose", nodes, [])
    page.keyboard.press("s")
    panel = page.get_by_label("Suggested connections")
    expect(panel).to_contain_text("matched by types, no model")
    expect(panel).to_contain_text("No model is configured")
    expect(page.locator(".react-flow__edge.suggested")).to_have_count(5)
    first = panel.get_by_role("listitem", name="clone → scan")
    expect(first).to_be_focused()
    expect(first).to_contain_text("CloneRepo outputs path → SecurityScan requires path")
    expect(first).to_contain_text("95 % sure")

    page.keyboard.press("Enter")
    expect(connections(page)).to_have_count(1)
    expect(panel.get_by_role("listitem", name="clone → look")).to_be_focused()
    page.keyboard.press("Delete")
    expect(page.locator(".react-flow__edge.suggested")).to_have_count(3)
    expect(steps(page)).to_have_count(5)
    page.keyboard.press("Control+z")
    expect(page.locator(".react-flow__edge.suggested")).to_have_count(4)  # what is undone is offered again
    panel.get_by_role("button", name="Accept all").click()
    expect(page.locator(".react-flow__edge.suggested")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)

    page.keyboard.press("Control+s")
    expect(page.locator(".saved")).to_have_text("saved")
    (version,) = site.get(f"/workflows/{workflow}/relations/clone-scan/versions")["versions"]
    assert version["relation_wording"]["confidence"] == 0.95
    assert version["relation_label"] == "CloneRepo outputs path → SecurityScan requires path"


def test_what_is_not_understood_is_said_and_viewers_are_offered_nothing(
    site: Site, open_page: Callable[..., Page]
) -> None:
    team = site.team("Lookers")
    workflow = site.account(team.operator).workflow("Theirs")
    page = open_page(team.viewer)
    page.goto(f"/ui/workflows/{workflow}/edit")
    expect(steps(page)).to_have_count(3)
    for key in ("s", "e"):
        page.keyboard.press(key)
    expect(page.get_by_role("button", name="Suggest connections")).to_have_count(0)
    expect(page.get_by_role("button", name="Describe it")).to_have_count(0)
    expect(page.locator(".suggestions, dialog.wide-dialog")).to_have_count(0)

    page = open_page(team.editor)
    page.goto(f"/ui/workflows/{workflow}/edit")
    page.get_by_role("button", name="Describe it in a sentence").click()
    dialog = page.get_by_role("dialog", name="Describe it")
    dialog.get_by_label("What should happen").fill("   ")
    dialog.get_by_role("button", name="Show me").click()
    expect(dialog.get_by_role("alert")).to_have_text("Say what should happen.")
    dialog.get_by_label("What should happen").fill("<img src=x onerror=alert(1)> hello there")
    dialog.get_by_role("button", name="Show me").click()
    expect(dialog).to_contain_text("What should be done?")
    expect(dialog.get_by_role("button", name="Replace what is drawn")).to_have_count(0)
