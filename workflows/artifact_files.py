"""The files an execution keeps: outputs too large for a row, and what its activities wrote (reports).

Owns listing and opening them by name. Refuses names that lead elsewhere, links, drafts, and what is no regular file.
"""

import mimetypes
import os
import stat
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO
from urllib.parse import quote
from uuid import UUID

from django.conf import settings

from workflows.engine.artifacts import KEY, STORED_NAME, is_reference

_TYPES = mimetypes.MimeTypes()  # those of Python alone, whatever the system has
_OWN_TYPES = {".md": "text/markdown", ".log": "text/plain"}


@dataclass(frozen=True, slots=True)
class ArtifactFile:
    """A file of an execution; ``name`` is its path below the execution's directory, with ``/`` between parts."""

    execution: UUID
    name: str
    bytes: int
    modified_at: datetime

    @property
    def content_type(self) -> str:
        """What the ending of its name says it is."""
        return content_type_of(self.name)

    @property
    def href(self) -> str:
        """Where REST answers its content."""
        return _href(self.execution, self.name)


def content_type_of(name: str) -> str:
    """Return the media type that the ending of ``name`` stands for; text is UTF-8 here."""
    kind, encoding = _TYPES.guess_type(name)
    kind = _OWN_TYPES.get(PurePosixPath(name).suffix.lower(), kind)
    if encoding is not None or kind is None:
        return "application/gzip" if encoding == "gzip" else "application/octet-stream"
    return f"{kind}; charset=utf-8" if kind.startswith("text/") else kind


def files_of(execution: UUID) -> list[ArtifactFile]:
    """Return the files of the execution by name; none for one that keeps nothing."""
    root = _root(execution)
    found = []
    for directory, inner, names in os.walk(root):
        inner[:] = [name for name in inner if not _is_draft(name)]
        for name in names:
            path = Path(directory, name)
            status = path.lstat()
            if stat.S_ISREG(status.st_mode) and not _is_draft(name):
                found.append(_file(execution, path.relative_to(root).as_posix(), status))
    return sorted(found, key=lambda file: file.name)


def open_file(execution: UUID, name: str) -> tuple[ArtifactFile, BinaryIO]:
    """Return the file of that name, open for reading; raises ``FileNotFoundError`` for whatever is none."""
    root = _root(execution)
    path = root / name
    parts = name.split("/")
    # Only names as a listing has them: no way up, nothing absolute, and no link on the way.
    if any(part in ("", ".", "..") or _is_draft(part) for part in parts) or path.resolve() != root.resolve() / name:
        raise FileNotFoundError(name)
    try:
        # Not waiting for whom a pipe would wait for, and not through a link that has just been put there.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        raise FileNotFoundError(name) from None
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        os.close(handle)
        raise FileNotFoundError(name)
    return _file(execution, name, status), os.fdopen(handle, "rb")


def kept_in(value: Any) -> Iterator[tuple[UUID, str]]:
    """Yield execution and name of each file that an output stands for or names, in no order.

    Those are references to large outputs anywhere in ``value``, and paths under one of its keys, as reports have them.
    """
    for reference in references_in(value):
        if found := STORED_NAME.fullmatch(reference[KEY]):
            yield UUID(found["execution"]), found["name"]
    home = Path(settings.POIMEN_HOME) / "artifacts"
    for text in value.values() if isinstance(value, dict) else ():
        if isinstance(text, str) and len(text) < 4096 and Path(text).is_relative_to(home):
            execution, _, name = Path(text).relative_to(home).as_posix().partition("/")
            if name and _is_id(execution):
                yield UUID(execution), name


def linked(value: Any) -> Any:
    """Return JSON ``value`` with ``href`` in each reference to a stored output; the same object when there is none."""
    if next(references_in(value), None) is None:
        return value
    value = deepcopy(value)
    for reference in references_in(value):
        if found := STORED_NAME.fullmatch(reference[KEY]):
            reference["href"] = _href(UUID(found["execution"]), found["name"])
    return value


def references_in(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every reference to a stored output in JSON ``value``."""
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            if is_reference(node):
                yield node
            else:
                stack.extend(item for item in node.values() if isinstance(item, dict | list))
        elif isinstance(node, list):
            stack.extend(item for item in node if isinstance(item, dict | list))


def _href(execution: UUID, name: str) -> str:
    return f"/executions/{execution}/artifacts/{quote(name)}"


def _root(execution: UUID) -> Path:
    return Path(settings.POIMEN_HOME) / "artifacts" / str(execution)


def _file(execution: UUID, name: str, status: os.stat_result) -> ArtifactFile:
    return ArtifactFile(execution, name, status.st_size, datetime.fromtimestamp(status.st_mtime, UTC))


def _is_draft(name: str) -> bool:
    """What is being written: hidden, or ending as drafts of outputs do."""
    return name.startswith(".") or name.endswith(".part")


def _is_id(text: str) -> bool:
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False
