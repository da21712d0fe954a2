"""JSON out of what a model wrote: in fences, among prose, after its thoughts, or broken off at the end.

Refuses to guess values: it closes what is open and drops what is half written; whether that will do, a schema says.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema
from referencing import Registry
from referencing.exceptions import Unresolvable

from agents.llm.errors import LLMResponseError
from agents.llm.storable import clean
from workflows.errors import InvalidInput

MOST_STARTS = 50  # places in a text where JSON might begin that are tried
MOST_DEPTH = 100
MOST_MENDED = 3  # starts, and characters, that are worth mending: it is done character by character
MOST_MENDED_TEXT = 200_000
TAIL = 2000  # characters at the end in which a half-written entry is looked for
# Type checkers have no name for what this makes: a class of validators.
_Validator: Any = jsonschema.validators.extend(
    jsonschema.Draft202012Validator, {"pattern": lambda *_: None, "patternProperties": lambda *_: None}
)
_THOUGHTS = re.compile(r"^\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_FENCE = re.compile(r"```[\w-]*[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL)
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")
_HALF_WRITTEN = re.compile(r"""(?:,\s*)?(?:"(?:[^"\\]|\\.)*"\s*:?\s*)?[^\s{}\[\],":]*\s*$""")


def parse(text: str, schema: Mapping[str, Any]) -> tuple[Any, bool]:
    """Return the value that ``text`` holds and fits ``schema``, and whether it had to be repaired.

    Raises :class:`LLMResponseError` saying what does not fit, or that there is no JSON at all.
    """
    try:
        value = _loads(text)
    except ValueError:
        pass
    else:
        if problem_of(value, schema) is None:
            return clean(value), False
    problem = "it holds no JSON"
    for found in _candidates(text):
        misfit = problem_of(found, schema)
        if misfit is None:
            return clean(found), True
        if problem == "it holds no JSON":
            problem = misfit
    raise LLMResponseError(f"the model's answer is not what was asked for: {problem}")


def check_schema(schema: Mapping[str, Any]) -> None:
    """Raise :class:`InvalidInput` saying where ``schema`` is no JSON Schema."""
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        place = ".".join(map(str, error.absolute_path)) or "the whole"
        raise InvalidInput(f"the JSON Schema is none: {place}: {error.message[:300]}") from None
    except RecursionError:
        raise InvalidInput("the JSON Schema is nested too deeply") from None


def problem_of(value: Any, schema: Mapping[str, Any]) -> str | None:
    """Return in words where ``value`` does not fit ``schema``; None if it does.

    Regular expressions of the schema are left to the model's server: one that never ends would hold up all others.
    """
    try:
        # With a registry of nothing: a schema must not make us fetch another one from somewhere.
        error = jsonschema.exceptions.best_match(_Validator(schema, registry=Registry()).iter_errors(value))
    except Unresolvable as missing:
        raise InvalidInput(f"the JSON Schema refers to something that is not in it: {missing}") from None
    except RecursionError:
        return "it is nested too deeply"
    if error is None:
        return None
    place = ".".join(map(str, error.absolute_path)) or "the whole"
    return f"{place}: {error.message[:300]}"


def _candidates(text: str) -> Iterator[Any]:
    """Values that the text may hold, the likeliest first."""
    text = _THOUGHTS.sub("", text)
    pieces = [*(match[1] for match in _FENCE.finditer(text)), text]
    for piece in pieces:
        for count, start in enumerate(_starts(piece)):
            rest = piece[start:]
            try:
                yield json.JSONDecoder(parse_constant=_refuse).raw_decode(rest)[0]
            except (ValueError, RecursionError):
                if count < MOST_MENDED and len(rest) <= MOST_MENDED_TEXT and (mended := _mended(rest)) is not None:
                    yield mended


def _starts(text: str) -> Iterator[int]:
    for count, match in enumerate(re.finditer(r"[{\[]", text)):
        if count >= MOST_STARTS:
            return
        yield match.start()


def _mended(text: str) -> Any:
    """The value of JSON that was broken off or has commas too many; None if that does not help."""
    closed = _closed(text)
    for attempt in (_TRAILING_COMMA.sub(r"\1", text), closed) if closed is not None else ():
        try:
            return json.JSONDecoder(parse_constant=_refuse).raw_decode(attempt)[0]
        except (ValueError, RecursionError):
            continue
    return None


def _closed(text: str) -> str | None:
    """``text`` with every bracket closed that is open at its end, without a half-written entry; None if it is mad."""
    open_brackets: list[str] = []
    in_string = escaped = False
    for char in text:
        if in_string:
            if escaped:
                escaped = False
            elif char == "\\":
                escaped = True
            elif char == '"':
                in_string = False
        elif char == '"':
            in_string = True
        elif char in "{[":
            open_brackets.append("}" if char == "{" else "]")
            if len(open_brackets) > MOST_DEPTH:
                return None
        elif char in "}]" and (not open_brackets or open_brackets.pop() != char):
            return None
    whole = text[:-1] if escaped else text
    whole = f'{whole}"' if in_string else whole
    end = "".join(reversed(open_brackets))
    for cut in (whole, whole[:-TAIL] + _HALF_WRITTEN.sub("", whole[-TAIL:], count=1)):
        candidate = _TRAILING_COMMA.sub(r"\1", cut.rstrip().rstrip(",") + end)
        try:
            _loads(candidate)
        except ValueError:
            continue
        return candidate
    return None


def _loads(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")
