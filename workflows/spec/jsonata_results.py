"""Results and errors of the JSONata library, made plain: JSON values and sentences.

Refuses what is no JSON: functions, NaN, numbers and text that PostgreSQL could not keep, results past their size.
"""

import math
import re
from typing import Any

from workflows.spec import limits
from workflows.spec.jsonata_library import JException, Utils

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_MAX_INTEGER_BITS = 1024
_PER_VALUE = 8


class ResultRefused(ValueError):
    """The result cannot be a value of a workflow; the message says why."""


def plain_json(result: Any, max_bytes: int) -> Any:
    """Return ``result`` as plain lists, dicts and scalars, about ``max_bytes`` at most; raises ``ResultRefused``."""
    left = max_bytes

    def plain(value: Any) -> Any:
        nonlocal left
        left -= _PER_VALUE
        if left < 0:
            raise ResultRefused(f"its result is larger than {max_bytes} bytes")
        if value is None or value is Utils.NULL_VALUE:
            return None
        if isinstance(value, str):
            left -= len(value)
            if "\x00" in value or (not value.isascii() and _UNSTORABLE.search(value)):
                raise ResultRefused("its result holds text that cannot be stored (NUL or half a surrogate pair)")
            return value
        if isinstance(value, bool):
            return value
        if isinstance(value, int):
            if value.bit_length() > _MAX_INTEGER_BITS:
                raise ResultRefused("its result is a number out of range")
            return value
        if isinstance(value, float):
            if not math.isfinite(value):
                raise ResultRefused("its result is not a number (a division by zero?) or out of range")
            return value
        if isinstance(value, dict):
            return {plain(key): plain(part) for key, part in value.items()}
        if isinstance(value, list):
            return [plain(part) for part in value]
        raise ResultRefused("its result is a function, not a value; call it")

    try:
        return plain(result)
    except RecursionError:
        raise ResultRefused("its result nests too deeply") from None


def explain(error: Exception) -> str:
    """Return what went wrong while parsing or evaluating as a sentence for the author of the expression."""
    if isinstance(error, JException):
        if error.error == "D1011":
            return "it calls itself too deeply"
        if error.error == "D1012":
            return f"it takes longer than {limits.EXPRESSION_SECONDS:g} s"
        if error.error == "Unexpected":
            return "one side of an and or an or cannot be evaluated"
        at = f" (at position {error.location})" if isinstance(error.location, int) and error.location > 0 else ""
        return f"{_first_line(error)}{at}"
    if isinstance(error, RecursionError):
        return "it nests or calls itself too deeply"
    if isinstance(error, ZeroDivisionError):
        return "it divides by zero"
    if isinstance(error, re.error):
        return f"its regular expression is wrong: {error}"
    if isinstance(error, OverflowError):
        return "it makes a number out of range"
    return f"it cannot be read or evaluated: {_first_line(error) or type(error).__name__}"


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines()
    return lines[0][:300] if lines else ""
