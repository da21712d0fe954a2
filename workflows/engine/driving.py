"""What the code that runs here works for, and in which worker: what log lines are marked with.

A context variable that is set around each drive and each activity: it costs next to nothing until something is logged.
"""

from contextvars import ContextVar

from workflows.activities.context import Identity
from workflows.engine.line import Line

driven: ContextVar[Line | Identity | None] = ContextVar("poimen_driven", default=None)
_worker = ""


def name_worker(name: str) -> None:
    """Say which worker this process is (``host:pid``)."""
    global _worker
    _worker = name


def ids() -> dict[str, str]:
    """Return ``{worker, execution, branch, node}`` of what is worked for, as far as it is known."""
    found = {"worker": _worker} if _worker else {}
    match driven.get():
        case Line() as line:
            found |= {"execution": str(line.execution.id), "branch": str(line.id), "node": line.state}
        case Identity() as identity:
            found |= {"execution": identity.execution, "branch": identity.branch, "node": identity.state}
    return found
