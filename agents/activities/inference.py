"""LLMInferenceActivity: one question to a language model (contract-activities 10)."""

from typing import Any

from django.conf import settings
from pydantic import Field

from agents import llm
from agents.activities.live_text import LiveText
from agents.activities.shapes import LLM_ERRORS, MOST_PROMPT, PlainFields, call_context
from agents.llm import ChatRequest, Completion
from workflows.activities.context import ActivityContext
from workflows.activities.registry import activity
from workflows.activities.shapes import TAKES_SECRETS

ERRORS = LLM_ERRORS
_NOT_WHOLE = {
    "length": "the answer was cut off: it is longer than max_tokens, or than the model can answer",
    "content_filter": "a part of the answer was withheld by the server's content filter",
}


class LLMInferenceInput(PlainFields):
    """The question."""

    model: str = Field(
        min_length=1, max_length=200, description="Name of the model", examples=["reasoning", "qwen2.5:3b"]
    )
    system_prompt: str = Field(default="", max_length=MOST_PROMPT, description="What the model is to be and to obey")
    user_prompt: str = Field(min_length=1, max_length=MOST_PROMPT, description="The question")
    temperature: float = Field(default=0.7, ge=0, le=2, description="0: the likeliest answer; higher: more varied ones")
    max_tokens: int | None = Field(default=None, ge=1, le=1_000_000, description="Longest answer, in tokens")
    json_schema: dict[str, Any] | None = Field(
        default=None, description="JSON Schema that the answer must fit; then parsed holds it"
    )
    stream: bool = Field(default=False, description="Show the answer in the live log while it is written")
    reasoning_effort: str | None = Field(
        default=None, max_length=16, description="How long the model may think, where it can be told: low, medium, high"
    )
    auth_token: str | None = Field(
        default=None,
        max_length=8192,
        description="Bearer token for the model's server, as a secret:<id> handle; left out, the operator's",
        json_schema_extra=TAKES_SECRETS,
    )


class LLMInferenceOutput(PlainFields):
    """The answer."""

    response: str = Field(description="What the model wrote")
    model: str = Field(description="The model that answered")
    stop_reason: str = Field(description="Why it stopped, as its server says: stop, length, ...")
    tokens_used: int = Field(description="Tokens of question and answer together")
    parsed: Any = Field(default=None, description="The answer as JSON; only with json_schema")
    error: str | None = Field(
        default=None, description="Why the answer is not whole, if it is not; a call that fails fails the state"
    )


def _who_answers(input: LLMInferenceInput) -> list[str] | None:
    """What an answer depends on beside the question: the server, and the model behind the name.

    An answer may be kept although another would read otherwise: a state that says so wants the same one again.
    """
    known = settings.POIMEN_LLM_MODELS.get(input.model)
    return [settings.LOCAL_LLM_BASE_URL, known] if known else None


@activity(
    "LLMInferenceActivity", category="llm", timeout="120s", is_flaky=True, max_attempts=2, backoff=2.0,
    cacheable=_who_answers,
    notes="Needs LOCAL_LLM_BASE_URL. Waits without holding a worker.",
)  # fmt: skip
async def llm_inference(input: LLMInferenceInput, context: ActivityContext) -> LLMInferenceOutput:
    """Asks a language model one question."""
    live = LiveText(context) if input.stream else None
    completion = await llm.complete(
        ChatRequest(
            model=input.model,
            system=input.system_prompt,
            messages=[{"role": "user", "content": input.user_prompt}],
            temperature=input.temperature,
            max_tokens=input.max_tokens,
            schema=input.json_schema,
            reasoning_effort=input.reasoning_effort,
            auth_token=input.auth_token or "",
            on_text=live.add if live else None,
            on_warning=context.warn,
            context=call_context(context, "inference"),
        )
    )
    if live is not None:
        live.end()
    _tell(context, completion)
    return LLMInferenceOutput(
        response=completion.text,
        model=completion.model,
        stop_reason=completion.finish_reason,
        tokens_used=completion.usage.total,
        parsed=completion.parsed,
        error=_NOT_WHOLE.get(completion.finish_reason),
    )


def _tell(context: ActivityContext, completion: Completion) -> None:
    """Say in the log what the call used."""
    usage = completion.usage
    cost = {"cost": f"{completion.cost:f} {completion.currency}"} if completion.cost is not None else {}
    again = " before; its answer is used again" if completion.is_reused else ""
    context.info(
        f"{completion.model} answered{again}",
        promptTokens=usage.prompt,
        completionTokens=usage.completion,
        **({"estimated": True} if usage.is_estimated else {}),
        **cost,
        exchange=completion.exchange,
    )
    if completion.finish_reason in _NOT_WHOLE:
        context.warn(_NOT_WHOLE[completion.finish_reason])
