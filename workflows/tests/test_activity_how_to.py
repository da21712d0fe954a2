"""The code of docs/how-to/write-an-activity.md works as it stands there."""

import re
import types
from pathlib import Path

import pytest
from django.conf import settings

from workflows.activities.registry import registry
from workflows.errors import InvalidInput, PermanentError
from workflows.tests.activity_case import Case


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """The page's Python, run as one module; what it registers is forgotten after the test."""
    monkeypatch.setattr(registry, "_activities", dict(registry.all()))
    page = (Path(settings.BASE_DIR) / "docs/how-to/write-an-activity.md").read_text()
    module = types.ModuleType("example")
    monkeypatch.setitem(__import__("sys").modules, "example", module)
    exec("\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL)), module.__dict__)
    return module


def test_its_test_passes(example: types.ModuleType, tmp_path: Path) -> None:
    example.test_words_are_counted(tmp_path)


def test_it_is_registered_and_refuses_what_the_page_says_it_does(example: types.ModuleType, tmp_path: Path) -> None:
    case = Case(tmp_path)
    (case.context().workspace / "a.txt").write_text("one two three")
    assert case.run("CountWordsActivity", {"path": "a.txt", "minimumLength": 4}) == {"words": 1}
    with pytest.raises(InvalidInput, match="minimumLength"):
        case.run("CountWordsActivity", {"path": "a.txt", "minimumLength": 0})
    with pytest.raises(PermanentError, match="outside the allowed directories"):
        case.run("CountWordsActivity", {"path": "/etc/passwd"})
