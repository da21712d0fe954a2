"""``${State.output.path}`` references and ``{% ... %}`` expressions in the values of a spec (contract-workflow-spec 3).

Owns their grammar and resolves them over plain data. Refuses to evaluate anything that is not a reference or JSONata.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeAlias

from pydantic import JsonValue

from workflows.errors import UnresolvedReference
from workflows.spec.expressions import Expression, compile_expression

Scope: TypeAlias = Mapping[str, Any]

# What a reference can start with beside the name of a state; no state may be called so.
RESERVED_ROOTS: Final = frozenset({"workflow", "vars", "item", "index", "result", "error"})
WORKFLOW_FIELDS: Final = ("input", "id", "name", "startedAt")
STATE_FIELDS: Final = ("output", "error")

_MARK = re.compile(r"\$\$\{|\$\{([^{}]*)\}|\$\{")
_SEGMENT = re.compile(r"\.([^.\[\]{}]+)|\[(\d{1,9})\]")
_ROOT = re.compile(r"[A-Za-z0-9_-]+")
_KEYS_SHOWN = 8
_MAPPINGS = (dict, Mapping)
_LONGEST_CACHED = 500

_MISSING: Final = object()


class ReferenceSyntaxError(UnresolvedReference):
    """A ``${...}`` that does not follow the grammar; the message says what would."""


@dataclass(frozen=True, slots=True)
class Reference:
    """One ``${...}``: ``root``, the ``path`` below it, and the ``default`` used when nothing is there or it is null."""

    text: str
    root: str
    path: tuple[str | int, ...]
    default: Any = _MISSING

    @property
    def has_default(self) -> bool:
        """Whether a missing value is no error."""
        return self.default is not _MISSING

    def resolve(self, scope: Scope) -> Any:
        """Return the value the reference names, as it is; raises :class:`UnresolvedReference` if it is not there."""
        try:
            value = scope[self.root]
        except KeyError:
            if self.default is not _MISSING:
                return self.default
            raise self._unresolved(self._why_no_root()) from None
        for position, segment in enumerate(self.path):
            if isinstance(value, _MAPPINGS):
                found = value.get(segment if isinstance(segment, str) else str(segment), _MISSING)
            elif isinstance(value, list):
                index = segment if isinstance(segment, int) else int(segment) if segment.isdecimal() else -1
                found = value[index] if 0 <= index < len(value) else _MISSING
            else:
                found = _MISSING
            if found is _MISSING:
                if self.default is not _MISSING:
                    return self.default
                raise self._unresolved(self._why_no_field(value, position))
            value = found
        return self.default if value is None and self.default is not _MISSING else value

    def _unresolved(self, why: str) -> UnresolvedReference:
        return UnresolvedReference(f"{self.text} cannot be resolved: {why}")

    def _why_no_root(self) -> str:
        if self.root not in RESERVED_ROOTS:
            return f'state "{self.root}" has not run'
        if self.root in ("item", "index"):
            return f"there is no {self.root} outside a Map state"
        if self.root == "error":
            return "no error has been caught"
        return f"there is no {self.root} here"

    def _why_no_field(self, value: Any, position: int) -> str:
        where = self.root + "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in self.path[:position])
        segment = self.path[position]
        if position == 0 and self.root not in RESERVED_ROOTS:
            return f'state "{self.root}" has no {segment}' + (": it has not failed" if segment == "error" else "")
        if isinstance(value, Mapping):
            shown = ", ".join(str(key) for key in list(value)[:_KEYS_SHOWN])
            more = ", ..." if len(value) > _KEYS_SHOWN else ""
            return f'{where} has no field "{segment}"; ' + (f"it has {shown}{more}" if value else "it is empty")
        if isinstance(value, list):
            return f"{where} is a list of {len(value)} and has no [{segment}]"
        return f'{where} is {_kind(value)} and has no field "{segment}"'


class Template:
    """A value of a spec, compiled once: resolves quickly and tells beforehand which roots it will touch.

    Parts without references are handed out as they are, not copied; callers must not change what they get.
    """

    __slots__ = ("_resolve", "_value", "is_constant", "roots")

    def __init__(self, value: JsonValue, resolve: Callable[[Scope], Any] | None, roots: frozenset[str]) -> None:
        self._value = value
        self._resolve = resolve
        self.roots = roots
        self.is_constant = resolve is None

    def resolve(self, scope: Scope) -> Any:
        """Return the value with every reference and expression replaced.

        Touches only ``roots`` of ``scope``. Raises :class:`UnresolvedReference` or
        :class:`~workflows.errors.ExpressionError`.
        """
        return self._value if self._resolve is None else self._resolve(scope)


def compile_template(value: JsonValue) -> Template:
    """Compile ``value`` (any JSON; strings in it may hold references or be expressions; keys are taken as they are).

    Raises :class:`ReferenceSyntaxError` or :class:`~workflows.errors.ExpressionError` for the first mistake.
    """
    roots: set[str] = set()
    resolve = _compile(value, roots)
    return Template(_plain(value) if resolve is None else None, resolve, frozenset(roots))


def resolve(value: JsonValue, scope: Scope) -> Any:
    """Compile ``value`` and resolve it over ``scope``: root name to value, state names to ``{output, error}``."""
    return compile_template(value).resolve(scope)


def _compile(value: JsonValue, roots: set[str]) -> Callable[[Scope], Any] | None:
    """Return a function of the scope, or None for a part that is the same in every scope."""
    if isinstance(value, str):
        return _compile_text(value, roots)
    if isinstance(value, dict):
        compiled = {key: _compile(part, roots) for key, part in value.items()}
        if not any(compiled.values()):
            return None
        fixed = {key: _plain(part) for key, part in value.items()}
        moving = tuple((key, function) for key, function in compiled.items() if function is not None)

        def fill(scope: Scope) -> Any:
            filled = dict(fixed)
            for key, function in moving:
                filled[key] = function(scope)
            return filled

        return fill
    if isinstance(value, list):
        parts = [_compile(part, roots) for part in value]
        if not any(parts):
            return None
        pairs = tuple(
            (function, None if function else _plain(part)) for function, part in zip(parts, value, strict=True)
        )
        return lambda scope: [function(scope) if function else part for function, part in pairs]
    return None


def _compile_text(text: str, roots: set[str]) -> Callable[[Scope], Any] | None:
    if "${" not in text and "{%" not in text:
        return None
    parsed = parse_text(text)
    if isinstance(parsed, Expression):
        roots |= parsed.roots
        return parsed.evaluate
    references = [part for part in parsed if isinstance(part, Reference)]
    if not references:
        return None
    roots.update(reference.root for reference in references)
    if len(parsed) == 1:
        return references[0].resolve
    return lambda scope: "".join([part if isinstance(part, str) else as_text(part.resolve(scope)) for part in parsed])


def _plain(value: JsonValue) -> JsonValue:
    """Return a part without references, with ``$${`` read as ``${``."""
    if isinstance(value, str):
        return value.replace("$${", "${") if "$${" in value else value
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return value


def is_expression(text: str) -> bool:
    """Whether ``text`` as a whole is ``{% ... %}``."""
    stripped = text.strip()
    return len(stripped) >= 4 and stripped.startswith("{%") and stripped.endswith("%}")


def expression_of(text: str) -> str:
    """Return the JSONata inside ``{% ... %}``."""
    return text.strip()[2:-2]


def parse_text(text: str) -> Expression | tuple[str | Reference, ...]:
    """Return the expression that ``text`` is, or its literal pieces and references in order.

    Raises :class:`ReferenceSyntaxError` or :class:`~workflows.errors.ExpressionError`.
    """
    if is_expression(text):
        return compile_expression(expression_of(text))
    return _parse_references(text) if len(text) <= _LONGEST_CACHED else _parse_references.__wrapped__(text)


@lru_cache(maxsize=4096)
def _parse_references(text: str) -> tuple[str | Reference, ...]:
    parts: list[str | Reference] = []
    literal: list[str] = []
    end = 0
    for mark in _MARK.finditer(text):
        literal.append(text[end : mark.start()])
        end = mark.end()
        if mark.group() == "$${":
            literal.append("${")
        elif mark.group(1) is None:
            raise ReferenceSyntaxError(f'"${{" at position {mark.start()} has no closing "}}"; write $${{ for the text')
        else:
            if joined := "".join(literal):
                parts.append(joined)
            literal = []
            parts.append(parse_reference(mark.group(1)))
    if joined := "".join([*literal, text[end:]]):
        parts.append(joined)
    return tuple(parts)


def parse_reference(body: str) -> Reference:
    """Return the reference written ``${body}``; raises :class:`ReferenceSyntaxError` saying what is expected."""
    text = f"${{{body}}}"
    path_text, has_default, default_text = body.partition(":-")
    path_text = path_text.strip()
    matched = _ROOT.match(path_text)
    if matched is None:
        raise ReferenceSyntaxError(f"{text} names nothing; write ${{State.output.field}} or ${{workflow.input.field}}")
    root, end = matched.group(), matched.end()
    path: list[str | int] = []
    while end < len(path_text):
        segment = _SEGMENT.match(path_text, end)
        if segment is None:
            raise ReferenceSyntaxError(f"{text} is not a path; separate names with dots and write list items as [0]")
        path.append(segment.group(1) if segment.group(2) is None else int(segment.group(2)))
        end = segment.end()
    fields = WORKFLOW_FIELDS if root == "workflow" else () if root in RESERVED_ROOTS else STATE_FIELDS
    if fields and (not path or path[0] not in fields):
        kind = "the workflow" if root == "workflow" else "a state"
        raise ReferenceSyntaxError(
            f"{text} must go on with {' or '.join(f'.{field}' for field in fields)} of {kind}; "
            f"did you mean ${{{root}.{fields[0]}{path_text[len(root) :]}}}?"
        )
    return Reference(text, root, tuple(path), _default(default_text) if has_default else _MISSING)


def _default(text: str) -> Any:
    """Read a default as JSON if it is JSON, so that ``:-3`` is a number; anything else is text."""
    try:
        return json.loads(text, parse_constant=lambda _: text)
    except ValueError:
        return text


def as_text(value: Any) -> str:
    """Return ``value`` as it reads inside a longer string: text as it is, anything else as compact JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a truth value"
    return "a text" if isinstance(value, str) else "a number"
