"""``manage.py qcluster``: a django-q2 cluster whose workers pump, under watch.

django-q2's cluster can stand still for good when a worker is killed while it holds the task queue's lock. This
command therefore watches for signs of life, and replaces a cluster that has fallen silent. Its processes die with it.
"""

import contextlib
import ctypes
import logging
import os
import signal
import socket
import time
from typing import Any

import psutil
import psycopg
from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import connections

from workflows.engine import control_block, hints
from workflows.engine.store import direct_connection
from workflows.identifiers import new_id

log = logging.getLogger(__name__)

SILENCE_SECONDS = 20.0  # without enough signs of life, the database being there: the cluster is replaced
ALIVE_SECONDS = 8.0
STOP_SECONDS = 8.0
_PR_SET_PDEATHSIG = 1


class Command(BaseCommand):
    """Runs until SIGTERM or SIGINT."""

    help = "Run worker processes that drive executions."

    def handle(self, *args: Any, **options: Any) -> None:
        """Run clusters, one after another if one falls silent."""
        self._stopping = False
        self._id = new_id()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        while not self._stopping:
            self._run_cluster()
        with contextlib.suppress(psycopg.Error), direct_connection() as connection:
            connection.execute("DELETE FROM workflows_process WHERE id = %s", (self._id,))

    def _stop(self, *_: Any) -> None:
        self._stopping = True
        control_block.ask_stop()

    def _run_cluster(self) -> None:
        control_block.create()
        pid = os.fork()
        if pid == 0:
            _lead_cluster()
        log.info("cluster %d with %d workers starts", pid, settings.POIMEN_WORKERS)
        heard_at = time.monotonic()
        while not self._stopping:
            if os.waitpid(pid, os.WNOHANG)[0]:
                log.error("the cluster has ended by itself; starting another")
                time.sleep(1)
                return
            database_is_there = self._beat()
            enough = control_block.alive(ALIVE_SECONDS) >= settings.POIMEN_WORKERS
            if enough or not database_is_there:
                heard_at = time.monotonic()
            if time.monotonic() - heard_at > SILENCE_SECONDS:
                log.error("the cluster is silent; replacing it")
                _kill_tree(pid)
                return
            time.sleep(0.5)
        self._end(pid)

    def _end(self, pid: int) -> None:
        """Let the pumps give back what they hold, then end the cluster's processes."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS
        while time.monotonic() < deadline:
            if os.waitpid(pid, os.WNOHANG)[0]:
                return
            time.sleep(0.05)
        log.warning("the cluster did not stop in %.0f s; ending it", STOP_SECONDS)
        _kill_tree(pid)

    def _beat(self) -> bool:
        """Sign in as a cluster with so many workers; returns whether the database is there."""
        try:
            with direct_connection() as connection:
                connection.execute(
                    "INSERT INTO workflows_process (id, kind, host, pid, started_at, heartbeat_at, details) "
                    "VALUES (%s, 'cluster', %s, %s, now(), now(), jsonb_build_object('workers', %s::int)) "
                    "ON CONFLICT (id) DO UPDATE SET heartbeat_at = now(), details = EXCLUDED.details",
                    (
                        self._id,
                        socket.gethostname(),
                        os.getpid(),
                        settings.POIMEN_WORKERS,
                    ),
                )
        except psycopg.Error:
            return False
        return True


def _lead_cluster() -> None:
    """In the forked child: run django-q2's cluster; every process it forks dies with its parent."""
    from django_q.cluster import Cluster
    from django_q.signals import post_spawn

    # A pool's threads do not survive a fork and its connections must not: this process and its children do without.
    connections.close_all()
    connections.settings["default"]["OPTIONS"].pop("pool", None)
    _die_with_parent()
    os.register_at_fork(after_in_child=_die_with_parent)
    post_spawn.connect(_ask_for_pump, weak=False)
    cluster = Cluster()
    cluster.start()
    assert cluster.sentinel is not None
    cluster.sentinel.join()
    os._exit(0)


def _ask_for_pump(**_: Any) -> None:
    # In a fresh worker: it will take a task soon, so there should be one.
    try:
        hints.request_pumps(settings.POIMEN_WORKERS)
    except Exception:
        log.warning("could not ask for a pump; the clock will", exc_info=True)


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _kill_tree(pid: int) -> None:
    with contextlib.suppress(psutil.Error):
        leader = psutil.Process(pid)
        for process in [*leader.children(recursive=True), leader]:
            with contextlib.suppress(psutil.Error):
                process.kill()
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)
