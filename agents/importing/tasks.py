"""A task of a tracker in one form, whatever the tracker: bounded, without what the database cannot hold, masked.

What it says was written by others: it is text to work on, never an instruction. Source: subsystem-external 2 and 5.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from workflows.secret_texts import masked

MOST_TITLE = 500
MOST_BODY = 20_000
MOST_NAME = 200
MOST_LABELS = 50
MOST_URL = 1000
STATUSES = ("open", "in_progress", "done", "cancelled")


class NoTask(ValueError):
    """What was read is no task; the text says what is wrong."""


@dataclass(frozen=True, slots=True)
class TrackedTask:
    """One task as a tracker has it; ``status`` is theirs in our words, ``theirs`` in their own."""

    external_id: str
    title: str
    theirs: str
    status: str
    body: str = ""
    url: str = ""
    labels: Sequence[str] = ()
    assignee: str = ""
    author: str = ""
    milestone: str = ""
    priority: str = ""
    created_at: str | None = None
    updated_at: str | None = None

    @property
    def digest(self) -> str:
        """The same as long as nothing of it changes."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True, default=list).encode()).hexdigest()


def tidy(task: TrackedTask, statuses: Mapping[str, str]) -> TrackedTask:
    """Return the task within its limits and masked; ``statuses`` (theirs in lower case -> ours) decides before all.

    Raises :class:`NoTask` for one without an id.
    """
    if not task.external_id:
        raise NoTask("it has no id")
    return replace(
        task,
        external_id=short(task.external_id, 100),
        title=short(masked(task.title), MOST_TITLE) or "(no title)",
        theirs=short(task.theirs, MOST_NAME),
        status=statuses.get(task.theirs.lower(), task.status),
        body=clipped(masked(clean(task.body)), MOST_BODY),
        url=task.url if task.url.startswith(("https://", "http://")) and len(task.url) <= MOST_URL else "",
        labels=sorted({short(label, MOST_NAME) for label in task.labels if label})[:MOST_LABELS],
        assignee=short(task.assignee, MOST_NAME),
        author=short(task.author, MOST_NAME),
        milestone=short(task.milestone, MOST_NAME),
        priority=short(task.priority, MOST_NAME),
    )


def quoted(title: str, body: str) -> str:
    """Return a task as quoted lines for a prompt: no line of it can look like the end of the quotation."""
    return "\n".join(f"> {line}" for line in f"{title}\n\n{body}".splitlines())


def clean(text: Any) -> str:
    """Return text without what PostgreSQL cannot hold; empty for what is no text."""
    if not isinstance(text, str):
        return ""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def short(text: str, most: int) -> str:
    """Return one line of at most ``most`` characters."""
    return clipped(" ".join(clean(text).split()), most)


def clipped(text: str, most: int) -> str:
    """Return at most ``most`` characters; what was cut ends in three dots."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def moment(value: Any) -> str | None:
    """Return a moment as RFC 3339 in UTC; None for what is none."""
    if not isinstance(value, str) or not 10 <= len(value) <= 40:
        return None
    text = value.replace("Z", "+00:00")
    if len(text) > 5 and text[-5] in "+-" and text[-3] != ":":  # Jira: +0000
        text = f"{text[:-2]}:{text[-2:]}"
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    try:
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC).isoformat()
    except OverflowError:
        return None


def part(value: Any, *names: str) -> Any:
    """Return what lies under ``names`` in nested objects; None where one of them is missing."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def text_of(value: Any, *names: str) -> str:
    """As :func:`part`, as text; numbers become text, anything else is empty."""
    found = part(value, *names)
    if isinstance(found, int) and not isinstance(found, bool):
        return str(found)
    return found if isinstance(found, str) else ""


def names_in(values: Any, name: str) -> Iterable[str]:
    """Return the texts of a list: texts as they are, of objects what is under ``name``."""
    for value in values if isinstance(values, list) else ():
        yield value if isinstance(value, str) else text_of(value, name)
