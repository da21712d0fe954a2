"""Suggested connections with a model and without: its answer counts as far as a canvas can have it, and it is told who.

Over REST, from a workflow, and against a model that misbehaves.
"""

import json
from typing import Any

import pytest

from agents.demo_llm.server import DemoServer
from agents.models import Exchange, PromptVersion
from agents.tests.conftest import engine, misbehaving, model, quickly_emptied, server
from canvas.models import Relation
from canvas.tests.asking import client, post, saved
from canvas.tests.drawing import edges, end, node, start
from poimen_site.reasoning.activity import reason_about_canvas
from workflows.models import Role
from workflows.tests.people import customer
from workflows.tests.pumping import Engine

__all__ = ["engine", "misbehaving", "model", "quickly_emptied", "server"]
pytestmark = pytest.mark.django_db

NODES = [
    start(),
    node("clone", "CloneRepoActivity", repo="https://git.example.org/acme/shop.git"),
    node("scan", "SecurityScanActivity", label="Look for holes"),
    node("report", "GenerateReportActivity", title="Holes"),
    end(),
]


def asked(code: int = 200, **body: Any) -> dict[str, Any]:
    answer = post(client(), "/workflows/suggest-connections", {"nodes": NODES, "edges": [], **body})
    assert answer.status_code == code, answer.content
    found: dict[str, Any] = answer.json()
    return found


def pairs(body: dict[str, Any]) -> list[str]:
    return [f"{one['source']} {one['target']}" for one in body["suggested_edges"]]


def says(server: DemoServer, *edges: dict[str, Any], **more: Any) -> None:
    server.say(json.dumps({"edges": edges, "reasoning": "because", "confidence": 0.9} | more))


def test_without_a_model_fields_are_matched_and_that_is_said() -> None:
    body = asked()
    assert pairs(body) == ["clone scan", "scan report", "start clone", "report end"]
    assert body["method"] == "schema-matching"
    assert "without a model. No model is configured (LOCAL_LLM_BASE_URL)." in body["reasoning"]
    assert (body["incompatible_edges"], body["disconnected_nodes"], body["user_alerts"]) == ([], [], [])
    assert not Exchange.objects.exists()


def test_what_is_accepted_becomes_a_relation_when_the_canvas_is_saved() -> None:
    accepted = [
        {"id": one["id"], "source": one["source"], "target": one["target"],
         "data": {key: one[key] for key in ("relation_type", "relation_label", "relation_wording")}}
        for one in asked()["suggested_edges"]
    ]  # fmt: skip
    made = saved(client(), nodes=NODES, edges=accepted, status="active")
    relation = Relation.objects.get(workflow=made["id"], edge_id="clone-scan")
    assert (relation.relation_type, relation.confidence) == ("data-flow", 0.95)
    assert relation.label == "CloneRepo outputs path → SecurityScan requires path"
    assert relation.relation_wording["semantic_match"] == 'Both call it "path", and its type is string'


def test_a_models_proposals_are_shown_with_its_words_and_paid_for(model: DemoServer) -> None:
    wording = {"verb": "feeds", "source_output": "path (string): the clone", "confidence": 0.6}
    says(model, {"source": "clone", "target": "scan", "relation_label": "the clone is scanned",
                 "relation_wording": wording})  # fmt: skip
    body = asked()
    assert (body["method"], body["reasoning"], body["confidence"]) == ("model", "because", 0.9)
    first = body["suggested_edges"][0]
    assert first["relation_label"] == "the clone is scanned"
    assert {key: first["relation_wording"][key] for key in wording} == wording
    exchange = Exchange.objects.get()
    assert (exchange.purpose, exchange.customer_id) == ("reasoner", customer().pk)
    prompt = model.seen[0].body["messages"][1]["content"]
    assert '3. id: scan\n   label: "Look for holes"\n   type: SecurityScanActivity' in prompt
    assert "- path (string)*" in prompt
    assert "1. id: start" in prompt
    assert "none (terminal/sink)" in prompt
    assert "Every connection that there is stays" in model.seen[0].body["messages"][0]["content"]


def test_the_demo_model_answers_for_itself(model: DemoServer) -> None:
    body = asked()
    assert (body["method"], pairs(body)[0]) == ("model", "clone scan")
    assert "demo model" in body["reasoning"]


def test_a_redesign_asks_for_everything_and_tells_what_would_go(model: DemoServer) -> None:
    says(model, {"source": "clone", "target": "report"}, {"source": "clone", "target": "scan"})
    drawn = edges("start clone scan report end")
    body = asked(edges=drawn, preserve_existing=False)
    assert [one["id"] for one in body["removed_edges"]] == ["scan-report"]
    assert "clone report" in pairs(body)
    seen = json.dumps(model.seen[0].body, ensure_ascii=False)
    assert "what you leave out is removed" in seen
    assert "2. clone → scan" in seen


def test_hostile_edges_are_left_out_with_their_reasons(model: DemoServer) -> None:
    says(
        model,
        {"source": "clone", "target": "clone"},
        {"source": "../../etc", "target": "scan"},
        {"source": "scan", "target": "clone"},
        {"source": "clone", "target": "scan", "relation_label": "<script>alert(1)</script>\x00", "relation_wording": {
            "confidence": 9e99, "semantic_match": "x" * 9000}},
        {"source": "clone", "target": "scan"},
        {"source": "end", "target": "clone"},
    )  # fmt: skip
    body = asked(edges=edges("start clone"))
    assert pairs(body)[0] == "scan clone" or "clone scan" in pairs(body)
    assert {one["reason"] for one in body["rejected_edges"]} >= {
        "a node cannot wait for itself", 'there is no node "../../etc"', "nothing leads out of an end"
    }  # fmt: skip
    assert all(0 <= one["relation_wording"]["confidence"] <= 1 for one in body["suggested_edges"])
    assert all(len(one["relation_wording"].get("semantic_match", "")) <= 2000 for one in body["suggested_edges"])


@pytest.mark.parametrize("kind", ["fenced-json", "no-schema"])
def test_fences_and_servers_without_schemas_do_not_matter(model: DemoServer, kind: str) -> None:
    model.next(kind)
    body = asked()
    assert (body["method"], pairs(body)[0]) == ("model", "clone scan")


def test_an_answer_that_is_no_json_is_asked_for_once_more(model: DemoServer) -> None:
    model.next("no-json-answer")
    says(model, {"source": "clone", "target": "scan"})
    assert asked()["method"] == "model"
    assert len(model.seen) == 2


@pytest.mark.parametrize("kind", ["no-json-answer", "not-json", "500", "reset", "no-choices"])
def test_a_model_that_gives_nothing_of_use_is_done_without(model: DemoServer, kind: str) -> None:
    model.next(kind, times=9)
    body = asked()
    assert (body["method"], pairs(body)[0]) == ("schema-matching", "clone scan")
    assert "The model gave no answer that can be used: " in body["reasoning"]


def test_half_an_answer_counts_as_far_as_it_goes(model: DemoServer) -> None:
    text = json.dumps({"reasoning": "because", "edges": [{"source": "clone", "target": "scan"}]})
    model.say(text[:-1] + ', {"source": "sc')
    model.next("truncated-json", times=2)
    body = asked()
    assert "clone scan" in pairs(body)


def test_a_prompt_that_fails_at_use_is_done_without(model: DemoServer) -> None:
    PromptVersion.objects.create(name="reasoner/system.j2", number=1, source="{{ 'a'*10**9 }}")
    body = asked()
    assert (body["method"], len(model.seen)) == ("schema-matching", 0)
    assert "The prompt for the model cannot be used: reasoner/system.j2, version 1" in body["reasoning"]


def test_no_secret_is_shown_to_a_model(model: DemoServer) -> None:
    call = node(
        "call", "HttpRequestActivity", url="https://ann:hunter2@example.org", headers={"Authorization": "hunter3"}
    )
    asked(nodes=[*NODES, call])
    assert "hunter" not in json.dumps(model.seen[0].body)


def test_large_canvases_are_shown_to_no_model(model: DemoServer) -> None:
    many = [node(f"n{i}") for i in range(201)]
    body = asked(nodes=[*NODES, *many])
    assert (body["method"], len(model.seen), len(body["disconnected_nodes"])) == ("schema-matching", 0, 201)


@pytest.mark.parametrize(
    "body, says",
    [
        ({"nodes": []}, "nodes: there are no nodes"),
        ({"nodes": "all"}, "nodes: expected an array"),
        ({"nodes": [{"id": "a"}] * 1001}, "nodes: connections are suggested for at most 1,000"),
        ({"preserve_existing": "yes"}, "preserve_existing: expected true or false"),
    ],
)
def test_what_is_no_canvas_is_refused(body: dict[str, Any], says: str) -> None:
    assert asked(400, **body)["error"].startswith(says)


def test_viewers_are_refused() -> None:
    assert post(client(Role.VIEWER), "/workflows/suggest-connections", {"nodes": NODES}).status_code == 403


@pytest.mark.django_db(transaction=True)
def test_workflows_can_ask_the_same(engine: Engine) -> None:
    assert reason_about_canvas is not None
    made = saved(client(), nodes=NODES, edges=edges("clone scan"))
    spec = {
        "name": "reason",
        "states": [
            {"name": "Fetch", "type": "Task", "resource": "FetchCanvasRelationsActivity",
             "parameters": {"workflow_id": made["id"]}},
            {"name": "Check", "type": "Task", "resource": "CanvasCompatibilityActivity",
             "parameters": {"nodes": "${Fetch.output.nodes}", "edges": "${Fetch.output.edges}"}},
            {"name": "Reason", "type": "Task", "resource": "CanvasReasonerActivity",
             "parameters": {"nodes": "${Fetch.output.nodes}", "edges": "${Fetch.output.edges}"}},
            {"name": "All", "type": "Pass", "result": {"relations": "${Fetch.output.relations}",
             "check": "${Check.output}", "reason": "${Reason.output}"}, "end": True},
        ],
    }  # fmt: skip
    engine.pump()
    run = engine.run(spec, {}, customer=customer())
    assert run.status == "success", run.errors
    assert run.output is not None
    assert [one["edge_id"] for one in run.output["relations"]] == ["clone-scan"]
    assert (run.output["check"]["is_valid"], run.output["check"]["disconnected_nodes"]) == (True, ["report"])
    assert pairs(run.output["reason"])[0] == "scan report"
    foreign = saved(client(slug="other"), nodes=NODES)
    fetch = {"name": "Fetch", "type": "Task", "resource": "FetchCanvasRelationsActivity"}
    peek = {"name": "peek", "states": [fetch | {"parameters": {"workflow_id": foreign["id"]}}]}
    refused = engine.run(peek, {}, customer=customer())
    assert f"there is no workflow {foreign['id']} here" in str(refused.errors)
