"""Issues of Jira, from the REST API of its cloud or of a server of one's own, or from a file of such answers."""

import re
from base64 import b64encode
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from agents.importing.calls import Tracker, TrackerError, expect_list
from agents.importing.tasks import NoTask, TrackedTask, moment, names_in, part, text_of
from workflows.errors import InvalidInput

DEFAULT_URL = ""  # there is none: every site has its own
NEWEST_FIRST = False
CLOUD = ".atlassian.net"
MOST_NODES = 20_000
_PROJECT = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,50}")
_FIELDS = "summary,description,status,resolution,labels,assignee,reporter,priority,fixVersions,created,updated"
STATUS = {"new": "open", "undefined": "open", "indeterminate": "in_progress", "done": "done"}
_NOT_DONE = frozenset({"won't do", "won't fix", "duplicate", "cannot reproduce", "declined", "invalid"})


def headers(token: str) -> dict[str, str]:
    """Return what goes with every request: ``mail:token`` for the cloud, a personal access token elsewhere."""
    if not token:
        return {}
    if ":" in token:
        return {"Authorization": "Basic " + b64encode(token.encode()).decode()}
    return {"Authorization": f"Bearer {token}"}


async def pages(tracker: Tracker, project: str, since: str | None) -> AsyncIterator[list[Any]]:
    """Yield the issues of a project, known by its key, a page at a time, the longest unchanged first."""
    if not _PROJECT.fullmatch(project):
        raise InvalidInput("project: expected the key of a project, such as OPS, for Jira")
    wanted = f'project = "{project}"'
    if since:  # to the minute, in the zone of the user who asks: a day earlier is surely early enough
        wanted += f' AND updated >= "{since[:10]}"'
    query = {"jql": f"{wanted} ORDER BY updated ASC", "maxResults": "100", "fields": _FIELDS}
    if (urlsplit(tracker.base_url).hostname or "").endswith(CLOUD):
        following = _cloud(tracker, query)
    else:
        following = _server(tracker, query)
    async for page in following:
        yield page


async def _cloud(tracker: Tracker, query: dict[str, str]) -> AsyncIterator[list[Any]]:
    token = ""
    seen: set[str] = set()
    while True:
        more = {"nextPageToken": token} if token else {}
        answer, _ = await tracker.ask("GET", f"{tracker.base_url}/rest/api/3/search/jql?{urlencode(query | more)}")
        yield expect_list(part(answer, "issues"), "a list of issues")
        token = text_of(answer, "nextPageToken")
        if not token or part(answer, "isLast") is True:
            return
        if token in seen:
            raise TrackerError("the tracker names a page as the next one that was read already")
        seen.add(token)


async def _server(tracker: Tracker, query: dict[str, str]) -> AsyncIterator[list[Any]]:
    start = 0
    while True:
        url = f"{tracker.base_url}/rest/api/2/search?{urlencode(query | {'startAt': str(start)})}"
        answer, _ = await tracker.ask("GET", url)
        issues = expect_list(part(answer, "issues"), "a list of issues")
        yield issues
        start += len(issues)
        total = part(answer, "total")
        if not issues or not isinstance(total, int) or start >= total:
            return


def exported(data: Any) -> list[Any]:
    """Return the issues in a file."""
    return expect_list(data.get("issues") if isinstance(data, dict) else data, "issues, or a list of issues")


def task_of(item: Any) -> TrackedTask | None:
    """Return an issue as a task. Raises :class:`NoTask`."""
    if not isinstance(item, dict):
        raise NoTask("it is no object")
    fields = part(item, "fields")
    key = text_of(item, "key")
    resolution = text_of(fields, "resolution", "name")
    status = STATUS.get(text_of(fields, "status", "statusCategory", "key"), "open")
    if status == "done" and resolution.lower() in _NOT_DONE:
        status = "cancelled"
    body = part(fields, "description")
    place = urlsplit(text_of(item, "self"))
    return TrackedTask(
        external_id=key,
        title=text_of(fields, "summary"),
        theirs=text_of(fields, "status", "name"),
        status=status,
        body=_text(body) if isinstance(body, dict) else text_of(fields, "description"),
        url=f"{place.scheme}://{place.netloc}/browse/{quote(key)}" if place.netloc and key else "",
        labels=list(names_in(part(fields, "labels"), "name")),
        assignee=text_of(fields, "assignee", "displayName"),
        author=text_of(fields, "reporter", "displayName"),
        milestone=next(iter(names_in(part(fields, "fixVersions"), "name")), ""),
        priority=text_of(fields, "priority", "name"),
        created_at=moment(part(fields, "created")),
        updated_at=moment(part(fields, "updated")),
    )


def _text(document: Any) -> str:
    """The words of an Atlassian document: text nodes in their order, a line for each block. Without recursion."""
    parts: list[str] = []
    stack: list[Any] = [document]
    for _ in range(MOST_NODES):
        if not stack:
            break
        node = stack.pop()
        if isinstance(node, str):
            parts.append(node)
            continue
        parts.append(text_of(node, "text"))
        if text_of(node, "type") in ("paragraph", "heading", "listItem", "codeBlock", "hardBreak", "tableRow"):
            stack.append("\n")
        content = part(node, "content")
        stack.extend(reversed(content if isinstance(content, list) else []))
    return "".join(parts).strip()
