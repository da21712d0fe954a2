"""Workflows over REST: saved, listed, read and deleted by whom it concerns, and refused with a sentence."""

import json
import re
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from canvas.models import Relation
from canvas.tests.asking import CHAIN, KEYS, RFC3339, client, post, saved
from canvas.tests.drawing import edge, edges, node, start
from workflows.models import Execution, Role, SpecDocument, Workflow, WorkflowVersion
from workflows.tests.people import customer, started

pytestmark = pytest.mark.django_db


# -- create -----------------------------------------------------------------------------------------------------


def test_a_workflow_is_saved_at_version_1_with_the_spec_that_runs_it() -> None:
    ann = client(name="ann")
    response = post(ann, "/workflows", {**CHAIN, "description": "two steps"})
    assert response.status_code == 201
    assert response.headers["ETag"] == '"1"'
    body = response.json()
    assert set(body) == KEYS | {"validation"}
    assert (body["name"], body["description"], body["status"], body["version"]) == ("chain", "two steps", "draft", 1)
    assert body["createdBy"] == "ann"
    assert re.fullmatch(RFC3339, body["createdAt"])
    assert re.fullmatch(RFC3339, body["updatedAt"])
    assert UUID(body["id"]).version == 7
    assert body["validation"]["valid"] is True
    version = WorkflowVersion.objects.get(workflow=body["id"])
    assert version.spec is not None
    assert version.spec.document["name"] == "chain"
    assert [s["name"] for s in version.spec.document["states"]] == ["a", "b"]


def test_what_was_sent_is_what_is_kept_and_only_filled_up() -> None:
    drawn = {
        "id": "n1", "type": "clone-repo", "label": "Get it", "data": {"repo": "r", "note": {"colour": "red"}},
        "selected": True, "measured": {"width": 120.5, "height": 40}, "zIndex": None,
    }  # fmt: skip
    kept = {"id": "n2", "type": "activity", "position": {"x": 1.5, "y": -2}, "data": {"label": "", "activity": "echo",
            "config": {}, "custom": [1]}, "parentId": "g", "width": 10}  # fmt: skip
    line = {"id": "e1", "source": "n1", "target": "n2", "sourceHandle": "out", "animated": True, "data": {"why": "x"}}
    bare = {"source": "n2", "target": "n1"}
    body = saved(client(), nodes=[drawn, kept], edges=[line, bare])
    first, second = body["nodes"]
    assert {key: first[key] for key in ("id", "label", "selected", "measured", "zIndex")} == {
        key: drawn[key] for key in ("id", "label", "selected", "measured", "zIndex")
    }
    assert first["position"] == {"x": 0, "y": 0}
    assert first["data"]["note"] == {"colour": "red"}
    assert first["data"]["label"] == "Get it"
    assert second == kept, "nothing was missing"
    assert body["edges"] == [line, {**bare, "id": "n2-n1"}]
    assert client().get(f"/workflows/{body['id']}").json()["nodes"] == body["nodes"]


def test_a_flat_node_is_kept_in_the_shape_of_the_editor() -> None:
    body = saved(client(), nodes=[{"id": "say", "type": "echo", "label": "Say", "data": {"value": 1}}], edges=[])
    (kept,) = body["nodes"]
    assert kept["type"] == "activity"
    assert kept["data"]["activity"] == "EchoActivity"
    assert kept["data"]["config"] == {"value": 1}


def test_a_draft_is_saved_with_its_errors() -> None:
    body = saved(client(), nodes=[node("a"), node("b", "NoSuchActivity")])
    assert body["validation"]["valid"] is False
    (error,) = body["validation"]["errors"]
    assert (error["code"], error["nodeId"]) == ("unknown-activity", "b")
    version = WorkflowVersion.objects.get(workflow=body["id"])
    assert version.spec is None
    assert version.problems


def test_an_active_workflow_must_be_valid() -> None:
    ann = client()
    response = post(ann, "/workflows", {**CHAIN, "status": "active", "edges": [edge("a", "b"), edge("b", "a")]})
    assert response.status_code == 422
    assert [item["code"] for item in response.json()["details"]] == ["cycle"]
    assert "active" in response.json()["error"]
    assert not Workflow.objects.exists()
    assert not SpecDocument.objects.exists()
    assert saved(ann, status="active")["status"] == "active"


def test_what_is_left_out_is_empty() -> None:
    body = post(client(), "/workflows", {"name": "bare"}).json()
    assert (body["nodes"], body["edges"], body["description"], body["status"]) == ([], [], "", "draft")


@pytest.mark.parametrize(
    "body, says",
    [
        ({}, "Workflow name required"),
        ({"name": ""}, "Workflow name required"),
        ({"name": "  "}, "Workflow name required"),
        ({"name": None}, "Workflow name required"),
        ({"name": 3}, "name: expected text"),
        ({"name": "x" * 129}, "name: expected at most 128 characters"),
        ({"name": "x", "description": ["y"]}, "description: expected text"),
        ({"name": "x", "status": "running"}, 'status: "running" is none of draft, active, archived'),
        ({"name": "x", "nodes": {"a": 1}}, "nodes: expected an array of objects"),
        ({"name": "x", "nodes": "[]"}, "nodes: expected an array of objects"),
        ({"name": "x", "nodes": [{}, 3]}, "nodes[1]: expected an object"),
        ({"name": "x", "edges": [None]}, "edges[0]: expected an object"),
        ([1, 2], "must be a JSON object"),
        ("text", "must be a JSON object"),
        (3, "must be a JSON object"),
    ],
)
def test_a_wrong_body_is_answered_with_the_field_and_what_was_expected(body: Any, says: str) -> None:
    response = post(client(), "/workflows", body)
    assert response.status_code == 400
    assert says in response.json()["error"]
    assert not Workflow.objects.exists()


def nested(levels: int) -> str:
    return '{"name": "x", "nodes": [{"id": "a", "data": ' + "[" * levels + "]" * levels + "}]}"


@pytest.mark.parametrize(
    "raw",
    [
        '{"name": "x"', "", "{'name': 'x'}", '{"name": NaN}', '{"name": "x\x00"}', '{"name": "x\\u0000"}',
        '{"name": "x", "description": "\\ud800"}', '{"name": "x", "nodes": [{"a\\u0000b": 1}]}',
        '{"name": "x", "nodes": [{"position": {"x": 1e400}}]}', nested(150), nested(100_000),
        '{"name": "x", "nodes": [{"a": ' + "9" * 5000 + "}]}", '{"name": "x", "nodes": [{"a": 1' + "0" * 2000 + "}]}",
    ],
)  # fmt: skip
def test_what_is_no_json_or_cannot_be_kept_is_refused(raw: str) -> None:
    ann = client()
    response = ann.post("/workflows", raw, content_type="application/json")
    assert response.status_code == 400, response.content
    assert response.json()["error"]
    assert not Workflow.objects.exists()


def test_bytes_that_are_no_text_and_other_media_are_refused() -> None:
    ann = client()
    assert ann.post("/workflows", b"\xff\xfe{}", content_type="application/json").status_code == 400
    response = ann.post("/workflows", "name=x", content_type="application/x-www-form-urlencoded")
    assert response.status_code == 415
    assert response.json()["error"]


def test_a_body_without_end_is_refused() -> None:
    response = post(client(), "/workflows", {"name": "x", "description": "y" * 10_000_000})
    assert response.status_code == 413
    assert response.json()["error"]


def test_a_draft_full_of_rubbish_is_kept_as_it_is() -> None:
    nodes = [
        {"id": 7},
        {"type": []},
        {"id": "x" * 300, "data": "no"},
        {"id": "a", "position": 3, "data": {"config": 1}},
    ]
    lines = [{"id": "e" * 300, "source": 1}, {"source": [], "target": {}}, {"id": "", "data": 3}]
    body = saved(client(), nodes=nodes, edges=lines)
    assert body["validation"]["valid"] is False
    assert [n.get("id") for n in body["nodes"]] == [7, None, "x" * 300, "a"]
    assert body["edges"][0] == lines[0]
    assert not Relation.objects.exists()


# -- read -------------------------------------------------------------------------------------------------------


def test_the_list_is_paged_counted_and_newest_first() -> None:
    ann = client()
    for number in range(12):
        saved(ann, name=f"w{number}", status="active" if number % 2 else "draft")
    body = ann.get("/workflows").json()
    assert set(body) == {"workflows", "total", "page", "limit"}
    assert (body["total"], body["page"], body["limit"]) == (12, 1, 10)
    assert [w["name"] for w in body["workflows"]] == [f"w{n}" for n in range(11, 1, -1)]
    assert set(body["workflows"][0]) == KEYS
    assert [w["name"] for w in ann.get("/workflows?page=2").json()["workflows"]] == ["w1", "w0"]
    assert ann.get("/workflows?page=3").json()["workflows"] == []
    assert ann.get("/workflows?limit=5000").json()["limit"] == 100
    active = ann.get("/workflows?status=active&limit=3").json()
    assert (active["total"], [w["name"] for w in active["workflows"]]) == (6, ["w11", "w9", "w7"])


@pytest.mark.parametrize(
    "query", ["page=0", "page=x", "limit=0", "limit=-1", "status=gone", "page=99999999999999999999"]
)
def test_a_wrong_query_is_answered_with_the_field(query: str) -> None:
    response = client().get(f"/workflows?{query}")
    assert response.status_code == 400
    assert response.json()["error"].startswith(query.partition("=")[0])


def test_reading_takes_few_queries() -> None:
    ann = client()
    ids = [saved(ann, name=f"w{n}")["id"] for n in range(5)]
    with CaptureQueriesContext(
        connection,
    ) as listing:
        ann.get("/workflows")
    with CaptureQueriesContext(connection) as reading:
        ann.get(f"/workflows/{ids[0]}")
    assert len(listing) <= 3, [q["sql"][:80] for q in listing]
    assert len(reading) <= 2, [q["sql"][:80] for q in reading]


@pytest.mark.parametrize("method", ["get", "put", "patch", "delete"])
@pytest.mark.parametrize("which", ["unknown", "foreign", "malformed"])
def test_what_is_not_there_for_you_is_not_there(method: str, which: str) -> None:
    foreign = saved(client(slug="other"))["id"]
    path = {"unknown": str(uuid4()), "foreign": foreign, "malformed": "no-id"}[which]
    body = {"data": {"name": "x"}, "format": "json"} if method in ("put", "patch") else {}
    response = getattr(client(), method)(f"/workflows/{path}", **body)
    assert response.status_code == 404
    assert response.json()["error"] == "Workflow not found"
    assert Workflow.objects.get().name == "chain"


def test_lists_are_scoped_to_the_customer() -> None:
    saved(client(slug="other"))
    assert client().get("/workflows").json()["total"] == 0


@pytest.mark.parametrize(
    "method, path",
    [
        ("get", "/workflows"), ("post", "/workflows"), ("get", "/workflows/x"), ("put", "/workflows/x"),
        ("delete", "/workflows/x"), ("post", "/workflows/x/execute"), ("get", "/workflows/x/executions"),
        ("get", "/workflows/x/versions"), ("get", "/workflows/x/relations/e/versions"), ("post", "/workflows/validate"),
    ],
)  # fmt: skip
def test_nobody_is_served_anonymously(method: str, path: str) -> None:
    response = getattr(APIClient(), method)(path)
    assert response.status_code == 401
    assert response.json()["error"]


def test_a_viewer_reads_and_does_not_save() -> None:
    made = saved(client())
    viewer = client(Role.VIEWER)
    assert viewer.get(f"/workflows/{made['id']}").status_code == 200
    assert post(viewer, "/workflows", CHAIN).status_code == 403
    assert viewer.put(f"/workflows/{made['id']}", {"name": "y"}).status_code == 403
    assert viewer.delete(f"/workflows/{made['id']}").status_code == 403
    assert post(viewer, "/workflows/validate", CHAIN).status_code == 200


def test_unknown_paths_below_a_workflow_do_nothing() -> None:
    made = saved(client())
    for path in ("anything", "execute/", "relations", "relations/x"):
        assert client().get(f"/workflows/{made['id']}/{path}").status_code == 404
    assert client().put(f"/workflows/{made['id']}/anything", {"name": "y"}).status_code == 404
    response = client(Role.OPERATOR).get(f"/workflows/{made['id']}/execute")
    assert (response.status_code, response.json()) == (405, {"error": "Method not allowed"})


# -- delete -----------------------------------------------------------------------------------------------------


def test_deleting_keeps_the_executions() -> None:
    ann = client(Role.OPERATOR)
    made = saved(ann)
    execution = post(ann, f"/workflows/{made['id']}/execute").json()["id"]
    response = ann.delete(f"/workflows/{made['id']}")
    assert (response.status_code, response.content) == (204, b"")
    assert ann.get(f"/workflows/{made['id']}").status_code == 404
    assert ann.delete(f"/workflows/{made['id']}").status_code == 404
    kept = Execution.objects.get(pk=execution)
    assert kept.workflow is None
    assert kept.spec.document["states"]
    assert not WorkflowVersion.objects.exists()


# -- versions ---------------------------------------------------------------------------------------------------


def test_every_save_can_be_read_again() -> None:
    ann = client()
    made = saved(ann)
    path = f"/workflows/{made['id']}"
    ann.put(path, {"nodes": [node("a", "Nope")], "edges": [], "name": "broken"}, format="json")
    response = ann.get(f"{path}/versions")
    assert response.headers["X-Total-Count"] == "2"
    second, first = response.json()
    assert (second["version"], second["runnable"], second["name"]) == (2, False, "broken")
    assert [e["code"] for e in second["validation"]["errors"]] == ["unknown-activity"]
    assert (first["version"], first["runnable"]) == (1, True)
    assert "nodes" not in first
    whole = ann.get(f"{path}/versions/1").json()
    assert whole["nodes"] == made["nodes"]
    assert whole["spec"]["startAt"] == "a"
    assert ann.get(f"{path}/versions/2").json()["spec"] is None
    assert ann.get(f"{path}/versions?limit=1&page=2").json()[0]["version"] == 1


@pytest.mark.parametrize("path", ["versions/3", f"versions/{10**30}", "versions/x"])
def test_a_version_that_is_not_there(path: str) -> None:
    made = saved(client())
    assert client().get(f"/workflows/{made['id']}/{path}").status_code == 404
    assert client(slug="other").get(f"/workflows/{made['id']}/versions/1").status_code == 404
    assert client(slug="other").get(f"/workflows/{made['id']}/versions").status_code == 404


# -- validate ---------------------------------------------------------------------------------------------------


def test_a_canvas_is_judged_without_being_saved() -> None:
    ann = client()
    body = post(ann, "/workflows/validate", {"nodes": [start(), node("a")], "edges": edges("start a")}).json()
    assert (body["valid"], body["errors"]) == (True, [])
    assert [w["code"] for w in body["warnings"]] == ["no-end"]
    assert body["spec"]["states"][0]["name"] == "a"
    lone = {"nodes": [node("a"), node("b"), node("c")], "edges": edges("a b")}
    active = post(ann, "/workflows/validate", lone).json()
    assert (active["valid"], active["spec"]) == (False, None)
    assert post(ann, "/workflows/validate", {**lone, "status": "draft"}).json()["valid"] is True
    assert not Workflow.objects.exists()


@pytest.mark.parametrize("body", [{}, {"nodes": 3}, {"nodes": [1, {"id": []}], "edges": {"x": 1}}])
def test_any_canvas_gets_a_judgement(body: Any) -> None:
    response = post(client(), "/workflows/validate", body)
    assert response.status_code == 200
    assert response.json()["valid"] is False
    assert all(set(item) >= {"code", "message"} for item in response.json()["errors"])


def test_a_child_workflow_must_exist_for_this_customer() -> None:
    saved(client(slug="other"), name="theirs")
    ann = client()
    mine = saved(ann, name="mine")
    for name, valid in (("mine", True), (mine["id"], True), ("theirs", False), ("min", False)):
        drawn = [{"id": "child", "type": "workflow", "data": {"workflow": name}}]
        body = post(ann, "/workflows/validate", {"nodes": drawn, "edges": []}).json()
        assert body["valid"] is valid, name
        assert valid or [e["code"] for e in body["errors"]] == ["unknown-workflow"]


def test_no_answer_of_the_list_carries_anything_foreign() -> None:
    other = customer("other")
    started(other, by="eve")
    saved(client(slug="other"), name="secret plan")
    for path in ("/workflows", f"/workflows/{Workflow.objects.get().pk}", "/workflows?status=draft"):
        assert "secret plan" not in json.dumps(client().get(path).json())
