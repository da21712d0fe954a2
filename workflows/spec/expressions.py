"""JSONata expressions, always under bounds of time, depth, memory and result size (design section 4).

What is provably cheap is evaluated here; everything else in a process that can be killed. Refuses to do otherwise.
"""

import copy
import re
import time
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from workflows.errors import ExpressionError
from workflows.spec import limits
from workflows.spec.jsonata_ast import Analysis, TooDeep, analyse
from workflows.spec.jsonata_library import JException, Jsonata, RegexFlags
from workflows.spec.jsonata_results import ResultRefused, explain, plain_json
from workflows.spec.sandbox import sandbox

# The library parses the left side of ?? and ?: twice, so nesting them doubles the work with every level.
_MOST_DEFAULTS_PARSED_HERE: Final = 6
_LONGEST_PARSED_HERE: Final = 2000
_WORDS = re.compile(r"[A-Za-z0-9_-]+")
_CHECK_TIME_EVERY: Final = 256


class Expression:
    """A compiled expression; may be evaluated from many threads at once."""

    __slots__ = ("_jsonata", "paths", "roots", "text")

    def __init__(self, text: str, jsonata: Jsonata | None, analysis: Analysis) -> None:
        self.text = text
        self.paths = tuple(tuple(path) for path in analysis.paths)
        """What it reads from the document as far as the text shows: ``(("Clone", "output", "path"),)``."""
        self.roots = frozenset(path[0] for path in self.paths) if analysis.reads_by_name else _words_of(text)
        """The roots it reads; every word in it, if it makes names itself or takes the document as a whole."""
        self._jsonata = jsonata

    @property
    def runs_in_process(self) -> bool:
        """Whether it is provably cheap and evaluated without the sandbox."""
        return self._jsonata is not None

    def evaluate(self, scope: Mapping[str, Any]) -> Any:
        """Return its value as plain JSON on ``{root: value}`` for the roots of ``scope`` that it names.

        A missing value is None. Raises :class:`ExpressionError` for a failed evaluation or a passed bound.
        """
        document = {}
        for root in self.roots:
            try:
                document[root] = scope[root]
            except KeyError:
                continue
        try:
            if self._jsonata is None:
                return sandbox.evaluate(self.text, document)
            return plain_json(_evaluate_here(self._jsonata, document), limits.EXPRESSION_RESULT_BYTES)
        except ExpressionError as error:
            raise ExpressionError(f"the expression {_shown(self.text)} failed: {error.message}") from None
        except ResultRefused as error:
            raise ExpressionError(f"the expression {_shown(self.text)} failed: {error}") from None
        except Exception as error:
            # The library raises whatever Python raised below it; all of it means that the expression failed.
            raise ExpressionError(f"the expression {_shown(self.text)} failed: {explain(error)}") from error


@lru_cache(maxsize=512)
def compile_expression(text: str) -> Expression:
    """Parse JSONata (without the ``{% %}``); raises :class:`ExpressionError` saying what is wrong and where."""
    if not text.strip():
        raise ExpressionError("the expression is empty")
    if len(text) > limits.MAX_EXPRESSION_CHARS:
        raise ExpressionError(
            f"the expression has {len(text)} characters; at most {limits.MAX_EXPRESSION_CHARS} are allowed"
        )
    try:
        if len(text) > _LONGEST_PARSED_HERE or text.count("??") + text.count("?:") > _MOST_DEFAULTS_PARSED_HERE:
            return _compiled_in_sandbox(text)
        jsonata = Jsonata(text, _uncompiled)
        analysis = analyse(jsonata.ast)
        if analysis.has_regex:
            return _compiled_in_sandbox(text)
    except ExpressionError as error:
        raise ExpressionError(f"the expression {_shown(text)} is wrong: {error.message}") from None
    except TooDeep as error:
        raise ExpressionError(f"the expression {_shown(text)} is wrong: {error}") from None
    except Exception as error:
        # A parser that meets text it did not expect fails in many ways (KeyError, IndexError, RecursionError ...).
        raise ExpressionError(f"the expression {_shown(text)} is wrong: {explain(error)}") from error
    jsonata.set_validate_input(False)
    jsonata.set_output_convert_nulls(False)
    return Expression(text, jsonata if analysis.is_cheap else None, analysis)


def _compiled_in_sandbox(text: str) -> Expression:
    return Expression(text, None, Analysis(**sandbox.analyse(text)))


def _uncompiled(pattern: str, flags: RegexFlags) -> str:
    """Keep a pattern as text: compiling one can take minutes, so only the sandbox does it."""
    return pattern


def _evaluate_here(jsonata: Jsonata, document: dict[str, Any]) -> Any:
    # The library keeps the current evaluation on the instance and the latest instance per thread; a shallow copy per
    # evaluation shares the syntax tree, which cheap expressions only read, and nothing else.
    own = copy.copy(jsonata)
    Jsonata.CURRENT.jsonata = own
    frame = Jsonata.Frame(None)
    deadline = time.monotonic() + limits.EXPRESSION_SECONDS
    steps = 0

    def check_time(_expression: Any, _input: Any, _environment: Any) -> None:
        nonlocal steps
        steps += 1
        if not steps % _CHECK_TIME_EVERY and time.monotonic() > deadline:
            # Its own error for this: inside "and" and "or" the library hides all others.
            raise JException("D1012", -1, limits.EXPRESSION_SECONDS * 1000)

    frame.set_evaluate_entry_callback(check_time)
    return own.evaluate(document, frame)


def _words_of(text: str) -> frozenset[str]:
    words = set(_WORDS.findall(text))
    parts = {part for word in words if "-" in word for part in word.split("-") if part}
    # A name of digits only must be quoted, so without quotes these are numbers.
    return frozenset(word for word in words | parts if "`" in text or not word.isdecimal())


def _shown(text: str) -> str:
    stripped = " ".join(text.split())
    return f'"{stripped[:80]}..."' if len(stripped) > 80 else f'"{stripped}"'
