"""How tests are dealt out to the processes of a run: what shares an installation stays together.

It refuses to split a module: what the fixtures of one start would be started in every process.
"""

import re
from functools import cache
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

GROUP = re.compile(r'xdist_group\("(\w+)"\)')
LONGEST = ("browser", "up", "client", "live")


class GroupScheduling(LoadScopeScheduling):  # type: ignore[misc]
    """One module after the other, and those with the same ``xdist_group`` mark in the same process.

    ``--dist loadgroup`` finds the marks by names that it gives to tests, which pytest 9.2 does not take.
    """

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        return group_of(self.config.rootpath / path) or path


@cache
def group_of(path: Path) -> str:
    """The group that the module at ``path`` says it belongs to; empty for none."""
    found = GROUP.search(path.read_text())
    return found[1] if found else ""


def longest_first(items: list[pytest.Item]) -> None:
    """Order the tests so that no process begins with the longest when the others are at their end."""

    def place(item: pytest.Item) -> tuple[int, bool]:
        group = group_of(item.path)
        return LONGEST.index(group) if group in LONGEST else len(LONGEST), item.get_closest_marker("slow") is None

    items.sort(key=place)
