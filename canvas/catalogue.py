"""The activities as the canvas sees them: found by any spelling of their name, with the types of their fields.

Owns name matching and the question whether an output fits an input (contract-canvas 1.1, 6.2); refuses to guess where
a schema says nothing.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from typing import Any, Protocol

from workflows.activities.registry import registry

Types = frozenset[str]
ANY: Types = frozenset()
_LONGEST_KEPT = 200


class ActivityInfo(Protocol):
    """What the canvas reads of an activity; ``workflows.activities.registry.Activity`` is one."""

    @property
    def name(self) -> str: ...
    @property
    def input_schema(self) -> dict[str, Any]: ...
    @property
    def output_schema(self) -> dict[str, Any]: ...
    @property
    def dependencies(self) -> tuple[str, ...]: ...


class KnownActivity:
    """One activity with what conversions ask of its schemas worked out once."""

    def __init__(self, info: ActivityInfo) -> None:
        self.info = info
        self.name = info.name

    @cached_property
    def inputs(self) -> Mapping[str, Types]:
        """The JSON types each input field takes; an empty set takes anything."""
        return _fields(self.info.input_schema)

    @cached_property
    def required(self) -> tuple[str, ...]:
        """Names of the inputs that must be given, in the order of the schema."""
        names = self.info.input_schema.get("required", ())
        return tuple(name for name in names if isinstance(name, str))

    @cached_property
    def outputs(self) -> Mapping[str, Types]:
        """The JSON types each output field can have; an empty set is anything."""
        return _fields(self.info.output_schema)

    @cached_property
    def fingerprint(self) -> str:
        """Changes when the schemas do: what was compiled under another one is compiled again."""
        text = json.dumps([self.info.input_schema, self.info.output_schema], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


class Catalogue:
    """A fixed set of activities."""

    def __init__(self, activities: Iterable[ActivityInfo]) -> None:
        self.activities: dict[str, ActivityInfo] = {info.name: info for info in activities}
        self._known = {name: KnownActivity(info) for name, info in self.activities.items()}
        self._by_spelling: dict[str, str | None] = {}
        for name in sorted(self.activities):
            spelling = squash(name, "activity")
            self._by_spelling[spelling] = None if spelling in self._by_spelling else name

    def find(self, name: str) -> KnownActivity | None:
        """Return the activity that ``name`` means, or None.

        The exact name wins; else case, separators and the suffix ``Activity`` do not matter, as long as that leaves
        one activity: ``clone-repo``, ``CloneRepo`` and ``CloneRepoActivity`` are the same.
        """
        exact = self._known.get(name)
        if exact is not None:
            return exact
        found = self._by_spelling.get(squash(name, "activity"))
        return self._known[found] if found else None


_current: tuple[tuple[int, ...], Catalogue] | None = None


def current_catalogue() -> Catalogue:
    """Return the catalogue of the registered activities; the same object until the registry changes."""
    global _current  # noqa: PLW0603 - one value, replaced whole; two threads at worst build it twice
    activities = tuple(registry)
    key = tuple(map(id, activities))
    if _current is None or _current[0] != key:
        _current = (key, Catalogue(activities))
    return _current[1]


def squash(name: str, suffix: str = "") -> str:
    """Return the letters and digits of ``name`` in lower case, without ``suffix``: what spellings have in common."""
    return (_squashed if len(name) <= _LONGEST_KEPT else _squashed.__wrapped__)(name, suffix)


@lru_cache(maxsize=4096)
def _squashed(name: str, suffix: str) -> str:
    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    return plain.removesuffix(suffix) or plain


def fits(produced: Types, taken: Types) -> bool:
    """Whether every value of an output can be given to an input: same type, or integer for number."""
    if not taken:
        return True
    return bool(produced) and all(kind in taken or (kind == "integer" and "number" in taken) for kind in produced)


def _fields(schema: Mapping[str, Any]) -> dict[str, Types]:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return {}
    definitions = schema.get("$defs", {})
    return {str(name): _types(field, definitions, 0) for name, field in properties.items()}


def _types(schema: Any, definitions: Mapping[str, Any], depth: int) -> Types:
    if not isinstance(schema, Mapping) or depth > 8:
        return ANY
    if isinstance(target := schema.get("$ref"), str):
        return _types(definitions.get(target.rpartition("/")[2]), definitions, depth + 1)
    declared = schema.get("type")
    if isinstance(declared, str):
        return frozenset({declared}) - {"null"}
    if isinstance(declared, list):
        return frozenset(map(str, declared)) - {"null"}
    for key in ("anyOf", "oneOf"):
        if isinstance(options := schema.get(key), list):
            kinds = [_types(o, definitions, depth + 1) for o in options if o != {"type": "null"}]
            return frozenset().union(*kinds) if all(kinds) else ANY
    if isinstance(parts := schema.get("allOf"), list) and len(parts) == 1:
        return _types(parts[0], definitions, depth + 1)
    values = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if isinstance(values, list):
        return frozenset(_type_of(value) for value in values)
    return ANY


def _type_of(value: Any) -> str:
    for kind, name in (
        (str, "string"), (bool, "boolean"), (int, "integer"), (float, "number"), (list, "array"), (dict, "object"),
    ):  # fmt: skip
        if isinstance(value, kind):
            return name
    return "null"
