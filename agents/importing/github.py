"""Issues of GitHub, from its REST API, from a file of those answers, or from ``gh issue list --json``."""

import re
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote, urlencode, urljoin

from agents.importing.calls import Tracker, TrackerError, expect_list
from agents.importing.tasks import NoTask, TrackedTask, moment, names_in, part, text_of
from workflows.errors import InvalidInput

DEFAULT_URL = "https://api.github.com"
NEWEST_FIRST = False
_PROJECT = re.compile(r"[A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100}")
_NEXT = re.compile(r'<([^>]+)>\s*;\s*rel="next"')


def headers(token: str) -> dict[str, str]:
    """Return what goes with every request."""
    said = {"X-GitHub-Api-Version": "2022-11-28", "Accept": "application/vnd.github+json"}
    return said | ({"Authorization": f"Bearer {token}"} if token else {})


async def pages(tracker: Tracker, project: str, since: str | None) -> AsyncIterator[list[Any]]:
    """Yield the issues of ``owner/name`` a page at a time, the longest unchanged first."""
    if not _PROJECT.fullmatch(project) or ".." in project:
        raise InvalidInput("project: expected owner/name for GitHub")
    query = {"state": "all", "per_page": "100", "sort": "updated", "direction": "asc"}
    if since:
        query["since"] = since
    url: str | None = f"{tracker.base_url}/repos/{quote(project)}/issues?{urlencode(query)}"
    seen: set[str] = set()
    while url:
        if url in seen:
            raise TrackerError("the tracker names a page as the next one that was read already")
        seen.add(url)
        answer, said = await tracker.ask("GET", url)
        yield expect_list(answer, "a list of issues")
        found = _NEXT.search(said.get("link", ""))
        url = urljoin(url, found[1]) if found else None


def exported(data: Any) -> list[Any]:
    """Return the issues in a file."""
    return expect_list(data, "a list of issues")


def task_of(item: Any) -> TrackedTask | None:
    """Return an issue as a task; None for a pull request. Raises :class:`NoTask`."""
    if not isinstance(item, dict):
        raise NoTask("it is no object")
    if item.get("pull_request"):
        return None
    state = text_of(item, "state").lower()
    reason = (text_of(item, "state_reason") or text_of(item, "stateReason")).lower()
    status = "open" if state != "closed" else "cancelled" if reason in ("not_planned", "duplicate") else "done"
    assignees = list(names_in(item.get("assignees"), "login"))
    return TrackedTask(
        external_id=text_of(item, "number"),
        title=text_of(item, "title"),
        theirs=f"{state} ({reason})" if reason and state == "closed" else state,
        status=status,
        body=text_of(item, "body"),
        url=text_of(item, "html_url") or text_of(item, "url"),
        labels=list(names_in(item.get("labels"), "name")),
        assignee=text_of(item, "assignee", "login") or next(iter(assignees), ""),
        author=text_of(item, "user", "login") or text_of(item, "author", "login"),
        milestone=text_of(item, "milestone", "title"),
        created_at=moment(part(item, "created_at") or part(item, "createdAt")),
        updated_at=moment(part(item, "updated_at") or part(item, "updatedAt")),
    )
