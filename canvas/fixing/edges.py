"""Fixes about edges and what they join: circles, loose ends, nodes that nothing leads to, starts and ends.

Owns which edge of a circle goes: the one that leads furthest back. Refuses to draw an edge that closes a circle.
"""

from canvas.fixing.drawing import COLUMN, Fix, Sent, add_node
from canvas.problems import Problem

MOST_ENDS = 50


def remove_edge(sent: Sent, problem: Problem) -> Fix | None:
    """Take the edge away."""
    index = sent.edge_at(problem.edge_id)
    if index is None:
        return None
    ends = [sent.edges[index].get(end) for end in ("source", "target")]
    shown = " → ".join(sent.called(end) if isinstance(end, str) else "?" for end in ends)
    return Fix(f"Remove the connection {shown}", sent.without_edge(index))


def break_cycle(sent: Sent, problem: Problem) -> Fix | None:
    """Take away the edge of the circle that leads furthest back, else the last one."""
    ids = problem.node_ids
    pairs = list(zip(ids, (*ids[1:], ids[0]), strict=True))
    places = sent.drawn.places
    back = [places[source][0] - places[target][0] for source, target in pairs]
    furthest = max(range(len(pairs)), key=lambda i: (back[i] > 0, max(0, back[i]), i))
    source, target = pairs[furthest]
    found = [edge for edge in sent.drawn.edges if (edge.source, edge.target) == (source, target)]
    if len(found) != 1:
        return None
    return Fix(
        f"Remove the connection {sent.called(source)} → {sent.called(target)}", sent.without_edge(found[0].index)
    )


def rename_edges(sent: Sent, problem: Problem) -> Fix | None:
    """Give every edge of the id but the first another one."""
    same = [i for i, raw in enumerate(sent.edges) if isinstance(raw, dict) and raw.get("id") == problem.edge_id]
    changes = []
    for index in same[1:]:
        (new,) = sent.with_edges([(str(problem.edge_id), "2")])
        changes += [*sent.is_edge(index), {"op": "replace", "path": f"/edges/{index}/id", "value": new["value"]["id"]}]
    return Fix("Give each of them an id of its own", tuple(changes)) if changes else None


def connect_unreachable(sent: Sent, problem: Problem) -> Fix | None:
    """Lead the start to a node that nothing leads to."""
    start, node = sent.drawn.start, sent.node(problem.node_id)
    if start is None or node is None or sent.ways.has_way_in(node.id):
        return None
    return Fix(f"Connect {sent.called(start.id)} → {sent.called(node.id)}", sent.with_edges([(start.id, node.id)]))


def connect_to_end(sent: Sent, problem: Problem) -> Fix | None:
    """Lead a last node to the end."""
    end, node = sent.drawn.end, sent.node(problem.node_id)
    if end is None or node is None:
        return None
    return Fix(f"Connect {sent.called(node.id)} → {sent.called(end.id)}", sent.with_edges([(node.id, end.id)]))


def connect_alone(sent: Sent, problem: Problem) -> Fix | None:
    """Connect a node without edges: by its fields, else to start and end, else behind what ends to its left."""
    node = sent.node(problem.node_id)
    index = sent.node_at(problem.node_id)
    if node is None or index is None:
        return None
    if node.kind != "activity":
        others = _at_start(sent) if node.kind == "start" else _at_end(sent)
        if not others or len(others) > MOST_ENDS:
            removal = {"op": "remove", "path": f"/nodes/{index}"}
            return Fix(f"Remove {sent.called(node.id)}", (sent.is_node(index), removal))
        ends = [(node.id, other) if node.kind == "start" else (other, node.id) for other in others]
        return Fix(f"Connect {sent.called(node.id)}", sent.with_edges(ends))
    pairs = [pair for pair in sent.matches if node.id in pair]
    start, end = sent.drawn.start, sent.drawn.end
    if start is not None and not any(target == node.id for _, target in pairs):
        pairs.append((start.id, node.id))
    if end is not None and node.state_type != "Fail" and not any(source == node.id for source, _ in pairs):
        pairs.append((node.id, end.id))
    if not pairs:
        lasts = [
            other.id
            for other in sent.drawn.activities
            if other is not node and sent.ways.has_way_in(other.id) and other.id in _at_end(sent)
        ] or [other.id for other in sent.drawn.activities if other is not node and other.state_type != "Fail"]
        if not lasts:
            return None
        pairs = [(min(lasts, key=lambda other: sent.drawn.distance(other, node.id)), node.id)]
    first = " and ".join(f"{sent.called(source)} → {sent.called(target)}" for source, target in pairs[:2])
    return Fix(f"Connect {first}", sent.with_edges(pairs))


def connect_parts(sent: Sent, problem: Problem) -> Fix | None:
    """Lead the start to the beginning of every part; without a start, draw one."""
    return add_start(sent, problem) if sent.drawn.start is None else None


def add_start(sent: Sent, problem: Problem) -> Fix | None:
    """Draw a start that leads to everything that nothing leads to."""
    begins = _at_start(sent)
    if not begins or len(begins) > MOST_ENDS:
        return None
    x = min(sent.drawn.places[node][0] for node in begins) - COLUMN
    start = sent.new_node("start", "start", (x, sent.drawn.places[begins[0]][1]), {"label": "Start", "config": {}})
    edges = sent.with_edges([(start["id"], node) for node in begins])
    return Fix("Add a start", (add_node(start), *edges))


def add_end(sent: Sent, problem: Problem) -> Fix | None:
    """Draw an end behind everything that leads nowhere."""
    lasts = _at_end(sent)
    if not lasts or len(lasts) > MOST_ENDS:
        return None
    x = max(sent.drawn.places[node][0] for node in lasts) + COLUMN
    end = sent.new_node("end", "end", (x, sent.drawn.places[lasts[0]][1]), {"label": "End"})
    return Fix("Add an end", (add_node(end), *sent.with_edges([(node, end["id"]) for node in lasts])))


def merge_starts(sent: Sent, problem: Problem) -> Fix | None:
    """Let the first start lead to where the further one leads, which goes."""
    start, index = sent.drawn.start, sent.node_at(problem.node_id)
    if start is None or index is None or start.id == problem.node_id:
        return None
    known = {edge.target for edge in sent.drawn.edges if edge.source == start.id}
    changes, gone = [], []
    for edge in sent.edges_of(str(problem.node_id)):
        if edge.target in known or edge.target in (start.id, problem.node_id):
            gone.append(edge.index)
            continue
        known.add(edge.target)
        changes += [
            *sent.is_edge(edge.index), {"op": "replace", "path": f"/edges/{edge.index}/source", "value": start.id}
        ]  # fmt: skip
    for place in sorted(gone, reverse=True):
        changes += sent.without_edge(place)
    changes += [sent.is_node(index), {"op": "remove", "path": f"/nodes/{index}"}]
    return Fix(f"Keep {sent.called(start.id)} alone", tuple(changes))


def draw_path(sent: Sent, problem: Problem) -> Fix | None:
    """Draw the edge that makes a node run before the one that reads it."""
    if len(problem.others) != 2:
        return None
    source, target = problem.others
    if source == target or source not in sent.drawn.nodes or sent.ways.leads(target, source):
        return None
    return Fix(f"Connect {sent.called(source)} → {sent.called(target)}", sent.with_edges([(source, target)]))


def make_unconditional(sent: Sent, problem: Problem) -> Fix | None:
    """Take the condition away, and the type that wants one."""
    index = sent.edge_at(problem.edge_id)
    changes = sent.without_edge_keys(index, "condition", "relation_type") if index is not None else ()
    return Fix("Take it always", changes) if changes else None


def make_conditional(sent: Sent, problem: Problem) -> Fix | None:
    """Let the condition say the type."""
    return _without(sent, problem, "Make it conditional")


def forget_type(sent: Sent, problem: Problem) -> Fix | None:
    """Take away a type that there is not."""
    return _without(sent, problem, "Take away its type")


def mend_else(sent: Sent, problem: Problem) -> Fix | None:
    """An ``else`` beside which there is no condition is always taken."""
    edge = next((edge for edge in sent.drawn.edges if edge.id == problem.edge_id), None)
    return make_unconditional(sent, problem) if edge is not None and edge.condition.strip() == "else" else None


def forget_errors(sent: Sent, problem: Problem) -> Fix | None:
    """Take an edge always that is taken on errors of what cannot fail."""
    index = sent.edge_at(problem.edge_id)
    changes = sent.without_edge_keys(index, "on_error", "relation_type") if index is not None else ()
    return Fix("Take it always", changes) if changes else None


def _without(sent: Sent, problem: Problem, label: str) -> Fix | None:
    index = sent.edge_at(problem.edge_id)
    changes = sent.without_edge_keys(index, "relation_type") if index is not None else ()
    return Fix(label, changes) if changes else None


def _at_start(sent: Sent) -> list[str]:
    return [node.id for node in sent.drawn.activities if not sent.ways.has_way_in(node.id)]


def _at_end(sent: Sent) -> list[str]:
    # A Fail ends the run where it stands.
    return [
        node.id for node in sent.drawn.activities if node.state_type != "Fail" and not sent.ways.has_way_out(node.id)
    ]
