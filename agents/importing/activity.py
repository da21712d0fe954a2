"""ImportTasksActivity: tasks of GitHub, Linear or Jira, from the API or from a file, written down once each.

Sources: subsystem-external 5 and 6, contract-activities 16.
"""

import asyncio
import json
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any, Literal
from uuid import UUID

from pydantic import Field

from agents.importing import github, jira, linear, upsert
from agents.importing.calls import Tracker
from agents.importing.tasks import NoTask, TrackedTask, moment, tidy
from workflows.activities.context import ActivityContext
from workflows.activities.database import borrowed
from workflows.activities.paths import Territory
from workflows.activities.registry import activity
from workflows.activities.shapes import TAKES_SECRETS, Fields
from workflows.errors import InvalidInput, WorkflowError

MOST_TASKS = 10_000
MOST_FILE_BYTES = 32 * 1024 * 1024
MOST_CHANGES = 200
MOST_PAGES = 1_000
MOST_SKIPPED = 20

_SOURCES: dict[str, ModuleType] = {"github": github, "linear": linear, "jira": jira}
Status = Literal["open", "in_progress", "done", "cancelled"]


class ImportTasksInput(Fields):
    """Whose tasks, and from where."""

    source: Literal["github", "linear", "jira"] = Field(description="The tracker")
    project: str = Field(
        min_length=1, max_length=201, description="owner/name, the key of a team (Linear) or of a project (Jira)",
        examples=["octo-org/octo-repo", "ENG"],
    )  # fmt: skip
    export_path: str | None = Field(
        default=None, description="JSON file of the tracker's answers or export; left out, its API is asked"
    )
    base_url: str | None = Field(
        default=None, max_length=1000, description="Address of the API, for servers of one's own and for Jira"
    )
    token: str | None = Field(
        default=None, max_length=8192, description="Token, as a secret:<id> handle; for Jira's cloud mail:token",
        json_schema_extra=TAKES_SECRETS,
    )  # fmt: skip
    since: str | None = Field(default=None, max_length=40, description="Only what changed since then (RFC 3339)")
    only_changed: bool = Field(
        default=True, description="Without since: only what changed since the newest change that was imported"
    )
    limit: int = Field(default=1000, ge=1, le=MOST_TASKS, description="At most so many tasks")
    status_map: dict[str, Status] = Field(
        default={}, max_length=100, description="Their words for a status, each with ours, before what is usual"
    )


class TaskChange(Fields):
    """A task that is new or was changed."""

    external_id: str = Field(description="Its id in the tracker")
    title: str = Field(description="Its title; untrusted text")
    change: Literal["created", "updated"] = Field(description="Whether it is new")
    status: Status = Field(description="Where it stands in the tracker, in our words")
    status_before: Status | None = Field(default=None, description="Where it stood before")


class ImportTasksOutput(Fields):
    """What the import changed."""

    fetched: int = Field(description="How many tasks were read")
    created: int = Field(description="How many are new")
    updated: int = Field(description="How many were changed")
    unchanged: int = Field(description="How many were as they are known")
    skipped: int = Field(description="How many were no tasks, such as pull requests, or could not be read")
    is_complete: bool = Field(description="Whether all there were have been read: false if limit ended it")
    changes: list[TaskChange] = Field(description="What is new and what was changed, the first 200")
    problems: list[str] = Field(description="Why tasks could not be read, the first 20")


@activity(
    "ImportTasksActivity",
    category="integration",
    timeout="10m",
    is_flaky=True,
    max_attempts=3,
    backoff=2.0,
    notes="Importing again changes only what the tracker changed. The status set here is never touched.",
    keywords=("import issues", "import tasks", "import tickets", "sync issues"),
)
def import_tasks(input: ImportTasksInput, context: ActivityContext) -> ImportTasksOutput:
    """Imports tasks of GitHub, Linear or Jira, from their API or from an exported file."""
    adapter = _SOURCES[input.source]
    customer, execution = UUID(context.identity.customer), UUID(context.identity.execution)
    project = input.project if input.source == "github" else input.project.upper()
    reading = _Reading(input, context, adapter)
    if input.export_path is not None:
        reading.take(adapter.exported(_file(input.export_path, context)))
    else:
        since = _since(input)
        if since is None and input.only_changed:
            with borrowed():
                since = upsert.latest(customer, input.source, project)
        asyncio.run(reading.ask(project, since))
    written = upsert.Written()
    context.check_cancelled()
    with borrowed():
        upsert.write(customer, input.source, project, reading.tasks, execution=execution, into=written)
    context.info(
        f"{len(reading.tasks)} tasks of {input.source} {project}: {written.created} new, {written.updated} changed",
        unchanged=written.unchanged, skipped=reading.skipped,
    )  # fmt: skip
    return ImportTasksOutput(
        fetched=len(reading.tasks),
        created=written.created,
        updated=written.updated,
        unchanged=written.unchanged,
        skipped=reading.skipped,
        is_complete=reading.is_complete,
        changes=[_shown(change) for change in written.changes[:MOST_CHANGES]],
        problems=reading.problems,
    )


class _Reading:
    """Tasks as they come in, up to the limit."""

    def __init__(self, input: ImportTasksInput, context: ActivityContext, adapter: ModuleType) -> None:
        self._input = input
        self._context = context
        self._adapter = adapter
        self._statuses: Mapping[str, str] = {theirs.lower(): ours for theirs, ours in input.status_map.items()}
        self.tasks: list[TrackedTask] = []
        self.skipped = 0
        self.problems: list[str] = []
        self.is_complete = True

    def take(self, items: Iterable[Any]) -> bool:
        """Take tasks out of what a tracker says; returns whether there is room for more."""
        for item in items:
            if len(self.tasks) >= self._input.limit:
                self.is_complete = False
                return False
            try:
                task = self._adapter.task_of(item)
                if task is not None:
                    self.tasks.append(tidy(task, self._statuses))
                    continue
            except NoTask as wrong:
                if len(self.problems) < MOST_SKIPPED:
                    self.problems.append(f"item {len(self.tasks) + self.skipped + 1}: {wrong}")
            self.skipped += 1
        return True

    async def ask(self, project: str, since: str | None) -> None:
        """Read pages of the API until there are no more, or enough."""
        base = (self._input.base_url or self._adapter.DEFAULT_URL).rstrip("/")
        if not base:
            raise InvalidInput("baseUrl: every site of Jira has its own, such as https://example.atlassian.net")
        if "?" in base or "#" in base or "@" in base:
            raise InvalidInput("baseUrl: expected an address without user name, query and fragment")
        tracker = Tracker(base, self._adapter.headers(self._input.token or ""), self._context.warn)
        number = 0
        async for page in self._adapter.pages(tracker, project, since):
            self._context.check_cancelled()
            number += 1
            if not self.take(page):
                if self._adapter.NEWEST_FIRST and self._input.since is None and self._input.only_changed:
                    raise InvalidInput(
                        f"limit: there are more than {self._input.limit} tasks, the newest come first, and the next "
                        "import would begin after them: raise limit, or set since or onlyChanged: false"
                    )
                return
            self._context.progress(min(99.0, 100 * len(self.tasks) / self._input.limit), f"{len(self.tasks)} tasks")
            if number >= MOST_PAGES:
                self.is_complete = False
                return


def _since(input: ImportTasksInput) -> str | None:
    if input.since is None:
        return None
    at = moment(input.since)
    if at is None:
        raise InvalidInput("since: expected a moment such as 2026-01-31T00:00:00Z")
    return at


def _file(path: str, context: ActivityContext) -> Any:
    found = Territory.of(context).confine(path, field="exportPath")
    try:
        if not found.is_file() or found.stat().st_size > MOST_FILE_BYTES:
            raise InvalidInput(f"exportPath: expected a file of at most {MOST_FILE_BYTES // 2**20} MiB")
        return json.loads(found.read_bytes())
    except OSError as error:
        raise WorkflowError(f"exportPath: the file cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise InvalidInput("exportPath: the file is no JSON") from None


def _shown(change: upsert.Change) -> TaskChange:
    return TaskChange.model_validate(
        {
            "externalId": change.external_id,
            "title": change.title,
            "change": "created" if change.is_new else "updated",
            "status": change.status,
            "statusBefore": change.status_before,
        }
    )
