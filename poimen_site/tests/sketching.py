"""The canvas editor as people handle it: take, drag, connect, fill in; what it holds is read as it is saved.

Refuses to look into the editor's state: what cannot be seen or saved is not there.
"""

import json
import re
from typing import Any

from playwright.sync_api import Locator, Page, expect


class Sketch:
    """An opened editor."""

    def __init__(self, page: Page, workflow: str) -> None:
        self.page, self.workflow = page, workflow
        if not page.url.endswith(f"/ui/workflows/{workflow}/edit"):
            page.goto(f"/ui/workflows/{workflow}/edit")
        expect(page.locator(".react-flow__pane")).to_be_visible()

    @property
    def nodes(self) -> Locator:
        return self.page.locator(".react-flow__node")

    @property
    def edges(self) -> Locator:
        return self.page.locator(".react-flow__edge")

    @property
    def saved(self) -> Locator:
        return self.page.locator(".saved")

    def node(self, label: str) -> Locator:
        return self.nodes.filter(has=self.page.get_by_text(label, exact=True))

    def edge(self, source: str, target: str) -> Locator:
        return self.page.locator(f'.react-flow__edge[aria-label="Edge from {source} to {target}"]')

    def drag_in(self, entry: str, x: int, y: int) -> None:
        """Drag an entry of the palette to this place of the surface, in px from its left top."""
        count = self.nodes.count()
        taken = self.page.locator(".palette").get_by_role("button", name=entry, exact=True)
        taken.hover()
        surface = self.page.locator(".react-flow__pane").bounding_box()
        assert surface is not None
        mouse = self.page.mouse
        mouse.down()
        mouse.move(surface["x"] + x - 20, surface["y"] + y, steps=3)
        mouse.move(surface["x"] + x, surface["y"] + y, steps=2)
        mouse.up()
        expect(self.nodes).to_have_count(count + 1)

    def connect(self, source: str, target: str) -> None:
        """Pull a connection from the right side of a node to the left side of another."""
        count = self.edges.count()
        start = self.node(source).locator(".react-flow__handle-right").first.bounding_box()
        end = self.node(target).locator(".react-flow__handle-left").first.bounding_box()
        assert start is not None
        assert end is not None
        mouse = self.page.mouse
        mouse.move(start["x"] + start["width"] / 2, start["y"] + start["height"] / 2)
        mouse.down()
        mouse.move(end["x"] - 30, end["y"] + end["height"] / 2, steps=4)
        mouse.move(end["x"] + end["width"] / 2, end["y"] + end["height"] / 2, steps=2)
        mouse.up()
        expect(self.edges).to_have_count(count + 1)

    def pull(self, source: str, x: int, y: int) -> None:
        """Pull a connection out of a node and drop it this far, in px, from its right side, where nothing is."""
        dot = self.node(source).locator(".react-flow__handle-right").first.bounding_box()
        assert dot is not None
        mouse = self.page.mouse
        mouse.move(dot["x"] + dot["width"] / 2, dot["y"] + dot["height"] / 2)
        mouse.down()
        mouse.move(dot["x"] + x, dot["y"] + y, steps=5)
        mouse.up()

    def choose(self, *labels: str) -> None:
        """Click one after the other, with Shift from the second on."""
        self.leave()
        self.page.keyboard.press("Escape")
        for index, label in enumerate(labels):
            words = self.node(label).get_by_text(label, exact=True).first
            words.click(modifiers=["Shift"] if index else [])
        expect(self.page.locator(".react-flow__node.selected")).to_have_count(len(labels))

    def choose_edge(self, source: str, target: str) -> None:
        self.leave()
        self.page.keyboard.press("Escape")
        self.edge(source, target).focus()
        self.page.keyboard.press("Enter")
        expect(self.edge(source, target)).to_have_class(re.compile("selected"))

    @property
    def view(self) -> str:
        """Which part of the drawing is seen, as the page places it."""
        return self.page.locator(".react-flow__viewport").get_attribute("style") or ""

    def fit(self) -> None:
        """Let all of it be seen, and wait until nothing moves any more."""
        self.leave()
        self.page.evaluate("() => { window.seen = null; }")
        self.page.keyboard.press("f")
        self.page.wait_for_function(
            """() => {
                const { transform } = document.querySelector(".react-flow__viewport").style;
                const isStill = window.seen === transform;
                window.seen = transform;
                return isStill;
            }""",
            polling=150,
        )

    def leave(self) -> None:
        """Leave the field that is typed in, so that keys mean the canvas."""
        self.page.evaluate("() => document.activeElement?.blur()")

    def field(self, name: str) -> Locator:
        """What of a field of the chosen node can be typed into or chosen from."""
        return self.page.locator(f'[data-field="{name}"]').locator("textarea, select, input").first

    def take(self, field: str, source: str, output: str) -> None:
        """Fill a field with a reference to what an earlier step gives, by the picker."""
        self.page.get_by_role("button", name=f"Take {field} from an input or an earlier step").click()
        choices = self.page.locator(f'[data-field="{field}"]').get_by_role("option")
        choices.filter(has_text=source).filter(has=self.page.get_by_text(output, exact=True)).first.click()

    def menu(self, item: str = "") -> Locator:
        """Open the menu of what is chosen, of the canvas if nothing is, by key; pick ``item`` if given."""
        self.page.keyboard.press("Shift+F10")
        menu = self.page.get_by_role("menu")
        expect(menu).to_be_visible()
        if item:
            menu.locator("[role^=menuitem]").filter(has=self.page.get_by_text(item, exact=True)).click()
            expect(menu).to_have_count(0)
        return menu

    def drawn(self) -> dict[str, Any]:
        """What is drawn now, as the file that is exported says it (without the status); {} where nothing is."""
        self.page.get_by_role("button", name="Import, export and more").click()
        item = self.page.get_by_role("menuitem", name="Export the canvas (JSON)")
        if item.get_attribute("aria-disabled"):
            self.page.keyboard.press("Escape")
            return {}
        with self.page.expect_download() as loaded:
            item.click()
        canvas: dict[str, Any] = json.loads(loaded.value.path().read_text())
        return canvas

    def save(self) -> dict[str, Any]:
        """Save by keyboard; returns the body that was sent."""
        expect(self.saved).not_to_have_text("saved")
        with self.page.expect_request(lambda r: r.method == "PUT" and r.url.endswith(self.workflow)) as sent:
            self.page.keyboard.press("Control+s")
        expect(self.saved).to_have_text("saved")
        body: dict[str, Any] = json.loads(sent.value.post_data or "")
        return body
