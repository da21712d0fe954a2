"""Secrets that were drawn in the open, replaced by handles before anything of a canvas is kept.

Owns what is said about them. Refuses ``***``, which stands for a value that nobody can read any more.
"""

from collections.abc import Iterator
from typing import Any

from canvas.problems import CODES, Problem
from workflows import secrets
from workflows.address_passwords import MASK, holds_mask
from workflows.models import Customer

_SEALED = "this is a secret; it is kept encrypted, and a handle stands for it in the workflow"
_MASKED = "*** stands for a secret that was hidden; enter the value again, or its handle"


def seal_canvas(nodes: Any, edges: Any, customer: Customer | None) -> tuple[Any, Any, list[Problem]]:
    """Return nodes and edges with every secret (``workflows.secrets.seal``) replaced by a handle, and what to say.

    The handles are the customer's; equal values get equal handles, so that saving twice changes nothing. Everything
    else stays as it was drawn. Without a customer nothing is stored and the handles stand for nothing: that is how a
    save would look. ``nodes`` and ``edges`` may be of any shape.
    """
    drawn = {"nodes": nodes, "edges": edges}
    sealed = secrets.seal_nowhere(drawn) if customer is None else secrets.seal(drawn, customer)
    if sealed is drawn:
        return nodes, edges, []
    # A flat node has its parameters twice, in data and in data.config: once is enough.
    changed = {place[:3]: place for place, before, after in _values(drawn, sealed) if before is not after}
    return sealed["nodes"], sealed["edges"], [_problem("sealed-secret", *place, drawn) for place in changed.values()]


def masked_secrets(nodes: Any, edges: Any) -> list[Problem]:
    """Return a problem for every secret of the canvas that is ``***``."""
    drawn = {"nodes": nodes, "edges": edges}
    if not _mentions_mask([nodes, edges]):
        return []
    return [
        _problem("masked-secret", *place, drawn)
        for place, value, _ in _values(drawn, drawn)
        if (value == MASK and secrets.is_secret_name(place[2])) or (isinstance(value, str) and holds_mask(value))
    ]


def _mentions_mask(value: Any) -> bool:
    """Whether ``***`` stands anywhere: only then are places worth naming."""
    level = [value]
    while level:
        below: list[Any] = []
        for item in level:
            if isinstance(item, str):
                if MASK in item:
                    return True
            elif isinstance(item, dict):
                below += item.values()
            elif isinstance(item, list):
                below += item
        level = below
    return False


def _problem(code: str, kind: str, index: int, name: str, path: str, drawn: Any) -> Problem:
    element = drawn[kind][index]
    element_id = element.get("id") if isinstance(element, dict) else None
    known = element_id if isinstance(element_id, str) else None
    where = f"{kind}[{index}]{path}" if known is None else f'"{known}", {path.removeprefix(".")}'
    message = f"{where}: {_SEALED if code == 'sealed-secret' else _MASKED}"
    is_node = kind == "nodes"
    return Problem(
        code, message, CODES[code][0], node_id=known if is_node else None, edge_id=None if is_node else known
    )


def _values(drawn: Any, sealed: Any) -> Iterator[tuple[tuple[str, int, str, str], Any, Any]]:
    """Yield ``((nodes or edges, index, name, path in the element), value before, value after)`` in document order."""
    pending: list[tuple[str, int, str, str, Any, Any]] = []
    for kind in ("edges", "nodes"):
        if isinstance(drawn[kind], list):
            pairs = enumerate(zip(drawn[kind], sealed[kind], strict=True))
            pending += reversed([(kind, index, "", "", old, new) for index, (old, new) in pairs])
    while pending:
        kind, index, name, path, old, new = pending.pop()
        if isinstance(old, dict):
            pending += [(kind, index, key, f"{path}.{key}", old[key], new[key]) for key in reversed(old)]
        elif isinstance(old, list):
            pending += [(kind, index, name, f"{path}[{i}]", old[i], new[i]) for i in reversed(range(len(old)))]
        else:
            yield (kind, index, name, path), old, new
