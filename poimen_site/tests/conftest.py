"""The installations that tests from outside share: starting one takes longer than most tests.

``site`` and ``browser`` are for stories told in a browser, all of them in one process (``xdist_group("browser")``);
``place`` is for clients and commands.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from poimen_site.embedded_postgres import EmbeddedPostgres
from poimen_site.tests.browsing import CHROMIUM, Site, window
from poimen_site.tests.places import PASSWORD, Place
from poimen_site.tests.test_up import Installation
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


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    """A running installation; without Chromium the test is skipped, and fails where everything must be there."""
    if CHROMIUM is None:
        reason = "there is no chromium on PATH (Debian: apt-get install chromium)"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    installation = Installation()
    installation.prepare()
    try:
        installation.start()
        site = Site(installation)
        yield site
        site.close()
    finally:
        if installation.process is not None and installation.process.poll() is None:
            installation.stop()
        EmbeddedPostgres(installation.home).destroy()
        shutil.rmtree(installation.home)


@pytest.fixture(scope="module")
def browser(site: Site) -> Iterator[Browser]:
    """Chromium; stories open windows of their own. It ends with its module, since its event loop bars the database."""
    with sync_playwright() as playwright:
        # Chromium's own sandbox wants rights that root and containers do not have.
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser: Browser, site: Site) -> Iterator[Callable[..., Page]]:
    """``open_page(username, **options)`` opens a window of somebody who is signed in (see ``browsing.window``).

    The page is blank yet; ``page.context`` is its window. All are closed and checked at the end of the test.
    """
    with ExitStack() as windows:

        def open_page(username: str = "admin", **options: Any) -> Page:
            return windows.enter_context(window(browser, site, username, **options)).new_page()

        yield open_page
