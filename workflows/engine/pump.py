"""The worker: claims ready branches, drives them on threads, keeps their leases, and gives them back when it goes.

One runs in each django-q2 worker process, as a long task. It may die at any moment: what it held is ready again when
the leases run out, and only the steps in flight run twice.
"""

import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
from django.conf import settings

from workflows.activities.registry import Activity
from workflows.engine import control_block, driving, hints, outcomes, presence
from workflows.engine.driver import Driver, Finished, Launch
from workflows.engine.launcher import Launcher
from workflows.engine.line import Line
from workflows.engine.store import AWAY, Stopping, Store, direct_connection
from workflows.errors import Canceled
from workflows.garbage_collection import keep_what_is_loaded
from workflows.identifiers import new_id
from workflows.models import ProcessKind

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0  # how late a ready branch is noticed if its hint is lost
LIFETIME_SECONDS = 1800.0  # then the process makes room for a fresh one
DRAIN_SECONDS = 3.0
STUCK_LOOP_SECONDS = 30.0


def run_pump() -> str:
    """The django-q2 task: pump until told to stop or until the lifetime is over; says what it did."""
    if control_block.stop_asked():
        return "the cluster is stopping"
    pump = Pump(should_stop=control_block.stop_asked, lifetime=LIFETIME_SECONDS)
    pump.run()
    if not control_block.stop_asked():
        hints.request_pumps(1)
    return f"drove {pump.driven} branches"


class Pump:
    """One worker's engine. ``run`` blocks; ``stop`` may be called from any thread."""

    def __init__(
        self,
        *,
        threads: int | None = None,
        capacity: int | None = None,
        should_stop: Callable[[], bool] = lambda: False,
        lifetime: float | None = None,
    ) -> None:
        self.id = new_id()
        self.driven = 0
        self._threads = threads or settings.POIMEN_PUMP_THREADS
        self._capacity = capacity or settings.POIMEN_PUMP_CAPACITY
        self._should_stop = should_stop
        self._ends_at = time.monotonic() + lifetime if lifetime else None
        self._stopping = threading.Event()
        self._abandon = threading.Event()
        self._wake = threading.Event()
        self._lock = threading.Lock()
        self._lines: dict[int, Line] = {}
        self._busy = 0
        self._parent = os.getppid()
        self.store = Store(
            self.id,
            f"{socket.gethostname()}:{os.getpid()}",
            connections_wanted=min(self._threads, 12) + 2,
            is_stopping=self._abandon.is_set,
        )
        self._driver = Driver(self)
        self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="driver")
        self._launcher = Launcher(self.store, self._activity_done)

    # -- what the driver needs ----------------------------------------------------------------------------------

    def launch(self, line: Line, activity: Activity, parameters: Any, run: Launch) -> None:
        """Run an activity off the driver threads."""
        self._launcher.launch(line, activity, parameters, run)

    def adopt(self, line: Line) -> None:
        """Drive a branch that was leased in passing."""
        with self._lock:
            self._lines[id(line)] = line
            self._busy += 1
        self._pool.submit(self._drive, line, None)

    def is_stopping(self) -> bool:
        """Whether branches are given back at their next boundary."""
        return self._stopping.is_set()

    def wake(self) -> None:
        """Look for ready branches now."""
        self._wake.set()

    # -- life ---------------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """Ask the pump to give back what it holds and return from ``run``."""
        self._stopping.set()
        self._wake.set()

    def run(self) -> None:
        """Pump until :meth:`stop`, the end of the lifetime, or the death of the parent process."""
        control_block.beat()  # it got this far: on a starved machine what follows takes seconds
        driving.name_worker(self.store.worker)
        log.info("pump %s is up", self.id)
        keep_what_is_loaded()
        for target in (self._keep_leases, self._listen):
            threading.Thread(target=target, name=target.__name__, daemon=True).start()
        try:
            while not self._must_end():
                self._wake.clear()
                claimed = self._claim()
                # A full claim means there may be more; otherwise a hint, a freed slot or the poll wakes us.
                if not claimed or self._room() == 0:
                    self._wake.wait(POLL_SECONDS)
        finally:
            self._drain()

    def _must_end(self) -> bool:
        if self._should_stop() or (self._ends_at is not None and time.monotonic() > self._ends_at):
            self._stopping.set()
        if os.getppid() != self._parent:
            log.error("the parent process is gone; stopping")
            self._stopping.set()
        return self._stopping.is_set()

    def _room(self) -> int:
        with self._lock:
            return min(self._capacity - len(self._lines), self._threads - self._busy)

    def _claim(self) -> int:
        room = self._room()
        if room <= 0:
            return 0
        try:
            lines = self.store.claims.claim(room)
        except Stopping:
            return 0
        with self._lock:
            for line in lines:
                self._lines[id(line)] = line
            self._busy += len(lines)
        for line in lines:
            self._pool.submit(self._drive, line, None)
        return len(lines)

    def _drive(self, line: Line, finished: Finished | None) -> None:
        held = False
        driving.driven.set(line)
        try:
            held = self._driver.drive(line) if finished is None else self._driver.resume(line, finished)
        except Exception:
            # The lease runs out and the branch is tried again; nothing else may suffer.
            log.exception("driving branch %s failed", line.id)
        finally:
            driving.driven.set(None)
            with self._lock:
                self._busy -= 1
                self.driven += 1
                if not held:
                    self._lines.pop(id(line), None)
                was_full = self._busy == self._threads - 1 or len(self._lines) == self._capacity - 1
            if was_full:
                self._wake.set()

    def _activity_done(self, line: Line, finished: Finished) -> None:
        cut_short = isinstance(finished.error, Canceled) and self._stopping.is_set() and not line.stop
        if line.is_lost or cut_short:
            with self._lock:
                self._lines.pop(id(line), None)
            if not line.is_lost:
                self._pool.submit(self._give_back, line, finished)
            return
        with self._lock:
            self._busy += 1
        self._pool.submit(self._drive, line, finished)

    def _give_back(self, line: Line, finished: Finished) -> None:
        outcomes.interrupted(line, finished.started, "the worker was stopped")
        self.store.release(line, lost_attempts=1)

    # -- leases -------------------------------------------------------------------------------------------------

    def _keep_leases(self) -> None:
        every = settings.POIMEN_LEASE_SECONDS / 4
        while not self._abandon.is_set():
            control_block.beat()
            self._beat()
            if time.monotonic() - self._launcher.beat > STUCK_LOOP_SECONDS:
                log.critical("an activity blocks the event loop; leaving, so that others can take over")
                os._exit(70)
            if self._abandon.wait(every):
                break

    def _beat(self) -> None:
        with self._lock:
            lines = list(self._lines.values())
        try:
            self.store.sign_in(ProcessKind.PUMP, running=len(lines), capacity=self._capacity)
            if lines:
                self._apply(lines, self.store.heartbeat(lines))
        except (*AWAY, Stopping):
            log.warning("no heartbeat: the database is away")

    def _apply(self, lines: list[Line], held: dict[Any, str]) -> None:
        with self._lock:
            lines = [line for line in lines if id(line) in self._lines]
        for line in lines:
            why = held.get(line.id)
            if why is None:
                self._confirm_lost(line)
            elif why:
                line.request_stop(why)

    def _confirm_lost(self, line: Line) -> None:
        """A branch that is not ours any more: its activity is stopped, its result will not count."""
        rows = self.store.rows("SELECT epoch, status FROM workflows_branch WHERE id = %s", (line.id,))
        with self._lock:
            still_held = id(line) in self._lines
        if still_held and (not rows or rows[0][0] != line.epoch):
            log.warning("the lease of branch %s is lost", line.id)
            line.is_lost = True
            line.cancelled.set()
            if line.on_stop is not None:
                line.on_stop()

    def _listen(self) -> None:
        while not self._abandon.is_set():
            try:
                with direct_connection() as connection:
                    connection.execute(f"LISTEN {hints.READY_CHANNEL}")
                    connection.execute(f"LISTEN {hints.STOP_CHANNEL}")
                    self._wake.set()
                    while not self._abandon.is_set():
                        for notice in connection.notifies(timeout=1.0, stop_after=1):
                            if notice.channel == hints.STOP_CHANNEL:
                                self._beat()
                            else:
                                self._wake.set()
            except psycopg.Error:
                self._abandon.wait(0.5)

    # -- the end ------------------------------------------------------------------------------------------------

    def _drain(self) -> None:
        """Let steps that are nearly done end, stop the others, give every branch back."""
        self._stopping.set()
        deadline = time.monotonic() + DRAIN_SECONDS / 2
        while self._lines and time.monotonic() < deadline:
            time.sleep(0.02)
        with self._lock:
            remaining = list(self._lines.values())
        for line in remaining:
            line.cancelled.set()
            if line.on_stop is not None:
                line.on_stop()
        deadline = time.monotonic() + DRAIN_SECONDS / 2
        while self._lines and time.monotonic() < deadline:
            time.sleep(0.02)
        self._launcher.close()
        self._pool.shutdown(wait=False, cancel_futures=False)
        deadline = time.monotonic() + 1
        while self._busy and time.monotonic() < deadline:
            time.sleep(0.02)
        self._abandon.set()
        try:
            with direct_connection() as connection:
                presence.sign_off(connection, self.id)
                # What was given back is ready for others, and our own listener sees that it is over.
                hints.notify_ready(connection)
        except psycopg.Error:
            log.warning("could not sign off: the database is away")
        self.store.close()
        log.info("pump %s is down after %d branches", self.id, self.driven)
