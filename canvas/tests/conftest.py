"""Fixtures of the canvas's tests: the engine that runs what was drawn is the one the engine's own tests run."""

from collections.abc import Iterator

import pytest

from workflows.tests.pumping import Engine


@pytest.fixture
def engine(transactional_db: None) -> Iterator[Engine]:
    """An engine without pumps and clocks yet; those a test starts are stopped before the database is emptied."""
    made = Engine()
    yield made
    made.stop()
