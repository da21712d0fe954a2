"""The file that is archived: found inside the execution's own directories, opened once, and known by its checksums.

Refuses links that lead out, whatever is no regular file, and files that change while they are read.
"""

import base64
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import google_crc32c

from workflows.activities.context import ActivityContext
from workflows.activities.paths import Territory, printable
from workflows.errors import InvalidInput, LimitExceeded, PermanentError

MOST_BYTES = 5 * 2**30
PART_BYTES = 8 * 2**20  # of a multipart upload; S3 takes no less than 5 MiB


@dataclass(frozen=True)
class ArchiveFile:
    """An open file and what is in it; ``name`` is its last part. Digests are hexadecimal, those of parts raw."""

    stream: BinaryIO
    name: str
    size: int
    sha256: str
    md5: str
    part_sha256: tuple[bytes, ...]
    part_md5: tuple[bytes, ...]
    crc32c: str

    @property
    def is_multipart(self) -> bool:
        """Whether it is uploaded in parts."""
        return self.size >= PART_BYTES

    def rewind(self) -> BinaryIO:
        """Return the stream at its beginning."""
        self.stream.seek(0)
        return self.stream


@contextmanager
def opened(path: str, context: ActivityContext) -> Iterator[ArchiveFile]:
    """Open the file at ``path`` (a relative one is in the artifacts) and read it through once.

    Raises :class:`PermanentError` "not found" for what is not there, :class:`InvalidInput` for what is no file, and
    :class:`LimitExceeded` for one of more than 5 GiB; all name ``reportPath``.
    """
    resolved = _located(path, context)
    try:
        descriptor = os.open(resolved, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise _not_found(path) from None
    except OSError as error:
        raise PermanentError(f"reportPath: {printable(path)!r} cannot be read: {error.strerror}") from None
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise InvalidInput(f"reportPath: {printable(path)!r} is no regular file; archive one file at a time")
    with os.fdopen(descriptor, "rb") as stream:
        # A directory on the way may have become a link since it was looked at: what is open is what counts.
        if not Territory.of(context).holds(Path(os.readlink(f"/proc/self/fd/{stream.fileno()}"))):  # noqa: PTH115
            raise _not_found(path)
        if status.st_size > MOST_BYTES:
            raise LimitExceeded(f"reportPath: {printable(path)!r} is larger than {MOST_BYTES // 2**30} GiB")
        yield _read(stream, resolved.name, context)


def _located(path: str, context: ActivityContext) -> Path:
    territory = Territory.of(context)
    if not path.isprintable():
        raise InvalidInput(f"reportPath: {printable(path)!r} is not a usable path")
    try:
        resolved = territory.confine(context.artifacts / path, field="reportPath")
    except PermanentError as error:
        if str(error).endswith("does not exist"):
            raise _not_found(path) from None
        raise
    if not territory.holds(resolved):
        raise PermanentError(
            f"reportPath: {printable(path)!r} does not exist for this activity: it is outside the artifacts and the "
            "workspace of its execution"
        )
    return resolved


def _not_found(path: str) -> PermanentError:
    return PermanentError(f"reportPath: {printable(path)!r} was not found", name="NotFound")


def _read(stream: BinaryIO, name: str, context: ActivityContext) -> ArchiveFile:
    whole, whole_md5, crc, size = hashlib.sha256(), hashlib.md5(usedforsecurity=False), google_crc32c.Checksum(), 0
    part_sha256, part_md5 = list[bytes](), list[bytes]()
    while part := stream.read(PART_BYTES):
        context.check_cancelled()
        size += len(part)
        if size > MOST_BYTES:
            raise LimitExceeded(f"reportPath: the file grew beyond {MOST_BYTES // 2**30} GiB")
        whole.update(part)
        whole_md5.update(part)
        crc.update(part)
        part_sha256.append(hashlib.sha256(part).digest())
        part_md5.append(hashlib.md5(part, usedforsecurity=False).digest())
    return ArchiveFile(
        stream=stream,
        name=name,
        size=size,
        sha256=whole.hexdigest(),
        md5=whole_md5.hexdigest(),
        part_sha256=tuple(part_sha256),
        part_md5=tuple(part_md5),
        crc32c=base64.b64encode(crc.digest()).decode(),
    )
