"""What is remembered, as a section of a prompt. Refuses to let a remembered text look like a part of the prompt.

Source: contract-activities 11.
"""

from collections.abc import Mapping
from typing import Any

MOST_CHARACTERS = 200
MOST_TOKENS = 8192
CHARACTERS_PER_TOKEN = 4  # an estimate, good enough for a bound


def memory_section(memory: Mapping[str, Any]) -> str:
    """Return the output of RetrieveMemoryActivity as Markdown; an empty text when it found nothing.

    Each text is one line of 200 characters at most, all of it about 8,192 tokens at most; what does not fit is left
    out from the end.
    """
    if not memory.get("totalResults"):
        return ""
    sections = (
        (
            "## Relevant Skills",
            [
                f"- **{_line(skill['name'])}**: {_line(skill.get('why') or skill.get('description') or '')}"
                for skill in memory.get("skills", ())
            ],
        ),
        (
            "## Relevant Knowledge",
            [f"- [{_line(lesson['level'])}] {_line(lesson['text'])}" for lesson in memory.get("lessons", ())],
        ),
        ("## Reference Documents", [f"- {_line(reference['text'])}" for reference in memory.get("references", ())]),
    )
    left = MOST_TOKENS * CHARACTERS_PER_TOKEN
    parts: list[str] = []
    for heading, lines in sections:
        kept: list[str] = []
        left -= len(heading) + 2
        for line in lines:
            left -= len(line) + 1
            if left < 0:
                break
            kept.append(line)
        if kept:
            parts.append("\n".join(["", heading, *kept]))
    return "\n".join(parts)


def _line(text: str) -> str:
    """``text`` on one line, cut on a character: a line break in it could begin a heading of its own."""
    line = " ".join(str(text).split())
    return line if len(line) <= MOST_CHARACTERS else f"{line[:MOST_CHARACTERS]}..."
