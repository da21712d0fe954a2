"""The canvas editor in a real browser, on everything as it runs: draw from nothing, lose nothing, run, disagree."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from poimen_site.tests.browsing import Site

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300), pytest.mark.xdist_group("browser")]


@pytest.fixture
def page(open_page: Callable[..., Page]) -> Page:
    """Of the administrator."""
    return open_page()


def steps(page: Page, label: str = "") -> Locator:
    return page.locator(".react-flow__node", has_text=label) if label else page.locator(".react-flow__node")


def is_saved(page: Page) -> None:
    expect(page.locator(".saved")).to_have_text("saved")


def test_a_workflow_drawn_from_nothing_survives_a_reload_and_runs(page: Page) -> None:
    page.goto("/ui/workflows")
    page.get_by_role("button", name="New workflow").click()
    page.locator("#ask-name").fill("Greeting")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Nothing is drawn yet")).to_be_visible()

    page.get_by_role("button", name="Begin with a start").click()
    page.keyboard.press("a")
    page.keyboard.type("echo")
    page.keyboard.press("Enter")
    expect(page.locator(".react-flow__edge")).to_have_count(1)  # behind what was chosen, and connected
    page.get_by_label("Label").fill("Say")
    page.locator('[data-field="value"] textarea').fill("${workflow.input.who}")
    expect(steps(page, "Say")).to_have_count(1)

    dot = steps(page, "Say").locator(".react-flow__handle-right").bounding_box()
    assert dot is not None
    page.mouse.move(dot["x"] + 5, dot["y"] + 5)
    page.mouse.down()
    page.mouse.move(dot["x"] - 60, dot["y"] + 150, steps=5)
    page.mouse.up()
    page.get_by_placeholder("What comes here?").fill("echo")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Take value from an input").click()
    page.locator(".source", has_text="Say").first.click()

    expect(page.locator(".saved")).to_have_text("not saved; draft kept here")
    page.reload()
    expect(page.locator(".saved")).to_have_text("not saved: your draft was restored")
    expect(steps(page)).to_have_count(3)
    page.keyboard.press("Control+z")
    expect(steps(page)).to_have_count(0)
    page.keyboard.press("Control+Shift+z")
    expect(steps(page)).to_have_count(3)
    page.keyboard.press("l")  # in a worker of its own, which the page's rules must allow
    tops = "nodes => new Set(nodes.map(n => Math.round(n.getBoundingClientRect().y + n.offsetHeight / 2))).size"
    page.wait_for_function(f"() => ({tops})([...document.querySelectorAll('.react-flow__node')]) === 1")

    page.keyboard.press("Control+Enter")
    page.get_by_role("textbox", name="who").fill("Ada")
    page.get_by_role("button", name="Save and run").click()
    expect(page.locator(".run-strip")).to_have_attribute("data-status", "success")
    is_saved(page)
    expect(page.locator(".fate[data-status=success]")).to_have_count(2)
    steps(page, "Say").click()
    page.get_by_role("tab", name="Run").click()
    page.get_by_text("Output").click()
    expect(page.locator(".attempt pre").last).to_contain_text("Ada")
    page.reload()
    expect(page.locator(".fate[data-status=success]")).to_have_count(2)


def test_every_change_is_taken_back_and_two_who_save_are_told(page: Page, site: Site) -> None:
    workflow = site.workflow("Disputed")
    page.goto(f"/ui/workflows/{workflow}/edit")
    expect(steps(page)).to_have_count(3)
    page.locator(".react-flow__pane").click(position={"x": 300, "y": 20})
    page.keyboard.press("Control+a")
    page.keyboard.press("Control+c")
    page.keyboard.press("Control+v")
    expect(steps(page)).to_have_count(6)
    page.keyboard.press("Delete")
    expect(steps(page)).to_have_count(3)
    for count in (6, 3):
        page.keyboard.press("Control+z")
        expect(steps(page)).to_have_count(count)
    is_saved(page)

    steps(page, "Say").click()
    page.get_by_label("Label").fill("Mine")
    stored = site.get(f"/workflows/{workflow}")
    stored["nodes"][0]["data"]["label"] = "Theirs"
    answer = site.api.put(f"/workflows/{workflow}", json={"nodes": stored["nodes"]})
    assert answer.status_code == 200
    page.keyboard.press("Control+s")
    dialog = page.get_by_role("dialog", name="Two versions")
    expect(dialog).to_contain_text("data.label")
    assert site.get(f"/workflows/{workflow}")["nodes"][0]["data"]["label"] == "Theirs"
    dialog.get_by_role("button", name="Take theirs").click()
    is_saved(page)
    expect(steps(page, "Theirs")).to_have_count(1)
    page.keyboard.press("Control+z")  # mine is one undo away
    expect(steps(page, "Mine")).to_have_count(1)
    page.keyboard.press("Control+s")
    is_saved(page)
    assert site.get(f"/workflows/{workflow}")["nodes"][0]["data"]["label"] == "Mine"


def test_whatever_was_saved_is_shown_and_viewers_change_nothing(open_page: Callable[..., Page], site: Site) -> None:
    team = site.team()
    ann = site.account(team.editor)
    odd = {"id": "odd", "type": "whatever", "position": "here", "data": 7}
    marked = {"id": "a", "type": "activity", "data": {"label": "<img src=x onerror=alert(1)> שלום", "activity": "Gone"}}
    twin = {"id": "a", "type": "activity", "data": {"activity": "EchoActivity", "config": {"value": "x" * 200_000}}}
    edges = [("1", "a", "odd"), ("2", "odd", "a"), ("3", "a", "nowhere"), ("4", "a", "a")]
    drawn = [{"id": key, "source": source, "target": target} for key, source, target in edges]
    broken = ann.post("/workflows", name="Broken", nodes=[odd, marked, twin, {"x": 1}], edges=drawn)["id"]
    empty = ann.post("/workflows", name="Empty")["id"]

    page = open_page(team.editor)
    page.goto(f"/ui/workflows/{broken}/edit")
    expect(steps(page)).to_have_count(5)  # four, and the one that an edge names
    expect(steps(page, "nowhere")).to_contain_text("is not there")
    expect(steps(page, "<img src=x")).to_have_count(1)
    page.keyboard.press("p")
    page.locator(".problem-list").get_by_text("'Gone', which is no activity").click()
    expect(page.get_by_text("This server has no such activity")).to_be_visible()

    viewer = open_page(team.viewer)
    viewer.goto(f"/ui/workflows/{empty}/edit")
    expect(viewer.get_by_text("Nothing is drawn yet")).to_be_visible()
    viewer.goto(f"/ui/workflows/{broken}/edit")
    expect(steps(viewer)).to_have_count(5)
    expect(viewer.locator(".saved")).to_have_text("read only")
    viewer.keyboard.press("Control+a")
    viewer.keyboard.press("Delete")
    expect(steps(viewer)).to_have_count(5)
    expect(viewer.get_by_role("button", name=re.compile("Save|Run"))).to_have_count(0)
