"""What a save changed, in few words: which nodes and edges came, went, were moved or say something else.

Owns the comparison that is kept with each version. Refuses nothing: elements of any shape are compared as JSON.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

MOST_ITEMS = 50
MOST_FIELDS = 12
MOST_LETTERS = 120
_HEAD = ("name", "description", "status")


def changes_between(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``{total, items: [{what, how, id, name, fields}]}`` from one canvas to another, 50 items at most.

    Both have ``name, description, status, nodes, edges``. ``what`` is ``workflow``, ``node`` or ``edge``, ``how``
    ``added``, ``removed``, ``changed`` or ``moved`` (its position alone); ``fields`` are paths such as
    ``data.config.path``. Elements are the same when they have the same id.
    """
    head = [key for key in _HEAD if before[key] != after[key]]
    items = [_item("workflow", "changed", "", after["name"], head)] if head else []
    items += _elements("node", before["nodes"], after["nodes"])
    items += _elements("edge", before["edges"], after["edges"])
    return {"total": len(items), "items": items[:MOST_ITEMS]}


def _elements(what: str, before: Sequence[Any], after: Sequence[Any]) -> list[dict[str, Any]]:
    old, new = _by_id(before), _by_id(after)
    found = []
    for key, element in new.items():
        if key not in old:
            found.append(_item(what, "added", key, _name_of(element, key), []))
        elif old[key] != element:
            paths = list(_paths(old[key], element))
            is_moved = all(path.partition(".")[0] == "position" for path in paths)
            found.append(_item(what, "moved" if is_moved else "changed", key, _name_of(element, key), paths))
    found += [_item(what, "removed", key, _name_of(old[key], key), []) for key in old if key not in new]
    return found


def _item(what: str, how: str, key: str, name: str, fields: Sequence[str]) -> dict[str, Any]:
    cut = [path[:MOST_LETTERS] for path in fields[:MOST_FIELDS]]
    return {"what": what, "how": how, "id": key[:MOST_LETTERS], "name": name[:MOST_LETTERS], "fields": cut}


def _by_id(elements: Sequence[Any]) -> dict[str, Any]:
    """The elements by id; of two with one id the second counts as another one, as the editor has it."""
    found: dict[str, Any] = {}
    for element in elements:
        key = stem = str(element.get("id", "")) if isinstance(element, dict) else ""
        count = 2
        while key in found:
            key, count = f"{stem}-{count}", count + 1
        found[key] = element
    return found


def _name_of(element: Any, key: str) -> str:
    if not isinstance(element, dict):
        return key
    if "source" in element and "target" in element:
        return f"{element['source']} → {element['target']}"
    data = element.get("data")
    labels = (data.get("label") if isinstance(data, dict) else None, element.get("label"))
    return next((label.strip() for label in labels if isinstance(label, str) and label.strip()), key)


def _paths(before: Any, after: Any, at: str = "") -> Iterator[str]:
    """Yield where two values differ; without recursion, since values nest as deep as JSON does."""
    pending = [(at, before, after)]
    while pending:
        path, old, new = pending.pop()
        if old == new:
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            keys = dict.fromkeys([*old, *new])
            missing = object()
            pending += reversed(
                [(f"{path}.{key}" if path else key, old.get(key, missing), new.get(key, missing)) for key in keys]
            )
        else:
            yield path
