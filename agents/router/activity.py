"""LLMRouterActivity: a workflow that makes a workflow of a sentence, to be looked at or started by what comes after.

Source: contract-router 1.2, 1.5. Open questions fail the state: a workflow has nobody to ask.
"""

import asyncio
from typing import Any

from pydantic import Field

from agents.router.routing import MAX_MESSAGE, MessageRefused, route
from workflows.activities.context import ActivityContext
from workflows.activities.registry import activity
from workflows.activities.shapes import TAKES_SECRETS, Fields
from workflows.errors import InvalidInput, PermanentError


class UnclearRequest(PermanentError):
    """The message leaves something open; the error lists the questions."""

    name = "UnclearRequest"


class LLMRouterInput(Fields):
    """The request."""

    message: str = Field(min_length=1, max_length=MAX_MESSAGE, description="What should happen, and how often")
    context: str | dict[str, Any] | None = Field(default=None, description="More text about it, or values by name")
    memory_context: dict[str, Any] | None = Field(default=None, description="Output of RetrieveMemoryActivity")
    auth_token: str | None = Field(
        default=None,
        max_length=8192,
        description="Bearer token for the model's server, as a secret:<id> handle; left out, the operator's",
        json_schema_extra=TAKES_SECRETS,
    )


class LLMRouterOutput(Fields):
    """One of ``spec`` and ``cronSpec``."""

    is_cron: bool = Field(description="Whether it is to run again and again")
    spec: dict[str, Any] | None = Field(default=None, description="The WorkflowSpec, if it is not")
    cron_spec: dict[str, Any] | None = Field(default=None, description="The CronWorkflowSpec, if it is")
    source: str = Field(description="llm, or fallback for what was read from the words alone")
    explanation: list[dict[str, str]] = Field(description="Why it is as it is: {subject, text}")
    warnings: list[str] = Field(description="What should be looked at")


@activity(
    "LLMRouterActivity", category="workflow", timeout="5m", is_flaky=True, max_attempts=2, backoff=2.0, internal=True
)
async def route_message(input: LLMRouterInput, context: ActivityContext) -> LLMRouterOutput:
    """Turns a sentence into a WorkflowSpec or CronWorkflowSpec; runs nothing."""
    try:
        routed = await asyncio.to_thread(
            route,
            input.message,
            context=input.context,
            customer=context.identity.customer,
            memory=input.memory_context,
            auth_token=input.auth_token or "",
        )
    except MessageRefused as refused:
        raise InvalidInput(f"{refused.field}: {refused}") from None
    document = routed.document
    if document is None:
        raise UnclearRequest("; ".join(question.text for question in routed.questions))
    schedule = f", {document['schedule']} {document['timezone']}" if routed.is_cron else ""
    context.info(f"{routed.name}{schedule}: {len(document['states'])} states", source=routed.source)
    for warning in routed.warnings:
        context.warn(warning)
    return LLMRouterOutput(
        is_cron=routed.is_cron,
        spec=routed.spec,
        cron_spec=routed.cron_spec,
        source=routed.source,
        explanation=[note.as_json() for note in routed.explanation],
        warnings=routed.warnings,
    )
