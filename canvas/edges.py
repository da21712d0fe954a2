"""The edges of a canvas and what they mean, filled in and read (contract-canvas 1.2 to 1.4).

Owns where the parts of a meaning may be written; what it does not know it leaves as it was sent. Refuses meanings that
contradict themselves, such as a condition on an edge that says it is a dependency.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from canvas.json_values import faults_of, is_sound
from canvas.models import RelationType
from canvas.problems import Findings
from workflows.spec import limits

MAX_EDGE_ID_LENGTH = 255
MAX_RELATION_LABEL_LENGTH = 500
MAX_ERROR_NAMES = 20
WORDING_TEXTS = ("verb", "source_output", "target_input", "connection_type", "semantic_match", "transformer_needed")


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge that was read. ``condition`` is the text as drawn, empty for an unconditional edge.

    ``on_error`` are the names of errors of the source that it is taken on, ``*`` for any. ``is_guarded``: another edge
    of the source is taken on its errors, so that this one is taken only if there was none.
    """

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
    on_error: tuple[str, ...] = ()
    is_guarded: bool = False

    @property
    def asks(self) -> bool:
        """Whether something decides if it is taken, once its source has ended."""
        return bool(self.condition or self.on_error or self.is_guarded)

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


def read_edges(edges: list[Any], findings: Findings) -> list[tuple[Any, Edge | None]]:
    """Return each of ``edges`` filled in, and as it was read: None where ``findings`` say why it cannot be."""
    filled = fill_edges(edges)
    is_whole = is_sound(filled, max_depth=limits.MAX_SPEC_DEPTH + 1)
    return [(raw, _read_edge(raw, index, findings, is_whole)) for index, raw in enumerate(filled)]


def _read_edge(raw: object, index: int, findings: Findings, is_whole: bool) -> Edge | None:
    """Return the filled edge ``edges[index]``, or None after reporting why it cannot be one.

    The meaning is read from ``data`` (``relation_type``, ``relation_label`` or ``label``, ``relation_wording``,
    ``confidence``, ``condition``, ``on_error``), else from the edge itself, where a fetched relation carries it.
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
    faults = [] if is_whole else list(faults_of(raw, path=where, max_depth=limits.MAX_SPEC_DEPTH))
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


def guarded(edges: Iterable[Edge]) -> list[Edge]:
    """Return ``edges`` with those marked that are taken only if their source did not fail."""
    edges = list(edges)
    failing = {edge.source for edge in edges if edge.on_error}
    return [replace(edge, is_guarded=True) if edge.source in failing and not edge.on_error else edge for edge in edges]


def _read_meaning(edge: Edge, fields: Mapping[str, Any], findings: Findings) -> Edge:
    on_error = _read_errors(edge, fields.get("on_error"), findings)
    condition = _text(edge, "condition", fields.get("condition"), limits.MAX_EXPRESSION_CHARS, findings)
    label = _text(
        edge, "relation_label", fields.get("relation_label") or fields.get("label"), MAX_RELATION_LABEL_LENGTH, findings
    )
    relation_type = fields.get("relation_type")
    if condition and on_error:
        findings.report(
            "condition-mismatch",
            f"{edge.called} is taken on errors, and has a condition too",
            edge_id=edge.id,
            suggestion="remove one of them; data.on_error lists names of errors",
        )
        condition = ""
    if relation_type is None or relation_type == "":
        relation_type = RelationType.CONDITIONAL if condition or on_error else RelationType.DATA_FLOW
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
    elif relation_type == RelationType.CONDITIONAL and not condition and not on_error:
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
        on_error=on_error,
    )  # fmt: skip


def _read_errors(edge: Edge, value: object, findings: Findings) -> tuple[str, ...]:
    if value is None or value == []:
        return ()
    if not isinstance(value, list) or len(value) > MAX_ERROR_NAMES:
        problem = f"on_error of {edge.called} must be a list of at most {MAX_ERROR_NAMES} names of errors"
        findings.report("bad-data", problem, edge_id=edge.id, suggestion='write ["*"] for any error')
        return ()
    for name in value:
        if not isinstance(name, str) or not name.strip() or len(name) > limits.MAX_NAME_LENGTH:
            findings.report(
                "bad-data",
                f"on_error of {edge.called} holds something that is no name of an error",
                edge_id=edge.id,
                suggestion='names are such as Timeout or ActivityError, and "*" is any error',
            )
            return ()
    return tuple(dict.fromkeys(name.strip() for name in value))


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
