"""Undo and redo of everything that the editor can do to a canvas, by what is drawn before, after, and after each.

What can be done is asked of the editor itself: a deed of a menu, a key or a part of the panel without a row here fails.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import Page, expect

from poimen_site.tests.browsing import Site
from poimen_site.tests.polling import until
from poimen_site.tests.sketching import Sketch

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300), pytest.mark.xdist_group("browser")]

SOURCES = Path(settings.BASE_DIR) / "canvas" / "frontend" / "src"
Deed = Callable[[Sketch], object]
Ends = tuple[str, str]


def canvas() -> dict[str, Any]:
    """start - A - B - C; apart D, the groups G with M in it and H (closed) with K, the note N; S and Q lack inputs."""

    def node(key: str, x: int, y: int, activity: str = "EchoActivity", **more: Any) -> dict[str, Any]:
        config = {"value": f"of {key}"} if activity == "EchoActivity" else {}
        data = {"label": key, "activity": activity, "config": config, "own": {"kept": True}} | more
        return {"id": key, "type": "activity", "position": {"x": x, "y": y}, "data": data}

    nodes: list[dict[str, Any]] = [
        {"id": "start", "type": "start", "position": {"x": 0, "y": 12}, "data": {"label": "Begin"}},
        {"id": "N", "type": "note", "position": {"x": 60, "y": 240}, "data": {"text": "N"}},
        {"id": "G", "type": "group", "position": {"x": 780, "y": 220}, "data": {"label": "G"}},
        {"id": "H", "type": "group", "position": {"x": 780, "y": 420}, "data": {"label": "H", "collapsed": True}},
        *(node(key, x, y) for key, x, y in (("A", 160, 0), ("B", 480, 40), ("C", 800, 0), ("D", 480, 200))),
        node("M", 800, 260, group="G"),
        node("K", 800, 420, group="H"),
        node("S", 480, 400, "SecurityScanActivity"),
        node("Q", 160, 400, "GenerateReportActivity"),
    ]
    pairs = [("start", "A"), ("A", "B"), ("B", "C")]
    edges = [{"id": f"{one}-{other}", "source": one, "target": other} for one, other in pairs]
    return {"nodes": nodes, "edges": edges}


def chosen(sketch: Sketch, of: tuple[str, ...] = (), edge: Ends | None = None) -> None:
    if edge:
        sketch.choose_edge(*edge)
    else:
        sketch.choose(*of)


def keys(*combos: str, of: tuple[str, ...] = (), edge: Ends | None = None, then: Deed | None = None) -> Deed:
    """Choose these nodes or that connection, press these keys."""

    def deed(sketch: Sketch) -> None:
        chosen(sketch, of, edge)
        for combo in combos:
            sketch.page.keyboard.press(combo)
        if then:
            then(sketch)

    return deed


def menu(item: str, of: tuple[str, ...] = (), edge: Ends | None = None, then: Deed | None = None) -> Deed:
    """Choose these nodes or that connection, or nothing, and pick this from the menu."""

    def deed(sketch: Sketch) -> None:
        chosen(sketch, of, edge)
        sketch.menu(item)
        if then:
            then(sketch)

    return deed


def each(*deeds: Deed) -> Deed:
    def deed(sketch: Sketch) -> None:
        for one in deeds:
            one(sketch)

    return deed


def types(label: str, text: str, of: tuple[str, ...] = (), edge: Ends | None = None) -> Deed:
    """Type into a field of the panel, letter by letter: all of it is one step."""

    def deed(sketch: Sketch) -> None:
        chosen(sketch, of, edge)
        field = sketch.page.locator(".panel").get_by_label(re.compile(f"^{label}")).first
        field.focus()
        sketch.page.keyboard.press("End")
        sketch.page.keyboard.type(text)

    return deed


def selects(label: str, option: str, of: tuple[str, ...] = (), edge: Ends | None = None) -> Deed:
    def deed(sketch: Sketch) -> None:
        chosen(sketch, of, edge)
        sketch.page.locator(".panel").get_by_label(re.compile(f"^{label}")).first.select_option(option)

    return deed


def presses(button: str, of: tuple[str, ...] = (), edge: Ends | None = None) -> Deed:
    """Press a button of the panel."""

    def deed(sketch: Sketch) -> None:
        chosen(sketch, of, edge)
        sketch.page.locator(".panel").get_by_role("button", name=button, exact=True).first.click()

    return deed


def rewrites(text: str, of: tuple[str, ...] = (), edge: Ends | None = None) -> Deed:
    """Put other JSON in the place of all that is there."""

    def deed(sketch: Sketch) -> None:
        chosen(sketch, of, edge)
        sketch.page.get_by_role("tab", name="JSON").click()
        sketch.page.locator(".cm-content").click()
        sketch.page.keyboard.press("Control+a")
        sketch.page.keyboard.insert_text(text)

    return deed


def picks(text: str) -> Deed:
    """Take the first of what the little list at the pointer finds."""

    def deed(sketch: Sketch) -> None:
        sketch.page.get_by_placeholder("What comes here?").fill(text)
        sketch.page.keyboard.press("Enter")

    return deed


def finds(text: str) -> Deed:
    def deed(sketch: Sketch) -> None:
        sketch.page.get_by_placeholder("Connect it with").fill(text)
        sketch.page.keyboard.press("Enter")

    return deed


def writes(text: str, end: str = "Enter") -> Deed:
    """Write the label or the note that is being written on the canvas."""

    def deed(sketch: Sketch) -> None:
        expect(sketch.nodes.locator("input, textarea").first).to_be_focused()
        sketch.page.keyboard.type(text)
        sketch.page.keyboard.press(end)

    return deed


def moves_by_mouse(sketch: Sketch) -> None:
    _drag(sketch, "D", 30, 40)


def drops_into_the_group(sketch: Sketch) -> None:
    _drag(sketch, "D", 330, 70)


def _drag(sketch: Sketch, label: str, x: int, y: int) -> None:
    sketch.choose(label)
    box = sketch.node(label).bounding_box()
    assert box is not None
    mouse = sketch.page.mouse
    mouse.move(box["x"] + 60, box["y"] + 10)
    mouse.down()
    mouse.move(box["x"] + 60 + x / 2, box["y"] + 10 + y / 2, steps=3)
    mouse.move(box["x"] + 60 + x, box["y"] + 10 + y, steps=3)
    mouse.up()


def makes_the_note_larger(sketch: Sketch) -> None:
    sketch.choose("N")
    corner = sketch.node("N").locator(".react-flow__resize-control.handle.bottom.right").bounding_box()
    assert corner is not None
    mouse = sketch.page.mouse
    mouse.move(corner["x"] + 2, corner["y"] + 2)
    mouse.down()
    mouse.move(corner["x"] + 60, corner["y"] + 40, steps=4)
    mouse.up()


def drops_a_connection(sketch: Sketch) -> None:
    sketch.pull("D", 40, 60)
    picks("echo")(sketch)


def imports(sketch: Sketch) -> None:
    one = {"id": "only", "type": "activity", "position": {"x": 0, "y": 0}, "data": {"activity": "EchoActivity"}}
    file = {"name": "one.json", "mimeType": "application/json", "buffer": json.dumps({"nodes": [one]}).encode()}
    with sketch.page.expect_file_chooser() as chooser:
        menu("Import a canvas or spec…")(sketch)
    chooser.value.set_files(file)  # type: ignore[arg-type]
    expect(sketch.nodes).to_have_count(1)


def lists_problems(sketch: Sketch) -> None:
    sketch.choose()
    if not sketch.page.locator(".problem-list").count():
        sketch.page.keyboard.press("p")
    expect(sketch.page.locator(".problems-button")).to_have_attribute("data-checking", "done")


def mends(item: str, label: str) -> Deed:
    """Of the menu of a node, once the server has judged the canvas."""

    def deed(sketch: Sketch) -> None:
        lists_problems(sketch)
        expect(sketch.page.locator(".problem-list")).to_contain_text(item)
        sketch.page.keyboard.press("p")
        expect(sketch.page.locator(".problem-list")).to_have_count(0)
        menu(item, (label,))(sketch)

    return deed


def mends_all(sketch: Sketch) -> None:
    lists_problems(sketch)
    sketch.page.get_by_role("button", name=re.compile(r"^Mend the ")).click()
    expect(sketch.page.get_by_text("Undo takes it back")).to_be_visible()


def accepts_suggestions(sketch: Sketch) -> None:
    sketch.page.get_by_role("button", name="Accept all").click()
    sketch.page.keyboard.press("Escape")


def accepts_the_first(sketch: Sketch) -> None:
    sketch.page.locator(".suggestions li").first.press("Enter")
    sketch.page.keyboard.press("Escape")


def describes(button: str) -> Deed:
    def deed(sketch: Sketch) -> None:
        sketch.choose()
        sketch.page.keyboard.press("e")
        dialog = sketch.page.get_by_role("dialog", name="Describe it")
        dialog.get_by_label("What should happen").fill("ask the model for a haiku")
        sketch.page.keyboard.press("Enter")
        dialog.get_by_role("button", name=button).click()
        expect(dialog).to_have_count(0)

    return deed


def in_time(deed: Deed) -> Deed:
    """Of what the nodes are placed by beside the page, a moment later."""

    def watched(sketch: Sketch) -> None:
        before = sketch.drawn()
        deed(sketch)
        until(lambda: sketch.drawn() != before, 30)

    return watched


TWO, THREE = ("A", "B"), ("A", "B", "D")
AB, BC = ("A", "B"), ("B", "C")

# By what the item of the menu says.
BY_MENU: dict[str, Deed] = {
    "Rename": menu("Rename", ("A",), then=writes("renamed")),
    "Write": menu("Write", ("N",), then=writes(" and more", "Escape")),
    "Add what comes next…": menu("Add what comes next…", ("C",), then=picks("echo")),
    "Connect it with…": menu("Connect it with…", ("D",), then=finds("S")),
    "Cut": menu("Cut", ("D",)),
    "Duplicate": menu("Duplicate", ("D",)),
    "Pinned in its place": menu("Pinned in its place", ("A",)),
    "Collapse": menu("Collapse", ("G",)),
    "Expand": menu("Expand", ("H",)),
    "Ungroup": menu("Ungroup", ("G",)),
    "Put into a group": menu("Put into a group", ("D",), then=writes("", "Escape")),
    "Take out of G": menu("Take out of G", ("M",)),
    "Remove": menu("Remove", ("B",)),
    "Remove with its members": menu("Remove with its members", ("G",)),
    "Add the missing Clone repo": mends("Add the missing Clone repo", "S"),
    "Connect Begin → D": mends("Connect Begin → D", "D"),
    "Connect S → Q and Begin → S": mends("Connect S → Q and Begin → S", "S"),
    "Add a step in between…": menu("Add a step in between…", edge=AB, then=picks("echo")),
    "Connect, left to right": menu("Connect, left to right", ("A", "D")),
    "Arrange these": in_time(menu("Arrange these", THREE)),
    "Align left": menu("Align left", TWO),
    "Align centres": menu("Align centres", TWO),
    "Align right": menu("Align right", TWO),
    "Align top": menu("Align top", TWO),
    "Align middles": menu("Align middles", TWO),
    "Align bottom": menu("Align bottom", TWO),
    "Distribute across": menu("Distribute across", THREE),
    "Distribute down": menu("Distribute down", THREE),
    "Pinned in their places": menu("Pinned in their places", TWO),
    "Group": menu("Group", TWO, then=writes("", "Escape")),
    "Add a step here…": menu("Add a step here…", then=picks("echo")),
    "Add a note here": menu("Add a note here", then=writes("", "Escape")),
    "Paste": each(keys("Control+c", of=("D",)), menu("Paste")),
    "Arrange all": in_time(menu("Arrange all")),
    "Suggest connections": menu("Suggest connections", then=accepts_suggestions),
    "Import a canvas or spec…": imports,
}
# Of menus, what only looks, or copies to somewhere else.
LOOKS = re.compile(r"Go to .|Copy$|Choose all$|Fit into view$|Overview$|Export ")

# By what the sheet of shortcuts says.
BY_KEY: dict[str, Deed] = {
    "Add a step: search, Enter adds the first": each(keys("a"), lambda s: s.page.keyboard.type("echo"),
                                                     lambda s: s.page.keyboard.press("Enter")),
    "Arrange all, or what is chosen": in_time(keys("l", of=THREE)),
    "Describe it in a sentence": describes("Add it beside"),
    "Suggest connections; in their list ↑ ↓, Enter accepts, Del rejects": keys("s", then=accepts_the_first),
    "Add what comes next: after the chosen node, or into the chosen connection": keys("n", edge=BC, then=picks("echo")),
    "Write a note": keys("w", then=writes("", "Escape")),
    "Write the label of the chosen node, or the note": keys("F2", of=("D",), then=writes("renamed")),
    "Move what is chosen (with Shift further)": keys("ArrowRight", "Shift+ArrowDown", "ArrowLeft", of=("D", "B")),
    "Connect the two chosen nodes, from left to right; one with a node you find": keys("c", of=("D", "C")),
    "Pin what is chosen in its place, or free it": keys("i", of=TWO),
    "Group, ungroup": keys("Control+Shift+G", of=("M",)),
    "Collapse or expand the group": keys(".", of=("M",)),
    "Align left, right, top, bottom": keys("Alt+Shift+ArrowUp", of=TWO),
    "Align centres, middles": keys("Alt+Shift+M", of=TWO),
    "Distribute across, down": keys("Alt+Shift+H", of=THREE),
    "Copy, cut, paste, duplicate": keys("Control+x", of=("D", "B")),
    "Remove": keys("Delete", edge=AB),
}  # fmt: skip
LOOKING_KEYS = {
    "Find a node", "Fit the canvas into view", "List of problems", "Go through nodes and connections, choose one",
    "Go to the next part of the editor, to the one before: bar, steps, canvas, settings, run",
    "Go back and on along the connections", "Go to the neighbours that hang on the same node",
    "What can be done with what is chosen", "Zoom in, out, to full size", "Show or hide the overview",
    "Choose with a box; Shift click adds to the choice", "Choose all, nothing",
    "Leave a text in JSON, where Tab indents", "Undo, redo", "Save", "Run",
    "In the timeline of a run: another row, what it did, its items",
    "History: versions, differences, restore", "Next, previous difference (in the history and between two versions)",
}  # fmt: skip

# By the module of the editor that makes the change.
BY_MODULE: dict[str, dict[str, Deed]] = {
    "view/Flow": {
        "a click on the palette": each(lambda s: s.choose(), lambda s: s.page.locator(".palette").get_by_role(
            "button", name="Echo", exact=True).click()),
        "dragged in": lambda s: s.drag_in("Wait", 150, 60),
        "a connection dropped": drops_a_connection,
        "connected by mouse": lambda s: s.connect("D", "S"),
        "moved by mouse": moves_by_mouse,
        "a note made larger": makes_the_note_larger,
    },
    "behaviours/grouping": {"dropped into a group": drops_into_the_group},
    "view/panel/NodeForm": {
        "label": types("Label", " renamed", ("D",)),
        "a field": types("value", " and more", ("D",)),
        "inputs": each(lambda s: s.choose("Begin"), lambda s: s.page.locator(".panel .cm-content").click(),
                       lambda s: s.page.keyboard.press("Control+a"),
                       lambda s: s.page.keyboard.insert_text('{"who": "Ada"}')),
    },
    "view/panel/Limits": {
        "timeout": types("Timeout", "90s", ("D",)),
        "attempts": types("Attempts", "3", ("D",)),
        "retries in detail": each(lambda s: s.choose("D"), lambda s: s.page.get_by_text("Retries in detail").click(),
                                  lambda s: s.page.get_by_label("First wait").fill("5s")),
    },
    "view/panel/Catches": {
        "where a failure leads": each(presses("Go to another step instead", ("D",)),
                                      lambda s: s.page.get_by_label("Go to").select_option("S")),
    },
    "view/panel/Raw": {
        "of a node": rewrites('{"label": "D", "activity": "EchoActivity", "more": 7}', ("D",)),
        "of a connection": rewrites('{"relation_type": "dependency", "more": 7}', edge=BC),
    },
    "view/panel/RemarkPanel": {
        "text": types("Text", " and more", ("N",)),
        "colour": each(lambda s: s.choose("N"), lambda s: s.page.locator(".colours").get_by_text("blue").click()),
        "title": types("Title", " and more", ("G",)),
    },
    "view/panel/WorkflowPanel": {
        "name": types("Name", " twice"),
        "description": types("Description", "What it is for"),
    },
    "view/panel/WorkflowLimits": {
        "time limit": types("Time limit", "2h", ("Begin",)),
        "failures": selects("When a step fails", "continue", ("Begin",)),
    },
    "view/EdgeForm": {
        "condition": types("Condition", 'value == "x"', edge=BC),
        "taken on failure": presses("When it failed", edge=BC),
        "type": selects("Type", "dependency", edge=BC),
        "label": types("Label", "then", edge=BC),
        "wording": types("Verb", "feeds", edge=BC),
        "kind": selects("Kind of connection", "direct-map", edge=BC),
        "confidence": each(lambda s: s.choose_edge(*BC), lambda s: s.page.locator(".panel input[type=range]").fill(
            "0.5")),
    },
    "view/panel/Mappings": {
        "taken": each(lambda s: s.choose_edge(*BC),
                      lambda s: s.page.get_by_role("button", name="Take nothing for value").click()
                      if s.page.get_by_role("button", name="Take nothing for value").count() else None,
                      lambda s: s.page.get_by_label("Input", exact=True).select_option("value"),
                      lambda s: s.page.get_by_label("Output that it takes").select_option("value")),
    },
    "behaviours/fixing": {"all that can be mended": mends_all},
    "view/describe/Describe": {"in the place of all": describes("Replace what is drawn")},
    "behaviours/clipboard": {"all removed": keys("Control+a", "Delete")},
}  # fmt: skip
# Tried by their items of menus and by keys; the last, like the status, by the last story.
ELSEWHERE = {"view/Finder", "view/NoteNode", "view/LabelInput", "behaviours/suggesting", "behaviours/transfer",
             "behaviours/placing", "behaviours/layout", "view/versions/History"}  # fmt: skip


@pytest.fixture
def draw(open_page: Callable[..., Page], site: Site) -> Callable[[], Sketch]:
    """Opens a canvas with something of everything, a new one each time."""
    team = site.team("Undo")
    ann = site.account(team.editor)
    page = open_page(team.editor, viewport={"width": 1600, "height": 900},
                     permissions=["clipboard-read", "clipboard-write"])  # fmt: skip

    def draw() -> Sketch:
        sketch = Sketch(page, str(ann.post("/workflows", name="Undone", **canvas())["id"]))
        expect(page.locator(".problems-button")).to_have_attribute("data-checking", "done")
        return sketch

    return draw


def taken_back(draw: Callable[[], Sketch], deeds: dict[str, Deed]) -> list[str]:
    """Do each, take it back, make it again, and take it back; returns what went otherwise."""
    sketch, wrong = draw(), []
    before, view = sketch.drawn(), sketch.view
    for name, deed in deeds.items():
        try:
            if sketch.view != view:  # it followed to what was added
                sketch.fit()
                view = sketch.view
            deed(sketch)
            seen = [sketch.drawn()]
            for combo in ("Control+z", "Control+Shift+z", "Control+z"):
                sketch.leave()
                sketch.page.keyboard.press(combo)
                seen.append(sketch.drawn())
        except (AssertionError, PlaywrightError) as error:
            wrong.append(f"{name}: {str(error)[:600]}")
            sketch = draw()
            continue
        if seen[0] == before:
            wrong.append(f"{name}: changed nothing")
            sketch = draw()
        elif differences := [apart(*pair) for pair in zip(seen[1:], [before, seen[0], before], strict=True)]:
            if any(differences):
                wrong.append(f"{name}: undo, redo and undo led to {differences}")
                sketch = draw()
    return wrong


def apart(found: dict[str, Any], expected: dict[str, Any]) -> list[Any]:
    """What of two drawings is not the same."""
    parts = [[value] if isinstance(value, str) else value for value in found.values()]
    others = [[value] if isinstance(value, str) else value for value in expected.values()]
    one, other = [part for list_ in parts for part in list_], [part for list_ in others for part in list_]
    return [part for part in one if part not in other] + [part for part in other if part not in one]


def test_every_item_of_a_menu_is_taken_back_and_made_again(draw: Callable[[], Sketch]) -> None:
    assert taken_back(draw, BY_MENU) == []


def test_every_key_is_taken_back_and_made_again(draw: Callable[[], Sketch]) -> None:
    assert taken_back(draw, BY_KEY) == []


def test_every_change_of_the_panel_and_by_mouse_is_taken_back_and_made_again(draw: Callable[[], Sketch]) -> None:
    deeds = {f"{module}: {what}": deed for module, all_of in BY_MODULE.items() for what, deed in all_of.items()}
    assert taken_back(draw, deeds) == []


def test_nothing_that_changes_a_canvas_is_left_out_here(draw: Callable[[], Sketch]) -> None:
    sketch = draw()
    items: set[str] = set()
    places = ((), ("Begin",), ("A",), ("N",), ("G",), ("H",), ("M",), ("S",), TWO, ("A", "B", "C"), ("G", "A"))
    for of, edge in [*((of, None) for of in places), ((), AB)]:
        chosen(sketch, of, edge)
        items.update(sketch.menu().locator("[role^=menuitem] > span.clip").all_text_contents())
        sketch.page.keyboard.press("Escape")
    sketch.page.keyboard.press("?")
    rows = sketch.page.get_by_role("dialog").locator("dd").all_text_contents()

    items = {re.sub(r"^Connect Begin → .$", "Connect Begin → D", item) for item in items}  # one fix of several nodes
    assert {item for item in items if not LOOKS.match(item)} == BY_MENU.keys()
    everywhere = {"Home", "Workflows", "Executions", "Schedules", "Search on this page", "This sheet",
                  "Light, dark, as the system"}  # fmt: skip
    assert {" ".join(row.split()) for row in rows} - everywhere - LOOKING_KEYS == BY_KEY.keys()
    changing = {
        path.relative_to(SOURCES).with_suffix("").as_posix()
        for path in SOURCES.rglob("*.ts*")
        if re.search(r"import \{[^}]*\bchange\b[^}]*\} from \"[./]+/store\"", path.read_text())
    }
    assert changing == BY_MODULE.keys() | ELSEWHERE


def test_the_status_and_a_restored_version_are_taken_back(draw: Callable[[], Sketch]) -> None:
    sketch = draw()
    page = sketch.page
    status = page.locator(".panel").get_by_label(re.compile("^Status"))
    status.select_option("archived")
    for combo, value in (("Control+z", "draft"), ("Control+Shift+z", "archived"), ("Control+z", "draft")):
        sketch.leave()
        page.keyboard.press(combo)
        expect(status).to_have_value(value)

    first = sketch.drawn()
    BY_MENU["Remove"](sketch)
    second = sketch.drawn()
    sketch.save()
    sketch.leave()
    page.keyboard.press("h")
    versions = page.get_by_role("dialog", name="Versions")
    versions.locator(".version-list li").last.get_by_role("button").click()
    versions.get_by_role("button", name="Restore version 1").click()
    expect(versions).to_have_count(0)
    expect(sketch.saved).to_have_text("saved")
    seen = [sketch.drawn()]
    for combo in ("Control+z", "Control+Shift+z", "Control+z"):
        sketch.leave()
        page.keyboard.press(combo)
        seen.append(sketch.drawn())
    assert seen == [first, second, first, second]
