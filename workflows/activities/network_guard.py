"""Decides which hosts an activity may reach, after resolving their names (contract-activities 16.2).

Refuses loopback, private, link-local, metadata, multicast and reserved addresses, however they are written, unless
the host is listed in ``POIMEN_ALLOWED_PRIVATE_HOSTS``.
"""

import ipaddress
import re
import socket
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit, urlunsplit

from django.conf import settings

from workflows.activities.paths import printable
from workflows.errors import ActivityError, InvalidInput, PermanentError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

DEFAULT_PORTS = {"http": 80, "https": 443, "ssh": 22, "git": 9418}
NAT64 = ipaddress.ip_network("64:ff9b::/96")
# Routable addresses that answer with the machine's own credentials on a cloud (Azure's host agent).
METADATA = frozenset({ipaddress.ip_address("168.63.129.16")})
# What the C library takes for an IPv4 address: 2130706433, 0x7f.1, 0177.0.0.1, 127.1 and the usual form.
_NUMERIC_HOST = re.compile(r"(?:0x[0-9a-f]*|\d+)(?:\.(?:0x[0-9a-f]*|\d+))*", re.IGNORECASE)


class ForbiddenTarget(PermanentError):
    """The host is one that activities must not reach."""

    name = "ForbiddenTarget"


@dataclass(frozen=True)
class Target:
    """A checked URL: connect to one of ``addresses`` and to nothing a second look-up may say."""

    url: str
    scheme: str
    host: str
    port: int
    addresses: tuple[str, ...]


def check_url(
    url: str, *, schemes: Collection[str] = ("http", "https"), field: str = "url", is_trusted: bool = False
) -> Target:
    """Return the checked ``url``; raises what :func:`split_url` and :func:`resolve` raise.

    ``is_trusted`` is for addresses that the operator set, never for those of an input: any host is good.
    """
    parts = split_url(url, schemes=schemes, field=field)
    port = parts.port or DEFAULT_PORTS[parts.scheme]
    host = normal_host(parts.hostname or "", field=field)
    return Target(
        url=url,
        scheme=parts.scheme,
        host=host,
        port=port,
        addresses=resolve(host, port, field=field, is_trusted=is_trusted),
    )


def split_url(url: str, *, schemes: Collection[str], field: str = "url") -> SplitResult:
    """Return the parts of an absolute URL of one of ``schemes``.

    Raises :class:`InvalidInput` naming ``field`` for any other scheme, control characters, blanks, backslashes, a
    missing host or a bad port. Messages never repeat user names or passwords.
    """
    if not url.isprintable() or any(c.isspace() or c == "\\" for c in url):
        raise InvalidInput(f"{field}: an address must not contain blanks, backslashes or control characters")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise InvalidInput(f"{field}: {redact(url)!r} is not a valid address: {error}") from None
    if parts.scheme not in schemes:
        raise InvalidInput(f"{field}: {redact(url)!r} must start with one of {', '.join(f'{s}://' for s in schemes)}")
    if not parts.hostname or port == 0:
        raise InvalidInput(f"{field}: {redact(url)!r} names no host, or port 0")
    return parts


def normal_host(host: str, *, field: str = "url") -> str:
    """Return ``host`` in lower-case ASCII without a trailing dot; raises :class:`InvalidInput` if it is none."""
    try:
        normal = host.lower().rstrip(".") if host.isascii() else host.encode("idna").decode("ascii").lower().rstrip(".")
    except UnicodeError:
        raise InvalidInput(f"{field}: {printable(host)!r} is not a valid host name") from None
    if not normal or normal.startswith("-") or not re.fullmatch(r"[a-z0-9._:%-]+", normal):
        raise InvalidInput(f"{field}: {printable(host)!r} is not a valid host name")
    return normal


def resolve(host: str, port: int, *, field: str = "url", is_trusted: bool = False) -> tuple[str, ...]:
    """Return every address of ``host`` (as :func:`normal_host` gives it), checked unless the operator set it.

    Raises :class:`ForbiddenTarget` if one of them is not public and the host is not allow-listed, and
    :class:`ActivityError` (worth another attempt) if the name cannot be resolved.
    """
    if "%" in host:
        raise ForbiddenTarget(f"{field}: {host} has a zone, which only link-local addresses need")
    if _NUMERIC_HOST.fullmatch(host) and not _is_dotted_quad(host):
        raise ForbiddenTarget(f"{field}: {host} is a disguised IPv4 address; write it as four decimal numbers")
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError) as error:
        raise ActivityError(f"{field}: the host {host} cannot be resolved: {error}") from None
    addresses = tuple(dict.fromkeys(str(entry[4][0]) for entry in found))
    if not is_trusted and not is_allowed_private(host, port):
        for address in addresses:
            if (reason := why_forbidden(ipaddress.ip_address(address.partition("%")[0]))) is not None:
                raise ForbiddenTarget(
                    f"{field}: {host} is at {address}, which is {reason}; an operator can allow the host in "
                    "POIMEN_ALLOWED_PRIVATE_HOSTS"
                )
    return addresses


def is_allowed_private(host: str, port: int) -> bool:
    """Say whether ``host`` or ``host:port`` is in ``POIMEN_ALLOWED_PRIVATE_HOSTS``."""
    bracketed = f"[{host}]" if ":" in host else host
    allowed = {str(entry).strip().lower() for entry in settings.POIMEN_ALLOWED_PRIVATE_HOSTS}
    return not allowed.isdisjoint({host, bracketed, f"{bracketed}:{port}"})


def why_forbidden(address: Address) -> str | None:
    """Return what is wrong with an address as a few words, None for a public one."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return why_forbidden(address.ipv4_mapped)
        if address in NAT64:
            return why_forbidden(ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF))
        if address.sixtofour is not None or address.teredo is not None:
            return "a tunnel to an IPv4 address"
        if address.is_site_local:
            return "site-local"
    for is_it, word in (
        (address.is_unspecified, "unspecified"),
        (address.is_loopback, "loopback"),
        (address.is_link_local, "link-local (cloud metadata is there)"),
        (address in METADATA, "a cloud metadata service"),
        (address.is_multicast, "multicast"),
        (address.is_private, "private"),
        (address.is_reserved, "reserved"),
        (not address.is_global, "not public"),
    ):
        if is_it:
            return word
    return None


def redact(url: str) -> str:
    """Return ``url`` without user name, password, query and fragment, printable: fit for logs and errors."""
    try:
        parts = urlsplit(url)
        netloc = parts.netloc.rpartition("@")[2]
        shown = urlunsplit((parts.scheme, netloc, parts.path, "", ""))
    except ValueError:
        shown = re.sub(r"//[^/@]*@", "//", url)
    return printable(shown)


def _is_dotted_quad(host: str) -> bool:
    try:
        ipaddress.IPv4Address(host)
    except ValueError:
        return False
    return True
