"""Texts that programs wrote are shown without what only a terminal understands."""

import pytest

from workflows.terminal_text import plain


@pytest.mark.parametrize(
    "written, shown",
    [
        ("\x1b[1;31mred\x1b[0m alert\n\tsecond line", "red alert\n\tsecond line"),
        ("\x1b[38;5;196mone\x1b[m \x1b]0;title\x07two\x1b[2K\x1b[?25l", "one two"),
        ("bell\x07 and return\r", "bell and return"),
        ("[0m stays, as do é and 日本", "[0m stays, as do é and 日本"),
        ("cut off \x1b[3", "cut off [3"),
    ],
)
def test_control_sequences_are_left_out(written: str, shown: str) -> None:
    assert plain(written) == shown
