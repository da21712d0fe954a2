"""Several processes of a rollout migrate at the same time: one does the work, the others wait for it."""

from pathlib import Path

import pytest

from poimen_site.tests.homes import Home


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_migrations_asked_for_by_several_at_once_are_made_once(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.path.mkdir()
    home.postgres.start()
    try:
        asked = [home.start("manage.py", "migrate") for _ in range(3)]
        said = [process.communicate(timeout=150)[0] for process in asked]
        assert [process.returncode for process in asked] == [0, 0, 0], said
        assert sum("Applying workflows.0001_initial" in text for text in said) == 1
        assert sum("No migrations to apply" in text for text in said) == 2
    finally:
        home.postgres.destroy()
