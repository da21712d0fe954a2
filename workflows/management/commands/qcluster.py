"""``manage.py qcluster``: a django-q2 cluster whose workers pump, under watch.

django-q2's cluster can stand still for good when a worker is killed while it holds the task queue's lock. This
command therefore watches for signs of life, and replaces a cluster that has fallen silent. Its processes die with it.
"""

import contextlib
import ctypes
import logging
import multiprocessing
import os
import signal
import time
from typing import Any

import psutil
import psycopg
from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import DatabaseError, InterfaceError, connections

from workflows.engine import control_block, hints, presence
from workflows.engine.store import direct_connection
from workflows.identifiers import new_id
from workflows.models import ProcessKind

log = logging.getLogger(__name__)

ALIVE_SECONDS = 8.0  # a pump beats every quarter of a lease
SILENCE_SECONDS = 6.0  # no pump at all, the database being there: nothing runs, so the cluster is replaced at once
SHORTAGE_SECONDS = 20.0  # some pumps: those that live finish what they hold before the cluster is replaced
LASTING_SECONDS = 30.0  # whole for so long, a cluster was not replaced in vain
MOST_PATIENCE = 16
STOP_SECONDS = 8.0
BEAT_SECONDS = 1.0
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


class Command(BaseCommand):
    """Runs until SIGTERM or SIGINT."""

    help = "Run worker processes that drive executions."
    requires_system_checks = ()  # the pages' and the API's checks are the web process's business

    def handle(self, *args: Any, **options: Any) -> None:
        """Run clusters, one after another if one falls silent."""
        self._stopping = False
        self._problem = ""
        self._in_vain = 0  # clusters in a row that were replaced before any of their pumps got up
        self._id = new_id()
        log.info("the cluster connects to the database")
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)  # what its processes leave behind is collected here
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        while not self._stopping:
            self._run_cluster()
        with contextlib.suppress(psycopg.Error), direct_connection() as connection:
            presence.sign_off(connection, self._id)

    def _stop(self, *_: Any) -> None:
        self._stopping = True
        control_block.ask_stop()

    def _run_cluster(self) -> None:
        told = ""
        while not self._beat():  # a cluster cannot start without the database
            if self._stopping:
                return
            if self._problem != told:
                log.warning("the cluster waits for the database (%s)", self._problem)
                told = self._problem
            time.sleep(0.5)
        control_block.create()
        # Before the fork: what writing a line takes is then loaded for every worker.
        log.info("a cluster with %d workers starts", settings.POIMEN_WORKERS)
        pid = os.fork()
        if pid == 0:
            _lead_cluster()
        # Where many starve for the processor, replacing them at once makes all of it worse: nobody would ever get up.
        watch = _Watch(settings.POIMEN_WORKERS, min(2 ** max(self._in_vain - 1, 0), MOST_PATIENCE))
        database_is_there, beat_at = True, time.monotonic()
        while not self._stopping:
            if _collect(pid):
                log.error("the cluster has ended by itself; starting another")
                _kill_tree()
                time.sleep(0.2)
                return
            if (asked_at := time.monotonic()) - beat_at >= BEAT_SECONDS:
                database_is_there, beat_at = self._beat(), time.monotonic()
                if beat_at - asked_at > SILENCE_SECONDS / 3:
                    watch.forgive()  # the database hung, and the pumps could not beat any more than we could
            verdict = watch.judge(control_block.alive(ALIVE_SECONDS), database_is_there)
            if watch.has_lasted:
                self._in_vain = 0
            elif verdict != "fine":  # one that got up and was killed is replaced as promptly as the first
                self._in_vain = 0 if watch.has_risen else self._in_vain + 1
            match verdict:
                case "silent":
                    log.error("the cluster is silent; replacing it")
                    _kill_tree()
                    return
                case "short":
                    log.error("the cluster is short of workers; replacing it")
                    control_block.ask_stop()
                    break
            time.sleep(0.1)
        self._end(pid)

    def _end(self, pid: int) -> None:
        """Let the pumps give back what they hold, then end the cluster's processes."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS
        while time.monotonic() < deadline:
            if _collect(pid):
                _kill_tree()
                return
            time.sleep(0.05)
        log.warning("the cluster did not stop in %.0f s; ending it", STOP_SECONDS)
        _kill_tree()

    def _beat(self) -> bool:
        """Sign in as a cluster with so many workers; returns whether the database is there."""
        try:
            with direct_connection() as connection:
                presence.sign_in(connection, self._id, ProcessKind.CLUSTER, workers=settings.POIMEN_WORKERS)
        except psycopg.Error as error:
            self._problem = str(error).strip().partition("\n")[0]
            return False
        return True


class _Watch:
    """Tells a cluster that is dead or maimed from one that starts, waits for the database or lost a worker just now."""

    def __init__(self, wanted: int, patience: float = 1) -> None:
        self._wanted, self._patience = wanted, patience
        self._some_at = self._all_at = self._judged_at = time.monotonic()
        self._whole_for = 0.0
        self.has_risen = False  # any of it was ever alive
        self.has_lasted = False  # all of it was alive for ``LASTING_SECONDS`` on end; then patience is over

    def forgive(self) -> None:
        """Begin to count anew."""
        self._some_at = self._all_at = time.monotonic()

    def judge(self, alive: int, database_is_there: bool) -> str:
        """``silent``, ``short`` or ``fine``."""
        now = time.monotonic()
        self.has_risen = self.has_risen or alive > 0
        if alive or not database_is_there:
            self._some_at = now
        self._whole_for = self._whole_for + now - self._judged_at if alive >= self._wanted else 0.0
        self._judged_at = now
        if self._whole_for >= LASTING_SECONDS:
            self.has_lasted, self._patience = True, 1
        if alive >= self._wanted or not database_is_there:
            self._all_at = now
        if now - self._some_at > SILENCE_SECONDS * self._patience:
            return "silent"
        return "short" if now - self._all_at > SHORTAGE_SECONDS * self._patience else "fine"


def _lead_cluster() -> None:
    """In the forked child: run django-q2's cluster; every process it forks dies with its parent."""
    from django_q.cluster import Cluster
    from django_q.signals import post_spawn, pre_execute

    try:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)  # until the cluster has handlers of its own
        # A pool's threads do not survive a fork and its connections must not: these processes do without.
        connections.close_all()
        connections.settings["default"]["OPTIONS"].pop("pool", None)
        _die_with(os.getppid())
        parents: list[int] = []  # the last of it is who forks
        os.register_at_fork(before=lambda: parents.append(os.getpid()), after_in_child=lambda: _die_with(parents[-1]))
        multiprocessing.set_start_method("fork", force=True)  # its processes share the control block
        post_spawn.connect(_ask_for_pump, weak=False)
        pre_execute.connect(_acknowledge, weak=False)
        cluster = Cluster(None if settings.REDIS_URL else _patient_broker())
        cluster.start()
        assert cluster.sentinel is not None
        cluster.sentinel.join()
    except BaseException:
        log.exception("the cluster could not be led")
        os._exit(1)
    os._exit(0)


def _patient_broker() -> Any:
    from django_q.brokers.orm import ORM

    class PatientBroker(ORM):  # type: ignore[misc]
        """Finds nothing while the database is away, where django-q2's own would pause for ten seconds and leave."""

        def dequeue(self) -> Any:
            try:
                return super().dequeue()
            except (DatabaseError, InterfaceError):
                connections.close_all()
                time.sleep(0.5)
                return None

    return PatientBroker()


def _ask_for_pump(**_: Any) -> None:
    # In a fresh worker: it will take a task next, so there must be one.
    while not control_block.stop_asked():
        try:
            hints.request_pumps(settings.POIMEN_WORKERS)
        except (DatabaseError, InterfaceError):
            connections.close_all()
            time.sleep(0.5)
        else:
            return


def _acknowledge(task: dict[str, Any], **_: Any) -> None:
    # A pump task is a hint and has done its work once it is taken: if this worker dies, its successor asks anew.
    from django_q.brokers import get_broker

    try:
        get_broker().acknowledge(task["ack_id"])
    except (DatabaseError, InterfaceError):
        connections.close_all()  # it stays in the queue, and is taken once more some day
    else:
        del task["ack_id"]


def _die_with(parent: int) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before it could be watched
        os._exit(1)


def _collect(pid: int) -> bool:
    """Collect every child that has ended, orphans too; returns whether ``pid`` was among them."""
    found = False
    with contextlib.suppress(ChildProcessError):
        while ended := os.waitpid(-1, os.WNOHANG)[0]:
            found = found or ended == pid
    return found


def _kill_tree() -> None:
    """End and collect everything below this process."""
    while below := psutil.Process().children(recursive=True):
        for process in below:
            with contextlib.suppress(psutil.Error):
                process.kill()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(-1, 0)
