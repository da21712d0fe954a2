"""From a spec to a canvas: nodes and edges that compile to the same workflow, laid out from left to right.

Owns where nodes stand. What a canvas cannot show is left out and named, never drawn as something else.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from canvas.failure_paths import FailurePaths
from canvas.models import RelationType
from canvas.nodes import DOCUMENT_KEYS, STATE_TYPES
from canvas.unfolding import Unfolded, unfold

if TYPE_CHECKING:
    import networkx as nx

COLUMN, ROW = 304, 140
_FAILING = ("Task", "WaitForSignal", "Workflow")  # whose failures a canvas may lead on from
_ENDS = ("Succeed",)


@dataclass(slots=True)
class Drawing:
    """``nodes`` and ``edges`` as saves take them; ``left_out`` says in sentences what the canvas does not show."""

    nodes: list[dict[str, Any]] = field(default_factory=list)
    edges: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """``{nodes, edges, leftOut}``."""
        return {"nodes": self.nodes, "edges": self.edges, "leftOut": self.left_out}


@dataclass(frozen=True, slots=True)
class _Way:
    """One way on from a state: to another, or to the end (None), under a condition, on errors of it, or always."""

    target: str | None
    condition: str = ""
    on_error: tuple[str, ...] = ()


def draw_spec(document: Mapping[str, Any]) -> Drawing:
    """Return the canvas of a valid spec: a start with its inputs, one node per state that works or waits, an end.

    A Choice becomes conditional edges, a catch an edge that is taken on errors, and the Parallel that a canvas was
    saved as becomes that canvas. Loops and states that a canvas does not know are left out. Never raises for a document
    that is valid.
    """
    drawing = Drawing()
    unfolded = unfold(document, STATE_TYPES)
    if unfolded is not None:
        return _draw_unfolded(document, unfolded, drawing)
    states = {state["name"]: state for state in document["states"]}
    order = list(states)
    drawn = [name for name in order if states[name]["type"] in STATE_TYPES]
    first = document.get("startAt", order[0])
    ways: dict[str | None, list[_Way]] = {None: _ways_from(first, states, drawn, drawing)}
    reached, waiting = set[str](), [way.target for way in ways[None] if way.target]
    while waiting:
        name = waiting.pop(0)
        if name in reached:
            continue
        reached.add(name)
        ways[name] = _ways_from(_next_of(states[name], states, order), states, drawn, drawing)
        ways[name] += _ways_on_errors(states[name], states, drawn, drawing)
        waiting += [way.target for way in ways[name] if way.target]
    shown = [name for name in drawn if name in reached]
    paths = FailurePaths(states)
    told = {name: paths.told(state) for name, state in states.items()}
    for name in shown:
        if paths.unread({key: value for key, value in told[name].items() if key != "catch"}):
            _leave_out(
                f"What {name} reads of the failure before it is kept in a variable, which a canvas has not.", drawing
            )
    return _laid_out(document, told, shown, ways, drawing)


def _ways_on_errors(
    state: Mapping[str, Any], states: Mapping[str, Mapping[str, Any]], drawn: list[str], drawing: Drawing
) -> list[_Way]:
    """Return where the catches of ``state`` lead; to several places by a decision cannot be drawn."""
    ways: list[_Way] = []
    for rule in state.get("catch", ()):
        names = tuple(rule.get("errors", ("*",)))
        following = _ways_from(rule["next"], states, drawn, drawing)
        if len(following) != 1 or following[0].condition:
            _leave_out(f"What decides after a failure of {state['name']} cannot be drawn.", drawing)
        elif state["type"] not in _FAILING:
            _leave_out(f"What happens after a failure of {state['name']} cannot be drawn.", drawing)
        elif any(way.target == following[0].target for way in ways):
            same = next(way for way in ways if way.target == following[0].target)
            ways[ways.index(same)] = replace(same, on_error=(*same.on_error, *names))
        else:
            ways.append(replace(following[0], on_error=names))
    return ways


def _draw_unfolded(document: Mapping[str, Any], unfolded: Unfolded, drawing: Drawing) -> Drawing:
    ways: dict[str | None, list[_Way]] = {None: []} | {name: [] for name in unfolded.states}
    for source, target, condition in unfolded.ways:
        ways[source].append(_Way(target, condition))
    for name in unfolded.states:
        if not ways[name]:
            ways[name].append(_Way(None))
    return _laid_out(document, unfolded.states, list(unfolded.states), ways, drawing)


def _laid_out(
    document: Mapping[str, Any],
    states: Mapping[str, Mapping[str, Any]],
    shown: list[str],
    ways: Mapping[str | None, list[_Way]],
    drawing: Drawing,
) -> Drawing:
    start, end = _free("start", states), _free("end", states)
    graph = _graph(ways, start, end, drawing)
    places = _places(graph, [start, *shown, end])
    drawing.nodes = [
        _start(start, document, places),
        *(_node(states[name], places) for name in shown),
        {"id": end, "type": "end", "position": places[end], "data": {"label": "End"}},
    ]
    drawing.edges = [_edge(source, target, data["way"]) for source, target, data in graph.edges(data=True)]
    return drawing


def _next_of(state: Mapping[str, Any], states: Mapping[str, Any], order: list[str]) -> str | None:
    if "next" in state or state.get("end"):
        return state.get("next")
    if any("next" in other for other in states.values()):
        return None
    place = order.index(state["name"]) + 1
    return order[place] if place < len(order) else None


def _ways_from(
    name: str | None, states: Mapping[str, Mapping[str, Any]], drawn: list[str], drawing: Drawing, depth: int = 0
) -> list[_Way]:
    """Return where ``name`` leads: itself if it is drawn, through decisions otherwise."""
    if name is None or states[name]["type"] in _ENDS:
        return [_Way(None)]
    if name in drawn:
        return [_Way(name)]
    state = states[name]
    if state["type"] != "Choice" or depth > len(states):
        _leave_out(f"The {state['type']} {name} cannot be drawn.", drawing)
        return [_Way(None)]
    ways: list[_Way] = []
    refused: list[str] = []
    for rule in state["choices"]:
        condition = _bare(rule["when"])
        terms = [*(f"$not({other})" for other in refused), condition]
        ways += [_joined(way, terms) for way in _ways_from(rule["next"], states, drawn, drawing, depth + 1)]
        refused.append(condition)
    if "default" in state:
        targets = {way.target for way in ways}
        for way in _ways_from(state["default"], states, drawn, drawing, depth + 1):
            meets = way.target is None or any(_leads_to(t, way.target, states) for t in targets if t)
            ways.append(way if meets else _joined(way, [f"$not({other})" for other in refused]))
    return [way for way in ways if way.target is not None] or [_Way(None)]


def _leads_to(start: str, target: str, states: Mapping[str, Mapping[str, Any]]) -> bool:
    seen, waiting = set[str](), [start]
    while waiting:
        state = states[waiting.pop()]
        following = [state.get("next"), state.get("default"), *(rule["next"] for rule in state.get("choices", ()))]
        for name in following:
            if name == target:
                return True
            if name is not None and name not in seen:
                seen.add(name)
                waiting.append(name)
    return False


def _bare(when: str) -> str:
    text = when.strip()
    if text.startswith("{%") and text.endswith("%}"):
        return text[2:-2].strip()
    return text.removeprefix("${").removesuffix("}")


def _joined(way: _Way, terms: list[str]) -> _Way:
    parts = [*terms, *([way.condition] if way.condition else [])]
    return _Way(way.target, parts[0] if len(parts) == 1 else " and ".join(f"({part})" for part in parts))


def _graph(ways: Mapping[str | None, list[_Way]], start: str, end: str, drawing: Drawing) -> "nx.DiGraph[str]":
    import networkx as nx  # see canvas.graph

    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_node(start)
    for name, following in ways.items():
        source = start if name is None else name
        for way in following:
            target = end if way.target is None else way.target
            if graph.has_node(target) and nx.has_path(graph, target, source):
                _leave_out(f"The way back from {source} to {target} cannot be drawn.", drawing)
            elif not graph.has_edge(source, target):
                graph.add_edge(source, target, way=way)
            elif way.on_error:
                _leave_out(f"That {source} leads to {target} after a failure as well cannot be drawn.", drawing)
    graph.add_node(end)
    return graph


def _places(graph: "nx.DiGraph[str]", names: list[str]) -> dict[str, dict[str, int]]:
    """Give each node the column of its longest way from the start, and a row of its own within it."""
    import networkx as nx  # see canvas.graph

    column = dict.fromkeys(names, 0)
    for name in nx.topological_sort(graph):
        column[name] = max((column[before] + 1 for before in graph.predecessors(name)), default=0)
    column[names[-1]] = max(column.values()) + (0 if graph.in_degree(names[-1]) else 1)
    rows: dict[int, int] = {}
    places: dict[str, dict[str, int]] = {}
    for name in names:
        row = rows.get(column[name], 0)
        rows[column[name]] = row + 1
        places[name] = {"x": column[name] * COLUMN, "y": row * ROW}
    return places


def _start(name: str, document: Mapping[str, Any], places: Mapping[str, dict[str, int]]) -> dict[str, Any]:
    data: dict[str, Any] = {"label": "Start", "config": dict(document.get("input", {}))}
    data |= {key: document[key] for key in DOCUMENT_KEYS if key in document}
    return {"id": name, "type": "start", "position": places[name], "data": data}


def _node(state: Mapping[str, Any], places: Mapping[str, dict[str, int]]) -> dict[str, Any]:
    name = state["name"]
    data: dict[str, Any] = {"label": state.get("comment", name)}
    if state["type"] == "Task":
        data |= {"activity": state["resource"], "config": dict(state.get("parameters", {}))}
        data |= {key: state[key] for key in ("timeout", "retry") if key in state}
    else:
        beside = {"name", "type", "next", "end", "comment", "catch"}
        data |= {"stateType": state["type"], "config": {k: v for k, v in state.items() if k not in beside}}
    return {"id": name, "type": "activity", "position": places[name], "data": data}


def _edge(source: str, target: str, way: _Way) -> dict[str, Any]:
    edge: dict[str, Any] = {"id": f"{source}-{target}", "source": source, "target": target}
    if way.on_error:
        edge["data"] = {"relation_type": str(RelationType.CONDITIONAL), "on_error": list(way.on_error)}
    elif way.condition:
        edge["data"] = {"relation_type": str(RelationType.CONDITIONAL), "condition": f"{{% {way.condition} %}}"}
    return edge


def _free(name: str, states: Mapping[str, Any]) -> str:
    while name in states:
        name += "-1"
    return name


def _leave_out(sentence: str, drawing: Drawing) -> None:
    if sentence not in drawing.left_out:
        drawing.left_out.append(sentence)
