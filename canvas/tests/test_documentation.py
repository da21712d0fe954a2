"""The references say what the code does: their canvases are valid, their tables complete, their keys the real ones."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from canvas.api.urls import urlpatterns
from canvas.catalogue import current_catalogue
from canvas.compilation import compile_canvas
from canvas.edges import WORDING_TEXTS
from canvas.problems import CODES, report_of
from canvas.tests.asking import client, saved
from canvas.validation import MAX_EDGES, MAX_NODES
from workflows.models import Role

REFERENCE = Path(settings.BASE_DIR) / "docs" / "reference"
CANVAS = (REFERENCE / "canvas.md").read_text()
REST = (REFERENCE / "rest-workflows.md").read_text()
EXAMPLES = Path(settings.BASE_DIR) / "examples"


def blocks(text: str) -> list[Any]:
    return [json.loads(block) for block in re.findall(r"^```json\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)]


def judged(drawn: dict[str, Any]) -> list[str]:
    outcome = compile_canvas("drawn", drawn["nodes"], drawn["edges"], current_catalogue())
    return [item["code"] for item in report_of(outcome.rows(), "active")["errors"]]


@pytest.mark.parametrize("drawn", blocks(CANVAS))
def test_every_canvas_in_the_reference_is_valid(drawn: dict[str, Any]) -> None:
    assert judged(drawn) == []


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.json")), ids=lambda path: path.stem)
def test_every_example_is_valid(path: Path) -> None:
    assert judged(json.loads(path.read_text())) == []


def test_the_first_canvas_compiles_to_what_the_page_says() -> None:
    drawn = blocks(CANVAS)[0]
    document = compile_canvas("first", drawn["nodes"], drawn["edges"], current_catalogue()).document
    assert document is not None
    chain, report = document["states"][0]["branches"]
    clone, scan = chain["states"]
    assert clone["parameters"] == {"repo": "${workflow.input.repo}"}
    assert scan["parameters"] == {"path": "${clone.output.path}"}
    assert report["when"] == '{% scan.output.riskLevel != "low" %}'


def test_the_table_of_codes_is_that_of_the_code() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| (error|unfinished|warning) \| (.+) \|$", CANVAS, flags=re.MULTILINE)
    assert rows == [(code, severity, meaning) for code, (severity, meaning) in CODES.items()]


def test_bounds_and_keys_are_those_of_the_code() -> None:
    assert f"{MAX_NODES:,} nodes and {MAX_EDGES:,} edges" in CANVAS
    assert all(f"`{key}`" in CANVAS for key in WORDING_TEXTS)


def test_every_route_is_in_the_reference() -> None:
    routes = {
        re.sub(r"<\w+:(\w+)>", r"{\1}", str(route.pattern)).replace("{workflow_id}", "{id}") for route in urlpatterns
    }
    routes.remove("workflow")  # the gateway has a page of its own
    documented = set(re.findall(r"`[A-Z]+ /((?:workflows|expressions)[^`?]*)`", REST.partition("\n## ")[0]))
    assert routes == documented


@pytest.mark.django_db
def test_the_bodies_in_the_reference_have_the_real_keys() -> None:
    workflow, history = blocks(REST)
    made = saved(client())
    assert set(workflow) == set(made)
    real = client(Role.VIEWER).get(f"/workflows/{made['id']}/relations/a-b/versions").json()
    assert set(history) == set(real)
    assert set(history["versions"][0]) == set(real["versions"][0])
