"""The PostgreSQL server that belongs to one ``POIMEN_HOME``: made, started, checked and stopped here.

It refuses to believe files: a server runs when a connection works, and a pid counts when its process sits in our data.

Who may connect. The server listens on a Unix socket only, in a directory of mode 0700, and authenticates by *peer*:
the kernel says which user is at the other end, and one line of ``pg_ident.conf`` admits the user that runs Poimen as
the role ``poimen``. There is no password to leak and no other local user gets in. In turn the address carries
``requirepeer``, so that a client never talks to a server that someone else put in that place.

Root. PostgreSQL refuses to run as root, so for root the server runs as the system account ``poimen-postgres``
(``postgres_account``), which owns the data and nothing else; only root may connect.
"""

import contextlib
import fcntl
import hashlib
import math
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Literal
from urllib.parse import urlencode

from poimen_site.postgres_account import (
    SERVICE_RUNTIME,
    Account,
    account_name,
    ensure_account,
    everyone_reaches,
    installed_programs,
    invoking_user,
    private_state_directory,
    programs_for,
)

ROLE = DATABASE = "poimen"
PORT = 5432  # only part of the socket's name
SOCKET_PATH_LIMIT = 107 if sys.platform == "linux" else 103  # bytes in sockaddr_un, without the final NUL
START_SECONDS = 60.0
LOG_LIMIT = 8 * 1024 * 1024

SETTINGS = """\
# Written by Poimen at every start: changes made here are lost. Set DATABASE_URL to run a server of your own.
listen_addresses = ''
port = {port}
unix_socket_directories = '{socket}'
unix_socket_permissions = 0700
hba_file = '{directory}/pg_hba.conf'
ident_file = '{directory}/pg_ident.conf'
max_connections = 200
shared_buffers = 128MB
max_wal_size = 2GB
fsync = on
synchronous_commit = on
jit = off
timezone = 'UTC'
log_timezone = 'UTC'
log_line_prefix = '%m [%p] '
log_checkpoints = off
datestyle = 'iso, mdy'
default_text_search_config = 'pg_catalog.english'
"""

StopMode = Literal["fast", "immediate"]


class EmbeddedPostgresError(RuntimeError):
    """The server could not be made, started or stopped. The message carries the end of the server's log."""


class EmbeddedPostgres:
    """The server of ``home``. Making the object touches nothing; every method may be called from many processes."""

    def __init__(self, home: Path) -> None:
        self.home = home.expanduser().resolve()
        # A symbolic link when the service account cannot reach the home (postgres_account).
        self.directory = self.home / "postgres"
        self.data = self.directory / "data"
        self.log = self.directory / "server.log"

    @property
    def url(self) -> str:
        """The address of the database ``poimen``; known without the server, and the same for every process."""
        return self._url(DATABASE)

    @property
    def bin_dir(self) -> Path:
        """Where ``psql``, ``pg_dump`` and ``pgbench`` of the server's version are."""
        return installed_programs()

    @cached_property
    def socket_directory(self) -> Path:
        """Where the socket lies: in the home if the address fits there, else in a short private directory."""
        digest = hashlib.sha256(os.fsencode(self.home)).hexdigest()[:16]
        if os.geteuid() == 0:
            return SERVICE_RUNTIME / digest
        inside = self.directory / "socket"
        if len(os.fsencode(inside / f".s.PGSQL.{PORT}")) <= SOCKET_PATH_LIMIT:
            return inside
        return Path("/tmp") / f"poimen-{os.geteuid()}-{digest}"  # noqa: S108 - ownership is checked before use

    def is_running(self) -> bool:
        """True when a connection to the server works right now."""
        import psycopg

        try:
            with psycopg.connect(self._url("postgres"), connect_timeout=3, autocommit=True) as connection:
                connection.execute("SELECT 1")
        except psycopg.OperationalError as error:
            return "too many clients" in str(error)
        return True

    def start(self) -> None:
        """Make what is missing and return once the database accepts connections; nothing happens if it already does.

        Raises ``EmbeddedPostgresError`` or ``AccountError`` when that fails.
        """
        with self._locked():
            self._start()

    def stop(self, patience: float = 20.0) -> None:
        """Disconnect everybody, write everything down and end the server; nothing happens if it does not run.

        After ``patience`` seconds it is ended the hard way, and the next start recovers from the log.
        """
        with self._locked():
            self._stop("fast", patience)

    def restart(self, immediate: bool = False) -> None:
        """Stop and start. ``immediate`` aborts like a crash: nothing is flushed, the start recovers from the log."""
        with self._locked():
            self._stop("immediate" if immediate else "fast")
            self._start()

    def destroy(self) -> None:
        """Stop the server and delete its data for good. For homes that were made to be thrown away."""
        with self._locked():
            self._stop("immediate")
            shutil.rmtree(self.directory.resolve(), ignore_errors=True)
            self.directory.unlink(missing_ok=True)
            shutil.rmtree(self.socket_directory, ignore_errors=True)

    def postmaster_pid(self) -> int | None:
        """The process id of this home's server, or None. A pid file left by a dead server does not count."""
        import psutil

        try:
            pid = int((self.data / "postmaster.pid").read_text().split("\n", 1)[0])
            return pid if Path(psutil.Process(pid).cwd()) == self.data.resolve() else None
        except (FileNotFoundError, ValueError, psutil.Error):
            return None

    def _url(self, database: str) -> str:
        query = {"host": str(self.socket_directory), "port": PORT, "requirepeer": account_name()}
        return f"postgresql://{ROLE}@/{database}?{urlencode(query)}"

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        self.home.mkdir(parents=True, exist_ok=True)
        with (self.home / "postgres.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _start(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        if not self.is_running():
            account = ensure_account()
            try:
                self._prepare(account)
            except PermissionError as error:
                raise EmbeddedPostgresError(
                    f"{error.filename} cannot be written by {invoking_user()}. Start Poimen as the user that made this "
                    "home, or choose another POIMEN_HOME."
                ) from error
            while not self.is_running():
                # A server that is still recovering, or backends that outlive a killed one, make this fail for a while.
                self._forget_foreign_pids()
                done = self._run(account, "pg_ctl", "start", *self._server_options())
                if done.returncode != 0 and time.monotonic() > deadline:
                    raise EmbeddedPostgresError(self._report("PostgreSQL did not start", done))
                if done.returncode != 0:
                    time.sleep(0.2)
        self._create_database()

    def _stop(self, mode: StopMode, patience: float = 20.0) -> None:
        import psutil

        pid = self.postmaster_pid()
        if pid is None:
            return
        done = self._run(ensure_account(), "pg_ctl", "stop", "-m", mode, "-w", "-t", str(math.ceil(patience)))
        if done.returncode != 0 and self.postmaster_pid() == pid:
            with contextlib.suppress(psutil.NoSuchProcess):
                server = psutil.Process(pid)
                backends = server.children()
                server.send_signal(3)  # SIGQUIT: an immediate shutdown, which takes the backends along
                try:
                    server.wait(timeout=min(patience / 4, 5))
                except psutil.TimeoutExpired:
                    for process in (server, *backends):  # stopped, or stuck in the kernel
                        with contextlib.suppress(psutil.NoSuchProcess):
                            process.kill()
                    server.wait(timeout=5)
        with contextlib.suppress(OSError):  # not empty after a kill; the next start tidies up
            self.socket_directory.rmdir()

    def _server_options(self) -> list[str]:
        # pg_ctl composes a shell command of these. The home's own path may be closed to the account, hence resolve().
        data, settings = self.data.resolve(), self.directory.resolve() / "postgresql.conf"
        options = f"-D {shlex.quote(str(data))} -c config_file={shlex.quote(str(settings))}"
        log = re.sub(r'(["$`\\])', r"\\\1", str(self.log.resolve()))
        return ["-l", log, "-w", "-t", str(int(START_SECONDS)), "-o", options]

    def _prepare(self, account: Account) -> None:
        """Lay out directories, settings and, the first time, the data."""
        self._make_directory(account)
        real = self.directory.resolve()
        self._make_socket_directory(account)
        (real / "pg_hba.conf").write_text("local all all peer map=poimen\n")
        (real / "pg_ident.conf").write_text(f'poimen "{invoking_user()}" {ROLE}\n')
        text = SETTINGS.format(
            port=PORT,
            socket=str(self.socket_directory).replace("'", "''"),
            directory=str(real).replace("'", "''"),
        )
        (real / "postgresql.conf").write_text(text)
        for name in ("pg_hba.conf", "pg_ident.conf", "postgresql.conf"):
            (real / name).chmod(0o644)
        if self.log.exists() and self.log.stat().st_size > LOG_LIMIT:
            self.log.replace(self.log.with_suffix(".log.1"))
        self.log.touch(mode=0o600)
        self._hand_over(self.log, account)
        if not self.data.is_dir():
            self._initialise(account, real)
        elif self.data.stat().st_uid != account.uid:
            raise EmbeddedPostgresError(
                f"The database in {self.data} belongs to user id {self.data.stat().st_uid}, and {account.name} would "
                "run it. Start Poimen as the user that made this home, or choose another POIMEN_HOME."
            )

    def _make_directory(self, account: Account) -> None:
        if self.directory.is_dir():
            return
        if self.directory.is_symlink():
            raise EmbeddedPostgresError(
                f"{self.directory} points to {self.directory.readlink()}, which is gone, and the database with it. "
                "Restore it, or delete the link to start with an empty database."
            )
        if account.drops_root and not everyone_reaches(self.home):
            self.directory.symlink_to(private_state_directory())
        else:
            self.directory.mkdir()
            self.directory.chmod(0o711 if account.drops_root else 0o700)

    def _make_socket_directory(self, account: Account) -> None:
        self.socket_directory.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            self.socket_directory.mkdir(mode=0o700)
        self._hand_over(self.socket_directory, account)
        found = self.socket_directory.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != account.uid or stat.S_IMODE(found.st_mode) & 0o077:
            raise EmbeddedPostgresError(
                f"{self.socket_directory} must be a directory of mode 0700 that belongs to {account.name}, because "
                "the database listens in it. Remove what is there."
            )

    def _initialise(self, account: Account, real: Path) -> None:
        """Run ``initdb`` beside the final place, so that a start that was interrupted leaves nothing half-made."""
        draft = real / "data.new"
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(mode=0o700)
        self._hand_over(draft, account)
        done = self._run(
            account,
            *("initdb", "-D", str(draft), "-U", ROLE, "--auth=peer", "--encoding=UTF8"),
            *("--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"),
        )
        if done.returncode != 0:
            raise EmbeddedPostgresError(self._report("initdb failed", done))
        draft.rename(real / "data")

    def _hand_over(self, path: Path, account: Account) -> None:
        # Always below a directory that only root can write, so the path cannot be swapped under us.
        if account.drops_root:
            os.chown(path, account.uid, account.gid, follow_symlinks=False)

    def _forget_foreign_pids(self) -> None:
        """Delete lock files whose pid was reused by a process that is not this server (after a reboot, say).

        PostgreSQL would take that process for a live server and refuse to start. Backends of a killed server stay
        noticed: PostgreSQL finds those by the shared memory they hold.
        """
        if self.postmaster_pid() is None:
            (self.data / "postmaster.pid").unlink(missing_ok=True)
            (self.socket_directory / f".s.PGSQL.{PORT}.lock").unlink(missing_ok=True)

    def _create_database(self) -> None:
        import psycopg

        with psycopg.connect(self._url("postgres"), connect_timeout=10, autocommit=True) as connection:
            found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone()
            if found is None:
                connection.execute(f"CREATE DATABASE {DATABASE}")

    def _run(self, account: Account, program: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run a program of the server as ``account``, without the caller's environment and its PG* settings."""
        command = [str(programs_for(account) / program), *arguments]
        # PGDATA rather than pg_ctl's -D, which does not survive its shell with every name of a directory.
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "PGDATA": str(self.data.resolve())}
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            cwd="/",
            env=environment,
            user=account.uid if account.drops_root else None,
            group=account.gid if account.drops_root else None,
            extra_groups=[] if account.drops_root else None,
            check=False,
        )

    def _report(self, what: str, done: "subprocess.CompletedProcess[str]") -> str:
        said = (done.stderr or done.stdout).strip()
        log = self.log.read_text(errors="replace").splitlines()[-15:] if self.log.exists() else []
        return "\n".join([f"{what} in {self.directory} (exit {done.returncode}): {said}", *log])
