"""LLMBatchInferenceActivity: many questions to one model, a few of them at once (contract-activities 10)."""

import asyncio
from typing import Annotated

from pydantic import Field

from agents import llm
from agents.activities.shapes import LLM_ERRORS, MOST_PROMPT, PlainFields, call_context
from agents.llm import ChatRequest, Completion, LLMError
from workflows.activities.context import ActivityContext
from workflows.activities.registry import activity
from workflows.activities.shapes import TAKES_SECRETS
from workflows.errors import ActivityError

ERRORS = LLM_ERRORS
MOST_PROMPTS = 1000
AT_ONCE = 4


class LLMBatchInferenceInput(PlainFields):
    """The questions."""

    model: str = Field(min_length=1, max_length=200, description="Name of the model", examples=["reasoning"])
    system_prompt: str = Field(default="", max_length=MOST_PROMPT, description="What the model is to be and to obey")
    prompts: list[Annotated[str, Field(min_length=1, max_length=MOST_PROMPT)]] = Field(
        min_length=1, max_length=MOST_PROMPTS, description="The questions"
    )
    temperature: float = Field(default=0.7, ge=0, le=2, description="0: the likeliest answer; higher: more varied ones")
    max_tokens: int | None = Field(default=None, ge=1, le=1_000_000, description="Longest answer to each, in tokens")
    at_once: int = Field(default=AT_ONCE, ge=1, le=64, description="Questions that are asked at the same time")
    auth_token: str | None = Field(
        default=None,
        max_length=8192,
        description="Bearer token for the model's server, as a secret:<id> handle; left out, the operator's",
        json_schema_extra=TAKES_SECRETS,
    )


class LLMBatchInferenceOutput(PlainFields):
    """The answers, in the order of the questions."""

    responses: list[str] = Field(description="An answer to each question; empty text where there is none")
    model: str = Field(description="The model that answered")
    errors: list[str] = Field(description="What failed: prompt <number from 0>: <why>")
    tokens_used: int = Field(description="Tokens of all questions and answers together")


@activity(
    "LLMBatchInferenceActivity", category="llm", timeout="600s", is_flaky=True, max_attempts=1, backoff=2.0,
    notes="Needs LOCAL_LLM_BASE_URL. Fails only if every question does. At temperature 0 equal questions are one.",
)  # fmt: skip
async def llm_batch_inference(input: LLMBatchInferenceInput, context: ActivityContext) -> LLMBatchInferenceOutput:
    """Asks a language model many questions, a few at a time."""
    places = asyncio.Semaphore(input.at_once)
    ended = 0

    async def ask(index: int) -> Completion | LLMError:
        nonlocal ended
        async with places:
            try:
                return await llm.complete(
                    ChatRequest(
                        model=input.model,
                        system=input.system_prompt,
                        messages=[{"role": "user", "content": input.prompts[index]}],
                        temperature=input.temperature,
                        max_tokens=input.max_tokens,
                        auth_token=input.auth_token or "",
                        on_warning=context.warn,
                        context=call_context(context, "batch", part=index),
                    )
                )
            except LLMError as error:
                return error
            finally:
                ended += 1
                context.progress(100 * ended / len(asked), f"{ended} of {len(asked)} questions")

    asked = _different(input.prompts) if input.temperature == 0 else {at: at for at in range(len(input.prompts))}
    askings = {first: asyncio.ensure_future(ask(first)) for first in dict.fromkeys(asked.values())}
    try:
        await asyncio.gather(*askings.values())
    finally:
        for asking in askings.values():  # one that broke in another way must not leave the others behind
            asking.cancel()
    results = [askings[asked[at]].result() for at in range(len(input.prompts))]
    failures = [(at, result) for at, result in enumerate(results) if isinstance(result, LLMError)]
    answers = {id(result): result for result in results if isinstance(result, Completion)}
    if not answers:
        raise _all_failed([error for _, error in failures])
    for at, error in failures:
        context.warn(f"prompt {at}: {error.message}")
    used = sum(completion.usage.total for completion in answers.values())
    context.info(f"{len(results) - len(failures)} of {len(results)} questions are answered", tokens=used)
    return LLMBatchInferenceOutput(
        responses=[result.text if isinstance(result, Completion) else "" for result in results],
        model=next(iter(answers.values())).model,
        errors=[f"prompt {at}: {error.message}" for at, error in failures],
        tokens_used=used,
    )


def _different(prompts: list[str]) -> dict[int, int]:
    """For each question the first that is equal to it."""
    first: dict[str, int] = {}
    return {at: first.setdefault(prompt, at) for at, prompt in enumerate(prompts)}


def _all_failed(errors: list[LLMError]) -> ActivityError:
    """The failure of all: as the first, and worth another attempt if any of them is."""
    return ActivityError(
        f"none of the {len(errors)} questions was answered; prompt 0: {errors[0].message}",
        name=errors[0].name,
        retryable=any(error.retryable for error in errors),
    )
