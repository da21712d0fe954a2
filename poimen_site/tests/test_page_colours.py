"""What is written on pages can be read: text against everything it stands on, in light and dark (WCAG 2 AA)."""

import re
from itertools import product

import pytest
from django.conf import settings

TOKENS = (settings.BASE_DIR / "static" / "ui" / "tokens.css").read_text()
PAIRS = {
    name: (light, dark)
    for name, light, dark in re.findall(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)", TOKENS)
}
PAIRS |= {name: PAIRS[other] for name, other in re.findall(r"--([\w-]+): var\(--([\w-]+)\)", TOKENS)}
GROUNDS = ("ground", "surface", "raised", "sunken", "hover")
TEXTS = ("text", "quiet", "accent", "good", "bad", "busy", "wait", "idle")
# Text, what it stands on, and the least contrast: 4.5 for text, 3 for edges of controls and graphics.
WANTED = [
    *((text, ground, 4.5) for text, ground in product(TEXTS, GROUNDS)),
    *((tone, f"{tone}-soft", 4.5) for tone in ("good", "bad", "busy", "wait", "idle", "accent")),
    *(("text", f"{tone}-soft", 4.5) for tone in ("good", "bad", "busy", "wait", "idle")),
    *((name, "log-ground", 4.5) for name in PAIRS if name.startswith("ansi-") or name in ("text", "quiet", "wait")),
    ("text", "mark", 4.5),
    ("line-strong", "surface", 3),
    *((f"{tone}-fill", "surface", 3) for tone in ("good", "bad", "busy", "wait", "idle")),
]


def luminance(colour: str) -> float:
    channels = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    red, green, blue = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_colours_can_be_told_apart(theme: int) -> None:
    weak = [
        f"{text} on {ground}: {found:.2f}, not {least}"
        for text, ground, least in WANTED
        if (found := contrast(PAIRS[text][theme], PAIRS[ground][theme])) < least
    ]
    weak += [
        f"white on {fill}"
        for fill in ("accent-fill", "accent-fill-hover", "bad-button")
        if contrast("#ffffff", PAIRS[fill][theme]) < 4.5
    ]
    assert weak == []


def test_no_other_stylesheet_names_colours() -> None:
    for sheet in ("ui.css", "run.css"):
        text = (settings.BASE_DIR / "static" / "ui" / sheet).read_text()
        assert re.findall(r"#[0-9a-fA-F]{3,8}\b(?=[;,) ])|hsl|oklch", text) == [], sheet
