"""Runs first in the namespaces of ``confinement``: takes the machine's files away, sets limits, becomes the program.

A script of its own, with nothing but the standard library. Refuses to start the program if something cannot be taken
away: it ends with exit code 125 and says what, as with 126 if there is no such program. Its last words begin with a
token that the program never sees, so that it cannot say them.
"""

import ctypes
import fcntl
import json
import os
import resource
import socket
import struct
import sys
from typing import Any, NoReturn

FAILED, NOT_STARTED = 125, 126
_MS_BIND, _MS_NOSUID, _MS_NODEV = 4096, 2, 4
_CLONE_NEWUSER = 0x10000000
_MOUNT_SETATTR, _AT_FDCWD, _AT_RECURSIVE, _RDONLY = 442, -100, 0x8000, 1
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1
_libc = ctypes.CDLL(None, use_errno=True)


def main(plan: dict[str, Any]) -> None:
    """Carry out ``plan``: ``{namespaced, hide, show, hide_again, keep, cwd, user, limits, command, token}``.

    Does not return. Raises ``OSError`` if the program cannot be confined.
    """
    command: list[str] = plan["command"]
    if plan["namespaced"]:
        _loopback_up()
        _take_files_away(plan)
    os.chdir(plan["cwd"])
    for name, most in plan["limits"].items():
        number = getattr(resource, name)
        _, hard = resource.getrlimit(number)
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(number, (least, least))
    os.umask(0o077)
    if plan["namespaced"]:
        _become(plan["user"])  # after the limits: those on processes are counted within it
    try:
        os.execvp(command[0], command)  # noqa: S606 - no shell
    except OSError as error:
        _give_up(plan["token"], error.strerror or str(error), NOT_STARTED)


def _give_up(token: str, reason: str, code: int) -> NoReturn:
    sys.stderr.write(f"{token}{reason}\n")
    sys.exit(code)


def _become(user: int) -> None:
    """Enter a user namespace within: what runs there has no rights over the mounts made here, so it cannot undo them.

    The group counts too: where it is not mapped, make cannot start anything.
    """
    if _libc.unshare(_CLONE_NEWUSER) != 0:
        raise OSError(ctypes.get_errno(), "cannot make a user namespace within")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} 0 1"), ("gid_map", f"{user} 0 1")):
        with open(f"/proc/self/{name}", "w") as file:  # noqa: PTH123 - pathlib would be one more import
            file.write(text)


def _take_files_away(plan: dict[str, Any]) -> None:
    """Make everything read-only, put empty directories over ``hide``, and back what may be seen.

    That is ``show``, read-only, without ``hide_again``, and ``keep``, writable.
    """
    shown = [(path, os.open(path, os.O_PATH | os.O_DIRECTORY)) for path in plan["show"]]
    kept = [(path, os.open(path, os.O_PATH | os.O_DIRECTORY)) for path in plan["keep"]]
    _set_read_only("/", True, recursive=True)
    _set_read_only("/proc", False, recursive=False)  # that of the namespace; who enters the next one writes there
    _put_nothing_over(plan["hide"])
    for path, descriptor in shown:
        _put_back(path, descriptor, is_read_only=True)
    _put_nothing_over(plan["hide_again"])
    for path, descriptor in kept:
        _put_back(path, descriptor, is_read_only=False)


def _put_nothing_over(paths: list[str]) -> None:
    for path in paths:
        _mount("tmpfs", path, "tmpfs", _MS_NOSUID | _MS_NODEV, "size=1g,mode=0755")


def _put_back(path: str, descriptor: int, *, is_read_only: bool) -> None:
    os.makedirs(path, exist_ok=True)  # noqa: PTH103 - pathlib would be one more import
    _mount(f"/proc/self/fd/{descriptor}", path, "", _MS_BIND, "")
    _set_read_only(path, is_read_only, recursive=False)
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
    asked = json.loads(sys.argv[1])
    try:
        main(asked)
    except OSError as error:
        _give_up(asked["token"], str(error), FAILED)
