"""Issues of Linear, from its GraphQL API or from a file of such answers."""

import re
from collections.abc import AsyncIterator
from typing import Any

from agents.importing.calls import Tracker, TrackerError, expect_list
from agents.importing.tasks import NoTask, TrackedTask, moment, names_in, part, text_of
from workflows.errors import InvalidInput

DEFAULT_URL = "https://api.linear.app"
NEWEST_FIRST = True
_PROJECT = re.compile(r"[A-Za-z0-9]{1,20}")
_QUERY = """
query($after: String, $filter: IssueFilter) {
  issues(first: 100, after: $after, filter: $filter, orderBy: updatedAt, includeArchived: true) {
    nodes {
      identifier title description url priorityLabel createdAt updatedAt
      state { name type } labels { nodes { name } } assignee { name } creator { name } projectMilestone { name }
    }
    pageInfo { hasNextPage endCursor }
  }
}
"""
STATUS = {
    "triage": "open", "backlog": "open", "unstarted": "open", "started": "in_progress", "completed": "done",
    "canceled": "cancelled", "duplicate": "cancelled",
}  # fmt: skip


def headers(token: str) -> dict[str, str]:
    """Return what goes with every request: personal keys as they are, tokens of OAuth as bearers."""
    if not token:
        return {}
    return {"Authorization": token if token.startswith(("lin_api_", "Bearer ")) else f"Bearer {token}"}


async def pages(tracker: Tracker, project: str, since: str | None) -> AsyncIterator[list[Any]]:
    """Yield the issues of a team, known by its key (``ENG``), a page at a time."""
    if not _PROJECT.fullmatch(project):
        raise InvalidInput("project: expected the key of a team, such as ENG, for Linear")
    wanted: dict[str, Any] = {"team": {"key": {"eq": project.upper()}}}
    if since:
        wanted["updatedAt"] = {"gte": since}
    after: str | None = None
    seen: set[str] = set()
    while True:
        body = {"query": _QUERY, "variables": {"after": after, "filter": wanted}}
        answer, _ = await tracker.ask("POST", f"{tracker.base_url}/graphql", body)
        if part(answer, "errors"):
            codes = {
                text_of(error, "extensions", "code") or "unknown" for error in expect_list(answer["errors"], "a list")
            }
            raise TrackerError(f"the tracker answered with errors: {', '.join(sorted(codes))[:200]}")
        found = part(answer, "data", "issues")
        yield expect_list(part(found, "nodes"), "a list of issues")
        if part(found, "pageInfo", "hasNextPage") is not True:
            return
        after = text_of(found, "pageInfo", "endCursor")
        if not after or after in seen:
            raise TrackerError("the tracker names a page as the next one that was read already")
        seen.add(after)


def exported(data: Any) -> list[Any]:
    """Return the issues in a file."""
    nodes = part(data, "data", "issues", "nodes") if isinstance(data, dict) else data
    return expect_list(nodes, "data.issues.nodes, or a list of issues")


def task_of(item: Any) -> TrackedTask | None:
    """Return an issue as a task. Raises :class:`NoTask`."""
    if not isinstance(item, dict):
        raise NoTask("it is no object")
    labels = part(item, "labels", "nodes") if isinstance(item.get("labels"), dict) else item.get("labels")
    return TrackedTask(
        external_id=text_of(item, "identifier"),
        title=text_of(item, "title"),
        theirs=text_of(item, "state", "name"),
        status=STATUS.get(text_of(item, "state", "type"), "open"),
        body=text_of(item, "description"),
        url=text_of(item, "url"),
        labels=list(names_in(labels, "name")),
        assignee=text_of(item, "assignee", "name"),
        author=text_of(item, "creator", "name"),
        milestone=text_of(item, "projectMilestone", "name"),
        priority=text_of(item, "priorityLabel"),
        created_at=moment(part(item, "createdAt")),
        updated_at=moment(part(item, "updatedAt")),
    )
