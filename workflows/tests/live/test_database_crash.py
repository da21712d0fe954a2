"""A database that crashes counts transactions again that readers had seen pass; they lose no line by it."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

from workflows.tests.chaos.installation import eventually
from workflows.tests.live.follower import Follower, following
from workflows.tests.live.house import House, Web, opened_house, said

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("live")]

LOST_TRANSACTIONS = 200
TRIES = 5


@pytest.fixture(scope="module")
def lazy_house() -> Iterator[House]:
    """A house whose database takes its time to write down what nobody waits for; its crashes disturb no other test."""
    with opened_house() as house:
        with house.database() as connection:
            connection.execute("ALTER SYSTEM SET wal_writer_delay = '10s'")
            connection.execute("SELECT pg_reload_conf()")
        yield house


@pytest.fixture(scope="module")
def lazy_web(lazy_house: House) -> Iterator[Web]:
    with lazy_house.web() as web:
        yield web


def next_transaction(house: House) -> int:
    with house.database() as connection:
        (found,) = connection.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint").fetchall()
    return int(found[0])


def pass_transactions(connection: psycopg.Connection[Any]) -> None:
    """Let many transactions pass that leave no trace if the database crashes."""
    connection.execute("SET synchronous_commit = off")
    for _ in range(LOST_TRANSACTIONS):
        connection.execute("SELECT pg_current_xact_id()")


def become(connection: psycopg.Connection[Any], execution: str, status: str) -> None:
    connection.execute("UPDATE workflows_execution SET status = %s WHERE id = %s", (status, execution))


def status_told(follower: Follower) -> str:
    told = [frame["status"] for frame in follower.frames if frame["type"] == "state" and not frame["nodeId"]]
    return str(told[-1]) if told else ""


def has_heard(follower: Follower, status: str) -> None:
    eventually(f"the execution is {status}", lambda: status_told(follower) == status, within=30)


def test_what_is_said_after_a_crash_is_heard(lazy_house: House, lazy_web: Web) -> None:
    execution, token = lazy_house.execution(), lazy_web.tokens["ann"]
    lazy_house.say(execution, "before")
    follower = Follower(execution, [lazy_web.url], token)
    with following([follower]) as hear_the_end:
        for _ in range(TRIES):
            has_heard(follower, "pending")
            with lazy_house.database() as connection:
                pass_transactions(connection)
                become(connection, execution, "running")  # and that is lost as well
            has_heard(follower, "running")
            cursor = follower.frames[-1]["cursor"]
            passed = next_transaction(lazy_house)
            lazy_house.installation.postgres.restart(immediate=True)
            if next_transaction(lazy_house) <= passed - LOST_TRANSACTIONS:
                break
            with lazy_house.database() as connection:  # the database wrote it down for a reason of its own
                become(connection, execution, "pending")
        else:
            pytest.fail("the database forgot nothing")
        lazy_house.say(execution, "after")
        lazy_house.finish(execution)
        hear_the_end(30)
    assert said(follower.frames) == ["before", "after"]
    returned = Follower(execution, [lazy_web.url], token, after=cursor)
    with following([returned]) as hear_the_end:
        hear_the_end(30)
    assert said(returned.frames) == ["after"]


def test_an_end_does_not_wait_for_what_a_crash_has_ended(lazy_house: House, lazy_web: Web) -> None:
    execution = lazy_house.execution()
    follower = Follower(execution, [lazy_web.url], lazy_web.tokens["ann"])
    with following([follower]) as hear_the_end, closing(lazy_house.database()) as slow:
        has_heard(follower, "pending")
        slow.execute("BEGIN")
        slow.execute("SELECT pg_current_xact_id()")
        lazy_house.finish(execution)
        with lazy_house.database() as connection:
            pass_transactions(connection)
        has_heard(follower, "success")
        assert not follower.has_ended
        lazy_house.installation.postgres.restart(immediate=True)
        hear_the_end(30)
