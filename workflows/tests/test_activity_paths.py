"""Which files an activity may touch."""

from pathlib import Path

import pytest
from pytest_django import Settings

from workflows.activities.paths import Territory
from workflows.errors import PermanentError
from workflows.tests.activity_case import Case


@pytest.fixture
def root(tmp_path: Path, settings: Settings) -> Path:
    """A configured root, with the home inside it as in a default installation."""
    root = tmp_path / "root"
    root.mkdir()
    settings.POIMEN_REPO_ROOTS = [root]
    return root


@pytest.fixture
def territory(root: Path) -> Territory:
    return Territory.of(Case(root / "home").context())


def test_the_workspace_the_artifacts_and_the_roots_may_be_touched(root: Path, territory: Territory) -> None:
    (root / "repo").mkdir()
    assert territory.confine(root / "repo") == root / "repo"
    assert territory.confine(territory.own[0]) == territory.own[0]
    assert territory.confine(territory.own[1]) == territory.own[1]


def test_a_relative_path_is_taken_from_the_workspace(territory: Territory) -> None:
    (territory.own[0] / "a").mkdir()
    assert territory.confine("a") == territory.own[0] / "a"
    assert territory.confine(".") == territory.own[0]


@pytest.mark.parametrize("path", ["/etc/passwd", "/", "../../../..", "/no/such/place", "a/../../../../../etc"])
def test_whatever_is_outside_is_refused_in_one_way_whether_it_exists_or_not(territory: Territory, path: str) -> None:
    with pytest.raises(PermanentError, match=r"path: .* does not exist .* outside the allowed directories"):
        territory.confine(path)


def test_a_symlink_does_not_lead_outside(root: Path, territory: Territory, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    (root / "link").symlink_to(tmp_path / "secret")
    (root / "directory").symlink_to(tmp_path)
    for path in (root / "link", root / "directory" / "secret"):
        with pytest.raises(PermanentError, match="outside the allowed directories"):
            territory.confine(path)


def test_other_executions_directories_are_closed_even_though_the_home_is_in_a_root(root: Path) -> None:
    other = Case(root / "home", execution="other").context()
    (other.workspace / "theirs").write_text("x")
    mine = Territory.of(Case(root / "home", execution="mine").context())
    for path in (other.workspace / "theirs", other.artifacts, other.workspace.parent):
        with pytest.raises(PermanentError, match="outside the allowed directories"):
            mine.confine(path)
    assert Territory.of(other).confine("theirs").read_text() == "x"


@pytest.mark.parametrize("path", ["a\0b", "x" * 5000, "loop/x"])
def test_unusable_paths_are_refused_with_a_sentence(territory: Territory, path: str) -> None:
    (territory.own[0] / "loop").symlink_to("loop")
    with pytest.raises(PermanentError, match=r"not a usable path|does not exist"):
        territory.confine(path)


def test_a_missing_path_does_not_exist(root: Path, territory: Territory) -> None:
    with pytest.raises(PermanentError, match=r"^field: '.*nothing' does not exist$"):
        territory.confine(root / "nothing", field="field")


def test_a_file_to_be_made_needs_its_directory(territory: Territory) -> None:
    assert territory.confine("new", must_exist=False) == territory.own[0] / "new"
    with pytest.raises(PermanentError, match="no such directory"):
        territory.confine("no/new", must_exist=False)


@pytest.mark.parametrize("name", ["secret-key", "admin-password", "postgres/data/pg_hba.conf", "up.lock"])
def test_what_the_home_holds_of_the_installation_is_closed(name: str, territory: Territory, settings: Settings) -> None:
    home = Path(settings.POIMEN_HOME).resolve()
    opened = Territory(own=territory.own, shared=(home,), closed=territory.closed)
    assert opened.admits(home / "a-repository")
    assert not opened.admits(home / name)
