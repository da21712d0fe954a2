"""What is wanted, before it is a spec: the answer of either way of understanding a sentence (contract-router 1.4)."""

from dataclasses import dataclass, field
from typing import Any, Literal

from agents.router.failure_words import Condition, ErrorHandling


@dataclass(frozen=True, slots=True)
class Question:
    """What has to be known first. The same message with ``context={parameter: answer}`` answers it."""

    parameter: str
    text: str
    options: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """``{parameter, text, options?}``."""
        body: dict[str, Any] = {"parameter": self.parameter, "text": self.text}
        return body | {"options": list(self.options)} if self.options else body


@dataclass(frozen=True, slots=True)
class Note:
    """Why something is as it is: ``subject`` is a state, ``schedule``, ``name`` or the like."""

    subject: str
    text: str

    def as_json(self) -> dict[str, str]:
        """``{subject, text}``."""
        return {"subject": self.subject, "text": self.text}


@dataclass(slots=True)
class Intent:
    """Which activities with which values; ``parameters`` by input name or ``Activity.input``.

    ``given`` are the names of those that must not go unused without a word. ``order`` are pairs of activities (earlier,
    later), ``reasons`` the words that chose each activity.
    """

    activities: list[str]
    parameters: dict[str, Any] = field(default_factory=dict)
    given: tuple[str, ...] = ()
    is_cron: bool = False
    cron_schedule: str = ""
    cron_timezone: str = "UTC"
    workflow_name: str = ""
    error_handling: ErrorHandling = "retry"
    timeout: str = ""
    attempts: int | None = None
    order: set[tuple[str, str]] = field(default_factory=set)
    excluded: set[str] = field(default_factory=set)
    notify: Literal["end", "failure", "both"] = "end"
    condition: Condition | None = None
    reasons: dict[str, str] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
