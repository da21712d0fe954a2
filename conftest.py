"""The database of a test run: the embedded PostgreSQL of the run's home, or the server of DATABASE_URL; its order.

It refuses to leave anything behind: a server that the run started is stopped, a throwaway home is deleted.
"""

import os
import shutil
from pathlib import Path

import psutil
import pytest
from xdist.remote import Producer

from poimen_site.embedded_postgres import EmbeddedPostgres
from poimen_site.settings_test import THROWAWAY_HOMES
from poimen_site.tests.distribution import GroupScheduling, longest_first

HOME = Path(os.environ["POIMEN_HOME"])
EMBEDDED = not os.environ.get("DATABASE_URL")


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def pytest_configure(config: pytest.Config) -> None:
    if not EMBEDDED or _is_worker(config):
        return
    for home in THROWAWAY_HOMES.glob("*"):  # of runs that were killed
        if home != HOME and home.name.isdigit() and not psutil.pid_exists(int(home.name)):
            _delete(home)
    config.stash[_RAN_BEFORE] = EmbeddedPostgres(HOME).is_running()


def pytest_unconfigure(config: pytest.Config) -> None:
    if not EMBEDDED or _is_worker(config):
        return
    if HOME.parent == THROWAWAY_HOMES:
        _delete(HOME)
    elif not config.stash[_RAN_BEFORE]:
        EmbeddedPostgres(HOME).stop()


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> GroupScheduling:
    return GroupScheduling(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    longest_first(items)


_RAN_BEFORE = pytest.StashKey[bool]()


def _delete(home: Path) -> None:
    if home.exists():
        EmbeddedPostgres(home).destroy()
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_server() -> EmbeddedPostgres | None:
    """The running embedded server of this run; None when DATABASE_URL names another one."""
    server = EmbeddedPostgres(HOME) if EMBEDDED else None
    if server is not None:
        server.start()  # by the first worker that needs it; the others find it running
    return server


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings_parallel_suffix: None, postgres_server: EmbeddedPostgres | None
) -> None:
    """Start the server before pytest-django makes its database (one for each worker)."""
