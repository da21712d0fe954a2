"""The knowledge base: what activities there are and how to use them, generated from the registry.

One document for programs, the canvas palette and prompts; nothing in it is written by hand (contract-activities 0).
"""

import inspect
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from workflows.activities.registry import Activity, registry
from workflows.spec.durations import format_duration
from workflows.spec.secret_handles import USE_KEY

VERSION = "1.0"

# What a form needs to know of a value beside its type, as JSON Schema calls it.
_LIMITS = (
    "enum", "items", "additionalProperties", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
    "pattern", "format", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties",
)  # fmt: skip
_EVERY_TYPE = ("string", "integer", "number", "boolean", "object", "array")


def knowledge_base() -> dict[str, Any]:
    """Return ``{version, activities[], metadata}``; activities by name, fields as the contract names them.

    ``metadata.lastUpdated`` (RFC 3339) is when the code of an activity last changed on this machine.
    """
    return _document(frozenset(registry.offered()))


@lru_cache(maxsize=4)
def _document(names: frozenset[str]) -> dict[str, Any]:
    activities = [registry.get(name) for name in sorted(names)]
    return {
        "version": VERSION,
        "activities": [entry(activity) for activity in activities],
        "metadata": {
            "totalActivities": len(activities),
            "lastUpdated": _last_change(activities).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "categories": dict(sorted(Counter(activity.category for activity in activities).items())),
        },
    }


def entry(activity: Activity) -> dict[str, Any]:
    """Return one activity as the knowledge base shows it."""
    return {
        "name": activity.name,
        "description": activity.description,
        "category": activity.category,
        "keywords": list(activity.keywords),
        "internal": activity.internal,
        "inputs": _fields(activity.input_schema, with_required=True),
        "outputs": _fields(activity.output_schema, with_required=False),
        "constraints": {
            "defaultTimeout": format_duration(activity.timeout),
            "isFlaky": activity.is_flaky,
            "recommendedRetries": activity.max_attempts,
            "retryBackoff": activity.backoff,
            "dependencies": list(activity.dependencies),
            "notes": activity.notes,
        },
    }


def _last_change(activities: list[Activity]) -> datetime:
    files = {Path(inspect.getfile(inspect.unwrap(activity.function))) for activity in activities}
    changes = [file.stat().st_mtime for file in files if file.exists()]
    return datetime.fromtimestamp(max(changes, default=0), UTC)


def _fields(schema: Mapping[str, Any], *, with_required: bool) -> dict[str, Any]:
    required = set(schema.get("required", ()))
    definitions = schema.get("$defs", {})
    fields: dict[str, Any] = {}
    for name, property_ in schema.get("properties", {}).items():
        chosen = _resolved(_main_branch(property_), definitions)
        field: dict[str, Any] = {"type": _type_of(chosen), "description": property_.get("description", "")}
        if with_required:
            field["required"] = name in required
            for key in ("default", "examples"):
                if property_.get(key) is not None:
                    field[key] = property_[key]
        field |= {key: chosen[key] for key in _LIMITS if key in chosen}
        if len(types := _types_of(property_, definitions)) > 1:
            field["types"] = types
        if with_required and USE_KEY in property_:
            field["secrets"] = property_[USE_KEY]
        fields[name] = field
    return fields


def _main_branch(property_: Mapping[str, Any]) -> Mapping[str, Any]:
    """The first alternative of an optional field that is not null."""
    for branch in property_.get("anyOf", ()):
        if branch.get("type") != "null":
            return dict(branch)
    return property_


def _types_of(property_: Mapping[str, Any], definitions: Mapping[str, Any]) -> list[str]:
    """The types that a value may have; all of them for a field that says nothing."""
    branches = property_.get("anyOf", (property_,))
    found = dict.fromkeys(
        kind
        for branch in (_resolved(branch, definitions) for branch in branches)
        for kind in ([branch["type"]] if "type" in branch else ["string"] if "const" in branch else _EVERY_TYPE)
        if kind != "null"
    )
    return list(found)


def _resolved(schema: Any, definitions: Mapping[str, Any]) -> Any:
    """``schema`` with what it refers to written out, and without pydantic's titles."""
    if isinstance(schema, list):
        return [_resolved(part, definitions) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    if "$ref" in schema:
        return _resolved(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    return {key: _resolved(value, definitions) for key, value in schema.items() if key != "title"}


def _type_of(schema: Mapping[str, Any]) -> str:
    # A field that takes anything is shown as an object, the widest of the contract's types.
    return "string" if "const" in schema else str(schema.get("type", "object"))
