"""The condition of an edge, from what a person writes to JSONata (contract-canvas 5.3 rule 7).

Owns the plain form: comparisons joined by ``and`` and ``or``. Anything larger is JSONata between ``{%`` and ``%}``.
"""

import json
import re
from collections.abc import Callable, Sequence

from canvas.names import Names, Use, check_expression, quoted, reference_as_jsonata
from workflows.spec.references import STATE_FIELDS, expression_of, is_expression

ELSE = ("else", "otherwise")

_OPERATORS = {"==": "=", "=": "=", "!=": "!=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_JOINS = {"and": "and", "&&": "and", "or": "or", "||": "or"}
_CONSTANTS = {"true": "true", "false": "false", "null": "null", "none": "null"}
_TOKEN = re.compile(
    r"""\s*(?:(?P<reference>\$\{[^{}]*\})
    |(?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
    |(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.])
    |(?P<operator>==|!=|<>|<=|>=|<|>|=|&&|\|\|)
    |(?P<word>[A-Za-z_][\w-]*(?:\.[\w-]+|\[\d+\])*))""",
    re.VERBOSE,
)
_STEP = re.compile(r"\.?([\w-]+)|\[(\d+)\]")


def is_else(condition: str) -> bool:
    """Whether the edge is taken when none of the other conditions of its source holds."""
    return condition.strip().lower() in ELSE


def compile_condition(condition: str, output_of_source: str, names: Names, on_use: Callable[[Use], None]) -> str:
    """Return ``condition`` as JSONata (without ``{% %}``) that is true when the edge is to be taken.

    ``output_of_source`` is the JSONata path that bare names are looked up in: ``riskLevel == "high"`` reads the output
    of the node the edge leaves. ``${...}`` and ``Label.output.x`` read any node. Raises ``ValueError`` with a sentence.
    """
    if is_expression(condition):
        text = names.rewrite_expression(expression_of(condition), on_use).strip()
    else:
        text = " ".join(_plain(condition, output_of_source, names, on_use))
    check_expression(text)
    return text


def condition_of_error(source: str, errors: Sequence[str], caught_before: Sequence[str]) -> str:
    """Return JSONata for "``source`` failed with one of ``errors``", and an edge before this one did not take that."""
    error = f"{quoted(source)}.error"
    terms = [f"$exists({error})"]
    if "*" not in errors:
        terms.append(f"{error}.name in {json.dumps(list(errors), ensure_ascii=False)}")
    if caught_before:
        terms.append(f"$not({error}.name in {json.dumps(list(caught_before), ensure_ascii=False)})")
    return " and ".join(terms)


def _plain(condition: str, output_of_source: str, names: Names, on_use: Callable[[Use], None]) -> list[str]:
    parts: list[str] = []
    position, wants_operand, compared = 0, True, False
    while condition[position:].strip():
        token = _TOKEN.match(condition, position)
        if token is None:
            raise ValueError(f'"{condition[position:].strip()[:40]}" cannot be understood in a plain comparison')
        position = token.end()
        kind, text = token.lastgroup or "", token.group(token.lastgroup or 0)
        join = _JOINS.get(text.lower()) if kind in ("word", "operator") else None
        if wants_operand:
            if kind == "operator" or join:
                raise ValueError(f'there is nothing before "{text}"')
            parts.append(_operand(kind, text, output_of_source, names, on_use))
        elif join:
            parts.append(join)
            compared = False
        elif kind == "operator" and not compared:
            parts.append(_OPERATORS[text])
            compared = True
        else:
            raise ValueError(f'"{text}" stands where "and", "or" or the end is expected')
        wants_operand = not wants_operand
    if wants_operand:
        raise ValueError("a value is missing at the end")
    return parts


def _operand(kind: str, text: str, output_of_source: str, names: Names, on_use: Callable[[Use], None]) -> str:
    if kind == "number":
        return text
    if kind == "text":
        return json.dumps(text[1:-1].replace('\\"', '"').replace("\\'", "'"), ensure_ascii=False)
    if kind == "reference":
        faults: list[ValueError] = []
        rewritten = names.rewrite(text, on_use, faults.append)
        if faults:
            raise faults[0]
        return reference_as_jsonata(rewritten[2:-1])
    if text.lower() in _CONSTANTS:
        return _CONSTANTS[text.lower()]
    steps = [(name, index) for name, index in _STEP.findall(text)]
    first, second = steps[0][0], steps[1][0] if len(steps) > 1 else ""
    if second in STATE_FIELDS and (first in names.ids or names.labels.get(first)):
        node = names.resolve(first, text)
        on_use(Use(text, node, True))
        return quoted(node) + _path(steps[1:])
    if first == "workflow" and second:
        return reference_as_jsonata(text)
    return output_of_source + _path(steps[1:] if first == "output" else steps)


def _path(steps: list[tuple[str, str]]) -> str:
    return "".join(f"[{index or name}]" if index or name.isdecimal() else f".{quoted(name)}" for name, index in steps)
