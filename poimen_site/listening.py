"""Opens the web port, for the supervisor that keeps it while the web process is replaced, or for a web process alone.

It refuses what cannot be listened on in a sentence that names the setting.
"""

import socket

from django.core.management.base import CommandError

from poimen_site.environment import EXIT_CODE, wrong


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; raises :class:`CommandError`."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except (socket.gaierror, UnicodeError):
        problem = wrong("HOST", host, "a name or an address of this machine, like 127.0.0.1 or 0.0.0.0")
        raise CommandError(str(problem), returncode=EXIT_CODE) from None
    try:
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(512)
    except OSError as error:
        raise CommandError(
            f"Cannot listen on {host}:{port}: {error.strerror or error}. Set PORT (or HOST) to something that is free."
        ) from None
    return listener
