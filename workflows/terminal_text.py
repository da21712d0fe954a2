"""Terminal control sequences in texts that programs wrote: colours, cursor moves, titles.

Refuses to colour: where the sequences can be read as colours (the live log), the page does that; all else is plain.
"""

import re

_SEQUENCE = re.compile(r"\x1b(?:\[[0-9:;<=>?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def plain(text: str) -> str:
    """Return ``text`` without control sequences and control characters; tabs and line breaks stay."""
    return _CONTROL.sub("", _SEQUENCE.sub("", text)) if _CONTROL.search(text) else text
