"""Runs first in the namespaces of ``confinement``: takes the machine's files away, sets limits, becomes the program.

A script of its own, with nothing but the standard library. Refuses to start the program if something cannot be taken
away: it ends with exit code 125 and says what.
"""

import ctypes
import fcntl
import json
import os
import resource
import socket
import struct
import sys
from typing import Any

FAILED = 125
_MS_BIND, _MS_NOSUID, _MS_NODEV = 4096, 2, 4
_MOUNT_SETATTR, _AT_FDCWD, _AT_RECURSIVE, _RDONLY = 442, -100, 0x8000, 1
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1
_libc = ctypes.CDLL(None, use_errno=True)


def main(plan: dict[str, Any]) -> None:
    """Carry out ``plan``: ``{namespaced, hide, keep, cwd, user, limits, command}``; does not return."""
    command: list[str] = plan["command"]
    if plan["namespaced"]:
        _loopback_up()
        _take_files_away(plan["hide"], plan["keep"])
        # A user namespace within: what it runs has no rights over the mounts made here, so it cannot undo them.
        # The group counts too: where it is not mapped, make cannot start anything.
        mapped = [f"--map-user={plan['user']}", f"--map-group={plan['user']}"]
        command = ["unshare", "--user", *mapped, "--", *command]
    os.chdir(plan["cwd"])
    for name, most in plan["limits"].items():
        number = getattr(resource, name)
        _, hard = resource.getrlimit(number)
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(number, (least, least))
    os.umask(0o077)
    os.execvp(command[0], command)  # noqa: S606 - no shell


def _take_files_away(hide: list[str], keep: list[str]) -> None:
    """Make everything read-only, put empty directories over ``hide``, and ``keep`` back, writable."""
    kept = [(path, os.open(path, os.O_PATH | os.O_DIRECTORY)) for path in keep]
    _set_read_only("/", True, recursive=True)
    _set_read_only("/proc", False, recursive=False)  # that of the namespace; who enters the next one writes there
    for path in hide:
        _mount("tmpfs", path, "tmpfs", _MS_NOSUID | _MS_NODEV, "size=1g,mode=0755")
    for path, descriptor in kept:
        os.makedirs(path, exist_ok=True)  # noqa: PTH103 - pathlib would be one more import
        _mount(f"/proc/self/fd/{descriptor}", path, "", _MS_BIND, "")
        _set_read_only(path, False, recursive=False)
        os.close(descriptor)


def _mount(source: str, target: str, kind: str, flags: int, data: str) -> None:
    given = (source.encode(), target.encode(), kind.encode() or None, flags, data.encode() or None)
    if _libc.mount(*given) != 0:
        raise OSError(ctypes.get_errno(), f"cannot mount over {target}")


def _set_read_only(path: str, is_read_only: bool, *, recursive: bool) -> None:
    attributes = struct.pack("QQQQ", _RDONLY if is_read_only else 0, 0 if is_read_only else _RDONLY, 0, 0)
    flags = _AT_RECURSIVE if recursive else 0
    if _libc.syscall(_MOUNT_SETATTR, _AT_FDCWD, path.encode(), flags, attributes, len(attributes)) != 0:
        raise OSError(ctypes.get_errno(), f"cannot change how {path} may be written")


def _loopback_up() -> None:
    """Tests talk to servers of their own on 127.0.0.1; it is the only interface there is."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        answer = fcntl.ioctl(sock, _SIOCGIFFLAGS, struct.pack("16sH14x", b"lo", 0))
        flags = struct.unpack("16sH14x", answer)[1] | _IFF_UP
        fcntl.ioctl(sock, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags))


if __name__ == "__main__":
    try:
        main(json.loads(sys.argv[1]))
    except OSError as error:
        sys.stderr.write(f"confinement: {error}\n")
        sys.exit(FAILED)
