"""Archiving: what arrives in local directories, S3 and Google Cloud Storage, and what may not be read or written."""

import hashlib
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

import boto3
import pytest
from gcp_storage_emulator.server import create_server
from moto.server import ThreadedMotoServer
from pytest_django import Settings

from workflows.activities import archive_s3
from workflows.activities.archive_file import PART_BYTES
from workflows.errors import ActivityError, Canceled, InvalidInput, PermanentError, WorkflowError
from workflows.tests.activity_case import Case

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

KEYS: dict[str, Any] = {
    "aws_access_key_id": "AKIATEST",
    "aws_secret_access_key": "5ecret-of-the-archive",
    "region_name": "us-east-1",
}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        return int(unused.getsockname()[1])


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path / "home")


@pytest.fixture
def root(settings: Settings, tmp_path: Path) -> Path:
    """The archive's root; no bucket may be written to."""
    root = tmp_path / "archive"
    settings.POIMEN_ARCHIVES = {
        "root": root,
        "buckets": [],
        "s3": {"endpoint": "", "region": "us-east-1", "access_key_id": "", "secret_access_key": ""},
        "gcs": {"endpoint": "", "credentials_file": ""},
    }
    return root


@pytest.fixture(scope="module")
def moto() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3(root: Path, settings: Settings, moto: str) -> Iterator["S3Client"]:
    settings.POIMEN_ARCHIVES |= {
        "buckets": ["s3://reports", "s3://missing"],
        "s3": {
            "endpoint": moto, "region": "us-east-1",
            "access_key_id": KEYS["aws_access_key_id"], "secret_access_key": KEYS["aws_secret_access_key"],
        },
    }  # fmt: skip
    client = boto3.client("s3", endpoint_url=moto, **KEYS)
    client.create_bucket(Bucket="reports")
    yield client
    with urlopen(f"{moto}/moto-api/reset", data=b"") as answer:
        assert answer.status == 200


@pytest.fixture
def gcs(root: Path, settings: Settings) -> Iterator[Any]:
    port = free_port()
    server = create_server("127.0.0.1", port, in_memory=True, default_bucket="reports")
    server.start()
    endpoint = f"http://127.0.0.1:{port}"
    settings.POIMEN_ARCHIVES |= {
        "buckets": ["gs://reports", "gs://missing"],
        "gcs": {"endpoint": endpoint, "credentials_file": ""},
    }
    from google.auth.credentials import AnonymousCredentials
    from google.cloud import storage

    yield storage.Client("poimen", AnonymousCredentials(), client_options={"api_endpoint": endpoint})
    server.stop()


def report(case: Case, content: bytes = b"<h1>Fine</h1>", name: str = "report.html") -> str:
    path = case.context().artifacts / name
    path.write_bytes(content)
    return str(path)


def archive(case: Case, path: str, destination: str, **more: Any) -> dict[str, Any]:
    parameters = {"reportPath": path, "destination": destination} | more
    output: dict[str, Any] = case.run("ArchiveResultsActivity", parameters)
    return output


# -- local ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "destination, place",
    [
        ("nightly/kept.html", "nightly/kept.html"),
        ("nightly/", "nightly/report.html"),
        ("", "018f0000-0000-7000-8000-000000000001/report.html"),
    ],
)
def test_a_local_archive_gets_a_copy_for_the_owner_only(case: Case, root: Path, destination: str, place: str) -> None:
    output = archive(case, report(case), destination, metadata={"branch": "main", "score": 87.5, "clean": True})
    kept = root / "customer" / place
    assert output == {
        "archiveUrl": str(kept),
        "archiveSize": len(b"<h1>Fine</h1>"),
        "checksum": hashlib.sha256(b"<h1>Fine</h1>").hexdigest(),
    }
    assert kept.read_bytes() == b"<h1>Fine</h1>"
    assert kept.stat().st_mode & 0o777 == 0o600
    facts = json.loads(kept.with_name(f"{kept.name}.metadata.json").read_text())
    assert facts == {"branch": "main", "score": "87.5", "clean": "true"}
    assert {path.name for path in kept.parent.iterdir()} == {kept.name, f"{kept.name}.metadata.json"}


def test_the_path_of_the_archive_itself_and_a_file_address_are_taken_too(case: Case, root: Path) -> None:
    for destination in (str(root / "customer" / "a"), f"file://{root}/customer/a"):
        assert archive(case, "report.html" if report(case) else "", destination)[
            "archiveUrl"
        ] == destination.removeprefix("file://")


def test_archiving_again_replaces_what_is_there(case: Case, root: Path) -> None:
    archive(case, report(case, b"old"), "a")
    assert archive(case, report(case, b"new"), "a")["archiveSize"] == 3
    assert (root / "customer" / "a").read_bytes() == b"new"


@pytest.mark.parametrize("destination", ["../other/a", "/etc/cron.d/a", "a/../../b", ".", "file:///tmp/a", "/"])
def test_nothing_is_written_outside_the_customers_archive(case: Case, root: Path, destination: str) -> None:
    with pytest.raises(PermanentError, match=r"destination: .* outside the archive"):
        archive(case, report(case), destination)
    assert [path for path in root.rglob("*") if path.is_file()] == []


def test_a_link_in_the_archive_is_not_written_through(case: Case, root: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (root / "customer").mkdir(parents=True)
    (root / "customer" / "link").symlink_to(tmp_path / "elsewhere")
    (root / "customer" / "file").symlink_to(tmp_path / "elsewhere" / "precious")
    with pytest.raises(PermanentError, match="outside the archive"):
        archive(case, report(case), "link/a")
    archive(case, report(case), "file")  # replaces the link, not what it leads to
    assert list((tmp_path / "elsewhere").iterdir()) == []


# -- sources -------------------------------------------------------------------------------------------------------


def test_a_missing_report_is_not_found(case: Case, root: Path) -> None:
    for path in ("nothing.html", str(case.context().artifacts / "nothing.html")):
        with pytest.raises(PermanentError, match=r"reportPath: .* not found") as failed:
            archive(case, path, "a")
        assert not failed.value.retryable


def test_only_the_executions_own_files_can_be_archived(case: Case, root: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    artifacts = case.context().artifacts
    (artifacts / "link").symlink_to(tmp_path / "secret")
    (artifacts / "up").symlink_to(tmp_path)
    neighbour = Case(case.home, "018f0000-0000-7000-8000-000000000002")
    theirs = report(neighbour)
    for path in (str(tmp_path / "secret"), "/etc/passwd", "../../../secret", "link", "up/secret", theirs, "manage.py"):
        with pytest.raises(PermanentError, match="reportPath"):
            archive(case, path, "a")
    settings_file = str(Path(__file__).resolve())  # in a repository root, which can be read but is nobody's result
    with pytest.raises(PermanentError, match="does not exist for this activity"):
        archive(case, settings_file, "a")
    assert not (root / "customer").exists()


def test_what_others_have_archived_cannot_be_read_although_the_home_is_a_repository_root(
    case: Case, root: Path, settings: Settings, tmp_path: Path
) -> None:
    settings.POIMEN_REPO_ROOTS = [tmp_path]
    archive(case, report(case), "kept/a.py")
    for path in (root, root / "customer" / "kept"):
        with pytest.raises(PermanentError, match="outside the allowed directories"):
            case.run("AnalyzeCodeActivity", {"path": str(path)})


def test_what_is_no_regular_file_is_refused_without_waiting(case: Case, root: Path) -> None:
    artifacts = case.context().artifacts
    os.mkfifo(artifacts / "pipe")
    for path in ("pipe", "."):
        with pytest.raises(InvalidInput, match="no regular file"):
            archive(case, path, "a")


@pytest.mark.parametrize(
    "wrong",
    [
        {"destination": "ftp://host/a"}, {"destination": "https://bucket/a"}, {"destination": "s3://"},
        {"destination": "s3://reports/a/../b"}, {"destination": "gs://reports//a"}, {"destination": "s3:///a"},
        {"destination": "s3://reports/" + "a" * 1025}, {"destination": "a\nb"}, {"reportPath": ""},
        {"reportPath": "a\0b"}, {"metadata": {"a": "x" * 257}}, {"metadata": {"": "x"}}, {"metadata": {"a": {}}},
        {"metadata": {f"n{i}": 1 for i in range(11)}}, {"credentials": {"accessKeyId": "x"}},
    ],
)  # fmt: skip
def test_wrong_inputs_are_named(case: Case, root: Path, wrong: dict[str, Any]) -> None:
    parameters: dict[str, Any] = {"path": report(case), "destination": "a"}
    parameters |= {"path": wrong["reportPath"]} if "reportPath" in wrong else wrong
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        archive(case, **parameters)


# -- S3 ------------------------------------------------------------------------------------------------------------


def test_s3_gets_the_file_with_its_kind_and_tags(case: Case, s3: "S3Client") -> None:
    output = archive(case, report(case), "s3://reports/nightly/", metadata={"branch": "main", "score": 87.5})
    assert output["archiveUrl"] == "s3://reports/nightly/report.html"
    kept = s3.get_object(Bucket="reports", Key="nightly/report.html")
    assert (kept["Body"].read(), kept["ContentType"]) == (b"<h1>Fine</h1>", "text/html")
    tags = s3.get_object_tagging(Bucket="reports", Key="nightly/report.html")["TagSet"]
    assert {tag["Key"]: tag["Value"] for tag in tags} == {"branch": "main", "score": "87.5"}


def test_a_large_file_is_uploaded_in_parts_and_proved(case: Case, s3: "S3Client") -> None:
    content = os.urandom(1024) * (2 * PART_BYTES // 1024) + b"the rest"
    output = archive(case, report(case, content, "big.bin"), "s3://reports/big.bin")
    head = s3.head_object(Bucket="reports", Key="big.bin")
    assert head["ETag"].strip('"').endswith("-3")
    assert output["archiveSize"] == head["ContentLength"] == len(content)
    assert s3.get_object(Bucket="reports", Key="big.bin")["Body"].read() == content
    assert s3.list_multipart_uploads(Bucket="reports").get("Uploads", []) == []
    assert any(r.percent is not None and r.percent > 50 for r in case.reports)


def test_an_attempt_after_a_lost_result_uploads_nothing_again(case: Case, s3: "S3Client") -> None:
    s3.put_bucket_versioning(Bucket="reports", VersioningConfiguration={"Status": "Enabled"})
    for _ in range(2):
        archive(case, report(case), "s3://reports/a", metadata={"branch": "main"})
    assert len(s3.list_object_versions(Bucket="reports")["Versions"]) == 1
    archive(case, report(case, b"other content"), "s3://reports/a")
    assert len(s3.list_object_versions(Bucket="reports")["Versions"]) == 2


def test_what_arrived_damaged_is_noticed(case: Case, s3: "S3Client", monkeypatch: pytest.MonkeyPatch) -> None:
    real = archive_s3._upload

    def damaged(client: Any, bucket: str, key: str, *rest: Any) -> None:
        real(client, bucket, key, *rest)
        client.put_object(Bucket=bucket, Key=key, Body=b"<h1>Evil</h1>")

    monkeypatch.setattr(archive_s3, "_upload", damaged)
    with pytest.raises(ActivityError, match="checksum differs") as failed:
        archive(case, report(case), "s3://reports/a")
    assert (failed.value.name, failed.value.retryable) == ("ChecksumMismatch", True)


def test_a_bucket_that_is_not_allowed_or_not_there_is_refused(case: Case, s3: "S3Client") -> None:
    s3.create_bucket(Bucket="payroll")
    with pytest.raises(PermanentError, match="s3://payroll may not be written to") as refused:
        archive(case, report(case), "s3://payroll/a")
    assert refused.value.name == "ForbiddenTarget"
    with pytest.raises(WorkflowError, match="s3://missing answered 404") as failed:
        archive(case, report(case), "s3://missing/a")
    assert (failed.value.name, failed.value.retryable) == ("ArchiveFailed", False)


def test_s3_that_is_away_may_be_tried_again(case: Case, s3: "S3Client", settings: Settings) -> None:
    settings.POIMEN_ARCHIVES["s3"]["endpoint"] = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(ActivityError, match="cannot be reached") as failed:
        archive(case, report(case), "s3://reports/a")
    assert failed.value.retryable
    assert "5ecret" not in failed.value.message


def test_keys_can_come_with_the_input(case: Case, s3: "S3Client", settings: Settings) -> None:
    settings.POIMEN_ARCHIVES["s3"] |= {"access_key_id": "", "secret_access_key": ""}
    keys = {"accessKeyId": "AKIAMINE", "secretAccessKey": "my-very-own-5ecret"}
    archive(case, report(case), "s3://reports/a", credentials=keys)
    assert "5ecret" not in case.said
    with pytest.raises(InvalidInput, match="credentials"):
        archive(case, report(case), "s3://reports/a", credentials={"password": "x"})
    with pytest.raises(InvalidInput, match=r"metadata: .* tag"):
        archive(case, report(case), "s3://reports/a", metadata={"what?": "x"}, credentials=keys)


def test_a_cancelled_upload_stops(case: Case, s3: "S3Client") -> None:
    path = report(case)
    case.cancelled.set()
    with pytest.raises(Canceled):
        archive(case, path, "s3://reports/a")
    assert s3.list_objects_v2(Bucket="reports")["KeyCount"] == 0


# -- Google Cloud Storage ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["gs", "gcs"])
def test_google_gets_the_file_with_its_metadata(case: Case, gcs: Any, scheme: str) -> None:
    output = archive(case, report(case), f"{scheme}://reports/nightly/", metadata={"branch": "main", "score": 87.5})
    assert output["archiveUrl"] == f"{scheme}://reports/nightly/report.html"
    blob = gcs.bucket("reports").get_blob("nightly/report.html")
    assert (blob.download_as_bytes(), blob.content_type) == (b"<h1>Fine</h1>", "text/html")
    assert blob.metadata == {"branch": "main", "score": "87.5", "sha256": output["checksum"]}


def test_google_gets_a_large_file_in_pieces_once(case: Case, gcs: Any) -> None:
    content = os.urandom(1024) * (PART_BYTES // 1024) + b"the rest"
    path = report(case, content, "big.bin")
    for _ in range(2):
        assert archive(case, path, "gs://reports/big.bin")["archiveSize"] == len(content)
    assert gcs.bucket("reports").get_blob("big.bin").download_as_bytes() == content
    assert case.said.count("is there already") == 1


def test_google_refuses_other_buckets_and_tokens_from_elsewhere(case: Case, gcs: Any) -> None:
    with pytest.raises(PermanentError, match="gs://payroll may not be written to"):
        archive(case, report(case), "gs://payroll/a")
    with pytest.raises(WorkflowError, match="gs://missing answered 404") as failed:
        archive(case, report(case), "gs://missing/a")
    assert not failed.value.retryable
    account = {"type": "service_account", "token_uri": "http://169.254.169.254/token", "private_key": "x"}
    for given in ({"serviceAccount": json.dumps(account)}, {"serviceAccount": "{"}, {"token": "x"}):
        with pytest.raises(InvalidInput, match="credentials"):
            archive(case, report(case), "gs://reports/a", credentials=given)
