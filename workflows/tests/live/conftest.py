"""One house for all tests of this directory, and a web process of it: starting them takes longer than a test."""

from collections.abc import Iterator

import pytest

from workflows.tests.live.house import House, Web, opened_house


@pytest.fixture(scope="session")
def house() -> Iterator[House]:
    """A running installation without workers."""
    with opened_house() as made:
        yield made


@pytest.fixture(scope="session")
def web(house: House) -> Iterator[Web]:
    """A web process."""
    with house.web(POIMEN_SLOW_READER_SECONDS="3") as made:
        yield made
