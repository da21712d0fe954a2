"""Fixtures of the engine's tests. The activities made for testing are registered here and in the children it starts."""

import os
from collections.abc import Iterator

import pytest

from workflows.tests.pumping import Engine

os.environ["POIMEN_TEST_ACTIVITIES"] = "1"  # for the processes that activities run in


@pytest.fixture
def engine(transactional_db: None) -> Iterator[Engine]:
    """An engine without pumps and clocks yet; those a test starts are stopped before the database is emptied."""
    from workflows.activities import testing  # noqa: F401 - registers its activities

    made = Engine()
    yield made
    made.stop()
