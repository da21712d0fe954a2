"""RetrieveMemoryActivity: skills, lessons and references that may help, from the knowledge service if there is one.

What comes back is text that others wrote: it is masked, bounded, and handed on as data, never as an instruction.
Sources: contract-activities 11, subsystem-memory 3.7 and 5.
"""

import hashlib
from collections.abc import Iterable
from typing import Any, Literal

from pydantic import Field

from memory import service
from workflows.activities.context import ActivityContext
from workflows.activities.registry import activity
from workflows.activities.shapes import Fields
from workflows.errors import InvalidInput, WorkflowError
from workflows.secret_texts import masked

BUDGET_TOKENS = 8192
NOT_CONFIGURED = "no memory service is configured (POIMEN_MEMORY_URL is not set)"

Scope = Literal["skills", "lessons", "references", "all"]
Level = Literal["L1", "L2", "R"]
LEVELS: dict[Scope, tuple[Level, ...]] = {
    "skills": (),
    "lessons": ("L1", "L2"),
    "references": ("R",),
    "all": ("L1", "L2", "R"),
}
_WIRE_SCOPE = {"lessons": "learned", "references": "reference", "all": "all"}


class RetrieveMemoryInput(Fields):
    """What to look for."""

    query: str = Field(
        min_length=1, max_length=8000, description="What to look for, in words", examples=["go test fails in CI"]
    )
    project: str = Field(default="poimen", min_length=1, max_length=200, description="The project to look in")
    scope: Scope = Field(default="all", description="Which kinds to return")
    limit: int = Field(default=10, ge=1, le=100, description="At most so many of each kind")
    level_filter: list[Level] | None = Field(
        default=None, description="Only these levels; left out, L1 and L2 for lessons, R for references"
    )
    tool: str | None = Field(default=None, max_length=200, description="The tool that the knowledge is for")
    task: str | None = Field(
        default=None, max_length=2000, description="The task that it is for; left out, the query says it"
    )


class Skill(Fields):
    """A skill that may help."""

    name: str = Field(description="Its name")
    description: str = Field(default="", description="What it does")
    why: str | None = Field(default=None, description="Why it may help here")


class Lesson(Fields):
    """Something that was learned."""

    id: str = Field(description="Its id; ctx- and a hash where the service names none")
    text: str = Field(description="The lesson; untrusted text")
    level: str = Field(description="L1 or L2")
    score: float = Field(description="How well it fits, 0 to 1")
    breadcrumb: str | None = Field(default=None, description="Where it stands in the vault")


class Reference(Fields):
    """A passage of a reference document."""

    id: str = Field(description="Its id")
    text: str = Field(description="The passage; untrusted text")
    score: float = Field(description="How well it fits, 0 to 1")
    breadcrumb: str | None = Field(default=None, description="Where it stands in the vault")


class Budget(Fields):
    """Tokens of the context."""

    requested: int = Field(default=0, description="Tokens asked for")
    used: int = Field(default=0, description="Tokens filled")


class RetrieveMemoryOutput(Fields):
    """What is known."""

    skills: list[Skill] = Field(description="Skills that may help")
    lessons: list[Lesson] = Field(description="Lessons, the best first")
    references: list[Reference] = Field(description="Passages of reference documents, the best first")
    total_results: int = Field(description="How many there are of all kinds")
    budget: Budget = Field(description="Tokens of the context")
    degraded: str | None = Field(
        default=None, description="Why there may be more than this: no service is configured, or part of it failed"
    )


@activity(
    "RetrieveMemoryActivity",
    category="memory",
    timeout="30s",
    is_flaky=True,
    max_attempts=2,
    backoff=1.5,
    notes="Without a memory service it returns nothing and says why in degraded.",
)
async def retrieve_memory(input: RetrieveMemoryInput, context: ActivityContext) -> RetrieveMemoryOutput:
    """Finds skills, lessons and reference texts from earlier work that may help with a task."""
    levels = _levels(input)
    found = _Found(input.limit)
    if not service.is_configured():
        context.warn(NOT_CONFIGURED)
        found.problems.append(NOT_CONFIGURED)
        return found.output()
    failures: list[WorkflowError] = []
    asked = 0
    if input.scope in ("skills", "all") or input.tool or input.task:
        asked += 1
        try:
            found.add_context(await service.context(_context_body(input)), input.scope, levels)
        except WorkflowError as error:
            failures.append(error)
            context.warn(f"no context: {error.message}")
    if levels:
        asked += 1
        try:
            found.add_results(await service.query(_query_body(input, levels)), levels)
        except WorkflowError as error:
            failures.append(error)
            context.warn(f"no search: {error.message}")
    if len(failures) == asked:
        raise next((error for error in failures if error.retryable), failures[0])
    found.problems += [error.message for error in failures]
    output = found.output()
    context.info("retrieved", results=output.total_results)
    return output


def _levels(input: RetrieveMemoryInput) -> tuple[Level, ...]:
    """The levels to search: those of the scope, narrowed by the filter."""
    allowed = LEVELS[input.scope]
    if input.level_filter is None or not allowed:
        return allowed
    levels = tuple(level for level in allowed if level in input.level_filter)
    if not levels:
        raise InvalidInput(
            f"levelFilter: the scope {input.scope} holds {' and '.join(allowed)}, and the filter none of them"
        )
    return levels


def _context_body(input: RetrieveMemoryInput) -> dict[str, Any]:
    return {
        "project": input.project,
        "tool": masked(input.tool or ""),
        "task": masked(input.task or input.query),
        "signature_source": masked(input.query),
        "scope": "tool_context",
        "budget": BUDGET_TOKENS,
    }


def _query_body(input: RetrieveMemoryInput, levels: tuple[Level, ...]) -> dict[str, Any]:
    return {
        "project": input.project,
        "query": masked(input.query),
        "level_filter": list(levels),
        "limit": input.limit,
        "scope": _WIRE_SCOPE[input.scope],
    }


class _Found:
    """What has come in so far: each lesson and passage once, by id and by its words."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._skills: dict[str, Skill] = {}
        self._lessons: dict[str, Lesson] = {}
        self._references: dict[str, Reference] = {}
        self._ids: set[str] = set()
        self._budget = Budget()
        self.problems: list[str] = []

    def add_context(self, answer: service.ContextAnswer, scope: Scope, levels: tuple[Level, ...]) -> None:
        """Take what the scope lets through."""
        self._budget = Budget(requested=answer.budget.requested, used=answer.budget.used)
        if answer.budget.degradation:
            self.problems.append(masked(answer.budget.degradation[:200]))
        if scope in ("skills", "all"):
            for skill in answer.skills:
                if skill.name:
                    self._skills.setdefault(
                        skill.name.casefold(),
                        Skill(
                            name=masked(skill.name),
                            description=masked(skill.description),
                            why=masked(skill.why) or None,
                        ),
                    )
        for lesson in sorted(answer.lessons, key=lambda lesson: (lesson.tier, -lesson.score)):
            self._add(lesson.id, lesson.level, lesson.score, lesson.text, "", levels)

    def add_results(self, answer: service.QueryAnswer, levels: tuple[Level, ...]) -> None:
        """Take what a search found."""
        for result in answer.results:
            self._add(result.id, result.level, result.score, result.text, result.breadcrumb, levels)

    def _add(self, id: str, level: str, score: float, text: str, breadcrumb: str, levels: Iterable[str]) -> None:
        level = "R" if level == "reference" else level
        key = _words(text)
        if level not in levels or not key or (id and id in self._ids):
            return
        known = self._references if level == "R" else self._lessons
        if (before := known.get(key)) is not None:  # the same words again, perhaps with what was missing
            if id and before.id.startswith("ctx-"):
                before.id = id
            before.breadcrumb = before.breadcrumb or masked(breadcrumb) or None
            return
        self._ids.add(id)
        name = id or f"ctx-{hashlib.sha256(key.encode()).hexdigest()[:12]}"
        shown, place = masked(text), masked(breadcrumb) or None
        if level == "R":
            self._references[key] = Reference(id=name, text=shown, score=score, breadcrumb=place)
        else:
            self._lessons[key] = Lesson(id=name, text=shown, level=level, score=score, breadcrumb=place)

    def output(self) -> RetrieveMemoryOutput:
        """Return all of it, cut to the limit of each kind."""
        skills = list(self._skills.values())[: self._limit]
        lessons = list(self._lessons.values())[: self._limit]
        references = list(self._references.values())[: self._limit]
        return RetrieveMemoryOutput(
            skills=skills,
            lessons=lessons,
            references=references,
            total_results=len(skills) + len(lessons) + len(references),
            budget=self._budget,
            degraded="; ".join(self.problems) or None,
        )


def _words(text: str) -> str:
    """``text`` as it counts for being the same: without case and differences of white space."""
    return " ".join(text.split()).casefold()
