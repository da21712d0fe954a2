"""Where control goes from state to state: array order, ``next``, choices and catches, as the engine follows them.

Owns the one reading of array order (contract-workflow-spec 6) and what follows from the graph: what is reachable,
what loops, what must or may have run. Says nothing about whether a spec is right.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from workflows.spec.outline import Body, Node

_WITHOUT_SUCCESSOR = frozenset({"Choice", "Fail", "Succeed"})
_WORKING = frozenset({"Task", "Wait", "WaitForSignal", "Workflow"})
# Passes over a list for what must have run. Specs that people write settle in two or three; on one made to need
# more, what is left only means fewer warnings.
_MOST_PASSES = 8

CAUGHT = 1
"""The fact that an error has been caught on the way here."""


class State(Protocol):
    """What flow needs to know of a state; most kinds also have ``next`` and ``end``."""

    @property
    def name(self) -> str:
        """The state's name."""

    @property
    def type(self) -> str:
        """The state's type."""


def uses_next(states: Sequence[State]) -> bool:
    """Whether any state of the list has a ``next`` of its own, which turns array order off for the whole list."""
    return any(getattr(state, "next", None) is not None for state in states)


def next_of(states: Sequence[State], index: int) -> str | None:
    """Return the name of the state that follows ``states[index]`` when it is done, or None where the list ends.

    ``Choice`` picks its own way, ``Fail`` and ``Succeed`` end: None for all three. A state with neither ``next`` nor
    ``end`` goes to the next of the array if no state of this list uses ``next``, else it ends the list.
    """
    return _following(states, index, None)


def next_map(states: Sequence[State]) -> dict[str, str | None]:
    """Return :func:`next_of` for every state of the list by name, in one pass."""
    in_order = not uses_next(states)
    return {state.name: _following(states, index, in_order) for index, state in enumerate(states)}


def _following(states: Sequence[State], index: int, in_order: bool | None) -> str | None:
    state = states[index]
    if state.type in _WITHOUT_SUCCESSOR or getattr(state, "end", None):
        return None
    following: str | None = getattr(state, "next", None)
    if following is not None or index + 1 >= len(states):
        return following
    if in_order is None:
        in_order = not uses_next(states)
    return states[index + 1].name if in_order else None


def start_of(states: Sequence[State], start_at: str | None) -> str:
    """Return the name of the state a list starts with: ``start_at``, else the first of the array."""
    return start_at if start_at is not None else states[0].name


def output_fact(node: Node) -> int:
    """The fact that ``node`` has an output, as a bit."""
    return 2 << (2 * node.number)


def error_fact(node: Node) -> int:
    """The fact that ``node`` has failed and been caught, as a bit."""
    return 4 << (2 * node.number)


@dataclass(eq=False, slots=True)
class Graph:
    """The jumps inside one list of states, by position in the list; what is known before each state as fact bits."""

    body: Body
    start: int | None
    after_success: list[list[int]]
    after_failure: list[list[int]]
    reachable: set[int]
    terminal: set[int]
    must: list[int] = field(default_factory=list)
    may: list[int] = field(default_factory=list)
    must_gain: int = 0
    may_gain: int = 0
    entry_must: int = 0
    entry_may: int = 0


def graph_of(body: Body) -> Graph:
    """Return the graph of a list; jumps to states that are not in the list are left out."""
    nodes = body.nodes
    places: dict[str, int] = {}
    for index, node in enumerate(nodes):
        places.setdefault(node.name, index)
    in_order = not uses_next(nodes)
    success: list[list[int]] = []
    failure: list[list[int]] = []
    terminal: set[int] = set()
    for index, node in enumerate(nodes):
        jumps = node.jumps()
        taken = [places[name] for _, name, is_failure in jumps if name in places and not is_failure]
        if node.type not in _WITHOUT_SUCCESSOR and not node.end and node.next is None:
            if in_order and index + 1 < len(nodes):
                taken.append(index + 1)
            else:
                terminal.add(index)
        elif node.end or node.type in ("Fail", "Succeed"):
            taken = [] if node.type != "Choice" else taken
            terminal.add(index)
        success.append(taken)
        failure.append([places[name] for _, name, is_failure in jumps if name in places and is_failure])
    start = (places.get(body.start_at) if body.start_at is not None else 0) if nodes else None
    reachable: set[int] = set()
    waiting = [] if start is None else [start]
    while waiting:
        place = waiting.pop()
        if place not in reachable:
            reachable.add(place)
            waiting += success[place] + failure[place]
    return Graph(body, start, success, failure, reachable, terminal)


def busy_loops(graph: Graph, working: set[int]) -> Iterator[list[Node]]:
    """Yield the states of every cycle that passes through none of the places in ``working``."""
    import networkx as nx  # takes as long as half the start of a process, and is for judging alone

    idle: nx.DiGraph[int] = nx.DiGraph()
    for place in graph.reachable - working:
        targets = [t for t in graph.after_success[place] + graph.after_failure[place] if t not in working]
        idle.add_edges_from((place, target) for target in targets)
    for component in sorted(nx.strongly_connected_components(idle), key=min):
        places = sorted(component)
        if len(places) > 1 or idle.has_edge(places[0], places[0]):
            yield [graph.body.nodes[place] for place in places]


def works(node: Node) -> bool:
    """Whether running ``node`` does work or waits, itself or through a state inside it."""
    if node.type in ("Parallel", "Map"):
        return any(works(inner) for body in node.bodies for inner in body.nodes)
    return node.type in _WORKING or not node.type


def analyse(bodies: Sequence[Body], graphs: dict[Body, Graph], *, failures_go_on: bool) -> None:
    """Find for every state what must and what may be known when it starts, and store it in the graphs.

    ``bodies`` come outer before inner. ``failures_go_on``: under ``errorHandling: continue`` a state that failed goes
    on like one that succeeded, so that its error may be known there.
    """
    for body in reversed(bodies):
        _solve(graphs[body], graphs, failures_go_on)
    for body in bodies:
        _enter(graphs[body], graphs)


def _solve(graph: Graph, graphs: dict[Body, Graph], failures_go_on: bool) -> None:
    nodes, count = graph.body.nodes, len(graph.body.nodes)
    gains = [gain_of_branches(node, graphs) for node in nodes]
    won_must = [output_fact(node) | gains[place][0] for place, node in enumerate(nodes)]
    lost = [error_fact(node) | CAUGHT for node in nodes]
    won_may = [
        output_fact(node) | gains[place][1] | (error_fact(node) if failures_go_on else 0)
        for place, node in enumerate(nodes)
    ]
    graph.must = [-1] * count
    graph.may = [0] * count
    if graph.start is None:
        return
    order = _reverse_postorder(graph)
    before: dict[int, list[tuple[int, int]]] = {place: [] for place in order}
    for place in order:
        for target in graph.after_success[place]:
            before[target].append((place, won_must[place]))
        for target in graph.after_failure[place]:
            before[target].append((place, lost[place]))
    for _ in range(_MOST_PASSES):
        changed = False
        for place in order:
            known = 0 if place == graph.start else -1
            for previous, fact in before[place]:
                known &= graph.must[previous] | fact
            if known != graph.must[place]:
                graph.must[place] = known
                changed = True
        if not changed:
            break
    lost_may = [lost[place] | gains[place][1] | _errors_inside(nodes[place]) for place in range(count)]
    _solve_may(graph, order, won_may, lost_may)
    ends = [place for place in order if place in graph.terminal and nodes[place].type != "Fail"]
    graph.must_gain = -1
    for place in ends:
        graph.must_gain &= graph.must[place] | won_must[place]
    for place in order:
        graph.may_gain |= graph.may[place] | won_may[place] | (lost[place] if graph.after_failure[place] else 0)
    graph.may_gain &= ~CAUGHT
    graph.must_gain &= ~CAUGHT


def _solve_may(graph: Graph, order: list[int], won: list[int], lost: list[int]) -> None:
    """What may have happened before a state is what its predecessors bring, and in a cycle what any of it brings."""
    for component in _components(graph, order):
        known = 0
        for place in component:
            known |= graph.may[place]
        for place in component:
            if not component.isdisjoint(graph.after_success[place]):
                known |= won[place]
            if not component.isdisjoint(graph.after_failure[place]):
                known |= lost[place]
        for place in component:
            graph.may[place] = known
            for target in graph.after_success[place]:
                graph.may[target] |= known | won[place]
            for target in graph.after_failure[place]:
                graph.may[target] |= known | lost[place]


def _components(graph: Graph, order: list[int]) -> Iterator[set[int]]:
    """Yield what can be reached from each other, each before what it leads to; ``order`` is a reverse postorder."""
    position = {place: number for number, place in enumerate(order)}
    jumps = [(place, to) for place in order for to in graph.after_success[place] + graph.after_failure[place]]
    if all(position[place] < position[target] for place, target in jumps):
        yield from ({place} for place in order)  # nothing leads back: no cycle, and most lists have none
        return
    import networkx as nx

    edges: nx.DiGraph[int] = nx.DiGraph(jumps)
    edges.add_nodes_from(order)
    condensed = nx.condensation(edges)
    yield from (condensed.nodes[number]["members"] for number in nx.topological_sort(condensed))


def _reverse_postorder(graph: Graph) -> list[int]:
    order: list[int] = []
    seen: set[int] = set()
    assert graph.start is not None
    waiting: list[tuple[int, Iterator[int]]] = []

    def open_place(place: int) -> None:
        seen.add(place)
        waiting.append((place, iter(graph.after_success[place] + graph.after_failure[place])))

    open_place(graph.start)
    while waiting:
        place, targets = waiting[-1]
        for target in targets:
            if target not in seen:
                open_place(target)
                break
        else:
            waiting.pop()
            order.append(place)
    return order[::-1]


def gain_of_branches(node: Node, graphs: dict[Body, Graph]) -> tuple[int, int]:
    """Return what the branches of a Parallel must and may leave known after it; what is inside a Map stays there."""
    if node.type != "Parallel":
        return 0, 0
    must = may = 0
    always = never_skipped(node)
    for body in node.bodies:
        may |= graphs[body].may_gain
        if body in always:
            must |= graphs[body].must_gain
    return must, may


def _errors_inside(node: Node) -> int:
    """The errors that may be known after a Parallel has failed: those of any state in its branches."""
    errors = 0
    for body in node.bodies if node.type == "Parallel" else ():
        for inner in body.nodes:
            errors |= error_fact(inner) | _errors_inside(inner)
    return errors


def never_skipped(parallel: Node) -> set[Body]:
    """Return the branches that always run: without ``when``, and with a branch that always runs among their own."""
    by_name = {body.name: body for body in parallel.bodies}
    free = [body for body in parallel.bodies if body.raw.get("when") is None]
    always = {body for body in free if not body.depends_on}
    followers: dict[Body, list[Body]] = {}
    for body in free:
        for name in body.depends_on:
            if name in by_name:
                followers.setdefault(by_name[name], []).append(body)
    waiting = list(always)
    while waiting:
        for body in followers.get(waiting.pop(), ()):
            if body not in always:
                always.add(body)
                waiting.append(body)
    return always


def _enter(graph: Graph, graphs: dict[Body, Graph]) -> None:
    """Tell the lists inside this one what is known when they start. A branch does not see the caught error."""
    for place, node in enumerate(graph.body.nodes):
        if not node.bodies:
            continue
        must = (graph.must[place] | graph.entry_must) & ~CAUGHT
        may = (graph.may[place] | graph.entry_may) & ~CAUGHT
        for body in node.bodies:
            graphs[body].entry_must, graphs[body].entry_may = must, may
        if node.type == "Parallel":
            _enter_dependents(node, graphs, must, may)


def _enter_dependents(parallel: Node, graphs: dict[Body, Graph], must: int, may: int) -> None:
    """Add what the branches leave known that a branch waits for.

    A branch runs if any of those did, so what all of them know is certain, and so is what one that always runs knows.
    """
    import networkx as nx

    by_name = {body.name: body for body in parallel.bodies}
    always = never_skipped(parallel)
    known: dict[Body, tuple[int, int]] = {}
    waits: nx.DiGraph[Body] = nx.DiGraph()
    waits.add_nodes_from(parallel.bodies)
    waits.add_edges_from((by_name[n], body) for body in parallel.bodies for n in body.depends_on if n in by_name)
    order = list(nx.topological_sort(waits)) if nx.is_directed_acyclic_graph(waits) else []
    for body in order:
        graph = graphs[body]
        needed = [by_name[name] for name in body.depends_on if name in by_name]
        if needed:
            shared = -1
            for other in needed:
                shared &= known[other][0]
                if other in always:
                    graph.entry_must |= known[other][0]
                graph.entry_may |= known[other][1]
            graph.entry_must |= shared
        known[body] = (graph.entry_must | graph.must_gain, graph.entry_may | graph.may_gain)
