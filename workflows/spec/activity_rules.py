"""Holds the Tasks of a spec against the activities there are: names, literal parameters, dependencies, outputs.

Owns what needs the knowledge base; without one it is not asked. Never calls an activity.
"""

from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, Protocol, runtime_checkable

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from workflows.spec.document import child_path, join_path
from workflows.spec.outline import Node
from workflows.spec.report import Findings, shown
from workflows.spec.secret_handles import HANDLE, PREFIX, USE_KEY, misplaced, refusal, uses_in


class ActivityInfo(Protocol):
    """What validation needs to know of an activity."""

    @property
    def name(self) -> str:
        """Exact name."""

    @property
    def input_schema(self) -> dict[str, Any]:
        """JSON Schema of the input object."""

    @property
    def output_schema(self) -> dict[str, Any]:
        """JSON Schema of the output object."""

    @property
    def dependencies(self) -> Collection[str]:
        """Names of the activities that should have run before."""


@runtime_checkable
class TellsOfPlugins(Protocol):
    """Activities of which some come from plugins."""

    def refusal(self, resource: str, /) -> str:
        """Why it must not be used, though it is there; empty if it may."""

    def why_not(self, resource: str, /) -> str:
        """Why there is no such plugin; empty for what is no plugin."""


_KINDS: Final = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "null",
}
_PYTHON_KINDS: Final[dict[str, type | tuple[type, ...]]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
}
# In the schema of a field: a larger number counts as this one, which is said rather than refused.
MOST_KEY: Final = "x-most"
_ANNOTATIONS: Final = frozenset({"type", "title", "description", "default", "examples", USE_KEY, MOST_KEY})
_TYPE_PARTS: Final = ("anyOf", "oneOf")


def check_task(
    node: Node, activities: Mapping[str, ActivityInfo], plugins: TellsOfPlugins | None, findings: Findings
) -> None:
    """Add problems for the resource and the parameters of a Task.

    ``plugins`` knows why there is no such plugin, or why it must not be used.
    """
    resource = node.text("resource")
    if resource is None:
        return
    activity = activities.get(resource)
    why = plugins.refusal(resource) or plugins.why_not(resource) if plugins is not None else ""
    if why:
        findings.add(f"{node.path}.resource", "plugin-unavailable", why)
        return
    if activity is None:
        message = f"unknown activity {shown(resource)}"
        findings.add(f"{node.path}.resource", "unknown-activity", message, given=resource, candidates=activities)
        return
    if node.raw.get("cache") is not None and not getattr(activity, "is_cacheable", False):  # most say nothing of it
        message = f"results of {resource} cannot be kept: they depend on more than its input, or it has effects"
        findings.add(f"{node.path}.cache", "not-cacheable", message)
    schema = activity.input_schema
    known: dict[str, Any] = schema.get("properties", {})
    parameters = node.object("parameters")
    path = f"{node.path}.parameters"
    for name, value in parameters.items():
        if _check_secrets(activity, name, value, child_path(path, name), findings):
            continue
        if name in known:
            _check_parameter(activity, name, value, child_path(path, name), findings)
        elif not schema.get("additionalProperties"):
            message = f"{resource} has no parameter {shown(name)}"
            findings.add(child_path(path, name), "unknown-parameter", message, given=name, candidates=known)
    for name in schema.get("required", ()):
        if name not in parameters:
            findings.add(path, "missing-parameter", f"{resource} requires the parameter {shown(name)}")


def check_dependencies(node: Node, activity: ActivityInfo, earlier: Collection[str], findings: Findings) -> None:
    """Add a warning if ``activity`` builds on others and none of them is among the ``earlier`` ones.

    One of several will do: a report on a scan alone is a report.
    """
    if activity.dependencies and not any(needed in earlier for needed in activity.dependencies):
        needed = " or ".join(activity.dependencies)
        message = f"{activity.name} builds on {needed}, and no state before this one runs it"
        findings.add(f"{node.path}.resource", "missing-dependency", message)


def lacks_output_field(activity: ActivityInfo, name: str) -> list[str] | None:
    """Return the fields of the activity's output if ``name`` is certainly none of them, else None."""
    schema = activity.output_schema
    fields: dict[str, Any] = schema.get("properties", {})
    return list(fields) if fields and name not in fields and not schema.get("additionalProperties") else None


def _check_secrets(activity: ActivityInfo, name: str, value: Any, path: str, findings: Findings) -> bool:
    """Add a problem for each handle where the activity takes no secret; returns whether there is one."""
    uses = uses_in(activity.input_schema)
    use = uses.get(name)
    if use == "url" and is_dynamic(value):
        return False  # which part of the address it is shows once the references are resolved
    found = list(misplaced(value, use, path))
    for where, handle, text in found:
        findings.add(where, "secret-not-allowed", refusal(activity.name, handle, uses, text))
    return bool(found)


def _check_parameter(activity: ActivityInfo, name: str, value: Any, path: str, findings: Findings) -> None:
    schema = activity.input_schema["properties"][name]
    most = schema.get(MOST_KEY)
    if most is not None and isinstance(value, int | float) and value > most:
        message = f"{shown(most)} is the most that counts, and will be taken for {shown(value)}"
        findings.add(path, "parameter-capped", message)
    if _is_open(value) or _is_plainly_right(schema, value):
        return
    errors = list(_errors(_validator_of(activity), schema, value))
    mistyped = [error.absolute_path for error in errors if error.validator == "type"]
    for error in errors:
        if _holds_dynamic(error.instance):
            continue  # what a reference will bring is not known yet
        if error.validator != "type" and error.absolute_path in mistyped:
            continue  # of the wrong type altogether, which is told
        where = join_path([*error.absolute_path])
        full = path + (where if where.startswith("[") or not where else f".{where}")
        code, message, candidates = _explain(error)
        given = error.instance if isinstance(error.instance, str) else ""
        findings.add(full, code, message, given=given, candidates=candidates)


def _is_plainly_right(schema: dict[str, Any], value: Any) -> bool:
    """Settle the most frequent case without the validator: a scalar of the one type that is asked for."""
    expected = _PYTHON_KINDS.get(str(schema.get("type")))
    if expected is None or not schema.keys() <= _ANNOTATIONS:
        return False
    return isinstance(value, expected) and (isinstance(value, bool) == (expected is bool))


def _validator_of(activity: ActivityInfo) -> Draft202012Validator:
    return _validator(_Schema(activity.input_schema))


class _Schema:
    """A schema as a key: the same object is the same key."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self.schema = schema

    def __hash__(self) -> int:
        return id(self.schema)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Schema) and other.schema is self.schema


@lru_cache(maxsize=512)
def _validator(key: _Schema) -> Draft202012Validator:
    return Draft202012Validator(key.schema)


def _errors(validator: Draft202012Validator, schema: dict[str, Any], value: Any) -> Iterator[ValidationError]:
    """Yield what is wrong with ``value``; inside an alternative, the errors of the one that fits best."""
    for error in validator.evolve(schema=schema).iter_errors(value):
        yield from _narrowed(error)


def _narrowed(error: ValidationError) -> Iterator[ValidationError]:
    if error.validator not in _TYPE_PARTS or not error.context:
        yield error
        return
    branches: dict[Any, list[ValidationError]] = {}
    for inner in error.context:
        branches.setdefault(inner.schema_path[0], []).append(inner)
    right_type = [
        errors for errors in branches.values() if not any(e.validator == "type" and not e.path for e in errors)
    ]
    if len(right_type) == 1:
        for inner in right_type[0]:
            inner.parent = error.parent
            inner.path.extendleft(reversed(error.relative_path))
            yield inner
    else:
        yield error


def _explain(error: ValidationError) -> tuple[str, str, list[str]]:
    """Return code, sentence and candidates for a suggestion."""
    value, wanted = error.instance, error.validator_value
    match error.validator:
        case "type":
            kinds = [wanted] if isinstance(wanted, str) else list(wanted)
            expected = " or ".join(_KINDS.get(kind, kind) for kind in kinds)
            return "parameter-type", f"this must be {expected}, not {shown(value)}", []
        case "enum" | "const":
            allowed = wanted if error.validator == "enum" else [wanted]
            words = [word for word in allowed if isinstance(word, str)]
            listed = ", ".join(shown(word) for word in allowed)
            return "parameter-value", f"{shown(value)} is not allowed; it is one of {listed}", words
        case "anyOf" | "oneOf":
            types = [part.get("type") for part in wanted]
            if all(isinstance(kind, str) for kind in types):
                expected = " or ".join(_KINDS.get(kind, kind) for kind in types)
                return "parameter-type", f"this must be {expected}, not {shown(value)}", []
            return "parameter-value", f"{shown(value)} fits none of the forms that this parameter takes", []
        case "minimum":
            return "parameter-value", f"this must be at least {shown(wanted)}, not {shown(value)}", []
        case "maximum":
            return "parameter-value", f"this must be at most {shown(wanted)}, not {shown(value)}", []
        case "minLength" | "minItems":
            return "parameter-value", f"this must have a length of at least {wanted}", []
        case "maxLength" | "maxItems":
            return "parameter-value", f"this must have a length of at most {wanted}", []
        case "pattern":
            return "parameter-value", f"{shown(value)} does not have the form {shown(wanted, 120)}", []
        case _:
            return "parameter-value", error.message[:200], []


def is_dynamic(value: Any) -> bool:
    """Whether ``value`` is text with a reference or an expression in it."""
    return isinstance(value, str) and ("${" in value or "{%" in value)


def _holds_dynamic(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_holds_dynamic(part) for part in value.values())
    if isinstance(value, list):
        return any(_holds_dynamic(part) for part in value)
    return _is_open(value)


def _is_open(value: Any) -> bool:
    """Whether what ``value`` will be is not known yet: it is dynamic, or a secret of any type."""
    return is_dynamic(value) or (isinstance(value, str) and PREFIX in value and HANDLE.fullmatch(value) is not None)
