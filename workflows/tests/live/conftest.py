"""One house for all tests of this directory, and two web processes of it: starting them takes longer than a test."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from workflows.tests.live.house import House, Web


@pytest.fixture(scope="session")
def house() -> Iterator[House]:
    """A running installation without workers."""
    home = Path(tempfile.mkdtemp(prefix="poimen-live-"))
    home.chmod(0o755)
    made = House(home)
    try:
        made.open()
        yield made
    finally:
        made.close()
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
def web(house: House) -> Iterator[Web]:
    """A web process."""
    with house.web(POIMEN_SLOW_READER_SECONDS="3") as made:
        yield made
