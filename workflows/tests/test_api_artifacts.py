"""What an execution keeps as files: large outputs and reports can be had over REST and from the pages, and no more."""

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from asgiref.sync import async_to_sync
from django.conf import settings
from django.test import Client

from workflows.api.streaming import PIECE
from workflows.artifact_files import content_type_of
from workflows.models import Execution, Role, StateRun
from workflows.tests.people import customer, member, signed_in, started
from workflows.tests.pumping import Engine

BIG = "ü" * 200_000  # twice that in UTF-8
SPEC: dict[str, Any] = {
    "name": "keeps",
    "states": [
        {
            "name": "Say",
            "type": "Task",
            "resource": "EchoActivity",
            "parameters": {"value": "${workflow.input.big}"},
            "next": "Report",
        },
        {
            "name": "Report",
            "type": "Task",
            "resource": "GenerateReportActivity",
            "parameters": {"format": "html", "title": "All of it"},
            "next": "Each",
        },
        {
            "name": "Each",
            "type": "Map",
            "items": [1],
            "states": [{"name": "One", "type": "Pass", "result": "${Say.output}"}],
            "end": True,
        },
    ],
}


def viewer(slug: str = "acme") -> Any:
    return signed_in(member(customer(slug), Role.VIEWER))


def whole(answer: Any) -> bytes:
    """The body, taken as the server takes it."""

    async def read() -> bytes:
        return b"".join([piece async for piece in answer.streaming_content])

    return async_to_sync(read)()


@pytest.fixture
def place() -> Path:
    """Where an execution that waits for a worker keeps its files."""
    path = Path(settings.POIMEN_HOME, "artifacts", str(started(customer()).pk))
    path.mkdir(parents=True)
    return path


def id_of(place: Path) -> UUID:
    return UUID(place.name)


def test_a_large_output_and_a_report_can_be_fetched_where_the_answer_says(engine: Engine) -> None:
    execution = started(customer(), SPEC, big=BIG)
    engine.pump()
    assert engine.ended(execution.pk).status == "success"
    client = viewer()
    states = {run["state"]: run for run in client.get(f"/executions/{execution.pk}/states").json()["states"]}
    reference = states["Say"]["output"]
    assert set(reference) == {"$artifact", "bytes", "sha256", "href"}
    answer = client.get(reference["href"])
    assert answer.status_code == 200
    assert answer["Content-Type"] == "application/json"
    content = whole(answer)
    assert json.loads(content) == {"value": BIG}
    assert (len(content), hashlib.sha256(content).hexdigest()) == (reference["bytes"], reference["sha256"])
    outputs = client.get(f"/executions/{execution.pk}").json()["outputs"]
    assert outputs["stepResults"]["Say"] == reference
    assert states["Each"]["output"] == outputs["output"] == [reference], "references within a value are answered, too"
    kept: Any = StateRun.objects.get(execution=execution, state="Say").output
    assert set(kept) == {"$artifact", "bytes", "sha256"}, "what is stored stays as it is"

    listed = client.get(f"/executions/{execution.pk}/artifacts")
    assert listed["X-Total-Count"] == "2"
    output, report = listed.json()
    assert (output["href"], output["bytes"]) == (reference["href"], reference["bytes"])
    assert report["name"] == Path(states["Report"]["output"]["reportPath"]).name
    assert client.get(f"/executions/{execution.pk}/artifacts?page=2&limit=1").json() == [report]
    answer = client.get(report["href"], headers={"Accept": "text/html"})
    assert answer["Content-Type"] == report["contentType"] == "text/html; charset=utf-8"
    assert answer["Content-Disposition"] == f'attachment; filename="{report["name"]}"'
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Security-Policy"].startswith("sandbox")
    assert b"All of it" in whole(answer)

    person = Client()
    person.force_login(member(customer(), Role.VIEWER))
    for state, name in (("Say", output["name"]), ("Report", report["name"])):
        run = StateRun.objects.get(execution=execution, state=state)
        page = person.get(f"/ui/executions/{execution.pk}/runs/{run.pk}").content.decode()
        address = f"/ui/executions/{execution.pk}/artifacts/{name}"
        assert f'href="{address}"' in page
        answer = person.get(address)
        assert answer["Content-Disposition"].startswith("attachment")
        assert len(whole(answer)) == int(answer["Content-Length"])
    assert signed_in(member(customer("other"), Role.ADMIN)).get(reference["href"]).status_code == 404


def test_a_rerun_links_to_where_the_output_it_reuses_is_kept(engine: Engine) -> None:
    execution = started(customer(), SPEC, big=BIG)
    engine.pump()
    engine.ended(execution.pk)
    client = signed_in(member(customer(), Role.OPERATOR))
    again = client.post(f"/executions/{execution.pk}/rerun", {"fromState": "Report"}, format="json").json()["id"]
    engine.ended(UUID(again))
    run = next(run for run in client.get(f"/executions/{again}/states?state=Say").json()["states"])
    assert run["reused"]
    assert run["output"]["href"].startswith(f"/executions/{execution.pk}/artifacts/outputs/")
    assert client.get(run["output"]["href"]).status_code == 200


def test_what_only_looks_like_a_reference_reads_nothing(engine: Engine) -> None:
    """Whoever knows where something is kept must not get it by handing in an object that names it."""
    theirs = started(customer("other"))
    kept = Path(settings.POIMEN_HOME, "artifacts", str(theirs.pk), "report.json")
    kept.parent.mkdir(parents=True)
    kept.write_text('["theirs"]')
    each: dict[str, Any] = {"name": "Each", "type": "Map", "items": "${workflow.input.forged}"}
    each["states"] = [{"name": "One", "type": "Pass", "result": "${item}"}]
    engine.pump()
    for path in (f"{theirs.pk}/report.json", f"{theirs.pk}/outputs/../report.json", "../secret-key", "/etc/hostname"):
        forged = {"$artifact": path, "bytes": 8, "sha256": "x"}
        execution = started(customer(), {"name": "forges", "states": [each]}, forged=forged)
        ended = engine.ended(execution.pk)
        assert ended.status == "failed", ended.output
        assert ended.error is not None
        assert ended.error["message"] == "the items of Each must be an array; they are dict"
        assert viewer().get(f"/executions/{execution.pk}").json()["inputs"]["forged"] == forged


@pytest.mark.django_db
def test_no_name_leads_elsewhere(place: Path, tmp_path: Path) -> None:
    (place / "inner").mkdir()
    (place / "inner" / "a b%.txt").write_text("fine")
    neighbour = place.parent / str(uuid4())
    neighbour.mkdir()
    (neighbour / "theirs").write_text("secret")
    (tmp_path / "outside").write_text("secret")
    (place / "link").symlink_to(tmp_path / "outside")
    (place / "linked").symlink_to(tmp_path)
    (place / "half.json.0123.part").write_text("half")
    (place / ".report-1").write_text("half")
    os.mkfifo(place / "pipe")
    client = viewer()
    base = f"/executions/{place.name}/artifacts"
    assert [file["name"] for file in client.get(base).json()] == ["inner/a b%.txt"]
    assert whole(client.get(f"{base}/inner/a%20b%25.txt")) == b"fine"
    assert whole(client.get(client.get(base).json()[0]["href"])) == b"fine"
    wrong = ["inner", "inner/", "link", "linked/outside", "pipe", "half.json.0123.part", ".report-1", "nothing", "."]
    wrong += [f"../{neighbour.name}/theirs", f"%2e%2e/{neighbour.name}/theirs", f"inner/../../{neighbour.name}/theirs"]
    wrong += [str(tmp_path / "outside"), "//etc/passwd", "inner//a b%.txt", "inner/a b%.txt/", "x" * 300, "é" * 3000]
    for name in wrong:
        answer = client.get(f"{base}/{name}")
        assert (answer.status_code, answer.json()) == (404, {"error": "Artifact not found"}), name


@pytest.mark.django_db
def test_an_execution_that_keeps_nothing_has_an_empty_list() -> None:
    execution = started(customer())
    answer = viewer().get(f"/executions/{execution.pk}/artifacts")
    assert (answer.status_code, answer.json(), answer["X-Total-Count"]) == (200, [], "0")


@pytest.mark.django_db
def test_a_file_is_sent_a_piece_at_a_time_and_closed_when_nobody_reads_on(place: Path) -> None:
    (place / "large.bin").write_bytes(b"x" * (PIECE * 3 + 1))
    answer = viewer().get(f"/executions/{place.name}/artifacts/large.bin")
    assert answer["Content-Length"] == str(PIECE * 3 + 1)

    opened = {str(place / "large.bin")}

    async def leave_early() -> tuple[int, bool]:
        pieces = aiter(answer.streaming_content)
        size = len(await anext(pieces))
        is_open = opened <= _open_files()
        await pieces.aclose()
        return size, is_open

    assert async_to_sync(leave_early)() == (PIECE, True)
    assert not opened & _open_files()


@pytest.mark.parametrize(
    "name, kind",
    [
        ("report.md", "text/markdown; charset=utf-8"),
        ("REPORT.HTML", "text/html; charset=utf-8"),
        ("outputs/x.json", "application/json"),
        ("logs.tar.gz", "application/gzip"),
        ("x.log", "text/plain; charset=utf-8"),
        ("picture.svg", "image/svg+xml"),
        ("README", "application/octet-stream"),
    ],
)
def test_the_type_is_what_the_name_says(name: str, kind: str) -> None:
    assert content_type_of(name) == kind


@pytest.mark.django_db
def test_others_files_do_not_exist(place: Path) -> None:
    (place / "report.md").write_text("# Mine")
    assert Execution.objects.filter(pk=id_of(place)).exists()
    stranger = signed_in(member(customer("other"), Role.ADMIN))
    visitor = Client()
    visitor.force_login(member(customer("other"), Role.ADMIN))
    for path in (f"/executions/{place.name}/artifacts", f"/executions/{place.name}/artifacts/report.md"):
        answer = stranger.get(path)
        assert (answer.status_code, answer.json()) == (404, {"error": "Execution not found"})
    assert visitor.get(f"/ui/executions/{place.name}/artifacts/report.md").status_code == 404


def _open_files() -> set[str]:
    found = set()
    for link in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # the directory itself was open a moment ago
            found.add(str(link.readlink()))
    return found
