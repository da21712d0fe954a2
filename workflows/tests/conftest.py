"""Fixtures of the engine's tests. The activities made for testing are registered here and in the children it starts."""

import os
from collections.abc import Iterator

import pytest
from django.db import connection, transaction
from django.test import TransactionTestCase

from workflows.tests import engine_activities
from workflows.tests.pumping import Engine

os.environ["POIMEN_TEST_ACTIVITIES"] = "1"  # for the processes that activities run in

KEPT_TABLES = ("django_migrations", "django_content_type", "auth_permission")


@pytest.fixture
def quickly_emptied(monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty the database by deleting the few rows of a test: a tenth of the time that truncating all tables takes."""

    def delete_rows(case: TransactionTestCase) -> None:
        tables = connection.introspection.django_table_names(only_existing=True, include_views=False)
        with transaction.atomic(), connection.cursor() as cursor:
            for table in set(tables) - set(KEPT_TABLES):
                cursor.execute(f'DELETE FROM "{table}"')

    monkeypatch.setattr(TransactionTestCase, "_fixture_teardown", delete_rows)


@pytest.fixture
def engine(quickly_emptied: None, transactional_db: None) -> Iterator[Engine]:
    """An engine without pumps and clocks yet; those a test starts are stopped before the database is emptied."""
    from workflows.activities import testing  # noqa: F401 - registers its activities

    made = Engine()
    yield made
    made.stop()


@pytest.fixture
def misbehaving() -> Iterator[None]:
    """The activities of ``engine_activities``, which raise, hold, hang and die as they are told."""
    with engine_activities.registered():
        yield
