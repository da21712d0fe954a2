"""What the tests of the validator write specs with: short ways to write states, and a fixed set of activities."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from workflows.spec.validator import SpecReport, validate_spec


@dataclass
class Known:
    """An activity as the validator sees it."""

    name: str
    properties: dict[str, Any]
    required: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()
    definitions: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": self.properties,
            "required": list(self.required),
            "$defs": self.definitions,
        }

    @cached_property
    def output_schema(self) -> dict[str, Any]:
        return {"type": "object", "properties": {name: {} for name in self.outputs}}


OPTIONAL_TEXT = {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}
ACTIVITIES = {
    known.name: known
    for known in (
        Known(
            "CloneRepoActivity", {"repo": {"type": "string"}, "branch": OPTIONAL_TEXT}, ("repo",), ("path", "commit")
        ),
        Known(
            "AnalyzeCodeActivity",
            {
                "path": {"type": "string"},
                "depth": {"type": "integer", "minimum": 1, "maximum": 9},
                "languages": {"type": "array", "items": {"type": "string"}},
                "rule": {"$ref": "#/$defs/Rule"},
            },
            ("path",),
            ("files",),
            ("CloneRepoActivity",),
            {"Rule": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}},
        ),
        Known(
            "ReportActivity",
            {
                "format": {"type": "string", "enum": ["markdown", "html"]},
                "data": {},
                "pages": {"type": "integer", "x-most": 9},
            },
        ),
        Known("PublishActivity", {}, dependencies=("AnalyzeCodeActivity", "ReportActivity")),
    )
}

END: dict[str, Any] = {"name": "End", "type": "Succeed"}


def task(name: str = "A", **more: Any) -> dict[str, Any]:
    return {"name": name, "type": "Task", "resource": "ReportActivity", **more}


def result(name: str = "A", value: Any = 1, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": "Pass", "result": value, **more}


def spec(*states: Any, **more: Any) -> dict[str, Any]:
    return {"name": "trial", "states": list(states), **more}


def choice(when: Any, target: str = "End", **more: Any) -> dict[str, Any]:
    return {"name": "If", "type": "Choice", "choices": [{"when": when, "next": target}], **more}


def parallel(*branches: Any, **more: Any) -> dict[str, Any]:
    return {"name": "Fan", "type": "Parallel", "branches": list(branches), **more}


def each(*states: Any, items: Any = (), **more: Any) -> dict[str, Any]:
    return {"name": "Each", "type": "Map", "items": list(items), "states": list(states), **more}


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def inline(depth: int) -> dict[str, Any]:
    return spec(result() if depth == 0 else {"name": "W", "type": "Workflow", "spec": inline(depth - 1)})


def check(document: object) -> SpecReport:
    return validate_spec(document, activities=ACTIVITIES, workflow_names={"nightly", "weekly"})
