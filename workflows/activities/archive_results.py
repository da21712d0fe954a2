"""ArchiveResultsActivity: puts a result where it is kept: a local archive, S3, or Google Cloud Storage.

Refuses sources outside the execution's directories, and buckets and directories the operator has not named
(contract-activities 7). What it says is archived was read back, or proved by the store's own checksum.
"""

import json
import mimetypes
from pathlib import PurePosixPath
from typing import Any

from pydantic import Field, field_validator

from workflows.activities import archive_file, archive_gcs, archive_local, archive_s3
from workflows.activities.archive_file import ArchiveFile
from workflows.activities.context import ActivityContext
from workflows.activities.paths import printable
from workflows.activities.registry import activity
from workflows.activities.shapes import KEEPS_HANDLES, TAKES_SECRETS, Fields
from workflows.errors import InvalidInput, PermanentError

SCHEMES = {"s3": "s3", "gs": "gs", "gcs": "gs"}
MOST_ENTRIES = 10  # S3 takes ten tags for an object
MOST_KEY_BYTES = 1024

# By name, for catch rules and for the reference.
ERRORS = {
    "NotFound": "there is no such file in the execution's artifacts or workspace",
    "ForbiddenTarget": "the bucket is not in `POIMEN_ARCHIVE_BUCKETS`",
    "ArchiveFailed": "the store answered with an error, or could not be reached; `retryable` unless it is a 4xx",
    "ChecksumMismatch": "what arrived is not what was sent; another attempt sends it again",
    "NotConfigured": "there are no credentials for the store",
    "LimitExceeded": "the file is larger than 5 GiB",
}


class ArchiveResultsInput(Fields):
    """What to keep, and where."""

    report_path: str = Field(
        min_length=1,
        max_length=4096,
        description="The file, as GenerateReportActivity names it; a relative path starts in the execution's artifacts",
        examples=["report.html"],
    )
    destination: str = Field(
        max_length=4096,
        description="s3://bucket/key, gs://bucket/key (gcs:// is the same), or a path in the archive directory of the "
        "customer; one that ends with / gets the file's name, an empty one is chosen",
        examples=["s3://reports/nightly/", "gs://reports/nightly.html", "nightly/report.html"],
    )
    metadata: dict[str, str | int | float | bool] | None = Field(
        default=None,
        max_length=MOST_ENTRIES,
        description="Up to ten facts to keep with it: tags in S3, metadata in Google Cloud Storage, a file beside a "
        "local one",
        json_schema_extra=KEEPS_HANDLES,
    )
    credentials: dict[str, str] | None = Field(
        default=None,
        description="In place of those in the settings, as secret:<id> handles: accessKeyId, secretAccessKey and "
        "perhaps sessionToken for S3; serviceAccount (its JSON) for Google Cloud Storage",
        json_schema_extra=TAKES_SECRETS,
    )

    @field_validator("metadata")
    @classmethod
    def _is_short(cls, value: dict[str, Any] | None) -> dict[str, Any] | None:
        for name, fact in (value or {}).items():
            if not 0 < len(name) <= 128 or len(_text(fact)) > 256 or not (name + _text(fact)).isprintable():
                raise ValueError("names have up to 128 characters, values up to 256, on one line")
        return value


class ArchiveResultsOutput(Fields):
    """Where it is now."""

    archive_url: str = Field(description="Where it is: an s3:// or gs:// address, or the path of the file")
    archive_size: int = Field(description="Its size in bytes")
    checksum: str = Field(description="SHA-256 of what is there, hexadecimal")


@activity(
    "ArchiveResultsActivity",
    category="storage",
    timeout="5m",
    is_flaky=True,
    max_attempts=2,
    backoff=1.5,
    notes="Buckets must be in POIMEN_ARCHIVE_BUCKETS. What is there already under the same name is replaced.",
)
def archive_results(input: ArchiveResultsInput, context: ActivityContext) -> ArchiveResultsOutput:
    """Copies a result to the local archive, S3 or Google Cloud Storage, and checks that it arrived unchanged."""
    facts = {name: _text(value) for name, value in (input.metadata or {}).items()}
    with archive_file.opened(input.report_path, context) as source:
        context.check_cancelled()
        url = _stored(source, input, facts, context)
    context.info(f"archived {source.name}", url=url, bytes=source.size)
    return ArchiveResultsOutput(archive_url=url, archive_size=source.size, checksum=source.sha256)


def _stored(source: ArchiveFile, input: ArchiveResultsInput, facts: dict[str, str], context: ActivityContext) -> str:
    """Put the file where it belongs and return the address."""
    destination = input.destination.strip()
    scheme, mark, rest = destination.partition("://")
    if not mark or scheme == "file":
        if input.credentials is not None:
            raise InvalidInput("credentials: the local archive takes none")
        return archive_local.store(source, rest if mark else destination, facts, context)
    store = SCHEMES.get(scheme.lower())
    if store is None:
        raise InvalidInput(
            f"destination: {printable(scheme, 40)}:// is not known; use s3://bucket/key, gs://bucket/key or a path"
        )
    bucket, key = _place(rest, source.name)
    kind = mimetypes.guess_type(source.name)[0] or "application/octet-stream"
    if store == "s3":
        archive_s3.store(source, bucket, key, kind, facts, input.credentials, context)
    else:
        archive_gcs.store(source, bucket, key, kind, facts, input.credentials, context)
    return f"{scheme.lower()}://{bucket}/{key}"


def _place(rest: str, name: str) -> tuple[str, str]:
    """Return bucket and key; raises :class:`InvalidInput` for a key no store should be given."""
    bucket, _, key = rest.partition("/")
    if not key or key.endswith("/"):
        key += name
    parts = PurePosixPath(key).parts
    if not bucket or not key.isprintable() or key.startswith("/") or "//" in key or {".", ".."} & set(key.split("/")):
        raise InvalidInput(
            "destination: name a bucket and a key like s3://bucket/folder/file, without empty parts, . or .."
        )
    if len(key.encode()) > MOST_KEY_BYTES or len(parts) > 64:
        raise InvalidInput(f"destination: the key is longer than {MOST_KEY_BYTES} bytes, or has more than 64 parts")
    return bucket, key


def refuse_bucket(address: str, allowed: list[str]) -> PermanentError:
    """Return the error for a bucket that is not in ``POIMEN_ARCHIVE_BUCKETS``."""
    named = ", ".join(allowed) or "none"
    return PermanentError(
        f"destination: {printable(address, 80)} may not be written to; an operator allows buckets in "
        f"POIMEN_ARCHIVE_BUCKETS, which names {named}",
        name="ForbiddenTarget",
    )


def _text(value: str | float | bool) -> str:
    return value if isinstance(value, str) else json.dumps(value)
