"""JSON that came from outside, made fit for the database: no NUL, no half characters, no numbers that are none.

Refuses nothing: what cannot be kept is replaced by what looks like it.
"""

import json
import math
from typing import Any


def loads(text: str | bytes) -> Any:
    """Return the JSON value of ``text``, fit to be stored; raises ``ValueError`` if it is none or nested too deeply."""
    try:
        return clean(json.loads(text, parse_constant=str, parse_float=_finite))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def clean(value: Any) -> Any:
    """Return a JSON value with all its texts fit to be stored."""
    if isinstance(value, str):
        return value.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [clean(item) for item in value]
    if isinstance(value, dict):
        return {clean(key): clean(item) for key, item in value.items()}
    return value


def _finite(digits: str) -> float | str:
    number = float(digits)
    return number if math.isfinite(number) else digits  # 1e999 is JSON, but no number that JSON can be made of
