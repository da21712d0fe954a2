"""Outputs too large for a row: kept in artifact storage and referenced (design section 4).

A reference is ``{"$artifact": path, "bytes": n, "sha256": hex}``; whoever reads the output through the engine gets
the value, not the reference. Refuses outputs above 32 MiB.
"""

import hashlib
import json
import re
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, default_storage

from workflows.engine.json_text import dumps
from workflows.errors import LimitExceeded, PermanentError, WorkflowError
from workflows.identifiers import new_id
from workflows.spec.limits import MAX_INLINE_OUTPUT_BYTES, MAX_OUTPUT_BYTES

KEY = "$artifact"
STORED_NAME = re.compile(
    r"(?P<execution>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/(?P<name>outputs/[0-9a-f]{64}\.json)"
)
_SURELY_SMALL = 64


def keep_small(execution: UUID, value: Any) -> Any:
    """Return ``value``, or a reference to it if its JSON is larger than 256 KiB.

    Raises ``StorageFailed``, which another attempt may mend, :class:`LimitExceeded` above 32 MiB and
    :class:`PermanentError` for what is no JSON.
    """
    if _is_tiny(value) or (
        isinstance(value, dict)
        and len(value) <= _SURELY_SMALL
        and all(_is_tiny(part) and _is_tiny(key) for key, part in value.items())
    ):
        return value
    text = dumps(value)
    if len(text) <= MAX_INLINE_OUTPUT_BYTES // 4:
        return value
    data = text.encode()
    if len(data) <= MAX_INLINE_OUTPUT_BYTES:
        return value
    if len(data) > MAX_OUTPUT_BYTES:
        raise LimitExceeded(
            f"the output has {len(data):,} bytes and may have {MAX_OUTPUT_BYTES:,}; return the path of a file instead"
        )
    digest = hashlib.sha256(data).hexdigest()
    name = f"{execution}/outputs/{digest}.json"
    try:
        if not default_storage.exists(name):
            _store_whole(name, data)
    except OSError as error:
        raise WorkflowError(f"the output cannot be stored: {error.strerror or error}", name="StorageFailed") from None
    return {KEY: name, "bytes": len(data), "sha256": digest}


def _store_whole(name: str, data: bytes) -> None:
    """Write under another name first: a full disk or a killed process must leave no part where the whole belongs."""
    if not isinstance(default_storage, FileSystemStorage):
        default_storage.save(name, ContentFile(data))  # object stores show an object when it is complete
        return
    draft = draft_of(name)
    try:
        default_storage.save(draft, ContentFile(data))
        Path(default_storage.path(draft)).replace(default_storage.path(name))
    except OSError:
        default_storage.delete(draft)
        raise


def draft_of(name: str) -> str:
    """A name beside ``name`` for what is being written; another one each time."""
    return f"{name}.{new_id().hex}.part"


def _is_tiny(value: Any) -> bool:
    """Whether ``value`` is surely small, and surely JSON that can be stored."""
    if isinstance(value, str):
        return len(value) <= _SURELY_SMALL and value.isascii() and "\0" not in value
    return value is None or isinstance(value, bool | int)


def is_reference(value: Any) -> bool:
    """Whether ``value`` stands for an output in artifact storage.

    Only for one that is named as outputs are, by the hash of what it holds: else whoever gives such an object back
    could read what others keep.
    """
    return (
        isinstance(value, dict)
        and len(value) == 3
        and isinstance(name := value.get(KEY), str)
        and STORED_NAME.fullmatch(name) is not None
    )


def fetch(value: Any) -> Any:
    """Return the value that a reference stands for; anything else as it is. Raises :class:`PermanentError`."""
    if not is_reference(value):
        return value
    try:
        with default_storage.open(value[KEY]) as file:
            return json.loads(file.read())
    except OSError as error:
        raise PermanentError(
            f"the stored output {value[KEY]} cannot be read: {error}",
            name="ArtifactLost",
        ) from None
