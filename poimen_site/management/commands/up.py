"""``manage.py up``: database, web, worker and clock on one machine, under one supervisor (``bin/run``).

It refuses a home that another supervisor holds and a port that something else listens on. Starting is a matter of
loading code: so the web process loads its own, and the database starts, while this process loads Django (manage.py
calls this command before it does), and worker and clock wait until the web process answers.
"""

import fcntl
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any

import django
import psutil
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connections

from poimen_site import supervisor_guard
from poimen_site.embedded_postgres import EmbeddedPostgres, EmbeddedPostgresError
from poimen_site.environment import without_password
from poimen_site.listening import listen
from poimen_site.postgres_account import AccountError
from poimen_site.supervisor import NEVER, Service, Supervisor
from poimen_site.web_probe import WebProbe

DATABASE_CHECK_SECONDS = 2.0
DATABASE_PATIENCE_SECONDS = 2.0  # with what the services need to end it stays under ten seconds
WEB_CHECK_SECONDS = 10.0
WEB_START_SECONDS = 60.0  # until then a web process that does not answer is starting, not deaf
LEFTOVERS_SECONDS = 20.0  # how long the guard of a killed supervisor may need
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


_asked_to_leave = threading.Event()


class Command(BaseCommand):
    """Runs until SIGTERM or SIGINT."""

    help = "Run Poimen on this machine: database, web, worker and clock."
    requires_system_checks = ()  # the web process checks

    def add_arguments(self, parser: CommandParser) -> None:
        """Take ``--demo-llm``."""
        parser.add_argument(
            "--demo-llm", action="store_true", help="also run a language model made of rules, and use it"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Prepare the home, start everything, keep it running."""
        began = time.monotonic()
        home = Path(settings.POIMEN_HOME)
        # Until the loop runs, a signal simply ends the start.
        for number in STOP_SIGNALS:
            signal.signal(number, _leave)
        lock = _own(home)
        listener = listen(settings.HOST, settings.PORT)
        database = None if settings.DATABASE_URL else EmbeddedPostgres(home)
        guard = _guard(lock.fileno(), home if database else None)
        gate, opener = os.pipe()
        services = _services(listener, gate)
        if options["demo_llm"]:
            services.append(_demo_llm())
        supervisor = Supervisor(services)
        try:
            supervisor.start("web")
            with ThreadPoolExecutor(1) as beside:
                starting = beside.submit(self._start, database, supervisor)
                django.setup()
                starting.result()
            from poimen_site.home import prepare

            prepare(home, supervisor.say)
            os.close(opener)
            for number in STOP_SIGNALS:
                signal.signal(number, supervisor.stop)
            if _asked_to_leave.is_set():
                raise SystemExit(130)
            self._watch(supervisor, database, home, began)
            supervisor.run()
        except (AccountError, EmbeddedPostgresError) as error:
            raise CommandError(str(error)) from error
        finally:
            supervisor.end()
            listener.close()
            connections.close_all()
            if database is not None:
                database.stop(DATABASE_PATIENCE_SECONDS)
            assert guard.stdin is not None
            guard.stdin.close()
            guard.wait()
            lock.close()
        self.stdout.write("poimen | stopped")

    def _start(self, database: EmbeddedPostgres | None, supervisor: Supervisor) -> None:
        if database is not None:
            supervisor.say("starting the database" if database.data.exists() else "making the database")
            database.start()
        else:
            # Before anybody waits for it: a server that is not there may take long to be given up.
            supervisor.say(f"connecting to the database at {without_password(settings.DATABASE_URL)}")

    def _watch(self, supervisor: Supervisor, database: EmbeddedPostgres | None, home: Path, began: float) -> None:
        """Give the supervisor its duties."""
        from poimen_site.first_run import FirstRun

        probe = WebProbe(settings.HOST, settings.PORT)
        first_run = FirstRun(home, supervisor.say)
        is_greeted = False

        def greet() -> None:
            nonlocal is_greeted
            if is_greeted:
                return
            if probe.has_answered or time.monotonic() - began > WEB_START_SECONDS:
                is_greeted = True
                if probe.has_answered:
                    host = f"[{settings.HOST}]" if ":" in settings.HOST else settings.HOST
                    seconds = time.monotonic() - began
                    supervisor.say(f"Poimen is at http://{host}:{settings.PORT}/ (home {home}, after {seconds:.1f} s)")
                supervisor.start("worker")
                supervisor.start("clock")
            else:
                probe.ask()

        supervisor.say("starting web, worker and clock")
        supervisor.every(0.1, greet)
        supervisor.every(0.5, lambda: first_run.advance() if is_greeted else None, aside=True)
        supervisor.every(WEB_CHECK_SECONDS, lambda: _check_web(probe, supervisor))
        if database is not None:
            supervisor.every(DATABASE_CHECK_SECONDS, lambda: _revive(database, supervisor), aside=True)


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


def _services(listener: socket.socket, gate: int) -> list[Service]:
    manage = [sys.executable, str(settings.BASE_DIR / "manage.py")]
    place = ["--fd", str(listener.fileno()), "--gate", str(gate)]
    return [
        Service("web", [*manage, "web", *place], fds=[listener.fileno(), gate]),
        Service("worker", [*manage, "qcluster"], start_at=NEVER),
        Service("clock", [*manage, "clock"], start_at=NEVER),
    ]


def _demo_llm() -> Service:
    """A server of a port of its own, which stays when the process is replaced; the others are told where it is."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    os.environ["LOCAL_LLM_BASE_URL"] = f"http://127.0.0.1:{listener.getsockname()[1]}"
    os.environ["LOCAL_LLM_API_KEY"] = ""  # one that is set is for another server
    argv = [sys.executable, "-m", "agents.demo_llm", "--fd", str(listener.detach())]
    return Service("llm", argv, environment={"PYTHONPATH": str(settings.BASE_DIR)}, fds=[int(argv[-1])])


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
    # A server that is there but does not answer recovers or hangs: another one beside it would help nobody.
    if database.postmaster_pid() is None:
        supervisor.say("the database is gone; starting it again")
        database.start()
