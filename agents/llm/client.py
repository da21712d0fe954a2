"""One client for every call of a language model: limits, budgets, retries, record, and JSON that fits a schema.

The course of a call is written once, as steps (database, HTTP, pause); :func:`complete` takes them on an event loop,
:func:`complete_now` in the calling thread. Source: contract-router-and-llm 2.
"""

import asyncio
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from django.conf import settings
from django.db import connection

from agents.llm import configuration, json_answers, learning, ledger, wire
from agents.llm.configuration import Model
from agents.llm.errors import LLMError, LLMHTTPError, LLMResponseError, LLMTimeout
from agents.llm.messages import Answer, ChatRequest, Completion, Usage
from agents.llm.reserving import Wait
from agents.models import Exchange, ModelTrait
from workflows.errors import InvalidInput

FIRST_PAUSE_SECONDS = 0.5
MOST_PAUSE_SECONDS = 20.0
MOST_ADMISSION_PAUSE = 5.0
CHARACTERS_PER_TOKEN = 4
_SCHEMA_REFUSED = frozenset({400, 404, 415, 422, 501})

_SCHEMA_IN_WORDS = (
    "Answer with one JSON value and nothing else: no explanation, no code fence. It must fit this JSON Schema:\n"
)


# -- steps ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _InDatabase:
    """Something short that needs the database, or is no work for an event loop."""

    work: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class _Exchange:
    posting: wire.Posting


@dataclass(frozen=True, slots=True)
class _Pause:
    seconds: float


_Step = _InDatabase | _Exchange | _Pause
_Course = Generator[_Step, Any, Completion]


async def complete(request: ChatRequest) -> Completion:
    """Return the model's answer, waiting on the running loop; a thread is needed for the database only.

    Raises the errors of ``agents.llm.errors``, each with the id of its record in ``exchange`` once something was sent.
    When the task is cancelled the connection is closed, which ends the work of most servers.
    """
    course = _course(request)
    send: Callable[[], _Step] = partial(next, course)
    cancelled: asyncio.CancelledError | None = None
    while True:
        try:
            step = send()
        except StopIteration as end:
            if cancelled is not None:
                raise cancelled from None
            completion: Completion = end.value
            return completion
        try:
            match step:
                case _InDatabase(work):
                    job = asyncio.ensure_future(asyncio.to_thread(_with_connection, work))
                    try:
                        result = await asyncio.shield(job)
                    except asyncio.CancelledError as asked:
                        # The thread goes on: what it wrote must be known, so that it can be ended.
                        cancelled, result = asked, await job
                case _ if cancelled is not None:
                    raise cancelled
                case _Exchange(posting):
                    result = await wire.exchange(posting)
                case _Pause(seconds):
                    await asyncio.sleep(seconds)
                    result = None
        except BaseException as error:  # noqa: BLE001 - the course decides
            send = partial(course.throw, error)
        else:
            send = partial(course.send, result)


def complete_now(request: ChatRequest) -> Completion:
    """As :func:`complete`, for threads without an event loop: the calling one waits, with its own connection."""
    course = _course(request)
    send: Callable[[], _Step] = partial(next, course)
    while True:
        try:
            step = send()
        except StopIteration as end:
            completion: Completion = end.value
            return completion
        try:
            match step:
                case _InDatabase(work):
                    result = work()
                case _Exchange(posting):
                    _give_back()
                    result = asyncio.run(wire.exchange(posting))
                case _Pause(seconds):
                    _give_back()
                    time.sleep(seconds)
                    result = None
        except BaseException as error:  # noqa: BLE001 - the course decides
            send = partial(course.throw, error)
        else:
            send = partial(course.send, result)


def _give_back() -> None:
    """Let others have the thread's connection for as long as a model takes: there are few. A transaction keeps its."""
    if not connection.in_atomic_block:
        connection.close()


def _with_connection(work: Callable[[], Any]) -> Any:
    """Run in a thread of the loop's pool, whose connection goes back afterwards: threads are many."""
    try:
        return work()
    finally:
        connection.close()


# -- the course of a call -------------------------------------------------------------------------------------------


def _course(request: ChatRequest) -> _Course:
    endpoint = configuration.endpoint()
    model = configuration.model(request.model)
    if not request.messages:
        raise InvalidInput("messages: at least one is needed")
    if request.schema is not None:
        json_answers.check_schema(request.schema)
    trait: ModelTrait = yield _InDatabase(partial(learning.traits_of, model.id))
    has_schema_in_words = trait.takes_schema is False
    digest = ledger.digest_of(model.id, _body(request, model, has_schema_in_words=False))
    known: Exchange | None = yield _InDatabase(partial(ledger.known_answer, request, digest))
    if known is not None:
        answer, usage = ledger.answer_in(known)
        reused: Completion = yield _InDatabase(partial(_completion, request, known, answer, usage, is_reused=True))
        return reused
    timeout = request.timeout or learning.timeout_of(trait)
    asked, call, has_asked_again = request, 1, False
    while True:
        whole = _body(asked, model, has_schema_in_words=has_schema_in_words)
        exchange, body = yield from _admission(asked, model, whole, digest=digest, call=call, timeout=timeout)
        most_tokens = body.get("max_tokens", settings.POIMEN_LLM_ANSWER_TOKENS)
        token = request.auth_token or endpoint.key
        got: Answer | None = None
        used: Usage | None = None
        try:
            got = yield _Exchange(wire.Posting(endpoint, body, token, timeout, request.on_text, most_tokens))
            assert got is not None
            used = got.usage or _estimated(body, got)
            completion: Completion = yield _InDatabase(partial(_accept, asked, exchange, got, used))
            return completion
        except GeneratorExit:
            raise
        except BaseException as error:
            if got is None and isinstance(error, LLMError) and error.partial is not None:
                got = error.partial
                used = got.usage or _estimated(body, got)
            yield _InDatabase(partial(ledger.fail, exchange, error, asked, answer=got, usage=used))
            if isinstance(error, LLMHTTPError) and _may_be_the_schema(error, asked, has_schema_in_words):
                has_schema_in_words = True
                continue
            if not isinstance(error, LLMError) or call >= request.attempts:
                raise
            if isinstance(error, LLMResponseError):
                if has_asked_again or not error.may_mend:
                    raise
                has_asked_again, asked = True, _again(request, got, error)
                pause = 0.0
            elif isinstance(error, LLMTimeout) or not error.retryable:
                raise  # another one would take as long; the state's own policy says whether that is wanted
            else:
                pause = _pause(error, call)
        yield _Pause(pause)
        call += 1


def _admission(
    request: ChatRequest, model: Model, body: Mapping[str, Any], *, digest: str, call: int, timeout: float
) -> Generator[_Step, Any, tuple[Exchange, Mapping[str, Any]]]:
    """Wait until the model may be asked once more, at most for as long as an answer may take."""
    deadline = time.monotonic() + timeout
    with _waiting(model.id):
        while True:
            admitted: tuple[Exchange, Mapping[str, Any]] | Wait = yield _InDatabase(
                partial(ledger.admit, request, model, body, digest=digest, call=call, timeout=timeout)
            )
            if not isinstance(admitted, Wait):
                return admitted
            if time.monotonic() + admitted.seconds > deadline:
                raise LLMTimeout(f"{model.alias}: no place for another call within {timeout:g} s, since {admitted.why}")
            # Who wait together ask the less often each, so that all of them ask about fifty times a second.
            fair = min(max(admitted.seconds, 0.02 * _waiters[model.id]), MOST_ADMISSION_PAUSE)
            yield _Pause(fair * random.uniform(0.7, 1.3))  # noqa: S311 - to spread, not to hide


_waiters: Counter[str] = Counter()
_counting = threading.Lock()


class _waiting:  # noqa: N801 - reads as what it is: with _waiting(...)
    def __init__(self, model: str) -> None:
        self._model = model

    def __enter__(self) -> None:
        with _counting:
            _waiters[self._model] += 1

    def __exit__(self, *_: object) -> None:
        with _counting:
            _waiters[self._model] -= 1


def _accept(request: ChatRequest, exchange: Exchange, answer: Answer, usage: Usage) -> Completion:
    """Check the answer, and only then record it as a success; raises :class:`LLMResponseError`."""
    completion = _completion(request, exchange, answer, usage)
    ledger.succeed(exchange, answer, usage, request)
    if request.schema is not None and "response_format" not in (exchange.request or {}):
        if learning.traits_of(exchange.model).takes_schema is None:  # known ones are forgotten in time
            learning.takes_schema(exchange.model, False)
    return replace(completion, cost=exchange.cost, currency=exchange.currency)


def _completion(
    request: ChatRequest, exchange: Exchange, answer: Answer, usage: Usage, *, is_reused: bool = False
) -> Completion:
    parsed, is_repaired = None, False
    if request.schema is not None and not (answer.tool_calls and not answer.text):
        parsed, is_repaired = json_answers.parse(answer.text, request.schema)
    elif not answer.text and not answer.tool_calls:
        raise LLMResponseError("the model's answer is empty")
    return Completion(
        text=answer.text, parsed=parsed, tool_calls=answer.tool_calls, finish_reason=answer.finish_reason or "unknown",
        usage=usage, model=answer.model or exchange.model, exchange=str(exchange.pk), cost=exchange.cost,
        currency=exchange.currency, is_repaired=is_repaired, is_reused=is_reused,
    )  # fmt: skip


def _may_be_the_schema(error: LLMHTTPError, request: ChatRequest, has_schema_in_words: bool) -> bool:
    """Whether the server may only have refused ``response_format``: then the schema is told in words."""
    if request.schema is None or has_schema_in_words:
        return False
    # llama-cpp-python answers 500 to a form that it does not know, and says so.
    return error.status in _SCHEMA_REFUSED or (error.status >= 500 and "response_format" in error.message)


def _pause(error: LLMError, call: int) -> float:
    if error.retry_after is not None:
        return error.retry_after
    pause = min(FIRST_PAUSE_SECONDS * 2.0 ** (call - 1), MOST_PAUSE_SECONDS)
    return pause * random.uniform(0.75, 1.25)  # noqa: S311 - to spread, not to hide


def _again(request: ChatRequest, answer: Answer | None, error: LLMResponseError) -> ChatRequest:
    """The question once more, with what was wrong with the answer."""
    if answer is None or request.schema is None or not answer.text:
        return request
    said = {"role": "assistant", "content": answer.text[:20_000]}
    wrong = {
        "role": "user",
        "content": f"That cannot be used: {error.message}. {_SCHEMA_IN_WORDS}{json.dumps(request.schema)}",
    }
    return replace(request, messages=[*request.messages, said, wrong])


# -- the body -------------------------------------------------------------------------------------------------------


def _body(request: ChatRequest, model: Model, *, has_schema_in_words: bool) -> dict[str, Any]:
    system = request.system
    if request.schema is not None and has_schema_in_words:
        system = f"{system}\n\n{_SCHEMA_IN_WORDS}{json.dumps(request.schema)}".strip()
    is_stream = request.on_text is not None
    body: dict[str, Any] = {
        "model": model.id,
        "messages": [{"role": "system", "content": system}, *map(dict, request.messages)],
        "stream": is_stream,
    }
    if is_stream:
        body["stream_options"] = {"include_usage": True}
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.max_tokens is not None:
        body["max_tokens"] = request.max_tokens
    if request.reasoning_effort is not None:
        body["reasoning_effort"] = request.reasoning_effort
    if request.tools:
        body["tools"] = list(map(dict, request.tools))
        if request.tool_choice is not None:
            body["tool_choice"] = request.tool_choice
    if request.schema is not None and not has_schema_in_words:
        named = {"name": "answer", "schema": dict(request.schema), "strict": _is_strict(request.schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": named}
    return body


def _is_strict(schema: Any) -> bool:
    """Whether every object in the schema names all it has and requires it: only then may ``strict`` be asked for."""
    if isinstance(schema, list):
        return all(map(_is_strict, schema))
    if not isinstance(schema, Mapping):
        return True
    if "properties" in schema or schema.get("type") == "object":
        properties = schema.get("properties")
        if not isinstance(properties, Mapping) or schema.get("additionalProperties") is not False:
            return False
        if set(schema.get("required", ())) != set(properties):
            return False
        if not all(_is_strict(part) for part in properties.values()):
            return False
    return all(_is_strict(part) for key, part in schema.items() if key in ("items", "anyOf", "$defs", "prefixItems"))


def _estimated(body: Mapping[str, Any], answer: Answer) -> Usage:
    asked = sum(len(str(message.get("content", ""))) for message in body["messages"])
    written = len(answer.text) + sum(len(str(call.arguments)) for call in answer.tool_calls)
    return Usage(-(-asked // CHARACTERS_PER_TOKEN), -(-written // CHARACTERS_PER_TOKEN), is_estimated=True)
