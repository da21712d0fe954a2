"""The installation that tests from outside share."""

from collections.abc import Iterator

import pytest

from poimen_site.tests.places import PASSWORD, Place
from workflows.tests.chaos.installation import eventually, free_port
from workflows.tests.live.house import opened_house


@pytest.fixture(scope="session")
def place() -> Iterator[Place]:
    """One installation for all tests that want one: starting it takes longer than most of them."""
    with opened_house() as house:
        port = free_port()
        house.installation.environment["POIMEN_ALLOWED_PRIVATE_HOSTS"] = f"127.0.0.1:{port}"
        house.installation.admit("amy", PASSWORD, "admin")
        house.installation.start("qcluster")
        house.installation.start("clock")
        with house.web() as web:
            made = Place(house, web, port)
            eventually("a worker runs", house.installation.pumps, within=60)
            yield made
