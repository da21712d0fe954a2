"""The record of every exchange, which is also what the limits of a model are counted by, in all processes together.

A row is written before the call and ended after it; one whose process died stops counting when it expires.
Refuses to keep secrets: requests and answers are masked, and cut to a bounded size.
"""

import hashlib
import json
import zlib
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db import connection, transaction
from django.utils import timezone

from agents.llm import learning, reserving, spending
from agents.llm.configuration import Model
from agents.llm.errors import LLMError, LLMTimeout
from agents.llm.messages import Answer, CallContext, ChatRequest, ToolCall, Usage
from agents.llm.reserving import Wait
from agents.llm.storable import clean
from agents.models import Exchange, ExchangeStatus
from workflows.address_passwords import MASK
from workflows.models import Execution
from workflows.secret_texts import masked_all

MARGIN = timedelta(seconds=30)  # after its timeout, until a call counts as given up by a process that died
MINUTE = timedelta(seconds=60)
MOST_MESSAGES = 100  # of a request that are kept
MOST_TEXT = 40_000  # characters of one text that are kept
_LOCK: Final = 0x4C4C_4D00 << 32  # advisory locks of ours, by model


def known_answer(request: ChatRequest, digest: str) -> Exchange | None:
    """Return the answer that this very question of this very state visit got before, if it may be used again.

    That is so where a worker died between the answer and the commit of its state: an answer that the state was not
    happy with is recorded as a failure. One that had to be masked or cut is not what the model said, and not used.
    """
    key = request.context.idempotency_key
    if not key or not request.context.may_reuse:
        return None
    rows = Exchange.objects.filter(
        idempotency_key=key, request_hash=digest, status=ExchangeStatus.SUCCESS, is_exact=True,
        customer=UUID(request.context.customer) if request.context.customer else None,
        answer__isnull=False,
    )  # fmt: skip
    return rows.order_by("-started_at").first()


def admit(
    request: ChatRequest, model: Model, body: Mapping[str, Any], *, digest: str, call: int, timeout: float
) -> tuple[Exchange, Mapping[str, Any]] | Wait:
    """Record that a call begins, and return the row and the body to be sent; or how long to wait.

    The body is the given one, with ``max_tokens`` where a budget bounds an answer that nobody bounded. Raises
    :class:`BudgetExceeded`.
    """
    now, context = timezone.now(), request.context
    customer = UUID(context.customer) if context.customer else None
    with transaction.atomic():
        if model.concurrency or model.requests_per_minute:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK | zlib.crc32(model.id.encode()),))
            wait = _wait_for_place(model, now)
            if wait > 0:
                return Wait(wait, "it is asked as often as it may be")
        workflow = _workflow_of(context)
        held = reserving.reserve(customer, workflow, model.id, body, now, request.on_warning or _ignore)
        if isinstance(held, Wait):
            return held
        if held.answer_tokens is not None:
            body = {**body, "max_tokens": held.answer_tokens}
        exchange = Exchange.objects.create(
            customer_id=customer, workflow=workflow, execution=context.execution, branch=context.branch,
            state=context.state[:128], visit=context.visit, attempt=context.attempt, call=call,
            purpose=context.purpose[:64], idempotency_key=context.idempotency_key[:400], request_hash=digest,
            alias=model.alias, model=model.id,
            prompt_name=context.prompt_name, prompt_version_id=context.prompt_version,
            request=_storable(body, _secrets_of(request)), started_at=now,
            expires_at=now + timedelta(seconds=timeout) + MARGIN,
            reserved_tokens=held.tokens, reserved_cost=held.cost, reserved_currency=held.currency,
        )  # fmt: skip
        return exchange, body


def succeed(exchange: Exchange, answer: Answer, usage: Usage, request: ChatRequest) -> None:
    """End the record of a call that was answered; its cost is that of the prices in force now."""
    _fill(exchange, answer, usage, request)
    exchange.status, exchange.http_status = ExchangeStatus.SUCCESS, 200
    _end(exchange)


def fail(
    exchange: Exchange, error: BaseException, request: ChatRequest, *, answer: Answer | None, usage: Usage | None
) -> None:
    """End the record of a call that failed; an answer that could not be used is kept, and was paid for."""
    if answer is not None and usage is not None:
        _fill(exchange, answer, usage, request)
        exchange.http_status = 200
    if isinstance(error, LLMTimeout):
        exchange.status = ExchangeStatus.TIMEOUT
    elif isinstance(error, Exception):
        exchange.status = ExchangeStatus.FAILURE
    else:
        exchange.status = ExchangeStatus.CANCELLED
    if isinstance(error, LLMError):
        exchange.error_name, exchange.error = error.name, str(masked_all(error.message))
        status = error.details.get("status") if isinstance(error.details, dict) else None
        exchange.http_status = status or exchange.http_status
        error.exchange = str(exchange.pk)
    else:
        exchange.error_name = type(error).__name__
    _end(exchange)
    if exchange.status == ExchangeStatus.TIMEOUT:
        learning.took_too_long(exchange.model, (exchange.expires_at - exchange.started_at - MARGIN).total_seconds())


def digest_of(model: str, body: Mapping[str, Any]) -> str:
    """Return what is equal for equal questions to one model."""
    text = json.dumps([model, {k: v for k, v in body.items() if k not in ("stream", "stream_options")}], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def answer_in(exchange: Exchange) -> tuple[Answer, Usage]:
    """Return the answer that a record holds."""
    kept = exchange.answer or {}
    calls = tuple(ToolCall(c["id"], c["name"], c["arguments"]) for c in kept.get("toolCalls", []))
    usage = Usage(
        exchange.prompt_tokens, exchange.completion_tokens, exchange.cached_tokens, exchange.usage_is_estimated
    )
    return Answer(kept.get("text", ""), calls, exchange.finish_reason, usage, kept.get("model", "")), usage


def _wait_for_place(model: Model, now: datetime) -> float:
    rows = Exchange.objects.filter(model=model.id)
    if model.concurrency:
        running = rows.filter(status=ExchangeStatus.RUNNING, expires_at__gt=now).count()
        if running >= model.concurrency:
            return 0.1
    if model.requests_per_minute:
        lately = rows.filter(started_at__gt=now - MINUTE).order_by("-started_at").values_list("started_at", flat=True)
        # The newest that must have left the minute before another one may begin.
        blocking = list(lately[model.requests_per_minute - 1 : model.requests_per_minute])
        if blocking:
            return max((blocking[0] + MINUTE - now).total_seconds(), 0.01)
    return 0.0


def _workflow_of(context: CallContext) -> UUID | None:
    if context.execution is None:
        return None
    return Execution.objects.filter(pk=context.execution).values_list("workflow_id", flat=True).first()


def _fill(exchange: Exchange, answer: Answer, usage: Usage, request: ChatRequest) -> None:
    whole = {
        "text": answer.text,
        "model": answer.model,
        "toolCalls": [{"id": c.id, "name": c.name, "arguments": c.arguments} for c in answer.tool_calls],
    }
    exchange.answer = _storable(whole, _secrets_of(request))
    exchange.is_exact = exchange.answer == whole
    exchange.finish_reason = clean(answer.finish_reason)
    exchange.prompt_tokens, exchange.completion_tokens = usage.prompt, usage.completion
    exchange.cached_tokens, exchange.usage_is_estimated = usage.cached, usage.is_estimated
    cost = spending.cost_of(exchange.model, usage, exchange.started_at)
    exchange.cost, exchange.currency, exchange.prices = cost.amount, cost.currency, list(cost.prices)


def _end(exchange: Exchange) -> None:
    exchange.ended_at = timezone.now()
    with transaction.atomic():
        # Once: who else might end it is a second try of ours, after a commit whose answer was lost.
        is_first = Exchange.objects.filter(pk=exchange.pk, status=ExchangeStatus.RUNNING).update(
            **{name: getattr(exchange, name) for name in _RESULT}
        )
        if is_first:
            spending.add(exchange)


_RESULT = (
    "status", "error_name", "error", "http_status", "finish_reason", "ended_at", "answer", "is_exact", "cost",
    "currency", "prices", "prompt_tokens", "completion_tokens", "cached_tokens", "usage_is_estimated",
)  # fmt: skip


# -- what is kept ---------------------------------------------------------------------------------------------------


def _secrets_of(request: ChatRequest) -> Sequence[str]:
    from agents.llm.configuration import endpoint

    return [text for text in (request.auth_token, endpoint().key) if len(text) >= 4]


def _storable(value: Any, secrets: Sequence[str]) -> Any:
    """JSON that the database can hold, without secrets, each text cut."""
    return masked_all(_cut(value, secrets))


def _cut(value: Any, secrets: Sequence[str]) -> Any:
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, MASK)
        text = clean(value)
        return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}... ({len(text) - MOST_TEXT} more characters)"
    if isinstance(value, Mapping):
        return {clean(str(key)): _cut(item, secrets) for key, item in value.items()}
    if isinstance(value, Sequence):
        kept = [_cut(item, secrets) for item in value[:MOST_MESSAGES]]
        return kept if len(value) <= MOST_MESSAGES else [*kept, f"... ({len(value) - MOST_MESSAGES} more)"]
    return value


def _ignore(_: str) -> None:
    """Nobody wanted to hear of budgets."""
