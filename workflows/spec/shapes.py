"""Holds a document against the pydantic shapes and says in plain sentences what does not fit.

Owns the translation of pydantic's errors; rules over more than one field are in ``validator``.
"""

from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from workflows.spec import schema
from workflows.spec.document import Step, join_path
from workflows.spec.durations import EXPECTED
from workflows.spec.report import Findings, shown

Spec = TypeVar("Spec", bound=BaseModel)

_STATE_SHAPES: Final[dict[str, type[BaseModel]]] = {
    "Task": schema.TaskState,
    "Pass": schema.PassState,
    "Fail": schema.FailState,
    "Succeed": schema.SucceedState,
    "Wait": schema.WaitState,
    "Choice": schema.ChoiceState,
    "Parallel": schema.ParallelState,
    "Map": schema.MapState,
    "Workflow": schema.WorkflowState,
    "WaitForSignal": schema.WaitForSignalState,
}
_PART_SHAPES: Final[dict[str, type[BaseModel]]] = {
    "retry": schema.Retry,
    "catch": schema.Catch,
    "choices": schema.ChoiceRule,
    "branches": schema.ParallelBranch,
    "spec": schema.WorkflowSpec,
}
_EXPECTED: Final = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "dict_type": "an object",
    "list_type": "a list",
    "model_type": "an object",
    "model_attributes_type": "an object",
}
_DURATION_KEYS: Final = frozenset({"duration", "timeout", "heartbeat", "initialInterval", "maxInterval"})
_UNION_BRANCHES: Final = ("str", "int")


def check_shape(document: dict[str, Any], findings: Findings, kind: type[Spec]) -> Spec | None:
    """Return the spec that ``document`` is, or None after adding a problem for every place that does not fit."""
    try:
        return kind.model_validate(document, strict=True, by_alias=True, by_name=False)
    except ValidationError as error:
        told: set[str] = set()
        for detail in error.errors(include_url=False):
            _tell(detail, document, findings, told, kind)
        return None


def _tell(
    detail: ErrorDetails, document: dict[str, Any], findings: Findings, told: set[str], whole: type[BaseModel]
) -> None:
    steps, shape, kind = _locate(detail["loc"], document, whole)
    path = join_path(steps)
    key = str(steps[-1]) if steps else ""
    given, context, error = detail["input"], detail.get("ctx", {}), detail["type"]
    if error == "missing":
        findings.add(path, "missing-key", f"{shown(key)} is missing{_of(kind)}")
    elif error == "extra_forbidden":
        if key in {name for other in _STATE_SHAPES.values() for name in keys_of(other)} and kind:
            message = f"a {kind} state has no {shown(key)}"
        else:
            message = f"unknown key {shown(key)}{_of(kind)}"
        findings.add(path, "unknown-key", message, given=key, candidates=keys_of(shape))
    elif error == "union_tag_not_found":
        findings.add(f"{path}.type", "missing-key", f"a state needs a type: {', '.join(schema.STATE_TYPES)}")
    elif error == "union_tag_invalid":
        tag = str(context.get("tag", ""))
        message = f"unknown state type {shown(tag)}; there are {', '.join(schema.STATE_TYPES)}"
        findings.add(f"{path}.type", "unknown-type", message, given=tag, candidates=schema.STATE_TYPES)
    elif error == "literal_error":
        allowed = [part.strip(" '") for part in str(context["expected"]).replace(" or ", ", ").split(",")]
        message = f"{shown(given)} is not allowed; it is one of {', '.join(allowed)}"
        word = given if isinstance(given, str) else ""
        findings.add(path, "wrong-value", message, given=word, candidates=allowed)
    elif error == "string_pattern_mismatch":
        message = f"{shown(given)} is no name; use letters, digits, - and _"
        findings.add(path, "bad-name", message)
    elif error in _EXPECTED:
        expected = _EXPECTED[error]
        if detail["loc"] and detail["loc"][-1] in _UNION_BRANCHES and steps and detail["loc"][-1] != steps[-1]:
            expected = "text or a whole number"
        if error == "string_type" and key in _DURATION_KEYS:
            expected = f"a duration as text ({EXPECTED}, in quotes)"
        if path not in told:
            told.add(path)
            findings.add(path, "wrong-type", f"this must be {expected}, not {shown(given)}")
    else:
        findings.add(path, "out-of-range", _range(error, context, given))


def _range(error: str, context: dict[str, Any], given: Any) -> str:
    match error:
        case "string_too_short" | "too_short":
            return "this must not be empty"
        case "string_too_long":
            return f"this has {len(given)} characters; at most {context['max_length']} are allowed"
        case "greater_than_equal":
            return f"this must be at least {context['ge']:g}, not {shown(given)}"
        case "less_than_equal":
            return f"this must be at most {context['le']:g}, not {shown(given)}"
        case _:
            return f"{shown(given)} is not allowed here"


def _of(kind: str) -> str:
    return f" in a {kind} state" if kind else ""


def _locate(
    loc: tuple[Step, ...], document: dict[str, Any], whole: type[BaseModel]
) -> tuple[list[Step], type[BaseModel], str]:
    """Return the steps of ``loc`` as they are in the document, the shape around its last step, and its state type.

    Pydantic puts the type of a state (and the branch of a union of scalars) between the steps.
    """
    steps: list[Step] = []
    shape = whole
    kind = ""
    value: Any = document
    for position, step in enumerate(loc):
        is_last = position == len(loc) - 1
        if len(steps) >= 2 and isinstance(steps[-1], int) and steps[-2] == "states" and step in _STATE_SHAPES:
            if isinstance(value, dict) and value.get("type") == step and loc[position - 1] == steps[-1]:
                kind = str(step)
                shape = _STATE_SHAPES[kind]
                continue
        if is_last and step in _UNION_BRANCHES and not isinstance(value, dict | list):
            continue
        steps.append(step)
        if not is_last:
            if isinstance(step, str) and step in _PART_SHAPES:
                shape, kind = _PART_SHAPES[step], ""
            elif step == "continueAsNew":
                shape, kind = (schema.ContinueAsNew if kind == "Succeed" else schema.History), ""
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            value = None
    return steps, shape, kind


def keys_of(shape: type[BaseModel]) -> list[str]:
    """Return the keys that objects of ``shape`` have in JSON."""
    return [field.alias or name for name, field in shape.model_fields.items()]
