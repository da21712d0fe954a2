"""Reads JSON bodies within bounds, so that no view meets text the database cannot hold or a body without end.

It refuses bodies over ``DATA_UPLOAD_MAX_MEMORY_SIZE`` (413), and what is not strict JSON in UTF-8 (400).
"""

import json
import re
from collections.abc import Mapping
from typing import Any, NoReturn

from django.conf import settings
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser
from rest_framework.renderers import JSONRenderer

from poimen_site.errors import BodyTooLarge

MAX_DEPTH = 200
_ESCAPED = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")


class BoundedJSONParser(BaseParser):
    """The parser of every REST view."""

    media_type = "application/json"
    renderer_class = JSONRenderer

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None) -> Any:
        """Return the value of the body in ``stream``. Raises ``BodyTooLarge`` or ``ParseError`` with the place."""
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        raw = stream.read(limit + 1)
        if len(raw) > limit:
            raise BodyTooLarge(f"The body is larger than {limit} bytes, the most that is accepted.")
        try:
            text = raw.decode("utf-8")
            value = json.loads(text, parse_constant=_refuse_constant)
        except UnicodeDecodeError as error:
            raise ParseError(f"Invalid JSON: byte {error.start} is not UTF-8 text.") from error
        except RecursionError as error:
            raise ParseError(f"Invalid JSON: nested more than {MAX_DEPTH} levels deep.") from error
        except ValueError as error:
            raise ParseError(f"Invalid JSON: {_in_our_words(error)}") from error
        # What is UTF-8 holds a character that cannot be stored only where it is written as an escape.
        if _ESCAPED.search(text) or _is_deep(value):
            _check(value)
        return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


def _in_our_words(error: ValueError) -> str:
    """What Python says, but for a number that it does not read: there it speaks to programmers."""
    found = re.search(r"limit \((\d+) digits\).* value has (\d+) digits", str(error))
    if found is None:
        return str(error)
    most, digits = map(int, found.groups())
    return f"a number has {digits:,} digits; {most:,} are the most that is taken."


def _is_deep(value: Any) -> bool:
    """Whether anything lies deeper than ``MAX_DEPTH``."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                below += item.values()
            elif isinstance(item, list):
                below += item
        if not below:
            return False
        level = below
    return True


def _check(value: Any) -> None:
    """Raise ``ParseError`` for texts that PostgreSQL cannot store and for nesting beyond ``MAX_DEPTH``."""
    pending: list[tuple[Any, str, int]] = [(value, "", 0)]
    while pending:
        item, path, depth = pending.pop()
        if depth > MAX_DEPTH:
            raise ParseError(f"Invalid JSON: nested more than {MAX_DEPTH} levels deep.")
        if isinstance(item, str):
            _check_text(item, path)
        elif isinstance(item, dict):
            for key, inner in item.items():
                _check_text(key, path)
                pending.append((inner, f"{path}.{key}" if path else key, depth + 1))
        elif isinstance(item, list):
            pending.extend((inner, f"{path}[{index}]", depth + 1) for index, inner in enumerate(item))


def _check_text(text: str, path: str) -> None:
    if text.isascii() and "\x00" not in text:
        return
    if "\x00" in text:
        raise ParseError(f"{path or 'The body'}: the character U+0000 cannot be stored; remove it.")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ParseError(f"{path or 'The body'}: half of a surrogate pair at character {error.start}.") from error
