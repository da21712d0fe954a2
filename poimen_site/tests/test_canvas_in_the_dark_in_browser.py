"""The editor in the dark: every part of it is dark, and axe-core can read every word on it.

The look is the system's until the person chooses one, which is remembered.
"""

import re
from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from poimen_site.tests.browsing import Site
from poimen_site.tests.sketching import Sketch

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300), pytest.mark.xdist_group("browser")]

AXE = Axe()
CONTRAST = """async () => {
    const options = {resultTypes: ["violations"], runOnly: {type: "rule", values: ["color-contrast"]}};
    const {violations} = await axe.run(document, options);
    return violations.flatMap(one => one.nodes.map(node => `${node.target}: ${node.failureSummary}`));
}"""
# How bright the ground is that each of these parts stands on, from 0 to 1.
BRIGHTNESS = """selector => {
    const ground = node => {
        for (let at = node; at; at = at.parentElement) {
            const colour = getComputedStyle(at).backgroundColor;
            if (!/rgba\\(0, 0, 0, 0\\)|transparent/.test(colour)) return colour;
        }
        return "rgb(255, 255, 255)";
    };
    const canvas = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
    return [...document.querySelectorAll(selector)].map(node => {
        canvas.fillStyle = ground(node);
        canvas.fillRect(0, 0, 1, 1);
        const [red, green, blue] = canvas.getImageData(0, 0, 1, 1).data;
        return (red + green + blue) / 765;
    });
}"""
PARTS = (
    ".toolbar, .palette, .panel, .surface, .step-node, .panel textarea, .panel input, .panel select, .palette input, "
    ".context-menu, dialog[open], .problem-list, .suggestions, .picker, .finder, .run-strip, .run-dock, .gate-card, "
    ".note-node"
)


class Dark:
    """Looks at what is shown, and keeps what cannot be read or is bright."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.found: list[str] = []

    def look(self, name: str) -> None:
        """At all that is shown now."""
        if not self.page.evaluate("() => 'axe' in window"):
            self.page.evaluate(AXE.axe_script)
        self.found += [f"{name}: {line}" for line in self.page.evaluate(CONTRAST)]
        grounds = self.page.evaluate(BRIGHTNESS, PARTS)
        assert len(grounds) > 5
        if max(grounds) > 0.4:
            self.found.append(f"{name}: something is bright: {max(grounds)}")


def test_every_part_of_the_editor_is_dark_and_can_be_read(open_page: Callable[..., Page], site: Site) -> None:
    team = site.team("Dark")
    ann = site.account(team.approver)
    page = open_page(team.approver, color_scheme="dark", reduced_motion="reduce")
    dark, keyboard = Dark(page), page.keyboard
    sketch = Sketch(page, ann.workflow())

    sketch.choose("Ask")
    dark.look("the panel of a node")
    sketch.menu()
    dark.look("the menu of a node")
    keyboard.press("Escape")
    page.get_by_role("tab", name="JSON").click()
    expect(page.locator(".cm-content")).to_be_visible()
    dark.look("JSON")
    keyboard.press("n")
    expect(page.get_by_placeholder("What comes here?")).to_be_visible()
    dark.look("what comes here")
    keyboard.press("Escape")
    sketch.choose_edge("Say", "Ask")
    page.get_by_role("textbox", name="Condition").fill('value == "hello"')
    page.get_by_text("Try it on sample data").click()
    expect(page.locator(".outcome")).to_be_visible()
    dark.look("the panel of a connection")
    sketch.choose("Say", "Ask")
    dark.look("the panel of several")
    sketch.choose()
    keyboard.press("w")
    keyboard.type("Read me")
    keyboard.press("Escape")
    dark.look("a note")
    keyboard.press("Delete")
    keyboard.press("p")
    keyboard.press("s")
    expect(page.locator(".suggestions")).to_be_visible()
    dark.look("problems and suggestions")
    keyboard.press("s")
    keyboard.press("p")
    keyboard.press("Control+f")
    expect(page.locator(".finder")).to_be_visible()
    dark.look("find a node")
    keyboard.press("Escape")
    sketch.leave()
    for key, name in (("?", "Keys"), ("h", "Versions"), ("e", "Describe it")):
        keyboard.press(key)
        expect(page.locator("dialog[open]")).to_be_visible()
        dark.look(name)
        keyboard.press("Escape")
        expect(page.locator("dialog[open]")).to_have_count(0)

    keyboard.press("Control+Enter")
    dialog = page.get_by_role("dialog", name="Run")
    dialog.get_by_role("textbox", name="text").fill("hello")
    dark.look("the dialog of a run")
    dialog.get_by_role("button", name=re.compile("Run$|Save and run")).click()
    page.get_by_role("button", name="A decision is asked for").click()
    expect(page.locator(".gate-card")).to_be_visible()
    dark.look("a run that waits")
    page.locator(".gate-card").get_by_role("button", name="Approve").click()
    expect(page.locator(".run-strip")).to_have_attribute("data-status", "success", timeout=60_000)
    expect(page.locator(".bar-row")).to_have_count(3)
    dark.look("a run that has ended")
    run = ann.get("/executions")[0]["id"]
    page.goto(f"/ui/executions/{run}#canvas")
    expect(page.locator(".fate[data-status=success]")).to_have_count(3)
    dark.look("the page of the run")
    assert dark.found == []


def test_the_look_that_a_person_chose_is_kept(open_page: Callable[..., Page], site: Site) -> None:
    team = site.team("Look")
    page = open_page(team.viewer, color_scheme="dark")
    sketch = Sketch(page, site.account(team.operator).workflow())
    expect(sketch.node("Say")).to_be_visible()
    assert max(page.evaluate(BRIGHTNESS, ".toolbar, .step-node, .panel")) < 0.4
    for theme in ("dark", "light"):  # from that of the system on
        page.locator("#theme").click()
        expect(page.locator("html")).to_have_attribute("data-theme", theme)
    page.reload()
    expect(sketch.node("Say")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    assert min(page.evaluate(BRIGHTNESS, ".toolbar, .step-node, .panel")) > 0.65
