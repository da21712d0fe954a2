"""Which problem has which fix. Owns that table; refuses to look at more problems than people mend one by one."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from canvas.catalogue import Catalogue
from canvas.compilation import Compiled
from canvas.fixing import edges, nodes
from canvas.fixing.drawing import Fix, Sent
from canvas.problems import Problem

MOST_FIXES: Final = 100

FIXES: Final[Mapping[str, Callable[[Sent, Problem], Fix | None]]] = {
    "duplicate-node-id": nodes.rename_nodes,
    "bad-node-id": nodes.rename_badly_named,
    "reserved-node-id": nodes.rename_badly_named,
    "unknown-node-type": nodes.choose_meant,
    "unknown-activity": nodes.choose_meant,
    "missing-parameter": nodes.give_parameter,
    "missing-dependency": nodes.add_dependency,
    "unknown-parameter": nodes.mend_parameter_name,
    "parameter-value": nodes.mend_parameter_value,
    "duplicate-edge-id": edges.rename_edges,
    "unknown-node": edges.remove_edge,
    "edge-to-remark": edges.remove_edge,
    "self-loop": edges.remove_edge,
    "duplicate-edge": edges.remove_edge,
    "edge-into-start": edges.remove_edge,
    "edge-out-of-end": edges.remove_edge,
    "edge-out-of-fail": edges.remove_edge,
    "error-taken-before": edges.remove_edge,
    "error-of-what-cannot-fail": edges.forget_errors,
    "redundant-start-edge": edges.remove_edge,
    "condition-on-redundant-edge": edges.remove_edge,
    "cycle": edges.break_cycle,
    "several-starts": edges.merge_starts,
    "isolated-node": edges.connect_alone,
    "several-parts": edges.connect_parts,
    "unreachable": edges.connect_unreachable,
    "dead-end": edges.connect_to_end,
    "no-start": edges.add_start,
    "no-end": edges.add_end,
    "reference-not-before": edges.draw_path,
    "missing-condition": edges.make_unconditional,
    "condition-into-end": edges.make_unconditional,
    "bad-condition": edges.mend_else,
    "condition-mismatch": edges.make_conditional,
    "unknown-relation-type": edges.forget_type,
}


def rows_with_fixes(nodes: Any, edges: Any, compiled: Compiled, catalogue: Catalogue) -> list[dict[str, Any]]:
    """Return ``compiled.rows()``, with ``fix: {label, changes}`` on each problem that has one.

    ``nodes`` and ``edges`` are what was compiled, of any type; ``changes`` are a JSON Patch on ``{nodes, edges}``.
    """
    rows = compiled.rows()
    if not isinstance(nodes, list) or not isinstance(edges, list):
        return rows
    found = find_fixes(nodes, edges, compiled, catalogue)
    return [row | {"fix": fix.as_json()} if fix is not None else row for row, fix in zip(rows, found, strict=True)]


def find_fixes(
    nodes: Sequence[Any], edges: Sequence[Any], compiled: Compiled, catalogue: Catalogue
) -> list[Fix | None]:
    """Return for each problem of the canvas what mends it; None where that needs thought."""
    sent: Sent | None = None
    found: list[Fix | None] = []
    for index, problem in enumerate(compiled.problems):
        finder = FIXES.get(problem.code) if index < MOST_FIXES else None
        if finder is None:
            found.append(None)
            continue
        # Of its own for each: ids that one fix takes are free for another, which is applied without it.
        sent = sent.again() if sent is not None else Sent(nodes, edges, compiled.canvas, catalogue)
        found.append(finder(sent, problem))
    return found
