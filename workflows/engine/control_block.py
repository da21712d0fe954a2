"""A page of memory that a cluster command shares with its worker processes: stop flag and signs of life.

Lock-free on purpose: a worker killed at the wrong moment must not leave a lock behind that stops the others.
"""

import mmap
import os
import struct
import time

import psutil

_SLOTS = 256
_SLOT = struct.Struct("=Id")  # pid, time of the last sign of life
_HEADER = 8

_block: mmap.mmap | None = None
_slot: int | None = None


def create() -> None:
    """Make the page; processes forked from here on share it."""
    global _block, _slot
    _block = mmap.mmap(-1, _HEADER + _SLOTS * _SLOT.size)
    _slot = None


def ask_stop() -> None:
    """Ask every pump that shares the page to stop."""
    if _block is not None:
        _block[0] = 1


def stop_asked() -> bool:
    """Whether the pumps were asked to stop."""
    return _block is not None and _block[0] == 1


def beat() -> None:
    """Leave a sign of life of this process."""
    global _slot
    if _block is None:
        return
    pid = os.getpid()
    if _slot is None or _read(_slot)[0] != pid:
        alive = [slot for slot in range(_SLOTS) if _is_free(slot)]
        _slot = alive[pid % len(alive)] if alive else pid % _SLOTS
    _SLOT.pack_into(_block, _HEADER + _slot * _SLOT.size, pid, time.monotonic())


def alive(within: float) -> int:
    """How many pumps that still exist left a sign of life in the last ``within`` seconds."""
    if _block is None:
        return 0
    now = time.monotonic()
    pids = [row[0] for slot in range(_SLOTS) if (row := _read(slot))[0] and now - row[1] < within]
    return sum(psutil.pid_exists(pid) for pid in pids)


def _read(slot: int) -> tuple[int, float]:
    assert _block is not None
    pid, at = _SLOT.unpack_from(_block, _HEADER + slot * _SLOT.size)
    return int(pid), float(at)


def _is_free(slot: int) -> bool:
    pid, at = _read(slot)
    return pid == 0 or time.monotonic() - at > 60
