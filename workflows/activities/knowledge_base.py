"""The knowledge base: what activities there are and how to use them, generated from the registry.

One document for programs, the canvas palette and prompts; nothing in it is written by hand (contract-activities 0).
"""

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from workflows.activities.registry import Activity, registry
from workflows.spec.durations import format_duration

VERSION = "1.0"
# When the shapes of the built-in activities last changed, RFC 3339.
LAST_UPDATED = "2026-11-29T00:00:00Z"


def knowledge_base() -> dict[str, Any]:
    """Return ``{version, activities[], metadata}``; activities by name, fields as the contract names them."""
    return _document(frozenset(registry.all()))


@lru_cache(maxsize=4)
def _document(names: frozenset[str]) -> dict[str, Any]:
    activities = [entry(registry.get(name)) for name in sorted(names)]
    return {
        "version": VERSION,
        "activities": activities,
        "metadata": {
            "totalActivities": len(activities),
            "lastUpdated": LAST_UPDATED,
            "categories": dict(sorted(Counter(item["category"] for item in activities).items())),
        },
    }


def entry(activity: Activity) -> dict[str, Any]:
    """Return one activity as the knowledge base shows it."""
    return {
        "name": activity.name,
        "description": activity.description,
        "category": activity.category,
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


def _fields(schema: Mapping[str, Any], *, with_required: bool) -> dict[str, Any]:
    required = set(schema.get("required", ()))
    fields: dict[str, Any] = {}
    for name, property_ in schema.get("properties", {}).items():
        field: dict[str, Any] = {"type": _type_of(property_, schema), "description": property_.get("description", "")}
        if with_required:
            field["required"] = name in required
            for key in ("default", "examples"):
                if property_.get(key) is not None:
                    field[key] = property_[key]
        chosen = _main_branch(property_)
        for key in ("enum", "items"):
            if key in chosen:
                field[key] = chosen[key]
        fields[name] = field
    return fields


def _main_branch(property_: Mapping[str, Any]) -> Mapping[str, Any]:
    """The first alternative of an optional field that is not null."""
    for branch in property_.get("anyOf", ()):
        if branch.get("type") != "null":
            return dict(branch)
    return property_


def _type_of(property_: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    chosen = _main_branch(property_)
    if "$ref" in chosen:
        chosen = schema.get("$defs", {}).get(chosen["$ref"].rpartition("/")[2], {})
    if "const" in chosen:
        return "string"
    # A field that takes anything is shown as an object, the widest of the contract's types.
    return str(chosen.get("type", "object"))
