"""The reference of shortcuts says what the sheets behind ? say; the sheets name every key of the editor."""

import re
from pathlib import Path

import pytest
from django.conf import settings

ROOT = Path(settings.BASE_DIR)
REFERENCE = ROOT / "docs" / "reference" / "shortcuts.md"
EDITOR = ROOT / "canvas" / "frontend" / "src"
SHEETS = {"On every page": "base.html", "In the canvas editor": "canvas.html", "On the page of a run": "execution.html"}
NAMES = {
    "mod": "Ctrl", "alt": "Alt", "shift": "Shift", "arrowleft": "←", "arrowright": "→", "arrowup": "↑",
    "arrowdown": "↓", "enter": "Enter", "escape": "Esc", "delete": "Del", "contextmenu": "Menu", "f2": "F2",
    "f6": "F6", "f10": "F10",
}  # fmt: skip
# Other keys for what stands in the sheet under a better known one.
SYNONYMS = {"mod+y", "backspace", "="}


def rows(sheet: str) -> list[str]:
    """The rows of a sheet as lines of the reference's tables."""
    found = re.findall(r"<div><dt>(.*?)</dt><dd>(.*?)</dd></div>", (ROOT / "templates" / "ui" / sheet).read_text())
    assert found, sheet
    return [f"| {_marked(keys)} | {_marked(deed)} |" for keys, deed in found]


def _marked(html: str) -> str:
    return re.sub(r"</?kbd>", "`", html).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


@pytest.mark.parametrize("heading", SHEETS)
def test_the_reference_and_the_sheets_say_the_same(heading: str) -> None:
    section = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", REFERENCE.read_text(), re.MULTILINE | re.DOTALL)
    assert section is not None
    written = [line for line in section.group(1).splitlines() if line.startswith("| `")]
    assert written == rows(SHEETS[heading])


def test_every_key_of_the_editor_is_in_its_sheet() -> None:
    combos: set[str] = set()
    for source in EDITOR.rglob("*.ts*"):
        if ".test." not in source.name:
            text = source.read_text()
            combos |= set(re.findall(r'\bbind\("([^"]+)"', text))
            if source.name == "canvasKeys.ts":
                combos |= set(re.findall(r'^\s+\["([^"]+)",', text, re.MULTILINE))
    assert len(combos) > 40
    keys = set(re.findall(r"<kbd>([^<]+)</kbd>", (ROOT / "templates" / "ui" / "canvas.html").read_text()))
    unnamed = {combo for combo in combos - SYNONYMS if NAMES.get(_key(combo), _key(combo)) not in keys}
    assert unnamed == set()


def _key(combo: str) -> str:
    return combo if combo in ("+", "-") else combo.rsplit("+", 1)[-1]
