"""How commands end: their exit codes, and what went wrong as a sentence with details.

Refuses tracebacks for what a person can mend.
"""

from typing import Any

from rest_framework.exceptions import APIException

from poimen_site.errors import error_body

OK, FAILURE, USAGE = 0, 1, 2
INTERRUPTED, BROKEN_PIPE = 130, 141  # as the shell says it of programs that SIGINT and SIGPIPE ended


class Fault(Exception):
    """A command cannot go on; ``exit_code`` says whether it was asked wrongly (2) or the thing failed (1)."""

    def __init__(self, message: str, *, exit_code: int = FAILURE, details: Any = None) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.details = details

    def as_json(self) -> dict[str, Any]:
        """``{"error", "details"?}``, as REST says it."""
        return {"error": str(self)} | ({} if self.details is None else {"details": self.details})


def usage(message: str) -> Fault:
    """Return the fault of a command that was asked wrongly."""
    return Fault(message, exit_code=USAGE)


def fault_of(error: APIException) -> Fault:
    """Return what the API would have refused as a fault: what it calls 400 is wrong usage, all else a failure."""
    body = error_body(error, error.detail if isinstance(error.detail, dict | list) else {"detail": error.detail})
    code = USAGE if error.status_code == 400 else FAILURE
    return Fault(str(body["error"]), exit_code=code, details=body.get("details"))


def lines_of(fault: Fault) -> list[str]:
    """Return the fault for people: the sentence, then each problem of a spec or canvas in a line."""
    lines = [str(fault)]
    if isinstance(fault.details, list):
        for problem in fault.details:
            if isinstance(problem, dict) and "message" in problem:
                where = f"{problem['path']}: " if problem.get("path") else ""
                hint = f' (did you mean "{problem["suggestion"]}"?)' if problem.get("suggestion") else ""
                kind = problem.get("severity", "error")
                lines.append(f"  {kind}: {where}{problem['message']}{hint}")
    return lines
