"""Nodes on their way: copied, cut, pasted and duplicated between two tabs and two workflows."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from poimen_site.tests.browsing import Site
from poimen_site.tests.sketching import Sketch

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300), pytest.mark.xdist_group("browser")]


def test_nodes_travel_between_two_workflows_in_two_tabs(open_page: Callable[..., Page], site: Site) -> None:
    team = site.team("Tabs")
    ann = site.account(team.editor)
    page = open_page(team.editor, permissions=["clipboard-read", "clipboard-write"])
    here = Sketch(page, ann.workflow("Here"))
    there = Sketch(page.context.new_page(), str(ann.post("/workflows", name="There")["id"]))

    here.page.bring_to_front()
    here.choose("Say", "Ask")
    here.page.keyboard.press("Control+c")
    there.page.bring_to_front()
    there.leave()
    there.page.keyboard.press("Control+v")
    expect(there.nodes).to_have_count(2)
    expect(there.edges).to_have_count(1)
    there.page.keyboard.press("Control+v")
    expect(there.nodes).to_have_count(4)
    body = there.save()
    sources: dict[str, Any] = {node["id"]: node for node in ann.get(f"/workflows/{here.workflow}")["nodes"]}
    assert [node["data"] for node in body["nodes"][:2]] == [sources["Say"]["data"], sources["Ask"]["data"]]
    assert len({node["id"] for node in body["nodes"]}) == 4
    there.page.keyboard.press("Control+d")
    expect(there.nodes).to_have_count(6)
    expect(there.edges).to_have_count(3)
    there.page.keyboard.press("Control+z")
    expect(there.nodes).to_have_count(4)
    there.choose()
    there.page.keyboard.press("Control+a")

    there.page.keyboard.press("Control+x")
    expect(there.nodes).to_have_count(0)
    here.page.bring_to_front()
    here.leave()
    here.page.keyboard.press("Control+v")
    expect(here.nodes).to_have_count(7)
    here.page.keyboard.press("Control+z")
    expect(here.nodes).to_have_count(3)
    there.page.bring_to_front()
    there.leave()
    there.page.keyboard.press("Control+z")
    expect(there.nodes).to_have_count(4)

    # Text is text: what is copied in a field stays there, and other text draws nothing.
    here.page.bring_to_front()
    here.choose("Done")
    here.page.get_by_label("Label").press("Control+a")
    here.page.keyboard.press("Control+c")
    here.leave()
    here.page.keyboard.press("Control+v")
    expect(here.page.get_by_text("The clipboard holds no nodes.")).to_be_visible()
    expect(here.nodes).to_have_count(3)
