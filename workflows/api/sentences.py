"""An error of the REST framework, whose detail has any shape, as one sentence: the same over HTTP and on sockets.

Refuses to show how a detail is made: lists and dictionaries become paths, never their representation.
"""

from typing import Any

from rest_framework.exceptions import APIException


def sentence_of(error: APIException) -> str:
    """Return what the error says, with the path of the field that it is about, if there is one."""
    return sentence_of_detail(error.detail)


def sentence_of_detail(detail: Any) -> str:
    """Return the sentence in a detail: its ``error`` or ``detail``, else the first problem there is."""
    if isinstance(detail, dict):
        for key in ("error", "detail"):
            if key in detail:
                return sentence_of_detail(detail[key])
    path, message = _first_problem(detail)
    return f"{path}: {message}" if path else message


def _first_problem(detail: Any, path: str = "") -> tuple[str, str]:
    """``(path, message)`` of the first problem in a validation error's nested detail."""
    if isinstance(detail, dict) and detail:
        key, value = next(iter(detail.items()))
        name = "" if key == "non_field_errors" else str(key)
        return _first_problem(value, f"{path}.{name}" if path and name else path or name)
    if isinstance(detail, list | tuple) and detail:
        index, value = next(((i, v) for i, v in enumerate(detail) if v), (0, detail[0]))
        return _first_problem(value, f"{path}[{index}]" if isinstance(value, dict) else path)
    return path, str(detail)
