"""What edges mean, per version, and the history of each: kept with every save, a new entry only for a new meaning."""

from typing import Any
from uuid import UUID, uuid4

import pytest

from canvas.models import Relation, RelationVersion
from canvas.relations import VersionNotFound, canvas_with_relations
from canvas.saving import save_workflow, update_workflow
from canvas.tests.asking import client
from canvas.tests.drawing import edge, edges, node
from workflows.models import Role
from workflows.tests.people import customer

pytestmark = pytest.mark.django_db

WORDING = {
    "verb": "outputs", "source_output": "path (string): the clone", "target_input": "path (string, required)",
    "connection_type": "direct-map", "confidence": 0.9, "semantic_match": "a path for a path",
}  # fmt: skip
MEANT = edge("a", "b", relation_type="data-flow", relation_label="a gives b a path", relation_wording=WORDING)
NODES = [node("a"), node("b"), node("c")]


def drawn(*lines: dict[str, Any]) -> Any:
    return save_workflow(customer(), name="w", nodes=NODES, edges=list(lines), created_by="ann")


def test_each_version_keeps_what_its_edges_mean() -> None:
    workflow = drawn(MEANT, edge("b", "c", "value == 1"))
    first, second = Relation.objects.filter(workflow=workflow).order_by("id")
    assert (first.version, first.edge_id, first.source_node_id, first.target_node_id) == (1, "a-b", "a", "b")
    assert (first.relation_type, first.label, first.confidence) == ("data-flow", "a gives b a path", 0.9)
    assert first.relation_wording == WORDING
    assert (second.relation_type, second.relation_wording) == ("conditional", {"condition": "value == 1"})
    update_workflow(workflow.pk, customer(), {"edges": edges("a b")})
    assert [r.version for r in Relation.objects.filter(workflow=workflow).order_by("id")] == [1, 1, 2]


def test_the_meaning_may_stand_on_the_edge_itself() -> None:
    # The shape in which relations are fetched and suggested.
    flat = {
        "source": "a", "target": "b", "relation_type": "dependency", "relation_label": "first a",
        "relation_wording": {"transformer_needed": "csv to json"}, "confidence": 0.5,
    }  # fmt: skip
    relation = Relation.objects.get(workflow=drawn(flat))
    assert (relation.relation_type, relation.label) == ("dependency", "first a")
    assert (relation.confidence, relation.transformer_needed) == (0.5, "csv to json")


def test_a_new_meaning_is_a_new_entry_and_the_same_one_is_not() -> None:
    ann = client(name="ann")
    workflow = drawn(MEANT, edge("b", "c"))
    path = f"/workflows/{workflow.pk}"

    def put(**fields: Any) -> None:
        assert ann.put(path, fields, format="json").status_code == 200

    put(description="nothing about edges")
    put(edges=[{**MEANT, "animated": True}, edge("b", "c")])
    put(
        edges=[{**MEANT, "data": {**MEANT["data"], "relation_label": "better"}}, edge("b", "c")], changeReason="clearer"
    )
    put(edges=[edge("b", "c")])
    put(edges=[edge("a", "b", "value > 1"), edge("b", "c")])
    body = ann.get(f"{path}/relations/a-b/versions").json()
    assert set(body) == {"workflow_id", "edge_id", "versions", "total_count"}
    assert (body["workflow_id"], body["edge_id"], body["total_count"]) == (str(workflow.pk), "a-b", 3)
    first, second, third = body["versions"]
    assert set(first) == {
        "version", "workflow_version", "relation_type", "relation_label", "relation_wording", "change_reason",
        "created_at", "created_by",
    }  # fmt: skip
    assert [(v["version"], v["workflow_version"]) for v in body["versions"]] == [(1, 1), (2, 4), (3, 6)]
    assert (second["relation_label"], second["change_reason"], second["created_by"]) == ("better", "clearer", "ann")
    assert (third["relation_type"], third["relation_wording"]) == ("conditional", {"condition": "value > 1"})
    assert RelationVersion.objects.filter(edge_id="b-c").count() == 1


@pytest.mark.parametrize("edge_id", ["unknown", "a/b", "a%2Fb", "x" * 300, "%20"])
def test_an_unknown_edge_has_no_history(edge_id: str) -> None:
    workflow = drawn(MEANT)
    response = client(Role.VIEWER).get(f"/workflows/{workflow.pk}/relations/{edge_id}/versions")
    assert response.status_code == 200
    assert (response.json()["versions"], response.json()["total_count"]) == ([], 0)


def test_any_edge_id_can_be_asked_for() -> None:
    workflow = save_workflow(customer(), name="w", nodes=NODES, edges=[{**MEANT, "id": "a → b/1?"}])
    response = client(Role.VIEWER).get(f"/workflows/{workflow.pk}/relations/a%20%E2%86%92%20b%2F1%3F/versions")
    assert response.json()["total_count"] == 1


def test_the_history_of_others_is_not_there_as_that_of_the_unknown() -> None:
    workflow = drawn(MEANT)
    for by, pk in ((client(slug="other"), workflow.pk), (client(), uuid4()), (client(), "no-id")):
        response = by.get(f"/workflows/{pk}/relations/a-b/versions")
        assert (response.status_code, response.json()) == (404, {"error": "Workflow not found"})


def test_a_canvas_is_fetched_as_it_was_in_a_version() -> None:
    workflow = drawn(MEANT)
    update_workflow(workflow.pk, customer(), {"nodes": NODES[:1], "edges": []})
    first = canvas_with_relations(customer(), workflow.pk, 1)
    assert (first["version"], len(first["nodes"]), len(first["edges"])) == (1, 3, 1)
    (relation,) = first["relations"]
    assert UUID(relation.pop("id")).version == 7
    assert relation.pop("created_at").endswith("Z")
    assert relation == {
        "edge_id": "a-b", "source": "a", "target": "b", "relation_type": "data-flow",
        "relation_label": "a gives b a path", "relation_wording": WORDING,
    }  # fmt: skip
    newest = canvas_with_relations(customer(), workflow.pk)
    assert (newest["version"], len(newest["nodes"]), newest["relations"]) == (2, 1, [])


def test_what_is_not_there_for_the_customer_cannot_be_fetched() -> None:
    workflow = drawn(MEANT)
    for owner, version in ((customer("other"), 1), (customer(), 9)):
        with pytest.raises(VersionNotFound):
            canvas_with_relations(owner, workflow.pk, version)
