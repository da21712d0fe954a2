"""Archives in S3 and what speaks its protocol: uploaded in parts, tagged, and checked after the upload.

Refuses buckets that are not in ``POIMEN_ARCHIVE_BUCKETS`` (contract-activities 7).
"""

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.conf import settings

from workflows.activities import pinned_http
from workflows.activities.archive_file import PART_BYTES, ArchiveFile
from workflows.activities.context import ActivityContext
from workflows.errors import ActivityError, Canceled, InvalidInput, PermanentError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

CONNECT_SECONDS, READ_SECONDS = 10, 60
_TAG = re.compile(r"[\w +\-=.:/@]*")
_NOT_THERE = frozenset({"404", "NoSuchKey", "NotFound"})


def store(
    source: ArchiveFile, bucket: str, key: str, kind: str, facts: Mapping[str, str],
    credentials: Mapping[str, str] | None, context: ActivityContext,
) -> None:  # fmt: skip
    """Upload the file with ``facts`` as tags, unless the same is there already; then prove that it arrived.

    Raises :class:`PermanentError` for what S3 refuses for good (4xx), :class:`ActivityError` for the rest and for
    a checksum that differs.
    """
    from workflows.activities.archive_results import refuse_bucket

    allowed = settings.POIMEN_ARCHIVES["buckets"]
    if f"s3://{bucket}" not in allowed:
        raise refuse_bucket(f"s3://{bucket}", allowed)
    for name, value in facts.items():
        if not _TAG.fullmatch(name) or not _TAG.fullmatch(value) or name.startswith("aws:"):
            raise InvalidInput(
                f"metadata: {name!r} cannot be a tag in S3, which takes letters, digits, blanks and + - = . _ : / @"
            )
    with _told(bucket):
        client = _client(credentials)
        if _is_there(client, bucket, key, source):
            context.info("the same content is there already: only its tags are written", key=key)
            client.put_object_tagging(Bucket=bucket, Key=key, Tagging={"TagSet": _tag_set(facts)})
            return
        _upload(client, bucket, key, kind, source, facts, context)
        _verify(client, bucket, key, source)


def _client(credentials: Mapping[str, str] | None) -> "S3Client":
    import boto3
    from botocore.config import Config

    given = settings.POIMEN_ARCHIVES["s3"]
    if credentials is not None:
        unknown = set(credentials) - {"accessKeyId", "secretAccessKey", "sessionToken"}
        if unknown or not credentials.get("accessKeyId") or not credentials.get("secretAccessKey"):
            raise InvalidInput("credentials: S3 takes accessKeyId, secretAccessKey and perhaps sessionToken")
    keys: dict[str, Any] = {
        "aws_access_key_id": credentials["accessKeyId"] if credentials else given["access_key_id"] or None,
        "aws_secret_access_key": credentials["secretAccessKey"] if credentials else given["secret_access_key"] or None,
        "aws_session_token": (credentials or {}).get("sessionToken"),
    }
    config = Config(
        connect_timeout=CONNECT_SECONDS,
        read_timeout=READ_SECONDS,
        retries={"mode": "standard", "max_attempts": 2},
        s3={"addressing_style": "path" if given["endpoint"] else "auto"},
    )
    session = boto3.session.Session(region_name=given["region"], **keys)
    return session.client("s3", endpoint_url=given["endpoint"] or None, config=config)


def _upload(
    client: "S3Client", bucket: str, key: str, kind: str, source: ArchiveFile, facts: Mapping[str, str],
    context: ActivityContext,
) -> None:  # fmt: skip
    from boto3.s3.transfer import TransferConfig

    sent = 0

    def moved(count: int) -> None:
        nonlocal sent
        context.check_cancelled()
        sent += count
        if source.is_multipart:
            context.progress(min(99.0, 100 * sent / source.size), f"{sent} of {source.size} bytes sent")

    extra: dict[str, Any] = {
        "ContentType": kind,
        "Metadata": {"sha256": source.sha256},
        "ChecksumAlgorithm": "SHA256",
    }
    if facts:
        extra["Tagging"] = urlencode(facts)
    client.upload_fileobj(
        source.rewind(),
        bucket,
        key,
        ExtraArgs=extra,
        Callback=moved,
        Config=TransferConfig(multipart_threshold=PART_BYTES, multipart_chunksize=PART_BYTES, max_concurrency=4),
    )


def _is_there(client: "S3Client", bucket: str, key: str, source: ArchiveFile) -> bool:
    """Whether an earlier attempt has put it there: of this size and checksum, as far as the store says."""
    from botocore.exceptions import ClientError

    try:
        head = client.head_object(Bucket=bucket, Key=key)
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") in _NOT_THERE:
            return False
        raise
    if head["ContentLength"] != source.size or head.get("Metadata", {}).get("sha256") != source.sha256:
        return False
    return _proof(client, bucket, key, source)


def _verify(client: "S3Client", bucket: str, key: str, source: ArchiveFile) -> None:
    head = client.head_object(Bucket=bucket, Key=key)
    if head["ContentLength"] != source.size or not _proof(client, bucket, key, source):
        raise ActivityError(
            f"what is in s3://{bucket} is not what was uploaded: its checksum differs", name="ChecksumMismatch"
        )


def _proof(client: "S3Client", bucket: str, key: str, source: ArchiveFile) -> bool:
    """Whether the object has this content, by the store's SHA-256, else by its ETag, else by reading it back.

    A multipart object's checksums are those of the checksums of its parts.
    """
    head = client.head_object(Bucket=bucket, Key=key, ChecksumMode="ENABLED")
    told = head.get("ChecksumSHA256", "")
    if told:
        whole = bytes.fromhex(source.sha256)
        composite = hashlib.sha256(b"".join(source.part_sha256)).digest()
        parts = f"{_base64(composite)}-{len(source.part_sha256)}"
        return told in (_base64(whole), _base64(composite), parts)
    tag = head.get("ETag", "").strip('"')
    composite_md5 = hashlib.md5(b"".join(source.part_md5), usedforsecurity=False).hexdigest()
    if tag in (source.md5, f"{composite_md5}-{len(source.part_md5)}"):
        return True
    digest, size = hashlib.sha256(), 0
    for piece in client.get_object(Bucket=bucket, Key=key)["Body"].iter_chunks(PART_BYTES):
        digest.update(piece)
        size += len(piece)
        if size > source.size:
            return False
    return digest.hexdigest() == source.sha256


@contextmanager
def _told(bucket: str) -> Iterator[None]:
    """Turn botocore's errors into ours: the code that S3 gave, none of its words."""
    from boto3.exceptions import Boto3Error
    from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, PartialCredentialsError

    try:
        yield
    except (ActivityError, PermanentError, Canceled):
        raise
    except ClientError as error:
        status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 500))
        code = str(error.response.get("Error", {}).get("Code", status))
        raise ActivityError(
            f"s3://{bucket} answered {status} ({code[:60]})",
            name="ArchiveFailed",
            retryable=pinned_http.may_help_again(status) or code in ("RequestTimeout", "SlowDown"),
        ) from None
    except (NoCredentialsError, PartialCredentialsError):
        raise PermanentError(
            "credentials: not provided, and AWS_ACCESS_KEY_ID is not set", name="NotConfigured"
        ) from None
    except (BotoCoreError, Boto3Error, OSError) as error:
        raise ActivityError(f"s3://{bucket} cannot be reached: {type(error).__name__}", name="ArchiveFailed") from None


def _tag_set(facts: Mapping[str, str]) -> Any:
    return [{"Key": name, "Value": value} for name, value in facts.items()]


def _base64(digest: bytes) -> str:
    return base64.b64encode(digest).decode()
