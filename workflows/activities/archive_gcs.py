"""Archives in Google Cloud Storage: resumable uploads, metadata, and the CRC32C that the store computed compared.

Refuses buckets that are not in ``POIMEN_ARCHIVE_BUCKETS``, and service accounts that would have their token fetched
from elsewhere than Google (contract-activities 7, 16.2).
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.conf import settings

from workflows.activities import pinned_http
from workflows.activities.archive_file import PART_BYTES, ArchiveFile
from workflows.activities.context import ActivityContext
from workflows.errors import ActivityError, Canceled, InvalidInput, PermanentError

SECONDS = 60.0
TOKEN_SERVER = "https://oauth2.googleapis.com/token"  # noqa: S105 - an address
_UNIVERSE = "googleapis.com"
_SCOPES = ("https://www.googleapis.com/auth/devstorage.read_write",)


def store(
    source: ArchiveFile, bucket: str, key: str, kind: str, facts: Mapping[str, str],
    credentials: Mapping[str, str] | None, context: ActivityContext,
) -> None:  # fmt: skip
    """Upload the file with ``facts`` as metadata, unless the same is there already; then compare checksums.

    Raises :class:`PermanentError` for what the store refuses for good (4xx), :class:`ActivityError` for the rest and
    for a checksum that differs.
    """
    from workflows.activities.archive_results import refuse_bucket

    allowed = settings.POIMEN_ARCHIVES["buckets"]
    if f"gs://{bucket}" not in allowed:
        raise refuse_bucket(f"gs://{bucket}", allowed)
    with _told(bucket):
        place = _client(credentials).bucket(bucket)
        metadata = {**facts, "sha256": source.sha256}
        there = place.get_blob(key, timeout=SECONDS)
        if there is not None and _is_same(there, source):
            if dict(there.metadata or {}) != metadata:
                there.metadata = metadata
                there.patch(timeout=SECONDS)
            context.info("the same content is there already: only its metadata is written", key=key)
            return
        context.check_cancelled()
        blob = place.blob(key, chunk_size=PART_BYTES if source.is_multipart else None)
        blob.metadata = metadata
        blob.upload_from_file(source.rewind(), size=source.size, content_type=kind, timeout=SECONDS, checksum="crc32c")
        blob.reload(timeout=SECONDS)
        if not _is_same(blob, source):
            raise ActivityError(
                f"what is in gs://{bucket} is not what was uploaded: its checksum differs", name="ChecksumMismatch"
            )


def _is_same(blob: Any, source: ArchiveFile) -> bool:
    return bool(blob.size == source.size and blob.crc32c == source.crc32c)


def _client(credentials: Mapping[str, str] | None) -> Any:
    from google.auth.credentials import AnonymousCredentials
    from google.cloud import storage
    from google.oauth2 import service_account

    given = settings.POIMEN_ARCHIVES["gcs"]
    endpoint = given["endpoint"]
    options = {"api_endpoint": endpoint} if endpoint else None
    if credentials is not None:
        if set(credentials) != {"serviceAccount"}:
            raise InvalidInput("credentials: Google Cloud Storage takes serviceAccount, the JSON of one")
        account = _service_account(credentials["serviceAccount"])
    elif given["credentials_file"]:
        try:
            with open(given["credentials_file"], encoding="utf-8") as file:  # noqa: PTH123 - the operator's
                account = json.load(file)
        except (OSError, ValueError) as error:
            raise PermanentError(
                f"POIMEN_GCS_CREDENTIALS_FILE cannot be read: {type(error).__name__}", name="NotConfigured"
            ) from None
    elif endpoint:
        return storage.Client(project="poimen", credentials=AnonymousCredentials(), client_options=options)
    else:
        return storage.Client(client_options=options)
    try:
        signer = service_account.Credentials.from_service_account_info(account, scopes=_SCOPES)
    except (ValueError, KeyError, TypeError):
        raise InvalidInput("credentials: serviceAccount is not the JSON of a service account") from None
    return storage.Client(project=account.get("project_id") or "poimen", credentials=signer, client_options=options)


def _service_account(text: str) -> Any:
    try:
        account = json.loads(text)
    except ValueError:
        account = None
    if not isinstance(account, dict):
        raise InvalidInput("credentials: serviceAccount is not the JSON of a service account")
    if account.get("token_uri") != TOKEN_SERVER or account.get("universe_domain", _UNIVERSE) != _UNIVERSE:
        raise InvalidInput(f"credentials: serviceAccount must get its tokens from {TOKEN_SERVER}")
    return account


@contextmanager
def _told(bucket: str) -> Iterator[None]:
    """Turn the client's errors into ours: the status that the store gave, none of its words."""
    import requests
    from google.api_core.exceptions import GoogleAPICallError, RetryError
    from google.auth.exceptions import DefaultCredentialsError, GoogleAuthError, RefreshError

    try:
        yield
    except (ActivityError, PermanentError, Canceled):
        raise
    except GoogleAPICallError as error:
        status = int(error.code or 500)
        raise ActivityError(
            f"gs://{bucket} answered {status}", name="ArchiveFailed", retryable=pinned_http.may_help_again(status)
        ) from None
    except DefaultCredentialsError:
        raise PermanentError(
            "credentials: not provided, and POIMEN_GCS_CREDENTIALS_FILE is not set", name="NotConfigured"
        ) from None
    except RefreshError:
        raise PermanentError(
            "credentials: Google gives no token for this service account", name="NotConfigured"
        ) from None
    except (GoogleAuthError, RetryError, requests.RequestException, OSError, ValueError) as error:
        raise ActivityError(f"gs://{bucket} cannot be reached: {type(error).__name__}", name="ArchiveFailed") from None
