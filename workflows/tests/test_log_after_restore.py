"""A dump restored into a new server, whose transaction ids start over: the log reads on as if nothing had been."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from workflows.tests.chaos.installation import Installation, eventually
from workflows.tests.chaos.supervisor import Supervisor

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

WAITS = {
    "name": "waits",
    "states": [
        {"name": "T", "type": "Wait", "duration": "1s"},
        {"name": "B", "type": "Task", "resource": "EchoActivity", "parameters": {"value": 1}},
    ],
}
READ = """
import django, json, sys
django.setup()
from uuid import UUID
from workflows.api.logs import lines_after
print(json.dumps([line.message for line in lines_after(UUID(sys.argv[1]), None, 100)[0]]))
"""


@pytest.fixture
def old_and_new(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Installation, Installation]]:
    homes = [tmp_path_factory.mktemp(name) / "home" for name in ("old", "new")]
    with Installation(homes[0]) as old, Installation(homes[1], POIMEN_WORKERS="1") as new:
        yield old, new


def log_of(installation: Installation, execution: str) -> list[str]:
    """What a reader is shown."""
    lines: list[str] = json.loads(installation._run("-c", READ, execution))
    return lines


def let_pass(installation: Installation, transactions: int) -> None:
    with psycopg.connect(installation.postgres.url, autocommit=True) as connection:
        connection.execute("SET synchronous_commit = off")
        connection.execute(
            f"DO $$ BEGIN FOR i IN 1..{transactions} LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$"
        )


def copy(old: Installation, new: Installation) -> None:
    """What an administrator does: ``pg_dump`` here, ``pg_restore`` there."""
    dump = old.home / "dump"
    programs = old.postgres.bin_dir
    commands: list[list[str | Path]] = [
        [programs / "pg_dump", "--format=custom", f"--file={dump}", old.postgres.url],
        [programs / "pg_restore", "--clean", "--if-exists", f"--dbname={new.postgres.url}", dump],
    ]
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_a_log_goes_on_in_order_on_a_new_server(old_and_new: tuple[Installation, Installation]) -> None:
    old, new = old_and_new
    let_pass(old, 20_000)
    (execution,) = old.submit(WAITS)
    old.rows(
        "INSERT INTO workflows_logentry (execution_id, node_id, level, event, message) "
        "VALUES (%s, '', 'info', '', 'the last on the old server') RETURNING 1",
        execution,
    )
    before = ["waits started", "the last on the old server"]
    assert log_of(old, execution) == before
    copy(old, new)
    ended = "SELECT 1 FROM workflows_execution WHERE status = 'success'"
    with Supervisor(new, "qcluster", "clock"):
        eventually("it ends on the new server", lambda: new.rows(ended), 90)
    lines: list[Any] = log_of(new, execution)
    assert lines[:2] == before
    assert lines[-1] == "waits finished: success"
    assert len(lines) >= 5
