"""The embedded server's life: made on first use, found again after crashes, closed to everybody else."""

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest

from poimen_site.embedded_postgres import SOCKET_PATH_LIMIT, EmbeddedPostgres, EmbeddedPostgresError
from poimen_site.postgres_account import SERVICE_STATE


@pytest.fixture
def home() -> Iterator[Path]:
    """A new home that every user can traverse, as homes usually are."""
    directory = Path(tempfile.mkdtemp(prefix="poimen-home-"))
    directory.chmod(0o755)
    yield directory
    EmbeddedPostgres(directory).destroy()
    shutil.rmtree(directory)


def note(server: EmbeddedPostgres, text: str) -> None:
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS note (text text)")
        connection.execute("INSERT INTO note VALUES (%s)", [text])


def notes(server: EmbeddedPostgres) -> list[str]:
    with psycopg.connect(server.url) as connection:
        return [row[0] for row in connection.execute("SELECT text FROM note")]


def test_data_survive_stop_crash_and_immediate_restart(home: Path) -> None:
    server = EmbeddedPostgres(home)
    address = server.url
    assert not server.is_running()
    server.start()
    assert server.url == address
    note(server, "written")
    server.start()  # once more changes nothing

    server.restart(immediate=True)
    assert notes(server) == ["written"]

    pid = server.postmaster_pid()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert (server.data / "postmaster.pid").exists()
    assert not server.is_running()
    server.start()
    assert notes(server) == ["written"]
    assert server.postmaster_pid() != pid

    server.stop()
    assert not server.is_running()
    assert not server.socket_directory.exists()
    server.stop()  # nor does this
    EmbeddedPostgres(home).start()
    assert notes(server) == ["written"]


def test_the_server_is_durable_and_has_what_poimen_needs(home: Path) -> None:
    server = EmbeddedPostgres(home)
    server.start()
    with psycopg.connect(server.url, autocommit=True) as connection:
        shown = {
            name: connection.execute(f"SHOW {name}").fetchone()
            for name in ("fsync", "synchronous_commit", "max_connections", "listen_addresses", "server_encoding")
        }
        connection.execute("CREATE EXTENSION vector")
    assert {name: row and row[0] for name, row in shown.items()} == {
        "fsync": "on",
        "synchronous_commit": "on",
        "max_connections": "200",
        "listen_addresses": "",
        "server_encoding": "UTF8",
    }
    for program in ("psql", "pg_dump", "pgbench"):
        assert subprocess.run([server.bin_dir / program, "--version"], capture_output=True).returncode == 0


def test_a_pid_that_was_reused_by_another_process_keeps_nobody_from_starting(home: Path) -> None:
    server = EmbeddedPostgres(home)
    server.start()
    pid = server.postmaster_pid()
    assert pid is not None
    text = (server.data / "postmaster.pid").read_text()
    os.kill(pid, signal.SIGKILL)
    other = EmbeddedPostgres(home / "other")
    other.start()  # runs as the same user, so PostgreSQL would take it for the owner of the file
    try:
        (server.data / "postmaster.pid").write_text(text.replace(str(pid), str(other.postmaster_pid()), 1))
        server.start()
        assert server.is_running()
        assert other.is_running()
    finally:
        other.destroy()


def test_two_processes_that_start_it_at_once_share_one_server(home: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from poimen_site.embedded_postgres import EmbeddedPostgres as E; "
        "e = E(Path(sys.argv[1])); e.start(); print(e.postmaster_pid())"
    )
    racers = [
        subprocess.Popen([sys.executable, "-c", code, str(home)], stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    pids = {racer.communicate(timeout=60)[0].strip() for racer in racers}
    assert len(pids) == 1
    assert pids == {str(EmbeddedPostgres(home).postmaster_pid())}


def test_an_interrupted_first_start_leaves_nothing_half_made(home: Path) -> None:
    server = EmbeddedPostgres(home)
    (server.directory / "data.new").mkdir(parents=True)
    (server.directory / "data.new" / "PG_VERSION").write_text("18\n")
    server.directory.chmod(0o711)
    server.start()
    assert server.is_running()
    assert not (server.directory / "data.new").exists()


def test_a_home_far_down_and_with_odd_characters_works(home: Path) -> None:
    deep = home / 'it\'s a "home" ü' / "/".join(["directory"] * 20)
    deep.mkdir(parents=True)
    server = EmbeddedPostgres(deep)
    socket = Path(parse_qs(urlsplit(server.url).query)["host"][0]) / ".s.PGSQL.5432"
    assert len(os.fsencode(deep)) > SOCKET_PATH_LIMIT >= len(os.fsencode(socket))
    server.start()
    try:
        note(server, "deep")
        server.restart()
        assert notes(server) == ["deep"]
    finally:
        server.destroy()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs the server as another user")
def test_root_opens_no_directory_for_the_server_and_keeps_its_data_where_it_can_reach_them(home: Path) -> None:
    home.chmod(0o700)
    server = EmbeddedPostgres(home)
    server.start()
    assert home.stat().st_mode & 0o777 == 0o700
    assert server.directory.resolve().parent == SERVICE_STATE
    note(server, "elsewhere")
    server.restart()
    assert notes(server) == ["elsewhere"]
    real = server.directory.resolve()
    server.destroy()
    assert not real.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")
def test_no_other_local_user_gets_in(home: Path) -> None:
    server = EmbeddedPostgres(home)
    server.start()
    nobody = pwd.getpwnam("nobody")
    command = [str(server.bin_dir / "psql"), server.url, "-c", "SELECT 1"]
    tried = subprocess.run(command, user=nobody.pw_uid, capture_output=True, text=True, cwd="/")
    assert tried.returncode != 0
    # Not even where the directory is no obstacle: the server asks the kernel who is there.
    server.socket_directory.chmod(0o755)
    (server.socket_directory / ".s.PGSQL.5432").chmod(0o777)
    tried = subprocess.run(command, user=nobody.pw_uid, capture_output=True, text=True, cwd="/")
    assert "Peer authentication failed" in tried.stderr


def test_a_start_that_cannot_work_says_why(home: Path) -> None:
    server = EmbeddedPostgres(home)
    server.directory.symlink_to(home / "gone")
    with pytest.raises(EmbeddedPostgresError, match="which is gone"):
        server.start()
    server.directory.unlink()
