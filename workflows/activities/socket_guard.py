"""Holds the sockets of third-party clients to the hosts that activities may reach, at the moment they connect.

For libraries that resolve names, follow redirects and open connections by themselves. Refuses what network_guard
refuses, by the very address that is connected to: what the name says a moment later makes no difference.
"""

import ipaddress
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.conf import settings

from workflows.activities.network_guard import Address, ForbiddenTarget, is_allowed_private, why_forbidden

_EVENTS = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})


@dataclass
class Guard:
    """What was refused while the guard stood; clients may swallow the error that tells them."""

    refused: ForbiddenTarget | None = None


_standing: ContextVar[Guard | None] = ContextVar("socket_guard", default=None)


@contextmanager
def guarded() -> Iterator[Guard]:
    """Check every connection that this thread (and its copies of the context) makes through Python's sockets."""
    _install()
    guard = Guard()
    token = _standing.set(guard)
    try:
        yield guard
    finally:
        _standing.reset(token)


@cache
def _install() -> None:
    # An audit hook cannot be taken away again; outside of a guard it does nothing.
    sys.addaudithook(_look)


def _look(event: str, arguments: tuple[Any, ...]) -> None:
    if event not in _EVENTS:
        return
    guard = _standing.get()
    if guard is None:
        return
    try:
        _check(arguments[0], arguments[1])
    except ForbiddenTarget as error:
        guard.refused = error
        raise


def _check(sock: socket.socket, address: Any) -> None:
    if address is None:  # a connected socket, checked when it connected
        return
    if sock.family not in (socket.AF_INET, socket.AF_INET6):
        raise ForbiddenTarget("the service may be reached over the network only, not through a local socket")
    host, port = str(address[0]), int(address[1])
    try:
        target = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        raise ForbiddenTarget(f"{host} was to be connected to without being resolved first") from None
    reason = why_forbidden(target)
    if reason is None or is_allowed_private(str(target), port) or target in _addresses_of_allowed(port):
        return
    raise ForbiddenTarget(
        f"the service is at {target}, which is {reason}; an operator can allow the host in POIMEN_ALLOWED_PRIVATE_HOSTS"
    )


def _addresses_of_allowed(port: int) -> set[Address]:
    """Where the allow-listed names are now: only the address is known here, not the name it was asked for by."""
    found: set[Address] = set()
    for entry in settings.POIMEN_ALLOWED_PRIVATE_HOSTS:
        name, _, given = str(entry).strip().rpartition(":")
        host = name if name and given.isdigit() and int(given) == port else str(entry).strip()
        try:
            answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            continue
        found.update(ipaddress.ip_address(str(answer[4][0]).partition("%")[0]) for answer in answers)
    return found
