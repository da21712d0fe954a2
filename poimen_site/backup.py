"""A backup of an installation: one directory with the database, the artifacts and the keys of its home.

Made while everything runs, restored into an empty database only: it refuses to overwrite what somebody has.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings
from django.core.files.storage import default_storage

from poimen_site import secret_key
from poimen_site.postgres_account import installed_programs
from workflows.audit import anchor
from workflows.engine.store import connection_parameters

DATABASE, ARTIFACTS, MANIFEST = "database.dump", "artifacts.tar", "backup.json"
ANCHOR = "audit-anchor.json"  # in the home it is named after its database, which may be called otherwise there
_ENVIRONMENT = {
    "host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "password": "PGPASSWORD", "dbname": "PGDATABASE",
    "sslmode": "PGSSLMODE", "sslrootcert": "PGSSLROOTCERT", "requirepeer": "PGREQUIREPEER",
}  # fmt: skip


class BackupError(Exception):
    """The backup cannot be made or restored; the message says why and what to do."""


def make(directory: Path) -> dict[str, Any]:
    """Write a backup into ``directory``, which must not exist yet; returns its manifest.

    It appears under its name only when it is whole. Raises :class:`BackupError`.
    """
    if directory.exists():
        raise BackupError(f"{directory} exists already: give a directory that does not")
    draft = directory.with_name(f".{directory.name}.{os.getpid()}.part")
    try:
        draft.mkdir(parents=True, mode=0o700)
        # First the anchor: what it knows of is in a later copy of the database. Then that: the artifacts that it names
        # are never changed, so a still later copy has them all.
        for name, source in _home_files().items():
            if source.exists():
                shutil.copy2(source, draft / name)
        _run("pg_dump", "--format=custom", "--no-owner", "--no-privileges", f"--file={draft / DATABASE}")
        _pack(_artifacts(), draft / ARTIFACTS)
        files = {path.name: _digest(path) for path in sorted(draft.iterdir())}
        manifest = {"madeAt": datetime.now(UTC).isoformat(timespec="seconds"), "sha256": files}
        (draft / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")
        draft.rename(directory)
    except OSError as error:
        raise BackupError(f"the backup cannot be written: {error}") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return manifest


def restore(directory: Path) -> dict[str, Any]:
    """Bring the backup in ``directory`` into this installation's empty database and home; returns its manifest.

    The database is restored in one transaction, all or nothing, before the home is touched. Raises
    :class:`BackupError` if the backup is damaged or something is there already.
    """
    manifest = _checked(directory)
    if _tables():
        raise BackupError("the database is not empty: restore into a new one (another POIMEN_HOME or DATABASE_URL)")
    if any(_artifacts().glob("*")):
        raise BackupError(f"{_artifacts()} is not empty: restore into a new home")
    _run("pg_restore", "--no-owner", "--no-privileges", "--exit-on-error", "--single-transaction",
         f"--dbname={_libpq()['PGDATABASE']}", str(directory / DATABASE))  # fmt: skip
    try:
        with tarfile.open(directory / ARTIFACTS) as archive:
            archive.extractall(_artifacts().parent, filter="data")
        for name, target in _home_files().items():
            # An anchor that is here already knows of more: taking it back would hide what is missing since.
            if (directory / name).exists() and not (name == ANCHOR and target.exists()):
                shutil.copy2(directory / name, target)
    except (OSError, tarfile.TarError) as error:
        raise BackupError(f"the database is restored, but not the home: {error}") from error
    return manifest


def _checked(directory: Path) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = json.loads((directory / MANIFEST).read_text())
        wanted = dict(manifest["sha256"])
        missing = {DATABASE, ARTIFACTS} - set(wanted)
        damaged = sorted(missing | {name for name, digest in wanted.items() if _digest(directory / name) != digest})
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BackupError(f"{directory} is not a whole backup: {error}") from error
    if damaged:
        raise BackupError(f"{directory} is damaged: {', '.join(damaged)}")
    return manifest


def _home_files() -> dict[str, Path]:
    """What is kept of the home, by its name in a backup."""
    return {secret_key.FILE_NAME: Path(settings.POIMEN_HOME) / secret_key.FILE_NAME, ANCHOR: anchor.path()}


def _artifacts() -> Path:
    return Path(default_storage.path(""))


def _pack(source: Path, target: Path) -> None:
    with tarfile.open(target, "w") as archive:
        if source.exists():
            archive.add(source, source.name, filter=lambda entry: None if entry.name.endswith(".part") else entry)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _tables() -> bool:
    try:
        with psycopg.connect(**connection_parameters()) as connection:
            found = connection.execute("SELECT 1 FROM pg_tables WHERE schemaname = 'public' LIMIT 1").fetchone()
    except psycopg.Error as error:
        raise BackupError(f"the database cannot be reached: {error}") from error
    return found is not None


def _libpq() -> dict[str, str]:
    given = connection_parameters()
    return {variable: str(given[key]) for key, variable in _ENVIRONMENT.items() if given.get(key)}


def _run(program: str, *arguments: str) -> None:
    """Run a program of PostgreSQL; the password goes through its environment, where no other user sees it."""
    command = [_path_of(program), *arguments]
    done = subprocess.run(command, env=os.environ | _libpq(), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BackupError(f"{command[0]} failed: {done.stderr.strip()[-1000:]}")


def _path_of(program: str) -> str:
    """The program of the ``PATH`` for a server of one's own, unless it is older than that; else the one we bring."""
    found = shutil.which(program) if settings.DATABASE_URL else None
    if found is not None:
        said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
        version = re.search(r"[0-9]+", said)
        if version is not None and int(version[0]) >= _server_version():
            return found
    return str(installed_programs() / program)


def _server_version() -> int:
    try:
        with psycopg.connect(**connection_parameters()) as connection:
            return connection.info.server_version // 10_000
    except psycopg.Error as error:
        raise BackupError(f"the database cannot be reached: {error}") from error
