"""What becomes of proposed connections, whoever proposed them: only those a canvas can have are suggested.

Owns the rules after the answer (contract-canvas 7, steps 5 to 7). Refuses edges from or to nothing, to itself, twice,
in a circle, into a start and out of an end; each with its reason.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from canvas.compatibility import Incompatibility, check_read, proposed_transformation
from canvas.edges import MAX_RELATION_LABEL_LENGTH, WORDING_TEXTS, Edge
from canvas.models import RelationType
from canvas.suggesting.drawn import Drawn, Ways, free_id

Method = Literal["model", "schema-matching"]
MOST_ALERTS: Final = 5
MOST_PROPOSALS: Final = 500
MOST_TEXT: Final = 2_000
CONNECTION_TYPES: Final = ("direct-map", "requires-transformer", "conditional")
_UNKNOWN: Final = 0.5


@dataclass(frozen=True, slots=True)
class Proposal:
    """A connection that somebody proposes; ``confidence`` None where nothing was said."""

    source: str
    target: str
    relation_type: str = ""
    label: str = ""
    wording: Mapping[str, Any] = field(default_factory=dict)
    confidence: float | None = None

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> "Proposal":
        """Take what a model wrote: texts are cut and cleaned, what is of another type is left out."""
        wording = raw.get("relation_wording")
        wording = wording if isinstance(wording, Mapping) else {}
        texts = {key: _clean(wording.get(key), MOST_TEXT) for key in WORDING_TEXTS}
        confidence = _number(wording.get("confidence"))
        return cls(
            _clean(raw.get("source"), 200),
            _clean(raw.get("target"), 200),
            _clean(raw.get("relation_type"), 50),
            _clean(raw.get("relation_label"), MAX_RELATION_LABEL_LENGTH),
            {key: value for key, value in texts.items() if value},
            _number(raw.get("confidence")) if confidence is None else confidence,
        )


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A connection that can be drawn as it is: an id that is free, and wording with a confidence from 0 to 1."""

    id: str
    source: str
    target: str
    relation_type: str
    label: str
    wording: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        """The edge with its wording (contract-canvas 1.4)."""
        return {
            "id": self.id,
            "source": self.source,
            "target": self.target,
            "relation_type": self.relation_type,
            "relation_label": self.label,
            "relation_wording": dict(self.wording),
        }


@dataclass(slots=True)
class Suggestions:
    """The whole answer; ``method`` says whether a model or the matching of fields proposed."""

    method: Method
    reasoning: str
    confidence: float = 0.0
    suggested: list[Suggestion] = field(default_factory=list)
    removed: list[Mapping[str, Any]] = field(default_factory=list)
    rejected: list[tuple[str, str, str]] = field(default_factory=list)
    incompatible: list[Incompatibility] = field(default_factory=list)
    disconnected: list[str] = field(default_factory=list)
    alerts: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """The output of contract-canvas 7; every list is there; ``method``, ``rejected_edges``: our own."""
        return {
            "suggested_edges": [one.as_json() for one in self.suggested],
            "removed_edges": [dict(edge) for edge in self.removed],
            "rejected_edges": [{"source": s, "target": t, "reason": why} for s, t, why in self.rejected],
            "reasoning": self.reasoning,
            "confidence": self.confidence,
            "incompatible_edges": [one.as_json() for one in self.incompatible],
            "disconnected_nodes": list(self.disconnected),
            "user_alerts": list(self.alerts),
            "method": self.method,
        }


def review(
    drawn: Drawn,
    proposals: Iterable[Proposal],
    *,
    preserve: bool,
    method: Method,
    reasoning: str,
    confidence: float | None = None,
) -> Suggestions:
    """Return what of ``proposals`` can be drawn, and what the canvas would lack then.

    With ``preserve`` every edge stays; without, those between two activities that nobody proposed are ``removed``.
    A ``confidence`` that is missing is the mean of those of the edges.
    """
    outcome = Suggestions(method, reasoning)
    wanted = list(proposals)[:MOST_PROPOSALS]
    asked_for = {(one.source, one.target) for one in wanted}
    kept = [edge for edge in drawn.edges if preserve or not _is_inner(drawn, edge) or _pair(edge) in asked_for]
    kept_ids = {edge.id for edge in kept}
    outcome.removed = [drawn.raw_edges[edge.index] for edge in drawn.edges if edge.id not in kept_ids]
    ways = Ways(kept)
    existing = set(ways.pairs)
    accepted: list[tuple[Proposal, float | None]] = []
    for one in wanted:
        if (one.source, one.target) in existing and not preserve:
            continue
        if why := _refusal(drawn, ways, one, existing):
            outcome.rejected.append((one.source, one.target, why))
            continue
        ways.add(one.source, one.target)
        accepted.append((one, _clamped(one.confidence)))
    said = [value for _, value in accepted if value is not None]
    mean = sum(said) / len(said) if said else _UNKNOWN
    overall = _clamped(confidence)
    outcome.confidence = round((mean if accepted else 0.0) if overall is None else overall, 3)
    accepted += [(one, 1.0) for one in _ends(drawn, ways)]
    taken = set(drawn.edge_ids)
    edges = [
        Edge(-1, free_id(f"{one.source}-{one.target}", taken), one.source, one.target, _type_of(one))
        for one, _ in accepted
    ]
    judged = check_read(list(drawn.nodes.values()), [*kept, *edges], drawn.catalogue)
    pairs = {_pair(edge) for edge in edges}
    outcome.incompatible = [one for one in judged.incompatibilities if (one.source, one.target) in pairs]
    at_odds = {(one.source, one.target): one for one in outcome.incompatible if one.needs_transformer}
    outcome.suggested = [
        _suggestion(drawn, one, edge, mean if sure is None else sure, at_odds.get(_pair(edge)))
        for (one, sure), edge in zip(accepted, edges, strict=True)
    ]
    outcome.disconnected = judged.disconnected
    outcome.alerts = _alerts(drawn, outcome)
    return outcome


def _refusal(drawn: Drawn, ways: Ways, one: Proposal, existing: set[tuple[str, str]]) -> str:
    """Say why a proposal cannot be drawn; "" if it can."""
    source, target = drawn.nodes.get(one.source), drawn.nodes.get(one.target)
    if source is None or target is None:
        return f'there is no node "{(one.source if source is None else one.target)[:200]}"'
    if source is target:
        return "a node cannot wait for itself"
    if not {source.kind, target.kind} <= {"activity", "start", "end"}:
        return "notes and groups run nothing"
    if target.kind == "start":
        return "nothing leads into a start"
    if source.kind == "end" or source.state_type == "Fail":
        return "nothing leads out of an end" if source.kind == "end" else "a Fail ends the run"
    if (one.source, one.target) in existing:
        return "they are connected already"
    if (one.source, one.target) in ways.pairs:
        return "it was proposed twice"
    return "it would go in a circle" if ways.leads(one.target, one.source) else ""


def _ends(drawn: Drawn, ways: Ways) -> list[Proposal]:
    """Connect what begins to the start, and what finishes to the end, where there are any."""
    inner = [node for node in drawn.activities if ways.has_way_in(node.id) or ways.has_way_out(node.id)]
    chosen = inner or (drawn.activities if len(drawn.activities) == 1 else [])
    found: list[Proposal] = []
    if drawn.start is not None:
        found += [
            Proposal(drawn.start.id, node.id, "dependency", "",
                     {"verb": "starts", "connection_type": "direct-map", "semantic_match": "Nothing comes before it"})
            for node in chosen if not ways.has_way_in(node.id)
        ]  # fmt: skip
    if drawn.end is not None:
        found += [
            Proposal(node.id, drawn.end.id, "dependency", "",
                     {"verb": "ends", "connection_type": "direct-map", "semantic_match": "Nothing comes after it"})
            for node in chosen if not ways.has_way_out(node.id) and node.state_type != "Fail"
        ]  # fmt: skip
    for one in found:
        ways.add(one.source, one.target)
    return found


def _suggestion(
    drawn: Drawn, one: Proposal, edge: Edge, confidence: float, at_odds: Incompatibility | None
) -> Suggestion:
    gives, takes = (drawn.activity_of(drawn.nodes[end]) for end in (one.source, one.target))
    wording = dict(one.wording)
    wording.setdefault("verb", "outputs")
    if wording.get("connection_type") not in CONNECTION_TYPES:
        wording["connection_type"] = "direct-map"
    if at_odds is not None:
        wording["connection_type"] = "requires-transformer"
        wording.setdefault("transformer_needed", proposed_transformation(gives, takes)[:MOST_TEXT])
    for key, activity in (("source_output", gives), ("target_input", takes)):
        if not wording.get(key) and activity is not None and gives is not None and takes is not None:
            fields = activity.outputs if key == "source_output" else activity.inputs
            wording[key] = ", ".join(list(fields)[:8])
    wording["confidence"] = round(confidence, 3)
    names = [drawn.nodes[end].label for end in (one.source, one.target)]
    # What an edge at an end means is seen from where it stands.
    label = one.label or (f"{names[0]} {wording['verb']} → {names[1]}" if _is_inner(drawn, edge) else "")
    return Suggestion(edge.id, one.source, one.target, edge.relation_type, label[:MAX_RELATION_LABEL_LENGTH], wording)


def _alerts(drawn: Drawn, outcome: Suggestions) -> list[str]:
    alerts = [
        f"⚠️ {drawn.nodes[one.source].label} → {drawn.nodes[one.target].label}: {one.reason}. {one.suggestion}."
        for one in outcome.incompatible[:MOST_ALERTS]
    ]
    return alerts + [
        f"🔌 {drawn.nodes[node_id].label} is connected to nothing: connect it to others, or remove it."
        for node_id in outcome.disconnected
    ]


def _type_of(one: Proposal) -> str:
    # A conditional edge wants a condition, which nobody proposes: drawn without one it would be wrong.
    known = one.relation_type in RelationType.values and one.relation_type != RelationType.CONDITIONAL
    return str(one.relation_type if known else RelationType.DATA_FLOW)


def _is_inner(drawn: Drawn, edge: Edge) -> bool:
    return all(drawn.nodes[end].kind == "activity" for end in (edge.source, edge.target))


def _pair(edge: Edge) -> tuple[str, str]:
    return edge.source, edge.target


def _clean(value: object, longest: int) -> str:
    """Return text without control characters and halves of characters, cut; "" for what is no text."""
    if not isinstance(value, str):
        return ""
    plain = "".join(" " if ord(char) < 32 or 127 <= ord(char) < 160 else char for char in value[: 4 * longest])
    return plain.encode("utf-8", "ignore").decode().strip()[:longest]


def _number(value: object) -> float | None:
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _clamped(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else min(max(value, 0.0), 1.0)
