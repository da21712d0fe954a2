"""The editor without a mouse: from the list of workflows to a run that has ended, and what has the focus is seen."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from poimen_site.tests.browsing import Site

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300), pytest.mark.xdist_group("browser")]

# Whether one sees what has the focus: it is in the window, and its looks say so.
SEEN = """() => {
    const held = document.activeElement;
    // Behind the last field of a dialog the browser itself has it.
    if (!held || held === document.body) return document.querySelector("dialog[open]") ? "" : "nothing has the focus";
    const box = held.getBoundingClientRect();
    const name = held.outerHTML.slice(0, 120);
    if (box.right <= 0 || box.bottom <= 0 || box.left >= innerWidth || box.top >= innerHeight)
        return `not in view: ${name}`;
    let shown = held;
    for (let up = 0; up < 3 && shown; up += 1, shown = shown.parentElement) {
        const looks = getComputedStyle(shown);
        if (looks.outlineStyle !== "none" && parseFloat(looks.outlineWidth) > 0) return "";
        if (looks.boxShadow !== "none") return "";
    }
    const drawn = held.querySelector(".step-node, .react-flow__edge-path");
    return drawn ? "" : `nothing shows the focus: ${name}`;
}"""


def tab_to(page: Page, target: Locator, most: int = 150) -> None:
    """Press Tab until it has the focus; every stop on the way can be seen."""
    for _ in range(most):
        page.keyboard.press("Tab")
        assert page.evaluate(SEEN) == ""
        if target.evaluate("node => node === document.activeElement"):
            return
    raise AssertionError(f"Tab does not lead to {target}")


def test_a_workflow_is_drawn_filled_in_connected_saved_and_run_by_keyboard_alone(
    open_page: Callable[..., Page], site: Site
) -> None:
    team = site.team("Keys")
    page = open_page(team.operator)
    keyboard, nodes, edges = page.keyboard, page.locator(".react-flow__node"), page.locator(".react-flow__edge")
    page.goto("/ui/workflows")
    tab_to(page, page.get_by_role("button", name="New workflow").first)
    keyboard.press("Enter")
    keyboard.type("By keyboard")
    keyboard.press("Enter")
    expect(page.get_by_text("Nothing is drawn yet")).to_be_visible()

    keyboard.press("a")
    keyboard.type("start")
    keyboard.press("Enter")
    expect(nodes).to_have_count(1)
    keyboard.type("echo")
    keyboard.press("Enter")
    expect(nodes).to_have_count(2)
    expect(edges).to_have_count(1)
    keyboard.press("F6")  # from the steps to the canvas
    expect(page.locator(".react-flow__node.selected")).to_be_focused()
    keyboard.press("F6")  # and on to the settings of what is chosen
    expect(page.get_by_label("Label")).to_be_focused()
    keyboard.press("Control+a")
    keyboard.type("Say")
    tab_to(page, page.locator('[data-field="value"] textarea'))
    keyboard.type("${workflow.input.who}")

    keyboard.press("Shift+F6")
    keyboard.press("n")
    expect(page.get_by_placeholder("What comes here?")).to_be_focused()
    keyboard.type("echo")
    keyboard.press("Enter")
    expect(nodes).to_have_count(3)
    keyboard.press("F2")
    keyboard.type("Again")
    keyboard.press("Enter")
    keyboard.press("F6")
    tab_to(page, page.get_by_role("button", name="Take value from an input or an earlier step"))
    keyboard.press("Enter")
    keyboard.type("say value")
    keyboard.press("Enter")
    expect(page.locator('[data-field="value"] textarea')).to_have_value("${echo.output.value}")

    # What was added by itself is connected by name.
    keyboard.press("Shift+F6")
    keyboard.press("Escape")
    keyboard.press("a")
    keyboard.press("Control+a")
    keyboard.type("end")
    keyboard.press("Enter")
    expect(nodes).to_have_count(4)
    expect(edges).to_have_count(2)
    keyboard.press("F6")
    keyboard.press("Control+f")
    keyboard.type("again")
    keyboard.press("Enter")
    expect(page.locator(".react-flow__node.selected")).to_contain_text("Again")
    keyboard.press("c")
    expect(page.get_by_placeholder("Connect it with")).to_be_focused()
    keyboard.type("end")
    keyboard.press("Enter")
    expect(edges).to_have_count(3)
    expect(page.locator(".problems-button")).to_have_text("valid")
    keyboard.press("Control+s")
    expect(page.locator(".saved")).to_have_text("saved")

    keyboard.press("Control+Enter")
    expect(page.get_by_role("dialog", name="Run")).to_be_visible()
    tab_to(page, page.get_by_role("dialog").get_by_role("textbox", name="who"))
    keyboard.type("Ada")
    tab_to(page, page.get_by_role("dialog").get_by_role("button", name="Run", exact=True))
    keyboard.press("Enter")
    expect(page.locator(".run-strip")).to_have_attribute("data-status", "success", timeout=60_000)
    (run,) = site.account(team.operator).get("/executions")
    states = site.account(team.operator).get(f"/executions/{run['id']}/states")["states"]
    assert [one["output"] for one in states] == [{"value": "Ada"}, {"value": "Ada"}]
