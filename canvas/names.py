"""What references on a canvas may call a node, and how the text of a reference is turned to node ids.

Owns labels as names (contract-canvas 5.3 rule 3); the grammar of references is the spec language's. Refuses labels
that two nodes share.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from canvas.nodes import Node
from workflows.errors import WorkflowError
from workflows.spec.expressions import compile_expression
from workflows.spec.references import (
    RESERVED_ROOTS,
    STATE_FIELDS,
    Reference,
    expression_of,
    is_expression,
    parse_reference,
)

_MARK = re.compile(r"\$\$\{|\$\{([^{}]*)\}")
_ROOT = re.compile(rf"\s*(.+?)\.({'|'.join(STATE_FIELDS)})(?=\s*(?:$|[.\[]|:-))", re.DOTALL)
_RESERVED = re.compile(rf"\s*(?:{'|'.join(sorted(RESERVED_ROOTS))})(?![A-Za-z0-9_ -])")
# The parts of JSONata text in which no name stands, then quoted and bare names that start a path.
_JSONATA = re.compile(
    r"""(?P<skip>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|/\*.*?\*/|[.$]\s*(?:`[^`]*`|\w+))"""
    rf"""|(?P<root>`[^`]+`|[A-Za-z_]\w*)(?=\s*\.\s*(?:{"|".join(STATE_FIELDS)})\b)|\w+""",
    re.DOTALL,
)


class UnknownName(ValueError):
    """A reference names no node, or a label that several nodes have; the message is a sentence."""

    def __init__(self, message: str, *, code: str, name: str) -> None:
        super().__init__(message)
        self.code = code
        self.name = name


@dataclass(frozen=True, slots=True)
class Use:
    """One mention of a node's output or error: ``text`` as written, ``node`` the id it means."""

    text: str
    node: str
    has_default: bool
    is_error: bool = False


@dataclass(slots=True)
class Names:
    """The names of the nodes that become states: each id, and each label that is not shared."""

    ids: frozenset[str]
    labels: Mapping[str, str | None]
    other: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def of(cls, nodes: Iterable[Node]) -> "Names":
        """Collect the names of ``nodes``; start and end nodes have no output to be named for."""
        labels: dict[str, str | None] = {}
        ids, other = set(), set()
        for node in nodes:
            if node.kind != "activity":
                other.add(node.id)
                continue
            ids.add(node.id)
            labels[node.label] = node.id if labels.get(node.label, node.id) == node.id else None
        return cls(frozenset(ids), labels, frozenset(other))

    def resolve(self, name: str, text: str) -> str:
        """Return the id that ``name`` means in the reference ``text``; raises :class:`UnknownName`."""
        if name in self.ids:
            return name
        if name in self.labels:
            found = self.labels[name]
            if found is None:
                message = f'{text}: several nodes are labelled "{name}"; use an id, or give each a label of its own'
                raise UnknownName(message, code="ambiguous-label", name=name)
            return found
        if name in self.other:
            message = f"{text}: {name} is a start or end node and has no output; inputs are ${{workflow.input.<name>}}"
            raise UnknownName(message, code="unknown-reference", name=name)
        message = f'{text}: there is no node with the id or label "{name}"'
        raise UnknownName(message, code="unknown-reference", name=name)

    def rewrite(self, value: Any, on_use: Callable[[Use], None], on_fault: Callable[[UnknownName], None]) -> Any:
        """Return ``value`` (JSON, nested at most as deep as specs may be) with every reference naming ids.

        Calls ``on_use`` for each node that is named and ``on_fault`` for each name that is none.
        """
        if isinstance(value, str):
            return self._rewrite_text(value, on_use, on_fault)
        if isinstance(value, dict):
            return {key: self.rewrite(part, on_use, on_fault) for key, part in value.items()}
        if isinstance(value, list):
            return [self.rewrite(part, on_use, on_fault) for part in value]
        return value

    def _rewrite_text(self, text: str, on_use: Callable[[Use], None], on_fault: Callable[[UnknownName], None]) -> str:
        if is_expression(text):
            return "{%" + self.rewrite_expression(expression_of(text), on_use) + "%}"
        if "${" not in text:
            return text

        def replaced(mark: re.Match[str]) -> str:
            body = mark.group(1)
            if body is None:
                return mark.group()
            try:
                return self._rewrite_reference(mark.group(), body, on_use)
            except UnknownName as fault:
                on_fault(fault)
                return mark.group()

        return _MARK.sub(replaced, text)

    def _rewrite_reference(self, text: str, body: str, on_use: Callable[[Use], None]) -> str:
        if _RESERVED.match(body):
            return text
        found = _ROOT.match(body)
        if found is None:
            # Not the output of a node: the spec language says what a reference looks like, in its own words.
            return text
        node_id = self.resolve(found.group(1), text)
        rest = body[found.end(1) :]
        on_use(Use(text, node_id, ":-" in rest, found.group(2) == "error"))
        return f"${{{node_id}{rest}}}"

    def rewrite_expression(self, text: str, on_use: Callable[[Use], None]) -> str:
        """Return JSONata ``text`` with labels that start a path replaced by ids; other names are left alone."""

        def replaced(token: re.Match[str]) -> str:
            root = token.group("root")
            if root is None:
                return token.group()
            name = root.strip("`")
            found = name if name in self.ids else self.labels.get(name)
            if found is None:
                return root
            # Expressions give undefined for what has not run: nothing fails where it is read.
            on_use(Use(f"{{% {name} %}}", found, True))
            return quoted(found)

        return _JSONATA.sub(replaced, text)


def quoted(name: str) -> str:
    """Return ``name`` as one step of a JSONata path."""
    words = ("and", "or", "in", "true", "false", "null", "function")
    return name if re.fullmatch(r"[A-Za-z_]\w*", name) and name not in words else f"`{name.replace('`', '')}`"


def reference_as_jsonata(body: str) -> str:
    """Return the path of the reference ``${body}`` in JSONata; raises ``ValueError`` saying what is expected."""
    try:
        reference: Reference = parse_reference(body)
    except WorkflowError as error:
        raise ValueError(error.message) from None
    if reference.has_default:
        raise ValueError(f"{reference.text} has a default, which a comparison does not know; write {{% JSONata %}}")
    steps = [f"[{s}]" if isinstance(s, int) or s.isdecimal() else f".{quoted(s)}" for s in reference.path]
    return quoted(reference.root) + "".join(steps)


def check_expression(text: str) -> None:
    """Raise ``ValueError`` saying what is wrong with the JSONata ``text``, if anything is."""
    try:
        compile_expression(text)
    except WorkflowError as error:
        raise ValueError(error.message) from None
