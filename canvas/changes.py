"""What a save may say about a workflow, checked field by field (contract-rest-api 2.1).

Owns the types and bounds of the fields; whether the canvas makes sense is validation's business. Refuses what the
database cannot keep, naming the field.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from canvas.json_values import first_fault
from workflows.models import WorkflowStatus
from workflows.spec import limits

NAME_REQUIRED = "Workflow name required"
MAX_DESCRIPTION_LENGTH = 10_000
MAX_REASON_LENGTH = 4_000


class InvalidField(ValueError):
    """A field cannot be saved as it is; ``field`` names it as in ``nodes[3]``, the message says what was expected."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True, slots=True)
class Changes:
    """What a save changes; None keeps what is stored. ``reason`` goes to the history of changed edges."""

    name: str | None = None
    description: str | None = None
    status: str | None = None
    nodes: list[dict[str, Any]] | None = None
    edges: list[dict[str, Any]] | None = None
    reason: str = ""


def read_changes(fields: Mapping[str, Any]) -> Changes:
    """Return what ``fields`` (``name, description, status, nodes, edges, changeReason``; others are ignored) change.

    An empty name or status and a null anything keep what is stored; an empty description and empty arrays replace.
    Raises :class:`InvalidField`.
    """
    name = _text(fields, "name", limits.MAX_NAME_LENGTH)
    status = _text(fields, "status", limits.MAX_NAME_LENGTH)
    if status and status not in WorkflowStatus.values:
        raise InvalidField("status", f'"{status}" is none of {", ".join(WorkflowStatus.values)}')
    return Changes(
        name=(name or "").strip() or None,
        description=_text(fields, "description", MAX_DESCRIPTION_LENGTH),
        status=status or None,
        nodes=_objects(fields, "nodes"),
        edges=_objects(fields, "edges"),
        reason=_text(fields, "changeReason", MAX_REASON_LENGTH) or "",
    )


def _text(fields: Mapping[str, Any], key: str, longest: int) -> str | None:
    value = fields.get(key)
    if value is None:
        return None
    if not isinstance(value, str):
        raise InvalidField(key, "expected text")
    if len(value) > longest:
        raise InvalidField(key, f"expected at most {longest} characters, not {len(value)}")
    if fault := first_fault(value):
        raise InvalidField(key, fault.removeprefix("the value "))
    return value


def _objects(fields: Mapping[str, Any], key: str) -> list[dict[str, Any]] | None:
    value = fields.get(key)
    if value is None:
        return None
    if not isinstance(value, list):
        raise InvalidField(key, "expected an array of objects")
    for index, item in enumerate(value):
        if not isinstance(item, dict):
            raise InvalidField(f"{key}[{index}]", "expected an object")
    if fault := first_fault(value, path=key):
        where, _, what = fault.partition(" ")
        raise InvalidField(where, what)
    return value
