"""The nodes of a canvas: both shapes they are sent in, brought to the React-Flow shape and read (contract-canvas 1.1).

Owns the normaliser; what it does not know it leaves as it was sent. Refuses to repair: a value of the wrong type stays,
and reading it names the field.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from canvas.catalogue import Catalogue, squash
from canvas.json_values import faults_of, is_sound
from canvas.problems import Findings
from workflows.spec import limits

Kind = Literal["activity", "start", "end", "note", "group"]
StateType = Literal["Task", "Wait", "WaitForSignal", "Workflow", "Fail"]

STATE_TYPES: tuple[StateType, ...] = ("Task", "Wait", "WaitForSignal", "Workflow", "Fail")
RESERVED_IDS = ("workflow", "vars", "item", "index", "result", "error")
MAX_LABEL_LENGTH = 255
# Nodes that only people read: a text, and a frame around others. They run nothing and are in no spec.
REMARKS: tuple[Kind, ...] = ("note", "group")

_BY_SPELLING: dict[str, StateType] = {squash(name): name for name in STATE_TYPES}
_NODE_ID = re.compile(rf"[A-Za-z0-9_-]{{1,{limits.MAX_NAME_LENGTH}}}")
_NODE_SPACING = 120
# What the start node says of the whole workflow beside its inputs.
DOCUMENT_KEYS = ("errorHandling", "timeout")
# Keys of a state that its node and edges say, not its config.
DRAWN_KEYS = frozenset({"name", "type", "comment", "next", "end"})
# Keys of ``data`` that are not parameters where a flat node gives its parameters in ``data`` itself.
_DATA_KEYS = frozenset({"label", "activity", "config", "stateType", "timeout", "retry"})


@dataclass(frozen=True, slots=True)
class Node:
    """A node that was read: ``activity`` is the name as drawn, ``config`` the parameters with overrides in them.

    ``of_document`` are keys of the whole spec; only the start node says any.
    """

    index: int
    id: str
    kind: Kind
    label: str
    state_type: StateType = "Task"
    activity: str = ""
    config: Mapping[str, Any] | None = None
    timeout: Any = None
    retry: Any = None
    of_document: Mapping[str, Any] | None = None

    @property
    def called(self) -> str:
        """How messages name the node."""
        return f'"{self.label}" ({self.id})' if self.label != self.id else f'"{self.id}"'


def fill_nodes(nodes: list[Any], catalogue: Catalogue) -> list[Any]:
    """Return ``nodes`` in the React-Flow shape, with missing keys filled in; elements that are no objects stay."""
    return [fill_node(n, catalogue, i) if isinstance(n, dict) else n for i, n in enumerate(nodes)]


def fill_node(raw: Mapping[str, Any], catalogue: Catalogue, index: int = 0) -> dict[str, Any]:
    """Return the node in the React-Flow shape (contract-canvas 1.1); ``raw`` is not changed, unknown keys are kept.

    In the flat shape ``type`` names the activity (``clone-repo``) or a kind of state (``wait``); its parameters are
    ``data.config`` or, without that, what ``data`` holds beside the keys known here. ``index`` places a node that was
    sent without a position.
    """
    node = dict(raw)
    if node.get("position") is None:
        node["position"] = {"x": 0, "y": index * _NODE_SPACING}
    if node.get("data") is None:
        node["data"] = {}
    if not isinstance(node["data"], dict):
        return node
    data = node["data"] = dict(node["data"])
    if data.get("label") is None and node.get("type") != "note":
        label = node.get("label")
        data["label"] = label if isinstance(label, str) and label else node.get("id")
    if node.get("type") in ("start", "end", *REMARKS):
        return node
    _fill_type(node, data, catalogue)
    if node.get("type") == "activity" and data.get("config") is None:
        is_flat = raw.get("type") != "activity" and raw.get("type") is not None
        data["config"] = {k: v for k, v in data.items() if k not in _DATA_KEYS} if is_flat else {}
    return node


def _fill_type(node: dict[str, Any], data: dict[str, Any], catalogue: Catalogue) -> None:
    drawn, kind = data.get("activity"), node.get("type")
    if kind is None:
        if drawn or data.get("stateType"):
            node["type"] = "activity"
    elif isinstance(kind, str) and kind != "activity":
        meant = catalogue.find(kind)
        if meant is not None and (not drawn or (isinstance(drawn, str) and catalogue.find(drawn) is meant)):
            node["type"] = "activity"
            data["activity"] = drawn or meant.name
        elif (state_type := _BY_SPELLING.get(squash(kind))) and data.get("stateType") in (None, state_type):
            node["type"] = "activity"
            data["stateType"] = state_type


def read_nodes(nodes: list[Any], catalogue: Catalogue, findings: Findings) -> list[tuple[Any, Node | None]]:
    """Return each of ``nodes`` filled in, and as it was read: None where ``findings`` say why it cannot be."""
    filled = fill_nodes(nodes, catalogue)
    is_whole = is_sound(filled, max_depth=limits.MAX_SPEC_DEPTH + 1)
    return [(raw, _read_node(raw, index, catalogue, findings, is_whole)) for index, raw in enumerate(filled)]


def _read_node(raw: object, index: int, catalogue: Catalogue, findings: Findings, is_whole: bool) -> Node | None:
    """Return the filled node ``nodes[index]``, or None after reporting why it cannot be one.

    A node with a usable id is returned even if more is wrong with it, so that its edges can be judged too.
    ``is_whole``: it is known to hold nothing that cannot be stored.
    """
    where = f"nodes[{index}]"
    if not isinstance(raw, dict):
        findings.report("node-not-an-object", f"{where} is {_kind_of(raw)}; a node is an object with an id and a type")
        return None
    faults = [] if is_whole else list(faults_of(raw, path=where, max_depth=limits.MAX_SPEC_DEPTH))
    node_id = _read_id(raw.get("id"), where, findings)
    for path, fault in faults[:10]:
        findings.report("bad-value", f"{path} {fault}", node_id=node_id)
    if node_id is None:
        return None
    kind = _read_kind(raw, node_id, catalogue, findings)
    if kind in REMARKS:
        return Node(index, node_id, kind, node_id)
    data = raw.get("data")
    if not isinstance(data, dict):
        findings.report("bad-data", f"{where}.data is {_kind_of(data)}; expected an object", node_id=node_id)
        data = {}
    if not isinstance(raw.get("position"), dict):
        problem = f"{where}.position is {_kind_of(raw.get('position'))}; expected an object with x and y"
        findings.report("bad-data", problem, node_id=node_id)
    label = data.get("label", node_id)
    if not isinstance(label, str) or len(label) > MAX_LABEL_LENGTH:
        problem = f"{where}.data.label must be text of at most {MAX_LABEL_LENGTH} characters"
        findings.report("bad-data", problem, node_id=node_id)
        label = node_id
    label = label.strip() or node_id
    config = data.get("config", {})
    if not isinstance(config, dict):
        problem = f"{where}.data.config is {_kind_of(config)}; expected an object of parameters"
        findings.report("bad-data", problem, node_id=node_id)
        config = {}
    if kind is None or faults:
        return Node(index, node_id, kind or "activity", label, config={})
    if kind != "activity":
        said = {key: data[key] for key in DOCUMENT_KEYS if data.get(key) is not None} if kind == "start" else None
        return Node(index, node_id, kind, label, config=config, of_document=said)
    state_type = _read_state_type(data, node_id, findings)
    activity = _read_activity(data, node_id, label, catalogue, findings) if state_type == "Task" else ""
    for key in sorted(DRAWN_KEYS.intersection(config)) if state_type != "Task" else ():
        problem = f"{where}.data.config.{key} is decided by the drawing; remove it"
        findings.report("bad-data", problem, node_id=node_id)
    return Node(
        index, node_id, kind, label, state_type or "Task", activity, config,
        timeout=data.get("timeout"), retry=data.get("retry"),
    )  # fmt: skip


def _read_id(node_id: object, where: str, findings: Findings) -> str | None:
    if not isinstance(node_id, str):
        suggestion = f'write "{node_id}", in quotes' if isinstance(node_id, int) else None
        findings.report(
            "bad-node-id", f"{where}.id is {_kind_of(node_id)}; every node needs a text id", suggestion=suggestion
        )
        return None
    if not _NODE_ID.fullmatch(node_id):
        better = re.sub(r"[^A-Za-z0-9_-]+", "-", node_id[:1000])[: limits.MAX_NAME_LENGTH].strip("-")
        findings.report(
            "bad-node-id",
            f"{where}.id {_short(node_id)} cannot name a state: 1 to {limits.MAX_NAME_LENGTH} letters, digits, "
            "'_' and '-' can",
            node_id=node_id.replace("\0", "")[:200],
            suggestion=f"call it {better}; the label may be any text" if better else None,
        )
        return None
    if node_id in RESERVED_IDS:
        findings.report(
            "reserved-node-id",
            f"{where}.id {node_id!r} has a meaning of its own in references",
            node_id=node_id,
            suggestion=f"call it {node_id}-1",
        )
    return node_id


def _read_kind(raw: Mapping[str, Any], node_id: str, catalogue: Catalogue, findings: Findings) -> Kind | None:
    kind = raw.get("type")
    if kind in ("activity", "start", "end", *REMARKS):
        return kind  # type: ignore[no-any-return]
    if isinstance(kind, str) and squash(kind) in ("choice", "condition", "decision", "parallel"):
        hint: str | None = "draw a decision as edges with relation_type conditional, and a fan-out as several edges"
    elif isinstance(kind, str):
        hint = _suggestion(kind, catalogue, findings)
    else:
        hint = "set it to activity, start or end"
    shown = _short(kind) if isinstance(kind, str) else _kind_of(kind)
    findings.report(
        "unknown-node-type",
        f"the type of node {_short(node_id)} is {shown}, which is neither activity, start or end nor an activity",
        node_id=node_id,
        suggestion=hint,
    )
    return None


def _read_state_type(data: Mapping[str, Any], node_id: str, findings: Findings) -> StateType | None:
    drawn = data.get("stateType")
    if drawn is None:
        return "Task"
    found = _BY_SPELLING.get(squash(drawn)) if isinstance(drawn, str) else None
    if found is None:
        findings.report(
            "unknown-state-type",
            f"data.stateType of node {_short(node_id)} is {_short(drawn)}; a canvas knows {', '.join(STATE_TYPES)}",
            node_id=node_id,
        )
    return found


def _read_activity(data: Mapping[str, Any], node_id: str, label: str, catalogue: Catalogue, findings: Findings) -> str:
    drawn = data.get("activity")
    if drawn is None or drawn == "":
        findings.report(
            "missing-activity",
            f'node "{label}" ({node_id}) does not say which activity it runs',
            node_id=node_id,
            suggestion="set data.activity",
        )
        return ""
    if not isinstance(drawn, str):
        findings.report("bad-data", f"data.activity of node {node_id} is {_kind_of(drawn)}; expected a name",
                       node_id=node_id)  # fmt: skip
        return ""
    known = catalogue.find(drawn)
    if known is None:
        findings.report(
            "unknown-activity",
            f"node {_short(node_id)} runs {_short(drawn)}, which is no activity",
            node_id=node_id,
            suggestion=_suggestion(drawn, catalogue, findings),
        )
        return ""
    return known.name


def _suggestion(name: str, catalogue: Catalogue, findings: Findings) -> str | None:
    spellings = {squash(known, suffix): known for known in catalogue.activities for suffix in ("", "activity")}
    hint = findings.did_you_mean(squash(name[:MAX_LABEL_LENGTH], "activity"), spellings)
    return re.sub(r"(\w+)\?$", lambda found: spellings[found.group(1)] + "?", hint) if hint else None


def _kind_of(value: object) -> str:
    names = {dict: "an object", list: "an array", str: "text", bool: "a boolean", int: "a number", float: "a number"}
    return "missing" if value is None else names.get(type(value), f"a {type(value).__name__}")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
