"""Drafts over REST: whose they are, what is written over what, how large; no secret lies in them in the open."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from canvas.drafts import MAX_BYTES
from canvas.models import Draft
from canvas.tests.asking import CHAIN, RFC3339, client, saved
from canvas.tests.drawing import edges, node, start
from canvas.tests.reading import tables_with
from workflows.api_keys import create_key
from workflows.models import Role, Scope, Secret, Workflow, WorkflowVersion
from workflows.tests.people import customer

pytestmark = pytest.mark.django_db

CANARY = "c4n4ry-5ecret-value"


def put(by: APIClient, pk: str, *, code: int = 200, headers: dict[str, str] | None = None, **fields: Any) -> Any:
    body = {**CHAIN, "baseVersion": 1, **fields}
    answer = by.put(f"/workflows/{pk}/draft", body, format="json", headers=headers or {})
    assert answer.status_code == code, answer.content
    return answer.json()


def read(by: APIClient, pk: str) -> Any:
    return by.get(f"/workflows/{pk}/draft")


def test_a_draft_is_kept_read_elsewhere_and_dropped_and_makes_no_version() -> None:
    ann = client(name="ann")
    pk = saved(ann)["id"]
    assert (read(ann, pk).status_code, read(ann, pk).content) == (204, b"")
    receipt = put(ann, pk, name="half done", nodes=[node("a")], edges=[], description="why", status="draft")
    assert set(receipt) == {"workflowId", "revision", "baseVersion", "updatedAt"}
    elsewhere = read(ann, pk)
    assert elsewhere["ETag"] == f'"{receipt["revision"]}"'
    body = elsewhere.json()
    assert {key: body[key] for key in receipt} == receipt
    assert (body["name"], body["description"], body["nodes"], body["edges"]) == ("half done", "why", [node("a")], [])
    assert re.fullmatch(RFC3339, body["updatedAt"])
    now = ann.get(f"/workflows/{pk}").json()
    assert (now["version"], now["name"], len(now["nodes"])) == (1, "chain", 2)
    assert WorkflowVersion.objects.count() == 1
    for _ in range(2):
        assert ann.delete(f"/workflows/{pk}/draft").status_code == 204
    assert read(ann, pk).status_code == 204


def test_nobody_else_sees_a_draft_nor_writes_over_it() -> None:
    ann, ben, viewer = client(name="ann"), client(name="ben"), client(Role.VIEWER)
    pk = saved(ann)["id"]
    put(ann, pk, name="ann's")
    assert read(ben, pk).status_code == 204
    put(ben, pk, name="ben's")
    assert ben.delete(f"/workflows/{pk}/draft").status_code == 204
    assert read(ann, pk).json()["name"] == "ann's"
    for answer in (read(viewer, pk), viewer.put(f"/workflows/{pk}/draft", {}, format="json")):
        assert answer.status_code == 403
        assert "role editor" in answer.json()["error"]


def test_the_workflow_of_another_customer_does_not_exist() -> None:
    ann, eve = client(name="ann"), client(Role.ADMIN, slug="other")
    pk = saved(ann)["id"]
    put(ann, pk)
    assert read(eve, pk).json() == {"error": "Workflow not found"}
    put(eve, pk, code=404)
    assert eve.delete(f"/workflows/{pk}/draft").status_code == 404
    assert Draft.objects.count() == 1
    # A member of both sees it only for the customer that it is of.
    assert ann.delete(f"/workflows/{pk}").status_code == 204
    assert Draft.objects.count() == 0


def test_two_tabs_do_not_write_over_each_other_unawares() -> None:
    ann = client(name="ann")
    pk = saved(ann)["id"]
    new = {"If-None-Match": "*"}
    first = put(ann, pk, headers=new, name="first tab")
    refused = put(ann, pk, code=409, headers=new, name="second tab")
    assert refused["details"] == {"revision": first["revision"], "updatedAt": first["updatedAt"]}
    second = put(ann, pk, headers={"If-Match": f'"{first["revision"]}"'}, name="first tab")
    assert second["revision"] != first["revision"]
    put(ann, pk, code=409, headers={"If-Match": f'"{first["revision"]}"'}, name="second tab")
    stale = ann.delete(f"/workflows/{pk}/draft", headers={"If-Match": f'"{first["revision"]}"'})
    assert stale.status_code == 409
    assert read(ann, pk).json()["name"] == "first tab"
    assert ann.delete(f"/workflows/{pk}/draft", headers={"If-Match": f'"{second["revision"]}"'}).status_code == 204
    gone = put(ann, pk, code=409, headers={"If-Match": f'"{second["revision"]}"'}, name="first tab")
    assert gone["details"] == {"revision": None, "updatedAt": None}
    put(ann, pk, name="whatever was there")


@pytest.mark.parametrize(
    "fields, where",
    [
        ({"baseVersion": 2}, "baseVersion"),
        ({"baseVersion": 0}, "baseVersion"),
        ({"baseVersion": "1"}, "baseVersion"),
        ({"baseVersion": None}, "baseVersion"),
        ({"nodes": {}}, "nodes"),
        ({"nodes": [7]}, "nodes[0]"),
        ({"status": "gone"}, "status"),
        ({"name": "x" * 129}, "name"),
    ],
)
def test_what_cannot_be_kept_is_refused_by_name(fields: dict[str, Any], where: str) -> None:
    ann = client()
    answer = put(ann, saved(ann)["id"], code=400, **fields)
    assert list(answer["details"]) == [where]
    assert not Draft.objects.exists()


def test_headers_that_are_no_etags_are_refused() -> None:
    ann = client()
    pk = saved(ann)["id"]
    assert "If-Match" in put(ann, pk, code=400, headers={"If-Match": "3"})["error"]
    assert "If-None-Match" in put(ann, pk, code=400, headers={"If-None-Match": '"3"'})["error"]


def test_a_draft_has_a_size() -> None:
    ann = client()
    pk = saved(ann)["id"]
    answer = put(ann, pk, code=413, nodes=[node("a", value="é" * (MAX_BYTES // 2))])
    assert "at most 2 MiB" in answer["error"]
    put(ann, pk, nodes=[node("a", value="é" * (MAX_BYTES // 2 - 1000))])


def test_a_secret_in_a_draft_is_sealed_as_in_a_save() -> None:
    ann = client()
    pk = saved(ann)["id"]
    nodes = [start(password=CANARY), node("a", value={"apiKey": CANARY})]
    put(ann, pk, nodes=nodes, edges=edges("start a"))
    assert tables_with(CANARY, ["canvas_draft"]) == []
    body = read(ann, pk)
    assert CANARY not in body.content.decode()
    handle = body.json()["nodes"][1]["data"]["config"]["value"]["apiKey"]
    assert handle.startswith("secret:")
    # Saved from there it is the same secret, and so it is when it is typed anew.
    kept = ann.put(f"/workflows/{pk}", {"nodes": body.json()["nodes"]}, format="json").json()
    assert kept["nodes"][1]["data"]["config"]["value"]["apiKey"] == handle
    put(ann, pk, nodes=nodes)
    assert Secret.objects.count() == 2  # under two names


def test_a_refused_draft_leaves_no_secret_behind() -> None:
    ann = client()
    pk = saved(ann)["id"]
    put(ann, pk)
    put(ann, pk, code=409, headers={"If-None-Match": "*"}, nodes=[start(password=CANARY)])
    assert Secret.objects.count() == 0


def test_a_key_without_a_person_has_no_draft() -> None:
    ann = client()
    pk = saved(ann)["id"]
    _, text = create_key(customer("acme"), name="ci", scopes=[Scope.READ, Scope.WRITE], role=Role.EDITOR)
    by_key = APIClient()
    by_key.credentials(HTTP_X_API_KEY=text)
    put(by_key, pk, code=403)
    assert "belongs to a person" in read(by_key, pk).json()["error"]


def test_a_draft_goes_with_its_person_and_a_save_leaves_it_alone() -> None:
    ann = client(name="ann")
    pk = saved(ann)["id"]
    put(ann, pk, name="draft")
    assert ann.put(f"/workflows/{pk}", {"name": "saved"}, format="json").status_code == 200
    assert read(ann, pk).json()["baseVersion"] == 1
    User.objects.get(username="ann").delete()
    assert (Draft.objects.count(), Workflow.objects.count()) == (0, 1)


def test_who_knows_the_newest_version_is_told_so_without_a_body() -> None:
    ann = client()
    pk = saved(ann)["id"]
    known = ann.get(f"/workflows/{pk}", headers={"If-None-Match": 'W/"7", "1"'})
    assert (known.status_code, known.content, known["ETag"]) == (304, b"", '"1"')
    ann.put(f"/workflows/{pk}", {"name": "next"}, format="json")
    newer = ann.get(f"/workflows/{pk}", headers={"If-None-Match": '"1"'})
    assert (newer.status_code, newer.json()["version"], newer["ETag"]) == (200, 2, '"2"')
    assert client(slug="other").get(f"/workflows/{pk}", headers={"If-None-Match": '"2"'}).status_code == 404


def test_a_version_says_what_it_changed_and_why() -> None:
    ann = client(name="ann")
    body = saved(ann, nodes=[node("a", label="Say"), node("b")], edges=edges("a b"))
    pk = body["id"]
    moved = node("b") | {"position": {"x": 400, "y": 0}}
    drawn = [node("a", label="Say", value=[1]), moved, node("c", label="Third")]
    ann.put(f"/workflows/{pk}", {"nodes": drawn, "edges": edges("a c"), "description": "d"}, format="json")
    ann.put(f"/workflows/{pk}", {"nodes": drawn[:2], "edges": [], "changeReason": "third was wrong"}, format="json")
    third, second, first = ann.get(f"/workflows/{pk}/versions").json()
    assert first["changes"] is None
    assert (second["status"], second["description"], second["createdBy"]) == ("draft", "d", "ann")

    def told(version: dict[str, Any]) -> list[tuple[str, str, str, list[str]]]:
        assert version["changes"]["total"] == len(version["changes"]["items"])
        return [(item["what"], item["how"], item["name"], item["fields"]) for item in version["changes"]["items"]]

    assert told(second) == [
        ("workflow", "changed", "chain", ["description"]),
        ("node", "changed", "Say", ["data.config.value"]),
        ("node", "moved", "b", ["position.x"]),
        ("node", "added", "Third", []),
        ("edge", "added", "a → c", []),
        ("edge", "removed", "a → b", []),
    ]
    assert told(third) == [("node", "removed", "Third", []), ("edge", "removed", "a → c", [])]
    assert third["reason"] == "third was wrong"


def test_a_save_of_a_thousand_nodes_names_fifty_of_them() -> None:
    ann = client()
    pk = saved(ann)["id"]
    ann.put(f"/workflows/{pk}", {"nodes": [node(f"n{index}") for index in range(1000)], "edges": []}, format="json")
    changes = ann.get(f"/workflows/{pk}/versions?limit=1").json()[0]["changes"]
    assert (changes["total"], len(changes["items"])) == (1003, 50)
