"""Suggested connections: what matching finds, and what of any proposal a canvas can have."""

import math
from typing import Any

import pytest

from canvas.suggesting.drawn import Drawn
from canvas.suggesting.matching import match
from canvas.suggesting.reviewing import Method, Proposal, Suggestions, review
from canvas.tests.drawing import ACTIVITIES, codes, compiled, edge, edges, end, node, start

CLONE, SCAN = node("clone", "CloneRepoActivity", repo="r"), node("scan", "SecurityScanActivity")
ANALYZE = node("analyze", "AnalyzeCodeActivity")


def placed(raw: dict[str, Any], x: int, y: int = 0) -> dict[str, Any]:
    return raw | {"position": {"x": x, "y": y}}


def matched(nodes: list[Any], drawn: list[Any] | None = None) -> list[tuple[str, str]]:
    return [(one.source, one.target) for one in match(Drawn.of_sent(nodes, drawn or [], ACTIVITIES))]


def reviewed(
    nodes: list[Any], drawn: list[Any], *proposed: tuple[str, str] | Proposal, preserve: bool = True, **more: Any
) -> Suggestions:
    proposals = [one if isinstance(one, Proposal) else Proposal(*one) for one in proposed]
    method: Method = "model"
    return review(
        Drawn.of_sent(nodes, drawn, ACTIVITIES), proposals, preserve=preserve, method=method, reasoning="why", **more
    )


def pairs(outcome: Suggestions) -> list[tuple[str, str]]:
    return [(one.source, one.target) for one in outcome.suggested]


def test_what_another_node_gives_is_connected_to_what_needs_it() -> None:
    assert matched([CLONE, SCAN, ANALYZE]) == [("clone", "scan"), ("clone", "analyze")]
    (proposal, _) = match(Drawn.of_sent([CLONE, SCAN, ANALYZE], [], ACTIVITIES))
    assert proposal.label == "CloneRepo outputs path → SecurityScan requires path"
    assert proposal.wording["connection_type"] == "direct-map"
    assert proposal.confidence == 0.95


def test_of_several_the_nearest_to_the_left_is_taken() -> None:
    near, far = placed(node("near", "CloneRepoActivity", repo="r"), 200), placed(CLONE, 0)
    right = placed(node("right", "CloneRepoActivity", repo="r"), 520)
    assert matched([far, right, near, placed(SCAN, 500)]) == [("near", "scan")]


def test_nothing_is_matched_that_is_given_already_or_would_go_in_a_circle() -> None:
    assert matched([CLONE, SCAN, ANALYZE], edges("clone scan analyze")) == []
    assert matched([CLONE, node("scan", "SecurityScanActivity", path="/x")]) == []
    assert matched([start(path="/x"), CLONE, SCAN]) == []
    assert matched([CLONE, SCAN], edges("scan clone")) == []
    assert matched([CLONE, SCAN], [edge("clone", "scan", relation_type="dependency")]) == []


def test_types_that_do_not_fit_are_not_matched() -> None:
    deploy = node("deploy", "DeployActivity", commit="c")
    assert matched([SCAN, deploy]) == []
    assert matched([ANALYZE, deploy]) == [("analyze", "deploy")]


def test_what_begins_and_what_finishes_is_led_to_start_and_end() -> None:
    outcome = reviewed([start(), CLONE, SCAN, end()], [], ("clone", "scan"))
    assert pairs(outcome) == [("clone", "scan"), ("start", "clone"), ("scan", "end")]
    assert [one.relation_type for one in outcome.suggested] == ["data-flow", "dependency", "dependency"]


def test_what_is_suggested_can_be_drawn_and_compiles() -> None:
    nodes = [start(), CLONE, SCAN, ANALYZE, end()]
    drawn = Drawn.of_sent(nodes, [], ACTIVITIES)
    outcome = review(drawn, match(drawn), preserve=True, method="schema-matching", reasoning="")
    accepted = [
        {"id": one.id, "source": one.source, "target": one.target,
         "data": {"relation_type": one.relation_type, "relation_label": one.label, "relation_wording": one.wording}}
        for one in outcome.suggested
    ]  # fmt: skip
    assert codes(compiled(nodes, accepted)) == []


@pytest.mark.parametrize(
    "source, target, why",
    [
        ("clone", "gone", 'there is no node "gone"'),
        ("clone", "clone", "a node cannot wait for itself"),
        ("scan", "clone", "it would go in a circle"),
        ("clone", "scan", "they are connected already"),
        ("clone", "start", "nothing leads into a start"),
        ("end", "clone", "nothing leads out of an end"),
        ("note", "clone", "notes and groups run nothing"),
        ("fail", "scan", "a Fail ends the run"),
    ],
)
def test_what_no_canvas_can_have_is_left_out_with_its_reason(source: str, target: str, why: str) -> None:
    fail = {"id": "fail", "type": "fail", "data": {"error": "No"}}
    nodes = [start(), CLONE, SCAN, end(), {"id": "note", "type": "note", "data": {}}, fail]
    outcome = reviewed(nodes, edges("start clone scan end"), (source, target))
    assert (outcome.suggested, outcome.rejected) == ([], [(source, target, why)])


def test_proposals_are_held_against_each_other_too() -> None:
    outcome = reviewed([CLONE, SCAN, ANALYZE], [], ("clone", "scan"), ("clone", "scan"), ("scan", "analyze"),
                       ("analyze", "clone"))  # fmt: skip
    assert pairs(outcome) == [("clone", "scan"), ("scan", "analyze")]
    assert [why for *_, why in outcome.rejected] == ["it was proposed twice", "it would go in a circle"]


def test_a_redesign_says_which_edges_would_go_and_keeps_those_at_the_ends() -> None:
    nodes, drawn = [start(), CLONE, SCAN, ANALYZE, end()], edges("start clone scan analyze end")
    outcome = reviewed(nodes, drawn, ("clone", "scan"), ("clone", "analyze"), preserve=False)
    assert pairs(outcome) == [("clone", "analyze"), ("scan", "end")]
    assert [one["id"] for one in outcome.removed] == ["scan-analyze"]
    turned = reviewed([CLONE, SCAN], edges("scan clone"), ("clone", "scan"), preserve=False)
    assert (pairs(turned), [one["id"] for one in turned.removed]) == ([("clone", "scan")], ["scan-clone"])


def test_wording_is_kept_and_what_is_missing_of_it_is_filled_in() -> None:
    said = {"source": "clone", "target": "scan", "relation_type": "conditional", "relation_label": "a\x00 label\n",
            "relation_wording": {"verb": "feeds", "semantic_match": "both are paths", "confidence": "0.7",
                                 "connection_type": "magic", "transformer_needed": 7, "other": "x"}}  # fmt: skip
    (one,) = reviewed([CLONE, SCAN], [], Proposal.read(said)).suggested
    assert (one.label, one.relation_type) == ("a  label", "data-flow")
    assert one.wording == {
        "verb": "feeds", "semantic_match": "both are paths", "confidence": 0.7, "connection_type": "direct-map",
        "source_output": "path, commit, branch", "target_input": "path, severity",
    }  # fmt: skip


def test_confidences_are_from_0_to_1_and_a_missing_one_is_the_mean() -> None:
    outcome = reviewed(
        [CLONE, SCAN, ANALYZE, node("last")],
        [],
        Proposal("clone", "scan", confidence=7),
        Proposal("clone", "analyze", confidence=0.5),
        Proposal("analyze", "last", confidence=math.nan),
    )
    assert [one.wording["confidence"] for one in outcome.suggested] == [1.0, 0.5, 0.75]
    assert outcome.confidence == 0.75
    assert reviewed([CLONE], [], confidence=-3).confidence == 0.0


def test_what_does_not_fit_is_suggested_with_a_warning_and_five_of_them_are_told() -> None:
    others = [node(f"n{i}", "GenerateReportActivity") for i in range(7)]
    outcome = reviewed([CLONE, *others], [], *[("clone", other["id"]) for other in others])
    assert len(outcome.incompatible) == len(outcome.suggested) == 7
    assert len([alert for alert in outcome.alerts if alert.startswith("⚠️")]) == 5
    assert outcome.alerts[0].startswith('⚠️ clone → n0: GenerateReportActivity requires "summary"')


def test_nodes_in_no_edge_are_told_of_existing_ones_counted() -> None:
    lost = [node(f"lost{i}") for i in range(8)]
    outcome = reviewed([CLONE, SCAN, ANALYZE, *lost], edges("clone scan"), ("clone", "analyze"))
    assert outcome.disconnected == [f"lost{i}" for i in range(8)]
    assert [alert for alert in outcome.alerts if alert.startswith("🔌 lost")] == outcome.alerts


def test_ids_of_suggestions_are_free() -> None:
    taken = [{"id": "clone-scan", "source": "scan", "target": "analyze"}]
    (one,) = reviewed([CLONE, SCAN, ANALYZE], taken, ("clone", "scan")).suggested
    assert one.id == "clone-scan-2"


def test_anything_may_be_drawn() -> None:
    odd = [None, 7, {"id": 3}, {"id": "x", "position": {"x": "far"}, "data": []}, {"id": "y", "position": {"x": 1e300}}]
    assert matched([*odd, CLONE, SCAN], [None, {"source": 3}]) == [("clone", "scan")]
