"""Whatever a program saved or a file holds: the canvas editor shows it, says what is wrong, and goes on working."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Dialog, Page, expect

from poimen_site.tests.browsing import Site

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300), pytest.mark.xdist_group("browser")]

MARKUP = "<img src=x onerror=alert(1)> <b>bold</b>"


def echo(key: str, label: str = "", **more: Any) -> dict[str, Any]:
    data = {"label": label or key, "activity": "EchoActivity", "config": {"value": 1}}
    return {"id": key, "type": "activity", "position": {"x": 0, "y": 0}, "data": data} | more


def ways(*pairs: str) -> list[dict[str, Any]]:
    return [{"id": pair, "source": pair.split()[0], "target": pair.split()[1]} for pair in pairs]


Canvas = tuple[list[Any], list[Any]]
# What is drawn of it, by a text in a node, and what the list of problems says.
CASES: dict[str, tuple[Canvas, int, list[str], list[str]]] = {
    "nothing": (([], []), 0, [], ["nothing to run"]),
    "a circle": (([echo("a"), echo("b", position={"x": 300, "y": 0})], ways("a b", "b a")), 2, ["a"], ["in a circle"]),
    "an edge to nowhere": (([echo("a")], ways("a lost")), 2, ["lost"], ["names \"lost\", which is no node"]),
    "two of one id": (([echo("a", "one"), echo("a", "two")], []), 2, ["one", "two"], ['2 nodes have the id "a"']),
    "an activity that is gone": (
        ([{"id": "a", "type": "activity", "data": {"label": "Lost", "activity": "GoneActivity"}}], []),
        1, ["GoneActivity"], ["'GoneActivity', which is no activity"],
    ),
    "markup, right to left and length": (
        ([echo("a", MARKUP), echo("b", "שלום עולם " * 25), echo("c", "x" * 255)], ways("a b", "b c")),
        3, [MARKUP, "שלום"], [],
    ),
    "places that are none": (
        ([echo("a", position={"x": "left", "y": None}), echo("b", position={"x": 1e308, "y": -1e308}),
          echo("c", position=[1, 2]), echo("d", position={})], ways("a b", "b c", "c d")),
        4, ["a", "c", "d"], [],
    ),
    "remarks of other shapes": (
        ([{"id": "n", "type": "note", "width": "wide", "height": -5, "data": {"text": {"no": "text"}, "colour": 7}},
          {"id": "g", "type": "group", "data": 7}, {"id": "h", "type": "group", "data": {"collapsed": "yes"}},
          echo("a")],
         ways("a n", "g a")),
        4, ["a"], ["which is a note: nothing runs there"],
    ),
    "names of what objects inherit": (
        ([echo("__proto__", "proto"), echo("constructor", "made")], ways("__proto__ constructor")),
        2, ["proto", "made"], [],
    ),
    "a megabyte in one setting": (
        ([echo("a", data={"label": "Heavy", "activity": "EchoActivity", "config": {"value": "x" * 1_000_000}})], []),
        1, ["Heavy"], [],
    ),
}  # fmt: skip


@pytest.fixture
def page(open_page: Callable[..., Page]) -> Iterator[Page]:
    """Of the administrator; an alert that markup opened fails the story."""
    page = open_page()
    alerts: list[str] = []

    def answer(dialog: Dialog) -> None:
        if dialog.type != "beforeunload":
            alerts.append(dialog.message)
        dialog.accept()

    page.on("dialog", answer)
    yield page
    assert alerts == []


def test_whatever_was_saved_is_shown_and_explained(page: Page, site: Site) -> None:
    for name, ((nodes, edges), count, texts, problems) in CASES.items():
        workflow = site.post("/workflows", name=f"Odd: {name}", nodes=nodes, edges=edges)["id"]
        page.goto(f"/ui/workflows/{workflow}/edit")
        drawn = page.locator(".react-flow__node")
        if count == 0:
            expect(page.get_by_text("Nothing is drawn yet")).to_be_visible()
        expect(drawn).to_have_count(count)
        for text in texts:
            # Nodes that are far from each other are drawn too small for words; their names are told all the same.
            named = page.locator(f".react-flow__node[aria-label={json.dumps(text)}]")
            expect(drawn.filter(has_text=text).or_(named).first).to_be_attached()
        page.keyboard.press("p")
        for problem in problems:
            expect(page.locator(".problem-list").get_by_text(problem).first).to_be_visible()
        page.keyboard.press("p")
        # Everything can still be chosen, looked at and arranged, and that taken back.
        for index in range(count):
            drawn.nth(index).dispatch_event("click")
            expect(page.get_by_label("Properties")).to_be_visible()
        page.keyboard.press("l")
        page.keyboard.press("Control+z")
        expect(drawn).to_have_count(count)
        expect(page.get_by_text("The editor stopped")).to_have_count(0)


def test_a_thousand_nodes_are_shown_chosen_and_grouped(page: Page, site: Site) -> None:
    nodes = [echo(f"n{i}", position={"x": i % 40 * 280, "y": i // 40 * 110}) for i in range(1_000)]
    edges = ways(*(f"n{i} n{i + 1}" for i in range(999)))
    workflow = site.post("/workflows", name="A thousand", nodes=nodes, edges=edges)["id"]
    page.goto(f"/ui/workflows/{workflow}/edit")
    expect(page.locator(".react-flow__node").first).to_be_visible()
    page.keyboard.press("Control+a")
    expect(page.get_by_label("Properties")).to_contain_text("1000 nodes")
    page.keyboard.press("Control+g")
    expect(page.locator(".label-input")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press(".")
    expect(page.locator(".react-flow__node")).to_have_count(1)
    page.keyboard.press("f")
    expect(page.locator(".group-closed")).to_contain_text("1000 nodes")


def test_a_file_is_drawn_or_refused_with_the_reason(page: Page, site: Site) -> None:
    workflow = site.workflow("Filed")
    page.goto(f"/ui/workflows/{workflow}/edit")
    drawn = page.locator(".react-flow__node")
    expect(drawn).to_have_count(3)

    def take(text: str) -> None:
        page.get_by_role("button", name="Import, export and more").click()
        with page.expect_file_chooser() as chooser:
            page.get_by_role("menuitem", name="Import").click()
        chooser.value.set_files({"name": "a.json", "mimeType": "application/json", "buffer": text.encode()})

    for text, reason in (
        ("rubbish", "This is no JSON"),
        ("[]", "JSON object with nodes and edges"),
        ('{"nodes": 7}', '"nodes" is no array'),
        ('{"name": "x", "states": [{"name": "a", "type": "What"}]}', "The spec is not valid"),
    ):
        take(text)
        expect(page.locator(".toast")).to_contain_text(reason)
        expect(drawn).to_have_count(3)
    take(json.dumps({"nodes": [echo("a"), 7, "x", None], "edges": [1]}))
    expect(drawn).to_have_count(1)
    state = {"name": "Only", "type": "Task", "resource": "EchoActivity", "end": True}
    take(json.dumps({"name": "x", "states": [state]}))
    expect(drawn.filter(has_text="Only")).to_have_count(1)
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+z")
    expect(drawn).to_have_count(3)
    expect(page.locator(".saved")).to_have_text("saved")

    page.get_by_role("button", name="Import, export and more").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Export the canvas").click()
    kept = json.loads(download.value.path().read_text())
    assert kept["nodes"] == site.get(f"/workflows/{workflow}")["nodes"]
    for picture, begin in (("Export a picture", b"\x89PNG"), ("Export a drawing", b"<svg")):
        page.get_by_role("button", name="Import, export and more").click()
        with page.expect_download() as download:
            page.get_by_role("menuitem", name=picture).click()
        drawn_file = download.value.path().read_bytes()
        assert drawn_file.startswith(begin)
    # What is inside a drawing has no style of its own there unless it takes it along.
    assert re.search(rb'react-flow__edge-path" style="[^"]*stroke: rgb', drawn_file)
