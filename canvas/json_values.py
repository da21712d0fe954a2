"""What a JSON value must be so that PostgreSQL can keep it and every reader can walk it.

Owns the one check of foreign data before it goes anywhere; refuses NUL characters, lone surrogates, NaN, infinities,
keys that are not text and nesting past a bound. Walks without recursion: depth is no danger here.
"""

import math
from collections.abc import Iterator
from typing import Any

MAX_DEPTH = 100
_MAX_INT_BITS = 4_096


def faults_of(value: object, *, path: str = "", max_depth: int = MAX_DEPTH) -> Iterator[tuple[str, str]]:
    """Yield ``(path, sentence)`` for everything in ``value`` that is not storable JSON, in document order.

    ``path`` names the value itself, as in ``nodes[3].data.label``. What lies below ``max_depth`` is not looked at.
    """
    if is_sound(value, max_depth=max_depth):
        return
    pending: list[tuple[object, str, int]] = [(value, path, 0)]
    while pending:
        current, where, depth = pending.pop()
        if isinstance(current, str):
            if fault := _text_fault(current):
                yield where, fault
        elif isinstance(current, dict | list):
            if depth >= max_depth:
                yield where, f"is nested deeper than {max_depth} levels"
                continue
            if isinstance(current, list):
                children = [(item, f"{where}[{i}]", depth + 1) for i, item in enumerate(current)]
            else:
                children = []
                for key, item in current.items():
                    if not isinstance(key, str):
                        yield where, f"has the key {_short(key)}, which is not text"
                    elif fault := _text_fault(key):
                        yield where, f"has a key that {fault}"
                    else:
                        children.append((item, f"{where}.{key}" if where else key, depth + 1))
            pending.extend(reversed(children))
        elif fault := _scalar_fault(current):
            yield where, fault


def first_fault(value: object, *, path: str = "", max_depth: int = MAX_DEPTH) -> str | None:
    """Return the first fault as one sentence (``nodes[0].id contains a NUL character``), or None."""
    for where, fault in faults_of(value, path=path, max_depth=max_depth):
        return f"{where or 'the value'} {fault}"
    return None


def is_sound(value: object, *, max_depth: int = MAX_DEPTH) -> bool:
    """Whether there is certainly no fault: nearly always so, and told much sooner where no place need be named."""
    level: list[Any] = [value]
    for depth in range(max_depth + 1):
        below: list[Any] = []
        for item in level:
            kind = type(item)
            if kind is str:
                if (not item.isascii() or "\0" in item) and _text_fault(item):
                    return False
            elif kind is dict or kind is list:
                if depth == max_depth:
                    return False
                if kind is list:
                    below += item
                    continue
                for key, inner in item.items():
                    if type(key) is not str or _text_fault(key):
                        return False
                    below.append(inner)
            elif _scalar_fault(item):
                return False
        if not below:
            return True
        level = below
    return False


def _text_fault(text: str) -> str | None:
    if "\0" in text:
        return "contains a NUL character, which cannot be stored; remove it"
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return "contains half of a surrogate pair, which is no character; remove it"
    return None


def _scalar_fault(value: object) -> str | None:
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, int):
        return "is an integer too large to keep" if value.bit_length() > _MAX_INT_BITS else None
    if isinstance(value, float):
        return None if math.isfinite(value) else f"is {value}, which is not a JSON number"
    return f"is a {type(value).__name__}, which is not JSON"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
