"""Says everything that is wrong with a spec at once (contract-workflow-spec 8, design section 4).

Owns the rules over more than one field. Never raises, whatever it is given, and never changes what it is given.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final

from workflows.spec import flow, limits
from workflows.spec.activity_rules import ActivityInfo, TellsOfPlugins, check_dependencies, check_task
from workflows.spec.document import read_document
from workflows.spec.field_rules import check_fields
from workflows.spec.flow import Graph
from workflows.spec.outline import Body, Node, Outline, outline
from workflows.spec.reading import Place, Reader
from workflows.spec.references import RESERVED_ROOTS
from workflows.spec.report import Findings, Problem, SpecReport, shown
from workflows.spec.schema import WorkflowSpec
from workflows.spec.shapes import check_shape

__all__ = ["ActivityInfo", "Problem", "SpecReport", "validate_spec"]

_STATES_SHOWN: Final = 5


def validate_spec(
    document: object,
    *,
    activities: Mapping[str, ActivityInfo] | None = None,
    workflow_names: Collection[str] | None = None,
) -> SpecReport:
    """Return every problem of ``document``: JSON text, UTF-8 bytes or the Python data that JSON parses to.

    With ``activities`` (by name) Tasks are checked against them, with ``workflow_names`` (names and ids) Workflow
    states against those; without, these checks are left out.
    """
    findings = Findings()
    plain = read_document(document, findings)
    if plain is None:
        return findings.report(None)
    spec = check_shape(plain, findings, WorkflowSpec)
    check_flow(plain, "", 1, findings, activities, workflow_names)
    return findings.report(spec)


def check_flow(
    document: dict[str, Any],
    path: str,
    depth: int,
    findings: Findings,
    activities: Mapping[str, ActivityInfo] | None,
    workflow_names: Collection[str] | None,
) -> None:
    """Check one spec of the right shape or not: the document itself, or one that stands inside it in a Workflow state.

    ``path`` is where it stands, ``depth`` how many are around it, counted from 1.
    """
    sketch = outline(document, path)
    if len(sketch.nodes) > limits.MAX_STATES:
        states = f"{len(sketch.nodes):,} states; it may have {limits.MAX_STATES:,}"
        findings.add(path, "too-many-states", f"the spec has {states}")
        return
    _check_names(sketch, findings)
    graphs = {body: flow.graph_of(body) for body in sketch.bodies}
    for body in sketch.bodies:
        _check_jumps(body, sketch, findings)
        _check_ways(graphs[body], findings)
        if body.kind == "spec":
            check_fields(body.raw, path, findings)
    for node in sketch.nodes:
        _check_branches(node, findings)
    flow.analyse(sketch.bodies, graphs, failures_go_on=document.get("errorHandling") == "continue")
    reader = Reader(sketch, graphs, activities, findings)
    # A registry says more of plugins. Whether it does is asked once: for each Task that would take half of its check.
    source: object = activities
    plugins = source if isinstance(source, TellsOfPlugins) else None
    for node in sketch.nodes:
        check_fields(node.raw, node.path, findings)
        _check_values(node, reader)
        if node.type == "Task" and activities is not None:
            check_task(node, activities, plugins, findings)
            _check_built_on(node, sketch, graphs, activities, findings)
        if node.type == "Workflow":
            _check_child(node, depth, findings, activities, workflow_names)


def _check_names(sketch: Outline, findings: Findings) -> None:
    for node in sketch.nodes:
        path = f"{node.path}.name"
        if node.name in RESERVED_ROOTS:
            findings.add(path, "reserved-name", f"{shown(node.name)} is what references start with; call it otherwise")
        first = sketch.by_name.get(node.name)
        if node.name and first is not None and first is not node:
            message = f"{shown(node.name)} is the name of {first.path} too; names are unique in the whole spec"
            findings.add(path, "duplicate-name", message)


def _check_jumps(body: Body, sketch: Outline, findings: Findings) -> None:
    here = {node.name for node in body.nodes}
    jumps = [jump[:2] for node in body.nodes for jump in node.jumps()]
    if body.start_at is not None:
        jumps.insert(0, (f"{body.path}.startAt" if body.path else "startAt", body.start_at))
    for path, target in jumps:
        if target in here:
            continue
        if target in sketch.by_name:
            where = {"spec": "the states around it", "branch": "its own branch", "map": "its own Map"}[body.kind]
            message = f"{shown(target)} is not in this list of states; a jump stays in {where}"
            findings.add(path, "outside-list", message)
        else:
            findings.add(path, "unknown-state", f"unknown state {shown(target)}", given=target, candidates=here)


def _check_ways(graph: Graph, findings: Findings) -> None:
    """Check that every state can be reached, that an end can, that loops do something."""
    body = graph.body
    uses_next = flow.uses_next(body.nodes)
    for place, node in enumerate(body.nodes):
        if node.next is not None and node.raw.get("end") is True:
            findings.add(node.path, "next-and-end", "a state has next or end, not both")
        if place not in graph.reachable and graph.start is not None:
            findings.add(node.path, "unreachable-state", f"no path leads to {shown(node.name)}")
        # The last one can mean nothing else; of one before it, somebody may think that it goes on to the next.
        is_silent = node.type not in ("Choice", "Fail", "Succeed", "") and node.next is None and not node.end
        if is_silent and uses_next and place < len(body.nodes) - 1:
            message = f"{shown(node.name)} has neither next nor end and so ends the list; say end: true if it should"
            findings.add(node.path, "implicit-end", message)
        _check_catches(node, findings)
    if graph.reachable and not graph.reachable & graph.terminal and _is_whole(graph):
        where = f"{body.path}.states" if body.path else "states"
        findings.add(where, "no-terminal-state", "no path leads to an end: some state needs end: true")
    working = {place for place in graph.reachable if flow.works(body.nodes[place])}
    for loop in flow.busy_loops(graph, working):
        names = [shown(node.name) for node in loop[:_STATES_SHOWN]] + (["..."] if len(loop) > _STATES_SHOWN else [])
        message = f"nothing in the cycle of {', '.join(names)} works or waits; put a Wait or a Task into it"
        findings.add(loop[0].path, "busy-loop", message)


def _is_whole(graph: Graph) -> bool:
    """Whether all jumps that can be taken lead to states of the list, so that where they end is known."""
    here = {node.name for node in graph.body.nodes}
    return all(target in here for place in graph.reachable for _, target, _ in graph.body.nodes[place].jumps())


def _check_catches(node: Node, findings: Findings) -> None:
    takes_all = False
    for path, catch in node.objects("catch"):
        if takes_all:
            findings.add(path, "unreachable-catch", "a catch before this one takes every error already")
        errors = catch.get("errors", ["*"])
        takes_all = takes_all or (isinstance(errors, list) and "*" in errors)


def _check_branches(node: Node, findings: Findings) -> None:
    if node.type != "Parallel":
        return
    import networkx as nx  # see workflows.spec.flow

    by_name: dict[str, Body] = {}
    for body in node.bodies:
        if body.name in by_name:
            message = f"{shown(body.name)} is the name of {by_name[body.name].path} too"
            findings.add(f"{body.path}.name", "duplicate-branch", message)
        by_name.setdefault(body.name, body)
    waits: nx.DiGraph[str] = nx.DiGraph()
    for body in node.bodies:
        for index, name in enumerate(body.raw.get("dependsOn") or () if body.depends_on else ()):
            if isinstance(name, str) and name not in by_name:
                path = f"{body.path}.dependsOn[{index}]"
                findings.add(path, "unknown-branch", f"unknown branch {shown(name)}", given=name, candidates=by_name)
            elif isinstance(name, str):
                waits.add_edge(body.name, name)
    for component in nx.strongly_connected_components(waits):
        names = sorted(component)
        if len(names) > 1 or waits.has_edge(names[0], names[0]):
            listed = ", ".join(shown(name) for name in names[:_STATES_SHOWN])
            message = f"the branches {listed} wait for each other" if len(names) > 1 else f"{listed} waits for itself"
            findings.add(f"{by_name[names[0]].path}.dependsOn", "branch-cycle", message)


def _check_values(node: Node, reader: Reader) -> None:
    """Check what the state resolves when it starts, and what when it is done."""
    before = {
        "Task": ("parameters",),
        "Pass": ("result", "parameters"),
        "Fail": ("cause",),
        "Succeed": ("output", "continueAsNew"),
        "Wait": ("duration", "until"),
        "Map": ("items",),
        "Workflow": ("workflow", "input"),
        "WaitForSignal": ("signal",),
    }.get(node.type, ())
    if node.type == "Task" and isinstance(cache := node.raw.get("cache"), dict) and "bypass" in cache:
        reader.check(cache["bypass"], Place(f"{node.path}.cache.bypass", node))
    for key in before:
        if key in node.raw:
            reader.check(node.raw[key], Place(f"{node.path}.{key}", node))
    if node.type not in ("Fail", "Succeed"):
        for key in ("assign", "output"):
            if key in node.raw:
                reader.check(node.raw[key], Place(f"{node.path}.{key}", node, after=True))
    for path, rule in node.objects("choices") if node.type == "Choice" else ():
        reader.check_condition(rule.get("when"), Place(f"{path}.when", node))
        reader.check(rule.get("assign"), Place(f"{path}.assign", node))
    for body in node.bodies:
        if body.kind == "branch":
            reader.check_condition(body.raw.get("when"), Place(f"{body.path}.when", node, branch=body))


def _check_built_on(
    node: Node,
    sketch: Outline,
    graphs: dict[Body, Graph],
    activities: Mapping[str, ActivityInfo],
    findings: Findings,
) -> None:
    activity = activities.get(node.text("resource") or "")
    if activity is None or not activity.dependencies:
        return
    graph = graphs[node.body]
    may = graph.may[node.index] | graph.entry_may
    earlier = {other.text("resource") or "" for other in sketch.nodes if may & flow.output_fact(other)}
    check_dependencies(node, activity, earlier, findings)


def _check_child(
    node: Node,
    depth: int,
    findings: Findings,
    activities: Mapping[str, ActivityInfo] | None,
    workflow_names: Collection[str] | None,
) -> None:
    has_spec, name = node.raw.get("spec") is not None, node.text("workflow")
    if has_spec == (node.raw.get("workflow") is not None):
        findings.add(node.path, "exactly-one", "a Workflow state has either workflow or spec")
    if name is not None and workflow_names is not None and "${" not in name and "{%" not in name:
        if name not in workflow_names:
            message = f"unknown workflow {shown(name)}"
            findings.add(f"{node.path}.workflow", "unknown-workflow", message, given=name, candidates=workflow_names)
    if not isinstance(node.raw.get("spec"), dict):
        return
    if depth > limits.MAX_CHILD_DEPTH:
        message = f"inline specs nest deeper than {limits.MAX_CHILD_DEPTH} levels"
        findings.add(f"{node.path}.spec", "child-too-deep", message)
        return
    check_flow(node.raw["spec"], f"{node.path}.spec", depth + 1, findings, activities, workflow_names)
