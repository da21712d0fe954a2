"""A disk that is full, and then not any more: nothing half-written is referenced, and the work goes on by itself.

Each disk is a small file system of its own, which only root may mount.
"""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import default_storage

from workflows.engine import artifacts, waits
from workflows.engine.json_text import dumps
from workflows.identifiers import new_id
from workflows.tests.pumping import Engine, eventually, failure_of, output_of, ran, runs_of, story

pytestmark = pytest.mark.usefixtures("misbehaving")


@pytest.fixture
def disk(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A disk of 512 KiB, on which artifacts and workspaces are."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", place], capture_output=True, text=True
    )
    if mounted.returncode != 0:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.strip()}")
    stored = settings.STORAGES["default"]
    settings.STORAGES = settings.STORAGES | {
        "default": stored | {"OPTIONS": stored["OPTIONS"] | {"location": str(place / "artifacts")}}
    }
    monkeypatch.setattr(waits, "home", lambda: place)
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


def task(resource: str, name: str = "A", **parameters: Any) -> dict[str, Any]:
    return {"name": name, "type": "Task", "resource": resource, "parameters": parameters}


PATIENT = {"retry": {"maxAttempts": 10, "initialInterval": "500ms", "backoffCoefficient": 1}}


def fill(disk: Path, left: int) -> Path:
    """Take all of the disk but ``left`` bytes."""
    ballast = disk / "ballast"
    ballast.write_bytes(b"x" * (512 * 1024 - left))
    return ballast


@pytest.mark.parametrize("left", [200 * 1024, 0], ids=["room for half of it", "no room"])
def test_an_output_that_does_not_fit_on_the_disk_is_stored_whole_once_it_does(
    engine: Engine, disk: Path, left: int
) -> None:
    ballast = fill(disk, left)
    engine.pump()
    engine.clock()
    size = {"name": "Size", "type": "Pass", "result": "{% $length(A.output.value) %}"}
    execution = engine.start({"name": "full", "states": [task("Give", kind="large") | PATIENT, size]})
    (first, *_) = eventually(lambda: runs_of(execution), "the first attempt")
    assert failure_of(first)["name"] == "StorageFailed"
    assert "No space left on device" in failure_of(first)["message"]
    ballast.unlink()
    assert engine.ended(execution).output == 300 * 1024, story(execution)
    stored = output_of(execution, "A")
    assert len(default_storage.open(stored["$artifact"]).read()) == stored["bytes"]
    whole = [path for path in disk.rglob("*") if path.is_file()]
    assert [path.stat().st_size for path in whole] == [stored["bytes"]], "nothing is left of the attempts that failed"


def test_an_activity_that_cannot_write_its_workspace_fails_and_is_tried_again(engine: Engine, disk: Path) -> None:
    ballast = fill(disk, 100 * 1024)
    engine.pump()
    engine.clock()
    execution = engine.start({"name": "full", "states": [task("Fill") | PATIENT, task("EchoActivity", "B", value=1)]})
    (first, *_) = eventually(lambda: runs_of(execution), "the first attempt")
    assert "No space left on device" in failure_of(first)["message"]
    ballast.unlink()
    assert engine.ended(execution).status == "success", story(execution)
    assert ran(execution)[-1] == ("B", "success", 1)


def test_half_an_output_left_by_a_killed_process_is_not_taken_for_the_whole(disk: Path) -> None:
    execution, value = new_id(), "x" * 300 * 1024
    reference = artifacts.keep_small(execution, value)
    path = Path(default_storage.path(reference["$artifact"]))
    assert json.loads(path.read_text()) == value
    assert [p for p in path.parent.iterdir() if p != path] == []
    path.unlink()
    # What a process leaves that dies while it writes has another name than the whole.
    draft = artifacts.draft_of(reference["$artifact"])
    Path(default_storage.path(draft)).write_text(dumps(value)[:1000])
    assert artifacts.keep_small(execution, value) == reference
    assert artifacts.fetch(reference) == value
