"""What the built-in prompts are given, as examples: an edited text is rendered with them before it is taken.

Owns one set with everything in it and one with what may be missing. Refuses nothing. Source: subsystem-templates 6.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

_ACTIVITY: Final = {
    "name": "CloneRepoActivity",
    "description": "Clones a repository. Inputs: repo, branch",
    "category": "code",
    "timeout": "10m",
    "flaky": True,
}
_FULL: Final = {
    "message": "scan https://git.example.org/shop.git every night",
    "context": "branch: main",
    "skills": [{"name": "triage", "description": "sorts findings", "why": "it helped before"}],
    "lessons": [{"level": "L1", "text": "scan main first"}],
    "activities": [_ACTIVITY, _ACTIVITY | {"name": "SecurityScanActivity", "flaky": False}],
}

_NODE: Final = {
    "id": "clone",
    "label": "Clone",
    "type": "CloneRepoActivity",
    "inputs": [{"name": "repo", "type": "string", "required": True, "description": "The address of the repository"}],
    "outputs": [{"name": "path", "type": "string", "required": False, "description": ""}],
    "config": {"repo": "https://git.example.org/shop.git"},
}
_CANVAS: Final = {
    "nodes": [_NODE, _NODE | {"id": "start", "type": "start", "inputs": [], "outputs": [], "config": {}}],
    "edges": [
        {"source": "start", "target": "clone", "condition": ""},
        {"source": "clone", "target": "clone-2", "condition": 'branch == "main"'},
    ],
}

# By the prompt's name. Every built-in prompt has its samples; a test holds the names together.
SAMPLES: Final[Mapping[str, Sequence[Mapping[str, Any]]]] = {
    "reasoner/request.j2": (_CANVAS | {"preserve": True}, {"nodes": [], "edges": [], "preserve": False}),
    "reasoner/system.j2": ({"preserve": True}, {"preserve": False}),
    "router/system.j2": ({},),
    "router/request.j2": (_FULL, _FULL | {"context": None, "skills": [], "lessons": []}),
}
