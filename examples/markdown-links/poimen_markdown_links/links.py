"""Reads links and headings out of Markdown. Knows nothing of Poimen, and follows no link to another host."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

_FENCE = re.compile(r"\s{0,3}(```|~~~)")
_CODE = re.compile(r"`[^`]*`")
_LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+[\"'(][^)]*)?\)")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+(.*?)\s*#*\s*$")
_MARKS = re.compile(r"[^\w\- ]")


def text_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield ``(line number from 1, line)`` of what is no code block."""
    fence = ""
    for number, line in enumerate(text.splitlines(), 1):
        found = _FENCE.match(line)
        if found and fence in ("", found[1]):
            fence = "" if fence else found[1]
        elif not fence:
            yield number, line


def links_in(text: str) -> Iterator[tuple[int, str]]:
    """Yield ``(line number, target)`` of every inline link and image."""
    for number, line in text_lines(text):
        for found in _LINK.finditer(_CODE.sub("", line)):
            yield number, found[1]


def anchors_in(text: str) -> set[str]:
    """Return the names of the headings as addresses have them; the second of one name ends in -1, and so on."""
    seen: dict[str, int] = {}
    anchors: set[str] = set()
    for _, line in text_lines(text):
        if (found := _HEADING.match(line)) is None:
            continue
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", found[1])
        name = _MARKS.sub("", title.lower()).strip().replace(" ", "-")
        anchors.add(f"{name}-{seen[name]}" if name in seen else name)
        seen[name] = seen.get(name, 0) + 1
    return anchors


def problem_of(target: str, file: Path, root: Path) -> str:
    """Say what is wrong with a link of ``file``; empty for one that leads somewhere, or to another host."""
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return ""
    place = unquote(parts.path)
    goal = file if not place else (root / place.lstrip("/") if place.startswith("/") else file.parent / place)
    goal = goal.resolve()
    if not goal.is_relative_to(root):
        return "leads out of the repository"
    if not goal.exists():
        return "no such file"
    if parts.fragment and goal.suffix.lower() == ".md" and goal.is_file():
        if unquote(parts.fragment).lower() not in anchors_in(goal.read_text(errors="replace")):
            return "no such heading"
    return ""
