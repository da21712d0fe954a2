"""Where a repository may be cloned from, and what git has to be told so that it goes there and nowhere else.

Refuses transport helpers (``ext::``), option-like text, private hosts and repositories outside the allowed
directories, also those that a ``.git`` file, a symlink or an alternate points to (contract-activities 1, 16).
"""

import re
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from workflows.activities.network_guard import (
    DEFAULT_PORTS,
    ForbiddenTarget,
    is_allowed_private,
    normal_host,
    redact,
    resolve,
    split_url,
)
from workflows.activities.paths import Territory, printable
from workflows.errors import InvalidInput, PermanentError

REMOTE_SCHEMES = ("https", "http", "ssh", "git")
_HELPER = re.compile(r"[A-Za-z0-9+.-]*::")
_SCP_LIKE = re.compile(r"(?:(?P<user>[^@/:\[\]]+)@)?(?P<host>\[[^\]/]+\]|[^@/:\[\]]+):(?P<path>[^:].*)")
_USER = re.compile(r"[A-Za-z0-9_.+][A-Za-z0-9_.+-]*")


@dataclass(frozen=True)
class Source:
    """A repository that may be cloned.

    ``url`` is what git is given, ``shown`` what people may see (no credentials), ``name`` its short name. ``config``
    holds git settings for this source only, ``safe_directories`` the local paths that may belong to another user.
    """

    url: str
    shown: str
    name: str
    protocol: str
    config: tuple[tuple[str, str], ...] = ()
    ssh_command: str | None = None
    safe_directories: tuple[Path, ...] = ()
    secrets: tuple[str, ...] = ()

    def scrub(self, text: str) -> str:
        """Return ``text`` (git's own words) without what is secret in this source."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text


def parse_source(repo: str, territory: Territory, *, field: str = "repo") -> Source:
    """Return the checked source that ``repo`` names: an https, ssh or git URL, ``user@host:path``, or a local path.

    Plain http is taken only for hosts in ``POIMEN_ALLOWED_PRIVATE_HOSTS``. Raises :class:`InvalidInput`,
    :class:`ForbiddenTarget` or :class:`PermanentError` naming ``field``; ``ActivityError`` if a host is not found.
    """
    if not repo.isprintable() or not repo.strip():
        raise InvalidInput(f"{field}: {printable(repo)!r} is empty or contains control characters")
    if repo.startswith("-"):
        raise InvalidInput(f"{field}: {redact(repo)!r} looks like an option, not like a repository")
    if _HELPER.match(repo):
        raise InvalidInput(f"{field}: {redact(repo)!r} asks for a transport helper; use https://, ssh:// or a path")
    if "://" in repo:
        scheme = repo.partition("://")[0].lower()
        if scheme == "file":
            return _local(_path_of_file_url(repo, field), territory, field)
        return _remote(repo, field)
    if match := _SCP_LIKE.fullmatch(repo):
        return _ssh(repo, match["user"], match["host"].strip("[]"), DEFAULT_PORTS["ssh"], match["path"], field)
    return _local(repo, territory, field)


def _path_of_file_url(url: str, field: str) -> str:
    parts = urlsplit(url)
    if parts.netloc not in {"", "localhost"}:
        raise InvalidInput(f"{field}: a file:// address is file:///path, without a host")
    path = unquote(parts.path)
    if not path.isprintable():
        raise InvalidInput(f"{field}: {printable(path)!r} contains control characters")
    return path


def _remote(url: str, field: str) -> Source:
    parts = split_url(url, schemes=REMOTE_SCHEMES, field=field)
    host = normal_host(parts.hostname or "", field=field)
    port = parts.port or DEFAULT_PORTS[parts.scheme]
    if parts.scheme == "ssh":
        if parts.password is not None:
            raise InvalidInput(f"{field}: ssh takes no password in the address; it uses the keys of the service")
        return _ssh(url, parts.username, host, port, parts.path, field)
    if parts.scheme == "http" and not is_allowed_private(host, port):
        raise ForbiddenTarget(f"{field}: {redact(url)!r} is not encrypted; use https://")
    addresses = resolve(host, port, field=field)
    bracketed = f"[{host}]" if ":" in host else host
    netloc = bracketed if parts.port is None else f"{bracketed}:{parts.port}"
    clean = parts._replace(netloc=netloc, fragment="").geturl()
    if parts.scheme == "git":
        # There is no way to tell git's own protocol which address a name has, so it gets the address.
        address = f"[{addresses[0]}]" if ":" in addresses[0] else addresses[0]
        pinned = parts._replace(netloc=f"{address}:{port}", fragment="").geturl()
        return Source(url=pinned, shown=redact(url), name=_name(parts.path), protocol="git")
    config = [
        # git's HTTP goes to the address that was checked, whatever the name says a second later.
        ("http.curloptResolve", f"{host}:{port}:" + ",".join(f"[{a}]" if ":" in a else a for a in addresses)),
        ("http.followRedirects", "false"),  # a redirect could lead to a host that was not checked
        ("http.lowSpeedLimit", "1000"),
        ("http.lowSpeedTime", "60"),
    ]
    secrets: tuple[str, ...] = (parts.query,) if parts.query else ()
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        token = b64encode(pair.encode()).decode()
        config.append(("http.extraHeader", f"Authorization: Basic {token}"))  # not in the arguments others can list
        known = (parts.password, unquote(parts.password or ""), token, parts.username, unquote(parts.username))
        secrets += tuple(secret for secret in known if secret)
    return Source(
        url=clean, shown=redact(url), name=_name(parts.path), protocol=parts.scheme, config=tuple(config),
        secrets=secrets,
    )  # fmt: skip


def _ssh(url: str, user: str | None, host: str, port: int, path: str, field: str) -> Source:
    host = normal_host(host, field=field)
    if user is not None and not _USER.fullmatch(user):
        raise InvalidInput(f"{field}: the user name in {redact(url)!r} is not one")
    address = resolve(host, port, field=field)[0]
    alias = host if port == DEFAULT_PORTS["ssh"] else f"[{host}]:{port}"
    # Connects to the checked address, but knows the host by its name; asks nobody, reads no configuration.
    options = (
        "BatchMode=yes", f"HostName={address}", f"HostKeyAlias={alias}", "StrictHostKeyChecking=yes",
        "ConnectTimeout=15", "ServerAliveInterval=15", "ProxyCommand=none", "ClearAllForwardings=yes",
    )  # fmt: skip
    command = "ssh -F /dev/null " + " ".join(f"-o '{option}'" for option in options)
    shown = redact(url) if "://" in url else printable(f"{host}:{path}")
    return Source(url=url, shown=shown, name=_name(path), protocol="ssh", ssh_command=command)


def _local(text: str, territory: Territory, field: str) -> Source:
    path = territory.confine(text, field=field)
    safe = _checked_repository(path, territory, field)
    return Source(
        url=str(path), shown=printable(str(path)), name=_name(str(path)), protocol="file", safe_directories=safe
    )


def _checked_repository(path: Path, territory: Territory, field: str) -> tuple[Path, ...]:
    """Return the directories that make up the local repository at ``path``; raises if one may not be read."""
    dot_git = path / ".git"
    if dot_git.is_dir():
        git_directory = dot_git.resolve()
    elif dot_git.is_file():
        word, _, where = _first_line(dot_git).partition(": ")
        git_directory = (path / where).resolve() if word == "gitdir" and where else path / "nowhere"
    elif (path / "HEAD").is_file() and (path / "objects").is_dir():
        git_directory = path
    else:
        raise PermanentError(f"{field}: {printable(str(path))!r} is not a git repository")
    if not git_directory.is_dir():
        raise PermanentError(f"{field}: {printable(str(path))!r} is a work tree whose repository does not exist")
    common = git_directory
    if (git_directory / "commondir").is_file():
        common = (git_directory / _first_line(git_directory / "commondir")).resolve()
    outside = [place for place in (git_directory, common) if not territory.admits(place)]
    if outside and not _is_linked_worktree(path, git_directory, common):
        raise PermanentError(f"{field}: {printable(str(path))!r} keeps its repository outside the allowed directories")
    if territory.holds(path):  # written by activities, so it may have been made to point anywhere
        _refuse_borrowed_objects(path, common, territory, field)
    return (path, dot_git, git_directory, common)


def _is_linked_worktree(path: Path, git_directory: Path, common: Path) -> bool:
    """Whether the repository itself names ``path`` as one of its work trees: nobody outside it can fake that."""
    if git_directory.parent.parent != common or not (git_directory / "gitdir").is_file():
        return False
    return (git_directory / _first_line(git_directory / "gitdir")).resolve() == (path / ".git").resolve()


def _refuse_borrowed_objects(path: Path, common: Path, territory: Territory, field: str) -> None:
    pending, seen = [common / "objects", common / "refs", common / "packed-refs", common / "HEAD"], set[Path]()
    while pending:
        place = pending.pop().resolve()
        if place in seen:
            continue
        seen.add(place)
        if not territory.admits(place):
            raise PermanentError(f"{field}: {printable(str(path))!r} borrows from outside the allowed directories")
        alternates = place / "info" / "alternates"
        if alternates.is_file():
            pending += [place / line for line in alternates.read_text(errors="replace").splitlines() if line.strip()]


def _first_line(file: Path) -> str:
    with file.open(errors="replace") as stream:
        return stream.readline(8192).strip()


def _name(path: str) -> str:
    """Return a short directory name for the repository at ``path``: its last part, without ``.git``."""
    last = PurePosixPath(path.rstrip("/")).name.removesuffix(".git")
    return re.sub(r"[^A-Za-z0-9._-]+", "-", last).strip(".-")[:64] or "repository"
