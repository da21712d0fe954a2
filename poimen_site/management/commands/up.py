"""``manage.py up``: database, web, worker and clock on one machine, under one supervisor (``bin/run``)."""

import fcntl
import os
import secrets
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connections

from poimen_site.embedded_postgres import EmbeddedPostgres
from poimen_site.first_run import FirstRun, load_examples
from poimen_site.supervisor import Service, Supervisor
from workflows.access import default_customer
from workflows.models import Membership, Role

DATABASE_CHECK_SECONDS = 2.0


class Command(BaseCommand):
    """Runs until SIGTERM or SIGINT."""

    help = "Run Poimen on this machine: database, web, worker and clock."

    def handle(self, *args: Any, **options: Any) -> None:
        """Prepare the home, start everything, keep it running."""
        began = time.monotonic()
        home = Path(settings.POIMEN_HOME)
        home.mkdir(parents=True, exist_ok=True)
        lock = _own(home)
        listener = _listen(settings.HOST, settings.PORT)
        # Until the loop runs, a signal simply ends the start.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _leave)
        database = None if os.environ.get("DATABASE_URL") else EmbeddedPostgres(home)
        try:
            if database is not None:
                self.stdout.write("poimen | starting the database")
                database.start()
            call_command("migrate", verbosity=0)
            password = _ensure_admin(home)
            loaded = load_examples()
            connections.close_all()
            supervisor = Supervisor(_services(listener))
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, supervisor.stop)
            if database is not None:
                supervisor.every(DATABASE_CHECK_SECONDS, lambda: _revive(database, supervisor))
            first_run = FirstRun(home, supervisor.say)
            supervisor.every(0.5, first_run.advance)
            self._greet(supervisor, home, password, loaded, time.monotonic() - began)
            supervisor.run()
        finally:
            connections.close_all()
            if database is not None:
                database.stop()
            listener.close()
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
    raise SystemExit(130)


def _own(home: Path) -> Any:
    """Hold the home for this supervisor alone; raises :class:`CommandError` if another one has it."""
    lock = (home / "up.lock").open("a+")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        holder = lock.read().strip()
        raise CommandError(
            f"Poimen is already running on {home}"
            + (f" (process {holder})" if holder else "")
            + ". Stop it first, or set POIMEN_HOME and PORT to run another one beside it."
        ) from None
    lock.truncate(0)
    lock.write(str(os.getpid()))
    lock.flush()
    return lock


def _listen(host: str, port: int) -> socket.socket:
    """Open the web port, so that it stays ours while the web process is restarted; raises :class:`CommandError`."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(512)
    except OSError as error:
        raise CommandError(
            f"Cannot listen on {host}:{port}: {error.strerror or error}. Set PORT (or HOST) to something that is free."
        ) from None
    return listener


def _services(listener: socket.socket) -> list[Service]:
    manage = [sys.executable, str(settings.BASE_DIR / "manage.py")]
    return [
        Service("web", [*manage, "web", "--fd", str(listener.fileno())], fds=[listener.fileno()]),
        Service("worker", [*manage, "qcluster"]),
        Service("clock", [*manage, "clock"]),
    ]


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
        path = home / "admin-password"
        path.touch(mode=0o600, exist_ok=True)
        path.chmod(0o600)
        path.write_text(password + "\n")
        shown = "" if wanted else password
    Membership.objects.get_or_create(user=user, customer=default_customer(), defaults={"role": Role.ADMIN})
    return shown
