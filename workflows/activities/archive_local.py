"""The local archive: one directory for each customer below ``POIMEN_ARCHIVE_ROOT``, files for the owner only.

Refuses to write through links, or anywhere else (contract-activities 7, 16.3).
"""

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from django.conf import settings

from workflows.activities.archive_file import ArchiveFile
from workflows.activities.context import ActivityContext
from workflows.activities.paths import printable
from workflows.errors import ActivityError, InvalidInput, PermanentError

_PIECE = 1024 * 1024


def store(source: ArchiveFile, destination: str, facts: Mapping[str, str], context: ActivityContext) -> str:
    """Copy the file, whole or not at all, and return its path; ``facts`` go to a ``.metadata.json`` beside it.

    Raises :class:`PermanentError` naming ``destination`` for a place outside the customer's archive, and
    :class:`ActivityError` when the disk refuses or the copy is not what was read.
    """
    archive = Path(settings.POIMEN_ARCHIVES["root"]).resolve() / context.identity.customer
    if not destination:
        destination = f"{context.identity.execution}/{source.name}"
    elif destination.endswith("/"):
        destination += source.name
    if not destination.isprintable():
        raise InvalidInput(f"destination: {printable(destination)!r} is not a usable path")
    target = Path(os.path.normpath(archive / destination))
    try:
        archive.mkdir(parents=True, exist_ok=True, mode=0o700)
        if target == archive or not target.is_relative_to(archive):
            raise _outside(destination, archive)
        parent = _made(target.parent, archive, destination)
        _write(source, parent / target.name, context)
        if facts:
            _write_text(json.dumps(facts, ensure_ascii=False, indent=2), parent / f"{target.name}.metadata.json")
    except OSError as error:
        raise ActivityError(f"destination: the archive cannot be written: {error.strerror or error}") from None
    return str(target)


def _made(directory: Path, archive: Path, destination: str) -> Path:
    """Make the directory part by part; a link on the way, which only an operator can have put there, is refused."""
    at = archive
    for part in directory.relative_to(archive).parts:
        at /= part
        at.mkdir(exist_ok=True, mode=0o700)
        if at.is_symlink():
            raise _outside(destination, archive)
    return at


def _write(source: ArchiveFile, target: Path, context: ActivityContext) -> None:
    handle, draft = tempfile.mkstemp(dir=target.parent, prefix=".archive-")
    try:
        stream = source.rewind()
        with os.fdopen(handle, "wb") as file:
            while piece := stream.read(_PIECE):
                context.check_cancelled()
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        digest = hashlib.sha256()
        with Path(draft).open("rb") as written:
            while piece := written.read(_PIECE):
                digest.update(piece)
        if digest.hexdigest() != source.sha256:
            raise ActivityError("the file changed while it was archived", name="ChecksumMismatch")
        Path(draft).replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(draft).unlink()
        raise


def _write_text(text: str, target: Path) -> None:
    handle, draft = tempfile.mkstemp(dir=target.parent, prefix=".archive-")
    with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
        file.write(text)
    Path(draft).replace(target)


def _outside(destination: str, archive: Path) -> PermanentError:
    return PermanentError(
        f"destination: {printable(destination)!r} is outside the archive of this customer, {archive}; "
        "give a path within it"
    )
