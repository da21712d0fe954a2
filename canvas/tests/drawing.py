"""What the tests about canvases draw with: short ways to write nodes and edges, and a fixed set of activities."""

from dataclasses import dataclass, field
from typing import Any

from canvas.catalogue import Catalogue
from canvas.compilation import Compiled, compile_canvas


@dataclass(frozen=True)
class Known:
    """The schemas of an activity, as much of it as a canvas reads."""

    name: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any]
    dependencies: tuple[str, ...] = field(default=())


def known(name: str, inputs: dict[str, Any], outputs: dict[str, Any], required: tuple[str, ...] = ()) -> Known:
    """An activity with these fields; a type may stand for the whole schema of a field."""

    def schema(fields: dict[str, Any]) -> dict[str, Any]:
        return {key: {"type": value} if isinstance(value, str) else value for key, value in fields.items()}

    return Known(
        name,
        {"type": "object", "properties": schema(inputs), "required": list(required)},
        {"type": "object", "properties": schema(outputs)},
    )


ACTIVITIES = Catalogue(
    [
        known(
            "CloneRepoActivity",
            {"repo": "string", "branch": "string"},
            {"path": "string", "commit": "string", "branch": "string"},
            ("repo",),
        ),
        known(
            "AnalyzeCodeActivity",
            {"path": "string", "depth": "integer"},
            {"quality": "number", "issues": "array", "summary": "string"},
            ("path",),
        ),
        known(
            "SecurityScanActivity",
            {"path": "string", "severity": {"enum": ["low", "medium", "high"], "type": "string"}},
            {"riskLevel": "string", "score": "integer"},
            ("path",),
        ),
        known("GenerateReportActivity", {"summary": "string", "format": "string"}, {"report": "string"}, ("summary",)),
        known("DeployActivity", {"quality": "number", "commit": "string"}, {"url": "string"}, ("quality", "commit")),
        known("EchoActivity", {"value": {}}, {"value": {}}),
        known("LLMInferenceActivity", {"prompt": "string"}, {"response": "string"}),
    ]
)


def node(node_id: str, activity: str = "EchoActivity", label: str = "", **config: Any) -> dict[str, Any]:
    """An activity node in the React-Flow shape."""
    data = {"label": label or node_id, "activity": activity, "config": config}
    return {"id": node_id, "type": "activity", "position": {"x": 0, "y": 0}, "data": data}


def start(**inputs: Any) -> dict[str, Any]:
    """A start node that declares ``inputs``."""
    return {"id": "start", "type": "start", "position": {"x": 0, "y": 0}, "data": {"label": "Start", "config": inputs}}


def end() -> dict[str, Any]:
    """An end node."""
    return {"id": "end", "type": "end", "position": {"x": 0, "y": 0}, "data": {"label": "End"}}


def edge(source: str, target: str, condition: str = "", **data: Any) -> dict[str, Any]:
    """An edge; ``data`` is what it says about its meaning."""
    given = data | ({"relation_type": "conditional", "condition": condition} if condition else {})
    return {"id": f"{source}-{target}", "source": source, "target": target, "data": given}


def edges(*paths: str) -> list[dict[str, Any]]:
    """Edges along paths such as ``"a b c"``."""
    pairs = [pair for path in paths for pair in zip(path.split(), path.split()[1:], strict=False)]
    return [edge(source, target) for source, target in dict.fromkeys(pairs)]


def compiled(nodes: Any, edges: Any, name: str = "drawn") -> Compiled:
    """The canvas compiled with the activities of this module."""
    return compile_canvas(name, nodes, edges, ACTIVITIES)


def codes(of: Compiled, *severities: str) -> list[str]:
    """The codes of the problems, of these severities if given."""
    return [problem.code for problem in of.problems if not severities or problem.severity in severities]
