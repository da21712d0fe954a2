"""JSON as PostgreSQL can store it: no NUL, no NaN, no lone surrogates.

What a workflow computes is refused if it cannot be stored; what is only told (logs, errors) is cleaned instead.
"""

import json
import math
import re
from typing import Any

from workflows.errors import PermanentError

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


def dumps(value: Any) -> str:
    """JSON text that PostgreSQL can store; raises :class:`PermanentError` for NaN and NUL, which it cannot."""
    try:
        text = _ENCODER.encode(value)
    except (ValueError, TypeError, RecursionError) as error:
        raise PermanentError(f"the value is not JSON: {error}", name="InvalidOutput") from None
    if "\\u0000" in text and _NUL.search(text):
        raise PermanentError(
            "the value holds a NUL character, which cannot be stored",
            name="InvalidOutput",
        )
    try:
        text.encode()
    except UnicodeEncodeError:
        raise PermanentError("the value holds text that is not Unicode", name="InvalidOutput") from None
    return text


def loggable(entries: Any) -> str:
    """Log lines as JSON; what PostgreSQL cannot store is replaced, for a log must never fail a step."""
    try:
        return dumps(entries)
    except PermanentError:
        return json.dumps(_cleaned(entries), default=str)


def tellable(value: Any) -> Any:
    """``value`` itself if it can be stored, else what can be told of it: an error must never fail to be recorded."""
    text = loggable(value)
    return json.loads(text)


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {_cleaned(str(key)): _cleaned(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_cleaned(part) for part in value]
    return value
