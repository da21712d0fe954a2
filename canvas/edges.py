"""The edges of a canvas and what they mean, filled in and read (contract-canvas 1.2 to 1.4).

Owns where the parts of a meaning may be written; what it does not know it leaves as it was sent. Refuses meanings that
contradict themselves, such as a condition on an edge that says it is a dependency.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from canvas.json_values import faults_of
from canvas.models import RelationType
from canvas.problems import Findings
from workflows.spec import limits

MAX_EDGE_ID_LENGTH = 255
MAX_RELATION_LABEL_LENGTH = 500
WORDING_TEXTS = ("verb", "source_output", "target_input", "connection_type", "semantic_match", "transformer_needed")


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge that was read. ``condition`` is the text as drawn, empty for an unconditional edge."""

    index: int
    id: str
    source: str
    target: str
    relation_type: str = RelationType.DATA_FLOW
    condition: str = ""
    label: str = ""
    wording: Mapping[str, Any] = field(default_factory=dict)
    confidence: float | None = None
    transformer_needed: str = ""

    @property
    def called(self) -> str:
        """How messages name the edge."""
        return f"the edge {self.source} → {self.target}"


def fill_edges(edges: list[Any]) -> list[Any]:
    """Return ``edges`` with an id where none was sent: ``<source>-<target>``, numbered where that is taken."""
    taken = {edge["id"] for edge in edges if isinstance(edge, dict) and isinstance(edge.get("id"), str)}
    filled: list[Any] = []
    for edge in edges:
        if isinstance(edge, dict) and edge.get("id") in (None, ""):
            stem = f"{edge.get('source')}-{edge.get('target')}"[: MAX_EDGE_ID_LENGTH - 8]
            name, count = stem, 1
            while name in taken:
                count += 1
                name = f"{stem}-{count}"
            taken.add(name)
            edge = {**edge, "id": name}  # noqa: PLW2901 - the loop goes on with the filled edge
        filled.append(edge)
    return filled


def read_edge(raw: object, index: int, findings: Findings) -> Edge | None:
    """Return the filled edge ``edges[index]`` as an :class:`Edge`, or None after reporting why it cannot be one.

    The meaning is read from ``data`` (``relation_type``, ``relation_label`` or ``label``, ``relation_wording``,
    ``confidence``, ``condition``), else from the edge itself, where a relation that was fetched carries it.
    """
    where = f"edges[{index}]"
    if not isinstance(raw, dict):
        findings.report("edge-not-an-object", f"{where} must be an object with an id, a source and a target")
        return None
    edge_id = raw.get("id")
    if not isinstance(edge_id, str) or not edge_id or len(edge_id) > MAX_EDGE_ID_LENGTH:
        problem = f"{where}.id must be text of 1 to {MAX_EDGE_ID_LENGTH} characters"
        shown = edge_id[:200].replace("\0", "") if isinstance(edge_id, str) else None
        findings.report("bad-edge-id", problem, edge_id=shown)
        return None
    faults = list(faults_of(raw, path=where, max_depth=limits.MAX_SPEC_DEPTH))
    for path, fault in faults[:10]:
        findings.report("bad-value", f"{path} {fault}", edge_id=edge_id.replace("\0", ""))
    source, target = raw.get("source"), raw.get("target")
    for key, end in (("source", source), ("target", target)):
        if not isinstance(end, str):
            findings.report("unknown-node", f"{where}.{key} must be the id of a node", edge_id=edge_id)
    if faults or not isinstance(source, str) or not isinstance(target, str):
        return None
    data = raw.get("data")
    if data is not None and not isinstance(data, dict):
        findings.report("bad-data", f"{where}.data must be an object", edge_id=edge_id)
        data = None
    return _read_meaning(Edge(index, edge_id, source, target), {**raw, **(data or {})}, findings)


def _read_meaning(edge: Edge, fields: Mapping[str, Any], findings: Findings) -> Edge:
    condition = _text(edge, "condition", fields.get("condition"), limits.MAX_EXPRESSION_CHARS, findings)
    label = _text(
        edge, "relation_label", fields.get("relation_label") or fields.get("label"), MAX_RELATION_LABEL_LENGTH, findings
    )
    relation_type = fields.get("relation_type")
    if relation_type is None or relation_type == "":
        relation_type = RelationType.CONDITIONAL if condition else RelationType.DATA_FLOW
    elif relation_type not in RelationType.values:
        findings.report(
            "unknown-relation-type",
            f"relation_type of {edge.called} is none of {', '.join(RelationType.values)}",
            edge_id=edge.id,
        )
        relation_type = RelationType.CONDITIONAL if condition else RelationType.DATA_FLOW
    elif condition and relation_type != RelationType.CONDITIONAL:
        findings.report(
            "condition-mismatch",
            f"{edge.called} has a condition, but its relation_type is {relation_type}",
            edge_id=edge.id,
            suggestion="set relation_type to conditional, or remove the condition",
        )
    elif relation_type == RelationType.CONDITIONAL and not condition:
        findings.report(
            "missing-condition",
            f"{edge.called} is conditional, but has no condition",
            edge_id=edge.id,
            suggestion='set data.condition to a comparison such as riskLevel == "high", or to {% JSONata %}',
        )
    wording = _read_wording(edge, fields.get("relation_wording"), findings)
    confidence = wording.get("confidence", fields.get("confidence"))
    if confidence is not None and (
        isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 <= confidence <= 1
    ):
        findings.report("bad-wording", f"the confidence of {edge.called} must be a number from 0 to 1", edge_id=edge.id)
        confidence = None
    transformer = wording.get("transformer_needed", fields.get("transformer_needed", ""))
    return Edge(
        edge.index, edge.id, edge.source, edge.target,
        relation_type=str(relation_type),
        condition=condition,
        label=label,
        wording=wording,
        confidence=None if confidence is None else float(confidence),
        transformer_needed=transformer if isinstance(transformer, str) else "",
    )  # fmt: skip


def _text(edge: Edge, key: str, value: object, longest: int, findings: Findings) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > longest:
        findings.report(
            "bad-data", f"{key} of {edge.called} must be text of at most {longest} characters", edge_id=edge.id
        )
        return ""
    return value.strip()


def _read_wording(edge: Edge, wording: object, findings: Findings) -> dict[str, Any]:
    if wording is None:
        return {}
    if not isinstance(wording, dict):
        findings.report("bad-wording", f"relation_wording of {edge.called} must be an object", edge_id=edge.id)
        return {}
    for key in WORDING_TEXTS:
        if not isinstance(wording.get(key, ""), str):
            findings.report("bad-wording", f"relation_wording.{key} of {edge.called} must be text", edge_id=edge.id)
    return dict(wording)
