"""Notes, groups and menus of the canvas editor: drawn by key and pointer, kept by the server, taken back by steps."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from poimen_site.tests.browsing import Site

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300), pytest.mark.xdist_group("browser")]


def test_notes_and_groups_are_kept_and_change_nothing_that_runs(open_page: Callable[..., Page], site: Site) -> None:
    workflow = site.workflow("Remarked")
    page = open_page()
    page.goto(f"/ui/workflows/{workflow}/edit")
    nodes = page.locator(".react-flow__node")
    expect(nodes).to_have_count(3)
    spec = site.get(f"/workflows/{workflow}/versions/1")["spec"]

    page.keyboard.press("w")
    expect(page.get_by_label("Text of the note")).to_be_focused()
    page.keyboard.type("Ask <b>Ada</b>\nfirst")
    page.keyboard.press("Escape")
    expect(page.locator(".note-node p")).to_have_text("Ask <b>Ada</b>\nfirst")
    page.locator(".colours").get_by_text("blue").click()
    expect(page.locator(".note-node[data-colour=blue] p")).to_be_visible()

    nodes.filter(has_text="Say").click()
    nodes.filter(has_text="ApproveWorkflow").click(modifiers=["Shift"])
    page.keyboard.press("Control+g")
    expect(page.locator(".label-input")).to_be_focused()
    page.keyboard.type("Before it ships")
    page.keyboard.press("Enter")
    expect(page.locator(".group-title")).to_contain_text("Before it ships2 nodes")
    page.keyboard.press(".")
    expect(nodes).to_have_count(3)  # the note, what stays, and the group that stands for two
    expect(page.locator(".react-flow__edge")).to_have_count(1)
    page.keyboard.press("Control+s")
    expect(page.locator(".saved")).to_have_text("saved")

    kept = site.get(f"/workflows/{workflow}")
    assert {node["id"]: node["type"] for node in kept["nodes"]} == {
        "group": "group", "Say": "activity", "Ask": "activity", "Done": "activity", "note": "note",
    }  # fmt: skip
    assert [node["data"].get("group") for node in kept["nodes"] if node["id"] in ("Say", "Ask")] == ["group", "group"]
    assert kept["validation"]["valid"]
    assert site.get(f"/workflows/{workflow}/versions/{kept['version']}")["spec"] == spec

    page.reload()
    expect(nodes).to_have_count(3)
    page.locator(".group-closed").click(button="right")
    menu = page.get_by_role("menu", name="Of this node")
    expect(menu.get_by_role("menuitem", name="Ungroup")).to_contain_text("Ctrl Shift G")
    menu.get_by_role("menuitem", name="Expand").click()
    expect(nodes).to_have_count(5)
    page.keyboard.press("Control+Shift+g")
    expect(page.locator(".group-title")).to_have_count(0)
    for count in (5, 3):
        page.keyboard.press("Control+z")
        expect(nodes).to_have_count(count)
    expect(page.locator(".saved")).to_have_text("saved")

    # By key too: the menu of what is chosen, walked through by arrows.
    page.keyboard.press("Escape")
    nodes.filter(has_text="Done").click()
    page.keyboard.press("Shift+F10")
    expect(page.get_by_role("menuitem", name="Rename")).to_be_focused()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    expect(nodes).to_have_count(2)
    page.keyboard.press("Control+z")
    expect(nodes).to_have_count(3)
