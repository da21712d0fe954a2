"""A sentence becomes a drawing in the editor, in a real browser: questions first, then one step that undo takes back.

Nothing of it runs. The server has no model.
"""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from poimen_site.tests.browsing import Site

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300), pytest.mark.xdist_group("browser")]

SENTENCE = "every weekday at 7:30 in Berlin scan our repository and write a report"
REPO = "https://git.example.org/acme/shop.git"


def test_a_sentence_is_drawn_after_its_questions_and_nothing_runs(open_page: Callable[..., Page], site: Site) -> None:
    team = site.team("Words")
    ann = site.account(team.editor)
    workflow = str(ann.post("/workflows", name="Empty")["id"])
    page = open_page(team.editor)
    steps = page.locator(".react-flow__node")
    page.goto(f"/ui/workflows/{workflow}/edit")
    page.get_by_label("Describe it in a sentence").fill(SENTENCE)
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Describe it")
    dialog.get_by_label(re.compile("Which repository")).fill(REPO)
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("img", name=re.compile("then"))).to_be_visible()
    expect(dialog).to_contain_text("read from the words alone")
    link = dialog.get_by_role("link", name="make a schedule").get_attribute("href") or ""
    assert f"workflow={workflow}" in link
    assert "schedule=30+7+*+*+1-5" in link.replace("%2A", "*")
    assert "Europe%2FBerlin" in link
    dialog.get_by_role("button", name="Put it on the canvas").click()
    expect(dialog).to_have_count(0)
    expect(steps).to_have_count(5)
    expect(page.locator(".problems-button")).to_have_text("valid")

    page.keyboard.press("e")
    dialog.get_by_label("What should happen").fill("ask the model for a haiku")
    page.keyboard.press("Enter")
    dialog.get_by_role("button", name="Add it beside").click()
    expect(steps).to_have_count(6)  # start and end are those that there were
    page.keyboard.press("Control+z")
    expect(steps).to_have_count(5)
    page.keyboard.press("Control+z")
    expect(steps).to_have_count(0)
    assert ann.get(f"/workflows/{workflow}/executions") == []
