"""``manage.py up``: database, web, worker and clock on one machine, under one supervisor (``bin/run``).

It refuses a home that another supervisor holds and a port that something else listens on.
"""

import fcntl
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any

import psutil
from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connections

from poimen_site import supervisor_guard
from poimen_site.embedded_postgres import EmbeddedPostgres, EmbeddedPostgresError
from poimen_site.first_run import FirstRun, load_examples
from poimen_site.listening import listen
from poimen_site.postgres_account import AccountError
from poimen_site.supervisor import Service, Supervisor
from poimen_site.web_probe import WebProbe
from workflows.access import default_customer
from workflows.models import Membership, Role

DATABASE_CHECK_SECONDS = 2.0
WEB_CHECK_SECONDS = 10.0
WEB_START_SECONDS = 60.0  # until then a web process that does not answer is starting, not deaf
LEFTOVERS_SECONDS = 20.0  # how long the guard of a killed supervisor may need
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


_asked_to_leave = threading.Event()


class Command(BaseCommand):
    """Runs until SIGTERM or SIGINT."""

    help = "Run Poimen on this machine: database, web, worker and clock."

    def handle(self, *args: Any, **options: Any) -> None:
        """Prepare the home, start everything, keep it running."""
        began = time.monotonic()
        home = Path(settings.POIMEN_HOME)
        home.mkdir(parents=True, exist_ok=True)
        # Until the loop runs, a signal simply ends the start.
        for number in STOP_SIGNALS:
            signal.signal(number, _leave)
        lock = _own(home)
        listener = listen(settings.HOST, settings.PORT)
        database = None if settings.DATABASE_URL else EmbeddedPostgres(home)
        guard = _guard(lock.fileno(), home if database else None)
        try:
            if database is not None:
                self.stdout.write("poimen | starting the database")
                database.start()
            call_command("migrate", verbosity=0)
            password = _ensure_admin(home)
            loaded = load_examples()
            connections.close_all()
            supervisor = Supervisor(_services(listener))
            for number in STOP_SIGNALS:
                signal.signal(number, supervisor.stop)
            if _asked_to_leave.is_set():
                raise SystemExit(130)
            probe = WebProbe(settings.HOST, settings.PORT)
            supervisor.every(WEB_CHECK_SECONDS, lambda: _check_web(probe, supervisor))
            if database is not None:
                supervisor.every(DATABASE_CHECK_SECONDS, lambda: _revive(database, supervisor))
            first_run = FirstRun(home, supervisor.say)
            supervisor.every(0.5, first_run.advance)
            self._greet(supervisor, home, password, loaded, time.monotonic() - began)
            supervisor.run()
        except (AccountError, EmbeddedPostgresError) as error:
            raise CommandError(str(error)) from error
        finally:
            listener.close()
            connections.close_all()
            if database is not None:
                database.stop()
            assert guard.stdin is not None
            guard.stdin.close()
            guard.wait()
            lock.close()
        self.stdout.write("poimen | stopped")

    def _greet(self, supervisor: Supervisor, home: Path, password: str, loaded: int, seconds: float) -> None:
        host = f"[{settings.HOST}]" if ":" in settings.HOST else settings.HOST
        supervisor.say(f"Poimen is at http://{host}:{settings.PORT}/ (home {home}, prepared in {seconds:.1f} s)")
        if password:
            supervisor.say(f"Sign in as admin with the password {password}")
            supervisor.say(f"It is kept in {home / 'admin-password'} and not shown again.")
        if loaded:
            supervisor.say(f"{loaded} example workflows were loaded.")


def _leave(*_: Any) -> None:
    # The exception can be lost, if it is raised while a finalizer runs: the flag is not.
    _asked_to_leave.set()
    raise SystemExit(130)


def _own(home: Path) -> IO[str]:
    """Hold the home for this supervisor alone; raises :class:`CommandError` if another one has it.

    Of a supervisor that was killed its guard still holds the home, for the seconds it takes to tidy up.
    """
    lock = (home / "up.lock").open("a+")
    deadline = time.monotonic() + LEFTOVERS_SECONDS
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            holder = lock.read().strip()
            if (holder.isdigit() and psutil.pid_exists(int(holder))) or time.monotonic() > deadline:
                raise CommandError(
                    f"Poimen is already running on {home}"
                    + (f" (process {holder})" if holder else "")
                    + ". Stop it first, or set POIMEN_HOME and PORT to run another one beside it."
                ) from None
            time.sleep(0.1)
        else:
            break
    lock.truncate(0)
    lock.write(str(os.getpid()))
    lock.flush()
    return lock


def _services(listener: socket.socket) -> list[Service]:
    manage = [sys.executable, str(settings.BASE_DIR / "manage.py")]
    return [
        Service("web", [*manage, "web", "--fd", str(listener.fileno())], fds=[listener.fileno()]),
        Service("worker", [*manage, "qcluster"]),
        Service("clock", [*manage, "clock"]),
    ]


def _guard(lock: int, home: Path | None) -> "subprocess.Popen[bytes]":
    """Start the process that tidies up if this one is killed; it shares the lock, and waits for its input to end."""
    return subprocess.Popen(
        [sys.executable, "-m", supervisor_guard.__name__, str(os.getpid()), str(home or "")],
        stdin=subprocess.PIPE,
        cwd=settings.BASE_DIR,
        pass_fds=[lock],
        start_new_session=True,
    )


def _check_web(probe: WebProbe, supervisor: Supervisor) -> None:
    if supervisor.seconds_up("web") < WEB_START_SECONDS:
        probe.forget()
    elif probe.is_deaf:
        supervisor.say("web runs, but does not answer; replacing it")
        supervisor.replace("web")
        probe.forget()
    else:
        probe.ask()


def _revive(database: EmbeddedPostgres, supervisor: Supervisor) -> None:
    if not database.is_running():
        supervisor.say("the database is gone; starting it again")
        database.start()


def _ensure_admin(home: Path) -> str:
    """Make the user ``admin`` if there is none; returns a generated password once, else an empty text."""
    users = get_user_model().objects
    user = users.filter(username="admin").first()
    wanted = os.environ.get("POIMEN_ADMIN_PASSWORD", "")
    shown = ""
    if user is None:
        password = wanted or secrets.token_urlsafe(12)
        user = users.create_superuser("admin", email="", password=password)
        if not wanted:
            path = home / "admin-password"
            path.touch(mode=0o600, exist_ok=True)
            path.chmod(0o600)
            path.write_text(password + "\n")
            shown = password
    Membership.objects.get_or_create(user=user, customer=default_customer(), defaults={"role": Role.ADMIN})
    return shown
