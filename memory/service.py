"""The client of the knowledge service: what it is asked, what it may answer, and what its failures mean.

Refuses answers that are no such thing, however they are wrong, and never repeats a body of the service in an error.
Source: subsystem-memory 3.1.
"""

import asyncio
import json
import time
from typing import Annotated, Any, TypeVar

from django.conf import settings
from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from workflows.activities import pinned_http, retry_after
from workflows.errors import ActivityError, PermanentError

TIMEOUT_SECONDS = 10.0
MOST_BYTES = 2 * 1024 * 1024
MOST_TEXT = 20_000  # characters of one text that are kept
MOST_ITEMS = 1_000


def _list(value: Any) -> Any:
    return [] if value is None else value


def _text(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, str):  # without what the database cannot hold
        return value[:MOST_TEXT].replace("\0", "\ufffd").encode("utf-8", "replace").decode()
    return value


Text = Annotated[str, BeforeValidator(_text)]
Score = Annotated[float, Field(allow_inf_nan=False)]
T = TypeVar("T", bound=BaseModel)


class QueryResult(BaseModel):
    """One find of a search; ``level`` is ``L1``, ``L2`` or ``R``."""

    id: Text = ""
    level: Text = ""
    score: Score = 0.0
    text: Text = ""
    breadcrumb: Text = ""


class QueryAnswer(BaseModel):
    """What ``POST /memory/query`` answers; keys that are missing count as empty, unknown ones are ignored."""

    results: Annotated[list[QueryResult], BeforeValidator(_list)] = Field(default=[], max_length=MOST_ITEMS)
    total_hits: int = 0


class ContextLesson(BaseModel):
    """A lesson for a tool and a task; ``tier`` 1 is the best fit. Older services send no ``id``."""

    id: Text = ""
    tier: int = 0
    level: Text = ""
    score: Score = 0.0
    text: Text = ""


class ContextSkill(BaseModel):
    """A skill that may help, and why."""

    name: Text = ""
    why: Text = ""
    description: Text = ""


class Budget(BaseModel):
    """Tokens asked for and filled; ``degradation`` says why there is less than there could be."""

    requested: int = 0
    used: int = 0
    dropped: int = 0
    degradation: str | None = None


class ContextAnswer(BaseModel):
    """What ``POST /memory/context`` answers."""

    tier: int = 0
    lessons: Annotated[list[ContextLesson], BeforeValidator(_list)] = Field(default=[], max_length=MOST_ITEMS)
    skills: Annotated[list[ContextSkill], BeforeValidator(_list)] = Field(default=[], max_length=MOST_ITEMS)
    budget: Budget = Budget()


class MemoryFailed(ActivityError):
    """The service could not be asked, or did not answer as it should; another attempt may help."""

    name = "MemoryFailed"


class MemoryRefused(PermanentError):
    """The service refuses the request itself: token, project or body. Asking again cannot help."""

    name = "MemoryRefused"


def is_configured() -> bool:
    """Whether there is a service to ask (``POIMEN_MEMORY_URL``)."""
    return bool(settings.POIMEN_MEMORY_URL)


async def query(body: dict[str, Any]) -> QueryAnswer:
    """Search; raises :class:`MemoryFailed` or :class:`MemoryRefused`."""
    return await _post("/memory/query", body, QueryAnswer)


async def context(body: dict[str, Any]) -> ContextAnswer:
    """Ask what is known for a tool and a task; raises :class:`MemoryFailed` or :class:`MemoryRefused`."""
    return await _post("/memory/context", body, ContextAnswer)


async def is_healthy(seconds: float = 2.0) -> bool:
    """Whether ``GET /health`` answers 200 in time; never raises for a service that does not."""
    try:
        target = await pinned_http.checked(_url("/health"), field="POIMEN_MEMORY_URL", is_trusted=True)
        answer = await pinned_http.send_once(
            "GET", target, {"User-Agent": "poimen"}, None, seconds=seconds, most_bytes=64 * 1024, shown="the service"
        )
    except (ActivityError, PermanentError):
        return False
    return answer.status == 200


async def _post(path: str, body: dict[str, Any], model: type[T]) -> T:
    answer = await _patiently(path, json.dumps(body).encode())
    if answer.status == 200:
        try:
            return model.model_validate_json(answer.body)
        except ValidationError as error:
            where = ".".join(map(str, error.errors()[0]["loc"])) or "the body"
            raise MemoryFailed(
                f"the memory service answered {path} with something else than its contract says: {where} is wrong"
            ) from None
    if answer.status in (401, 403):
        raise MemoryRefused(
            f"the memory service refuses the token or the project ({answer.status}); check POIMEN_MEMORY_TOKEN"
        )
    if pinned_http.may_help_again(answer.status):
        raise MemoryFailed(f"the memory service answered {path} with {answer.status}")
    raise MemoryRefused(f"the memory service refused {path} with {answer.status}")


async def _patiently(path: str, content: bytes) -> pinned_http.Answer:
    """Ask, and once more if the service says when to come back and that is within the time for the whole call."""
    ends_at = time.monotonic() + TIMEOUT_SECONDS
    answer = await _send(path, content, TIMEOUT_SECONDS)
    if answer.status in (429, 503):
        pause = retry_after.seconds_of(answer.response.headers.get("retry-after"))
        left = ends_at - time.monotonic()
        if pause is not None and pause < left - 1:
            await asyncio.sleep(pause)
            return await _send(path, content, ends_at - time.monotonic())
    return answer


async def _send(path: str, content: bytes, seconds: float) -> pinned_http.Answer:
    headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "poimen"}
    if settings.POIMEN_MEMORY_TOKEN:
        headers["Authorization"] = f"Bearer {settings.POIMEN_MEMORY_TOKEN}"
    try:
        target = await pinned_http.checked(_url(path), field="POIMEN_MEMORY_URL", is_trusted=True)
        return await pinned_http.send_once(
            "POST", target, headers, content, seconds=seconds, most_bytes=MOST_BYTES, shown="the memory service"
        )
    except ActivityError as error:
        raise MemoryFailed(error.message) from None


def _url(path: str) -> str:
    return f"{settings.POIMEN_MEMORY_URL.rstrip('/')}{path}"
