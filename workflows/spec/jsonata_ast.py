"""What a parsed JSONata expression reads, and whether it is provably cheap to evaluate.

Owns the one walk over the library's syntax tree; evaluates nothing. Whatever it does not know counts as not cheap.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

# Functions whose cost and result are linear in what they are given, and which call nothing back.
_LINEAR_FUNCTIONS = frozenset({
    "sum", "count", "max", "min", "average", "number", "floor", "ceil", "abs", "boolean", "not", "exists", "type",
    "string", "length", "lowercase", "uppercase", "trim", "substring", "substringBefore", "substringAfter", "contains",
    "lookup",
})  # fmt: skip
_CLOCK_FUNCTIONS = frozenset({"now", "millis"})
_LINEAR_OPERATORS = frozenset(("+", "-", "*", "/", "%", "=", "!=", "<", "<=", ">", ">=", "and", "or", "in"))
# Functions that take the context, whatever it is, in place of arguments that are not given.
_CONTEXT_TAKERS = {
    "lookup": 2,
    "each": 2,
    "sift": 2,
    "keys": 1,
    "spread": 1,
    "string": 1,
    "boolean": 1,
    "not": 1,
    "clone": 1,
}
_LONGEST_SEPARATOR = 16
_MOST_ROUNDING_DIGITS = 15
_MOST_NODES_IN_PROCESS = 300
MAX_NESTING = 100


class TooDeep(ValueError):
    """The expression nests deeper than ``MAX_NESTING``."""


@dataclass
class Analysis:
    """The outcome of :func:`analyse`."""

    is_cheap: bool
    has_regex: bool
    paths: list[tuple[str, ...]] = field(default_factory=list)
    """What is read from the document, as written: ``Clone.output.files[0].name`` is (Clone, output, files)."""
    reads_by_name: bool = True
    """Whether ``paths`` are all it can read; not so if it takes the document as a whole, or makes names itself."""


def analyse(ast: Any) -> Analysis:
    """Walk ``ast``, the tree of a parsed expression; raises :class:`TooDeep`."""
    nodes = 0
    has_regex = False
    seen: set[int] = set()
    waiting = [(ast, 1)]
    while waiting:
        node, depth = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        nodes += 1
        if depth > MAX_NESTING:
            raise TooDeep(f"it nests deeper than {MAX_NESTING} levels")
        has_regex = has_regex or node.type == "regex"
        waiting.extend((child, depth + 1) for child in _children(node))
    is_cheap = nodes <= _MOST_NODES_IN_PROCESS and not has_regex and _is_cheap(ast, at_root=True, in_text=False)
    collector = _PathCollector()
    collector.visit(ast, True)
    return Analysis(is_cheap, has_regex, list(collector.paths), collector.reads_by_name)


def _children(node: Any) -> Iterator[Any]:
    """Every node directly below ``node``, whichever of the library's attributes holds it."""
    for name in ("lhs", "rhs", "expression", "expr", "condition", "then", "_else", "body", "procedure", "group"):
        child = getattr(node, name, None)
        if _is_node(child):
            yield child
    for name in ("pattern", "update", "delete"):
        child = getattr(node, name, None)
        if _is_node(child):
            yield child
    for name in ("steps", "arguments", "expressions", "predicate", "stages", "terms"):
        for child in getattr(node, name, None) or ():
            if _is_node(child):
                yield child
    for pair in getattr(node, "lhs_object", None) or ():
        yield from pair


def _is_node(value: Any) -> bool:
    return hasattr(value, "steps") and hasattr(value, "type")


def _is_cheap(node: Any, *, at_root: bool, in_text: bool) -> bool:
    """Whether evaluating ``node`` costs time and memory linear in the document.

    ``at_root``: evaluated once, on the document. Elsewhere it is evaluated per item, so nothing there may look at
    more than the item (``$$``, ``%``) or make something larger out of it (``&``, constructors), which chained would
    double with every step. ``in_text``: inside something that makes text, where escaping nested text doubles too.
    """
    if any(
        getattr(node, name) is not None for name in ("group", "focus", "index", "tuple", "ancestor", "seeking_parent")
    ):
        return False
    for filtered in [*(node.predicate or ()), *(node.stages or ())]:
        if filtered.type != "filter" or not _is_cheap(filtered.expr, at_root=False, in_text=in_text):
            return False

    def cheap(*parts: Any, in_text: bool = in_text) -> bool:
        return all(_is_cheap(part, at_root=at_root, in_text=in_text) for part in parts)

    match node.type:
        case "string" | "number" | "value" | "name":
            return True
        case "variable":
            return node.value == "" or (node.value == "$" and at_root)
        case "path":
            return cheap(node.steps[0]) and all(
                _is_cheap(step, at_root=False, in_text=in_text) for step in node.steps[1:]
            )
        case "binary":
            if node.value == "&":
                return at_root and cheap(node.lhs, node.rhs, in_text=True)
            return node.value in _LINEAR_OPERATORS and cheap(node.lhs, node.rhs)
        case "unary":
            if node.value == "-":
                return cheap(node.expression)
            if not at_root or in_text:
                return False
            return cheap(*(node.expressions or ()), *(part for pair in node.lhs_object or () for part in pair))
        case "condition":
            otherwise = node._else  # noqa: SLF001 - the library's name for a public part of its tree
            return cheap(node.condition, node.then, *([] if otherwise is None else [otherwise]))
        case "block":
            return cheap(*node.expressions)
        case "function":
            return _is_cheap_call(node, at_root) and cheap(*node.arguments, in_text=True)
        case _:
            return False


def _is_cheap_call(node: Any, at_root: bool) -> bool:
    if node.procedure.type != "variable" or node.procedure.predicate or node.procedure.group is not None:
        return False
    name, arguments = node.procedure.value, node.arguments
    if name in _LINEAR_FUNCTIONS:
        return True
    if name in _CLOCK_FUNCTIONS:
        return not arguments
    if name == "join":
        literal = len(arguments) < 2 or (
            arguments[1].type == "string" and len(arguments[1].value) <= _LONGEST_SEPARATOR
        )
        return at_root and literal
    if name == "round":
        return len(arguments) < 2 or (
            arguments[1].type == "number" and abs(arguments[1].value) <= _MOST_ROUNDING_DIGITS
        )
    return False


class _PathCollector:
    """Finds what a tree reads from the document; below a step or a filter names belong to the item."""

    def __init__(self) -> None:
        self.paths: dict[tuple[str, ...], None] = {}
        self.reads_by_name = True

    def visit(self, node: Any, at_root: bool) -> None:
        if node.type == "path":
            self._visit_path(node, at_root)
            return
        if self._takes_the_whole(node, at_root):
            self.reads_by_name = False
        filters = [*(node.predicate or ()), *(node.stages or ())]
        for filtered in filters:
            self.visit(filtered.expr if filtered.expr is not None else filtered, False)
        for child in _children(node):
            if not any(child is filtered for filtered in filters):
                self.visit(child, at_root and child is not node.group and node.type != "transform")

    def _visit_path(self, node: Any, at_root: bool) -> None:
        first = node.steps[0]
        names = _leading_names(node.steps) if at_root or _is_document(first) else ()
        if names:
            self.paths[names] = None
        for position, step in enumerate(node.steps):
            is_told = position == 0 and names and step.type == "variable"
            if not is_told and (step.type != "name" or step.stages or step.predicate or step.group is not None):
                self.visit(step, at_root and position == 0)
        if node.group is not None:
            self.visit(node.group, False)

    @staticmethod
    def _takes_the_whole(node: Any, at_root: bool) -> bool:
        match node.type:
            case "variable":
                return _is_document(node) or (at_root and node.value == "")
            case "wildcard" | "descendant":
                return at_root
            case "lambda":
                return node.signature is not None  # it may ask for the context as an argument
            case "parent" | "partial":
                return True
            case "function" if node.procedure.type == "variable":
                name, given = node.procedure.value, len(node.arguments)
                return name == "eval" or (at_root and given < _CONTEXT_TAKERS.get(name, 0))
            case _:
                return False


def _is_document(node: Any) -> bool:
    return bool(node.type == "variable" and node.value == "$")


def _leading_names(steps: list[Any]) -> tuple[str, ...]:
    names: list[str] = []
    for position, step in enumerate(steps):
        if position == 0 and step.type == "variable" and step.value in ("", "$") and not step.predicate:
            continue
        if step.type != "name":
            break
        names.append(str(step.value))
        if step.stages or step.predicate:
            break
    return tuple(names)
