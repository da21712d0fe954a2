"""Changes of a workflow over REST: what they keep, who wins when several save at once, and how the others are told."""

import threading
import time
from typing import Any

import pytest
from django.db import connection

from canvas.tests.asking import client, saved
from canvas.tests.drawing import edges, node
from workflows.models import Role, SpecDocument, Workflow, WorkflowVersion
from workflows.tests.people import customer, member, signed_in

pytestmark = pytest.mark.django_db


def test_a_put_changes_what_it_gives_and_keeps_the_rest() -> None:
    ann = client(name="ann")
    made = saved(ann, description="old")
    path = f"/workflows/{made['id']}"
    response = client(name="bob").put(path, {"name": "new", "status": "", "nodes": None}, format="json")
    assert response.status_code == 200
    assert response.headers["ETag"] == '"2"'
    body = response.json()
    assert (body["name"], body["description"], body["status"], body["version"]) == ("new", "old", "draft", 2)
    assert body["nodes"] == made["nodes"]
    assert body["createdBy"] == "ann"
    assert ann.put(path, {"name": ""}, format="json").json()["name"] == "new"
    assert ann.put(path, {"description": ""}, format="json").json()["description"] == ""
    assert ann.put(path, {"edges": []}, format="json").json()["edges"] == []
    assert ann.patch(path, {"name": "patched"}, format="json").json()["version"] == 6
    assert ann.get(path).json() == ann.get(path).json()
    assert [v.created_by for v in WorkflowVersion.objects.filter(workflow=made["id"]).order_by("version")][:2] == [
        "ann",
        "bob",
    ]


def test_what_somebody_else_has_saved_is_not_deleted_unseen() -> None:
    ann = client()
    path = f"/workflows/{saved(ann)['id']}"
    seen = ann.get(path).headers["ETag"]
    assert ann.put(path, {"name": "newer"}, format="json").status_code == 200
    refused = ann.delete(path, headers={"If-Match": seen})
    assert refused.status_code == 409
    assert refused.json()["details"] == {"version": 2}
    assert ann.get(path).json()["name"] == "newer"
    assert ann.delete(path, headers={"If-Match": '"2"'}).status_code == 204
    assert ann.get(path).status_code == 404


@pytest.mark.parametrize("etag", ["", "  ", "newest", '"-1"', '"1", "2"'])
def test_an_if_match_that_names_no_version_is_refused(etag: str) -> None:
    ann = client()
    path = f"/workflows/{saved(ann)['id']}"
    for refused in (
        ann.put(path, {"name": "new"}, format="json", headers={"If-Match": etag}),
        ann.patch(path, {"name": "new"}, format="json", headers={"If-Match": etag}),
        ann.delete(path, headers={"If-Match": etag}),
    ):
        assert refused.status_code == 400
        assert "If-Match: expected the ETag" in refused.json()["error"]
    assert ann.put(path, {"name": "new"}, format="json", headers={"If-Match": "*"}).status_code == 200


def test_what_was_read_can_be_sent_back_whole() -> None:
    ann = client()
    body = ann.get(f"/workflows/{saved(ann)['id']}").json()
    response = ann.put(f"/workflows/{body['id']}", {**body, "name": "again"}, format="json")
    assert response.status_code == 200
    assert response.json()["version"] == 2


def test_a_change_to_what_someone_else_changed_is_refused() -> None:
    ann = client()
    made = saved(ann)
    path = f"/workflows/{made['id']}"
    assert ann.put(path, {"name": "second", "version": 1}, format="json").status_code == 200
    stale: list[tuple[Any, Any]] = [
        ({"version": 1}, {}),
        ({}, {"HTTP_IF_MATCH": '"1"'}),
        ({}, {"HTTP_IF_MATCH": 'W/"1"'}),
    ]
    for body, headers in stale:
        response = ann.put(path, {"name": "lost", **body}, format="json", **headers)
        assert response.status_code == 409
        assert response.json()["details"] == {"version": 2}
    assert ann.put(path, {"name": "third"}, format="json", HTTP_IF_MATCH='"2"').status_code == 200
    assert ann.put(path, {"name": "any"}, format="json", HTTP_IF_MATCH="*").status_code == 200
    assert ann.get(path).json()["name"] == "any"


@pytest.mark.parametrize(
    "body, headers",
    [
        ({"version": "1"}, {}),
        ({"version": True}, {}),
        ({}, {"HTTP_IF_MATCH": "x"}),
        ({"version": 1}, {"HTTP_IF_MATCH": '"2"'}),
    ],
)
def test_a_precondition_that_is_none_is_refused(body: Any, headers: Any) -> None:
    made = saved(client())
    assert client().put(f"/workflows/{made['id']}", body, format="json", **headers).status_code == 400


def test_an_active_workflow_does_not_become_invalid() -> None:
    ann = client()
    made = saved(ann, status="active")
    path = f"/workflows/{made['id']}"
    response = ann.put(path, {"nodes": [node("a"), node("b"), node("c")]}, format="json")
    assert response.status_code == 422
    assert [item["code"] for item in response.json()["details"]] == ["isolated-node"]
    assert ann.get(path).json()["version"] == 1
    assert ann.put(path, {"nodes": [node("c")], "edges": [], "status": "draft"}, format="json").status_code == 200


@pytest.mark.django_db(transaction=True)
def test_fifty_saves_at_once_make_fifty_versions() -> None:
    ann = member(customer(), Role.EDITOR)
    made = saved(signed_in(ann))
    path = f"/workflows/{made['id']}"
    answers: list[int] = []

    def save(number: int) -> None:
        by = signed_in(ann)
        drawn = {"nodes": [node("a", value=number), node("b")], "edges": edges("a b")}
        deadline = time.monotonic() + 60
        response = by.put(path, {"description": str(number), **drawn}, format="json")
        while response.status_code == 503 and time.monotonic() < deadline:  # more savers than connections: try again
            response = by.put(path, {"description": str(number), **drawn}, format="json")
        assert response.status_code == 200, response.content
        answers.append(response.json()["version"])
        connection.close()

    threads = [threading.Thread(target=save, args=(n,)) for n in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(answers) == list(range(2, 52))
    versions = WorkflowVersion.objects.filter(workflow=made["id"])
    assert versions.count() == 51
    kept = {v.nodes[0]["data"]["config"].get("value") for v in versions if v.version > 1}
    assert kept == set(range(50)), "no save was lost"
    newest = Workflow.objects.get(pk=made["id"])
    assert newest.version == 51
    assert newest.nodes == versions.get(version=51).nodes


@pytest.mark.django_db(transaction=True)
def test_of_fifty_changes_to_one_version_one_wins_and_the_others_are_told() -> None:
    ann = member(customer(), Role.EDITOR)
    path = f"/workflows/{saved(signed_in(ann))['id']}"
    answers: list[Any] = []

    def save(number: int, version: int) -> None:
        named = {"version": version} if number % 2 else {}
        headers = {} if number % 2 else {"If-Match": f'"{version}"'}
        by, deadline = signed_in(ann), time.monotonic() + 60
        response = by.put(path, {"name": f"n{number}", **named}, format="json", headers=headers)
        while response.status_code == 503 and time.monotonic() < deadline:  # more savers than connections: try again
            response = by.put(path, {"name": f"n{number}", **named}, format="json", headers=headers)
        answers.append(response)
        connection.close()

    for version in (1, 2):
        answers.clear()
        threads = [threading.Thread(target=save, args=(number, version)) for number in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        won = [answer for answer in answers if answer.status_code == 200]
        assert [answer.headers["ETag"] for answer in won] == [f'"{version + 1}"']
        lost = [answer for answer in answers if answer.status_code == 409]
        assert len(lost) == 49
        assert all(answer.json()["details"] == {"version": version + 1} for answer in lost)
        assert signed_in(ann).get(path).json()["name"] == won[0].json()["name"]


@pytest.mark.django_db(transaction=True)
def test_the_same_spec_saved_at_once_is_one_document() -> None:
    ann = member(customer(), Role.EDITOR)

    def save() -> None:
        saved(signed_in(ann))
        connection.close()

    threads = [threading.Thread(target=save) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert Workflow.objects.count() == 8
    assert SpecDocument.objects.count() == 1
