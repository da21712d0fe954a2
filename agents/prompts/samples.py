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

# By the prompt's name. Every built-in prompt has its samples; a test holds the names together.
SAMPLES: Final[Mapping[str, Sequence[Mapping[str, Any]]]] = {
    "router/system.j2": ({},),
    "router/request.j2": (_FULL, _FULL | {"context": None, "skills": [], "lessons": []}),
}
