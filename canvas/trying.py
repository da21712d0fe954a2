"""An expression or condition tried on sample data: what it gives there, by the engine's own evaluator and bounds.

Owns the reading of both forms; touches no database. Refuses to guess: what fails is told with the place, if known.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from canvas.conditions import compile_condition, is_else
from canvas.names import Names, quoted
from workflows.errors import WorkflowError
from workflows.spec import limits
from workflows.spec.expressions import compile_expression
from workflows.spec.references import expression_of, is_expression

_PLACE = re.compile(r" \(at position (\d+)\)$")
_WHICH = re.compile(r'^the expression ".*?" (?:is wrong|failed): ', re.DOTALL)


class NotEvaluated(ValueError):
    """The expression cannot be read, or failed on the data; ``position`` counts characters of its text, from 0."""

    def __init__(self, message: str, position: int | None = None) -> None:
        super().__init__(message)
        self.position = position


@dataclass(frozen=True, slots=True)
class Tried:
    """What an expression gave, and the JSONata that was evaluated."""

    value: Any
    jsonata: str

    @property
    def holds(self) -> bool:
        """Whether an edge with this condition would be taken."""
        return bool(self.value)


def try_expression(
    text: str, data: Mapping[str, Any], source: str = "", labels: Mapping[str, str] | None = None
) -> Tried:
    """Evaluate ``text`` on ``data``: ``{node id: {"output": ...}, "workflow": {"input": ...}}``.

    With ``source`` (a node's id, or ``workflow``) it is read as the condition of an edge out of that node: between
    ``{%`` and ``%}`` it is JSONata, else a comparison whose bare names read what the node gives. Without, it is
    JSONata, with or without the marks. ``labels`` are names that references may use for ids. Raises
    :class:`NotEvaluated`.
    """
    if is_else(text) and source:
        raise NotEvaluated('"else" is taken when no other condition of the node holds; there is nothing to evaluate')
    names, jsonata = Names(frozenset(data), dict(labels or {})), ""
    try:
        if source and not is_expression(text):
            output = "workflow.input" if source == "workflow" else f"{quoted(source)}.output"
            jsonata = compile_condition(text, output, names, lambda _: None)
        else:
            inner = expression_of(text) if is_expression(text) else text
            jsonata = names.rewrite_expression(inner, lambda _: None).strip()
        value = compile_expression(jsonata).evaluate(data)
    except WorkflowError as error:
        raise _located(error.message, text, jsonata) from None
    except ValueError as error:
        raise _located(str(error), text, "") from None
    size = len(json.dumps(value, ensure_ascii=False))
    if size > limits.MAX_INLINE_OUTPUT_BYTES:
        raise NotEvaluated(f"its value takes {size} characters; at most {limits.MAX_INLINE_OUTPUT_BYTES} are shown")
    return Tried(value, jsonata)


def _located(message: str, text: str, evaluated: str) -> NotEvaluated:
    """Return the failure, with its place in ``text`` if what was evaluated stands there as written."""
    message = _WHICH.sub("", message)
    found = _PLACE.search(message)
    inner = (evaluated or expression_of(text)).strip() if evaluated or is_expression(text) else text.strip()
    start = text.find(inner)
    if found is None or start < 0:
        return NotEvaluated(message)
    return NotEvaluated(message[: found.start()], min(start + int(found[1]) - 1, len(text)))
