"""A Jinja2 environment for texts that people may edit: strict, sandboxed, bounded in time and size.

Refuses names that are not given, filters and arguments that make texts grow beyond all bounds, and ``~`` and
``namespace``, with which a few lines can do so. What a template is given is data: it is never rendered itself.
"""

import functools
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError, nodes
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from workflows.errors import PermanentError

MOST_SOURCE = 20_000  # characters
MOST_TEXT = 400_000  # of what comes out
MOST_VALUE = 50_000  # of what an expression makes on the way
MOST_ARGUMENT = 1000
MOST_SECONDS = 2.0
MOST_NUMBER = 100_000  # of an argument: widths and counts
_FILTERS = (
    "abs", "batch", "capitalize", "count", "d", "default", "dictsort", "first", "float", "groupby", "indent",
    "int", "items", "join", "last", "length", "list", "lower", "map", "max", "min", "reject", "rejectattr",
    "reverse", "round", "select", "selectattr", "sort", "string", "sum", "title", "tojson", "trim",
    "truncate", "unique", "upper", "wordcount",
)  # fmt: skip
_METHODS = frozenset(
    {"center", "expandtabs", "format", "format_map", "join", "ljust", "replace", "rjust", "translate", "zfill"}
)
_FILE = "<prompt>"


class PromptError(PermanentError):
    """A prompt that cannot be rendered: it is wrong, lacks a value, or passes a bound. Names the line."""

    name = "PromptError"


class _Late(Exception):
    """The time of a rendering is over."""


class _Bounded(ImmutableSandboxedEnvironment):
    intercepted_binops = frozenset({"*", "**", "%", "+"})

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Refuse to repeat, raise or format into something large."""
        is_sized = isinstance(left, str | list | tuple) or isinstance(right, str | list | tuple)
        if operator == "%" and isinstance(left, str):
            raise SecurityError("texts are not formatted with %")
        if operator == "*" and is_sized and max(_as_count(left), _as_count(right)) * _size(left, right) > MOST_ARGUMENT:
            raise SecurityError("a repetition is too long")
        if operator == "**" and (abs(left) > MOST_NUMBER or abs(right) > 100):
            raise SecurityError("a power is too large")
        return _bounded(super().call_binop(context, operator, left, right))

    def wrap_str_format(self, value: Any) -> None:
        """Let no text be formatted: the usual wrapper is looked for before the attribute is judged."""

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Refuse the methods of texts that make long ones."""
        return super().is_safe_attribute(obj, attr, value) and not (isinstance(obj, str) and attr in _METHODS)

    def call(self, context: Context, obj: Any, *args: Any, **kwargs: Any) -> Any:
        """Refuse large numbers as arguments: they are widths and counts."""
        _check_arguments((None, *args), kwargs)
        return _bounded(super().call(context, obj, *args, **kwargs))


def _environment() -> _Bounded:
    made = _Bounded(undefined=StrictUndefined, autoescape=False, trim_blocks=True, lstrip_blocks=True, cache_size=0)
    made.filters = {name: _guarded(made.filters[name]) for name in _FILTERS}
    made.globals = {"range": made.globals["range"]}
    return made


def _guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)  # with what Jinja2 marks those with that want its context
    def checked(*args: Any, **kwargs: Any) -> Any:
        _check_arguments(args, kwargs)
        return _bounded(function(*args, **kwargs))

    return checked


def _check_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    for value in (*args[1:], *kwargs.values()):
        if isinstance(value, int) and abs(value) > MOST_NUMBER:
            raise SecurityError(f"a number is larger than {MOST_NUMBER}")
        if isinstance(value, str) and len(value) > MOST_ARGUMENT:
            raise SecurityError(f"an argument is longer than {MOST_ARGUMENT} characters")


def _bounded(value: Any) -> Any:
    if isinstance(value, str | list | tuple | dict) and len(value) > MOST_VALUE:
        raise SecurityError(f"a value is longer than {MOST_VALUE} characters")
    return value


def _as_count(value: Any) -> int:
    return abs(value) if isinstance(value, int) else 1


def _size(left: Any, right: Any) -> int:
    return max(len(value) if isinstance(value, str | list | tuple) else 1 for value in (left, right))


_SANDBOX = _environment()


def check(source: str) -> None:
    """Raise :class:`PromptError` saying what is wrong with the text of a prompt, with the line."""
    _compiled(source)


def render(source: str, values: dict[str, Any]) -> str:
    """Return the text; raises :class:`PromptError`."""
    template = _compiled(source)
    pieces: list[str] = []
    size, deadline = 0, time.monotonic() + MOST_SECONDS

    def watch(frame: FrameType, event: str, argument: Any) -> Any:
        # Only lines of the template itself: a loop of it is made of them, whatever it calls is bounded.
        if frame.f_code.co_filename != _FILE:
            return None
        if time.monotonic() > deadline:
            raise _Late
        return watch

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        for piece in template.generate(values):
            pieces.append(piece)
            size += len(piece)
            if size > MOST_TEXT:
                raise PromptError(f"the prompt becomes longer than {MOST_TEXT:,} characters")
    except _Late:
        raise PromptError(f"the prompt takes longer than {MOST_SECONDS:g} s") from None
    except PromptError:
        raise
    except Exception as error:  # noqa: BLE001 - filters raise what they like
        raise PromptError(f"the prompt cannot be rendered: {str(error) or type(error).__name__}") from None
    finally:
        sys.settrace(before)
    return "".join(pieces).encode("utf-8", "replace").decode()


@functools.lru_cache(maxsize=200)  # by the text itself: an edited prompt is another one
def _compiled(source: str) -> Any:
    if len(source) > MOST_SOURCE:
        raise PromptError(f"the prompt's text is longer than {MOST_SOURCE:,} characters")
    try:
        tree = _SANDBOX.parse(source)
        for node in tree.find_all((nodes.Concat, nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)):
            what = "~" if isinstance(node, nodes.Concat) else type(node).__name__.lower()
            raise PromptError(f"line {node.lineno}: {what} cannot be used in prompts")
        code = _SANDBOX.compile(tree, filename=_FILE)
        return _SANDBOX.template_class.from_code(_SANDBOX, code, dict(_SANDBOX.globals))
    except TemplateSyntaxError as error:
        raise PromptError(f"line {error.lineno}: {error.message}") from None
    except TemplateError as error:
        raise PromptError(str(error.message)) from None
    except (RecursionError, SyntaxError, MemoryError):  # the last two are Python's bounds for blocks within blocks
        raise PromptError("the prompt is nested too deeply") from None
