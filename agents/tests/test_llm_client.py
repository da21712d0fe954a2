"""Calls of a language model over real HTTP: what is sent, what comes back, and what goes wrong in which way."""

import asyncio
import json
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from django.db import connection
from pytest_django import Settings

from agents import llm
from agents.demo_llm.server import DemoServer
from agents.llm import CallContext, ChatRequest, LLMError, wire
from agents.llm import client as llm_client
from agents.llm.learning import timeout_of, traits_of
from agents.models import Exchange, ModelTrait
from workflows.activities.retry_after import MOST_SECONDS, seconds_of
from workflows.tests.pumping import eventually

pytestmark = pytest.mark.django_db

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"title": {"type": "string"}, "count": {"type": "integer", "minimum": 1}},
    "required": ["title", "count"],
    "additionalProperties": False,
}


def ask(text: str = "hello", **more: Any) -> llm.Completion:
    request = {"model": "reasoning", "messages": [{"role": "user", "content": text}], "attempts": 1, **more}
    return llm.complete_now(ChatRequest(**request))


def failure(text: str, **more: Any) -> LLMError:
    with pytest.raises(LLMError) as caught:
        ask(text, **more)
    return caught.value


def test_an_answer_comes_with_its_reason_its_tokens_and_its_record(model: DemoServer) -> None:
    got = ask("hello there", system="Be brief", temperature=0.3, max_tokens=300)
    assert "hello there" in got.text
    assert (got.finish_reason, got.model, got.usage.is_estimated) == ("stop", "reasoning", False)
    assert got.usage.total == got.usage.prompt + got.usage.completion > 10
    sent = model.seen[0].body
    assert sent["messages"][0] == {"role": "system", "content": "Be brief"}
    assert (sent["temperature"], sent["max_tokens"], sent["stream"]) == (0.3, 300, False)
    assert "authorization" not in model.seen[0].headers
    row = Exchange.objects.get(pk=got.exchange)
    assert (row.status, row.finish_reason, row.http_status) == ("success", "stop", 200)
    assert row.answer is not None
    assert row.answer["text"] == got.text


def test_the_system_message_comes_first_also_when_it_is_empty(model: DemoServer) -> None:
    ask("hello")
    assert model.seen[0].body["messages"][0] == {"role": "system", "content": ""}


def test_an_answer_that_was_cut_says_so(model: DemoServer) -> None:
    got = ask("a b c d e f g h", max_tokens=3)
    assert (got.finish_reason, len(got.text)) == ("length", 12)


def test_without_an_endpoint_callers_can_tell_beforehand(settings: Settings) -> None:
    settings.LOCAL_LLM_BASE_URL = ""
    assert not llm.is_configured()
    error = failure("hello")
    assert (error.name, error.retryable) == ("LLMNotConfigured", False)
    assert "LOCAL_LLM_BASE_URL is not set" in error.message
    assert not Exchange.objects.exists()


@pytest.mark.parametrize("name", ["", "gpt-9", "Reasoning", "reasoning "])
def test_an_unknown_model_is_refused_before_anything_is_sent(model: DemoServer, name: str) -> None:
    error = failure("hello", model=name)
    assert (error.name, error.retryable) == ("UnsupportedModel", False)
    for known in ("reasoning", "ornith:35b", "ornith:13b", "qwen2.5:3b"):
        assert known in error.message
    assert not model.seen


def test_the_model_behind_a_name_is_the_operators_choice(model: DemoServer, settings: Settings) -> None:
    settings.POIMEN_LLM_MODELS = {"reasoning": "qwen3:32b"}
    ask("hello")
    assert model.seen[0].body["model"] == "qwen3:32b"
    assert Exchange.objects.get().alias == "reasoning"


def test_the_key_is_sent_and_never_told(model: DemoServer, settings: Settings) -> None:
    settings.LOCAL_LLM_API_KEY = "very-long-and-private"
    ask("say very-long-and-private")
    assert model.seen[0].headers["authorization"] == "Bearer very-long-and-private"
    ask("hello", auth_token="another-private-one")
    assert model.seen[1].headers["authorization"] == "Bearer another-private-one"
    for row in Exchange.objects.values():
        assert "private" not in str(row)
    assert "private" not in repr(ChatRequest("reasoning", [], auth_token="another-private-one"))


# -- what goes wrong ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "asked, name, retryable, words",
    [
        ("[[400]]", "LLMHTTPError", False, "answered 400: the demo model was asked for a 400"),
        ("[[401]]", "LLMHTTPError", False, "answered 401: the demo model was asked for a 401"),
        ("[[404]]", "LLMHTTPError", False, "answered 404"),
        ("[[429]]", "LLMHTTPError", True, "answered 429: the demo model was asked for a 429"),
        ("[[500]]", "LLMHTTPError", True, "answered 500: the demo model was asked for a 500"),
        ("[[503]]", "LLMHTTPError", True, "answered 503"),
        ("[[504]]", "LLMTimeout", True, "answered 504, the model took too long for it: the demo model"),
        ("[[html-error]]", "LLMHTTPError", True, "answered 502: 502 Bad Gateway nginx"),
        ("[[reset]]", "LLMConnectionError", True, "broke off"),
        ("[[not-json]]", "LLMResponseError", False, "answer with JSON: expecting value (line 1, column 1)"),
        ("[[raw]]", "LLMResponseError", False, "answer with JSON: the answer is empty"),
        ("[[wrong-type]]", "LLMResponseError", False, "did not answer with JSON, but with text/html"),
        ("[[no-choices]]", "LLMResponseError", False, "no choices"),
        ("[[empty-answer]]", "LLMResponseError", False, "empty"),
        ("[[huge]]", "LLMResponseError", False, "larger than 8 MiB"),
        ("[[redirect http://169.254.169.254/]]", "LLMHTTPError", True, "another address, which is not followed"),
        ("[[redirect]]", "LLMHTTPError", True, "redirects more than 3 times"),
    ],
)
def test_each_failure_has_its_name_and_is_on_record(
    model: DemoServer, asked: str, name: str, retryable: bool, words: str
) -> None:
    error = failure(asked)
    assert (error.name, error.retryable if "redirect" not in asked else True) == (name, retryable)
    assert words in error.message
    row = Exchange.objects.get(pk=error.exchange or "")
    assert row.status == ("timeout" if name == "LLMTimeout" else "failure")
    assert (row.error_name, row.error) == (name, error.message)
    assert row.ended_at is not None


def test_a_redirect_is_not_tried_again(model: DemoServer) -> None:
    assert not failure("[[redirect http://127.0.0.1:1/]]").retryable
    assert len(model.seen) == 1


def test_nobody_there_is_a_failure_of_the_connection(server: DemoServer, settings: Settings) -> None:
    server.stop()
    settings.LOCAL_LLM_BASE_URL = server.url
    error = failure("hello")
    assert (error.name, error.retryable) == ("LLMConnectionError", True)
    assert "is its server running?" in error.message


def test_a_slow_answer_is_cut_off_and_more_time_is_learned(model: DemoServer) -> None:
    error = failure("[[slow 5]]", timeout=0.3)
    assert (error.name, error.retryable) == ("LLMTimeout", True)
    assert traits_of("reasoning").timeout_seconds == 0.6
    failure("[[504]]", timeout=0.4)
    assert traits_of("reasoning").timeout_seconds == 0.8
    failure("[[504]]", timeout=500.0)
    assert traits_of("reasoning").timeout_seconds == 600.0, "bounded"
    assert timeout_of(traits_of("reasoning")) == 600.0
    ModelTrait.objects.update(timeout_learned_at=datetime.now(UTC) - timedelta(days=8))
    assert timeout_of(traits_of("reasoning")) == 20.0, "forgotten"


@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_without_end_is_cut_by_time(model: DemoServer, stream: bool) -> None:
    began = time.monotonic()
    error = failure("[[endless]]", timeout=0.5, on_text=(lambda _: None) if stream else None)
    assert error.name == "LLMTimeout"
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_without_end_is_cut_by_size(model: DemoServer, stream: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MOST_BYTES", 500_000)
    error = failure("[[endless 50000]]", on_text=(lambda _: None) if stream else None, attempts=3)
    assert (error.name, error.retryable) == ("LLMResponseError", False)
    assert "cut off" in error.message or "larger than" in error.message
    assert len(model.seen) == 1, "asking again would be paid for again"


def test_a_stream_without_end_is_cut_by_the_tokens_it_may_have_and_counts(model: DemoServer) -> None:
    began = time.monotonic()
    heard: list[str] = []
    error = failure("[[endless]]", on_text=heard.append, max_tokens=50)
    assert (error.name, error.retryable) == ("LLMResponseError", False)
    assert "does not come to an end: it was cut off after 2,4" in error.message
    assert time.monotonic() - began < 15
    row = Exchange.objects.get()
    assert row.answer is not None
    assert row.answer["text"] == "".join(heard)
    assert (row.status, row.usage_is_estimated, row.completion_tokens) == ("failure", True, len("".join(heard)) / 4)


def test_who_wrote_much_until_its_time_was_up_is_not_taken_for_slow(
    model: DemoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "LONG_TEXT", 100)
    error = failure("[[endless]]", on_text=lambda _: None, timeout=1.5)
    assert (error.name, error.retryable) == ("LLMResponseError", False)
    assert traits_of("reasoning").timeout_seconds is None, "more time would not help"
    monkeypatch.setattr(wire, "LONG_TEXT", 1_000_000)
    slow = failure("[[endless]]", on_text=lambda _: None, timeout=0.5)
    assert (slow.name, slow.retryable) == ("LLMTimeout", True)
    assert "it was writing, and had come to" in slow.message


def test_what_a_server_says_of_its_error_is_told_without_the_key(model: DemoServer, settings: Settings) -> None:
    settings.LOCAL_LLM_API_KEY = "very-long-and-private"
    error = failure("[[says-key]]")
    assert error.message.startswith("the language model's server answered 401: Incorrect API key provided: Bearer ***")
    assert error.message.endswith("for /v1/chat/completions")
    assert "private" not in str(Exchange.objects.values())
    broken = failure("[[error-in-stream]]", on_text=lambda _: None)
    assert broken.message.endswith("in the middle of its answer: the device is out of memory")
    assert (Exchange.objects.get(pk=broken.exchange or "").answer or {})["text"] == "some words"


# -- tries ----------------------------------------------------------------------------------------------------------


def test_retry_after_is_waited_for(model: DemoServer) -> None:
    model.next("429", "1")
    got = ask("hello", attempts=2)
    assert "hello" in got.text
    first, second = model.seen
    assert 1.0 <= second.at - first.at < 10
    assert list(Exchange.objects.order_by("started_at").values_list("call", "status")) == [
        (1, "failure"),
        (2, "success"),
    ]


def test_a_server_that_stumbles_is_asked_again(model: DemoServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llm_client, "FIRST_PAUSE_SECONDS", 0.01)
    model.next("503", times=2)
    assert ask("hello", attempts=3).text
    assert len(model.seen) == 3
    model.next("reset")
    assert ask("hello", attempts=2).text
    model.next("503", times=3)
    assert failure("hello", attempts=3).name == "LLMHTTPError"


@pytest.mark.parametrize("kind", ["400", "401", "504"])
def test_what_asking_again_cannot_mend_is_asked_once(model: DemoServer, kind: str) -> None:
    failure(f"[[{kind}]]", attempts=3)
    assert len(model.seen) == 1


def test_an_unusable_answer_is_asked_for_once_more(model: DemoServer) -> None:
    model.next("no-choices")
    assert ask("hello", attempts=3).text
    failure("[[no-choices]]", attempts=5)
    assert len(model.seen) == 4, "once more, not five times"


@pytest.mark.parametrize(
    "header, seconds",
    [
        ("3", 3.0), (" 7 ", 7.0), ("0", 0.0), ("99999999999", MOST_SECONDS), ("-1", None), ("soon", None), ("", None),
        (None, None), ("1.5", None),
    ],
)  # fmt: skip
def test_seconds_of_retry_after(header: str | None, seconds: float | None) -> None:
    assert seconds_of(header) == seconds


def test_dates_of_retry_after() -> None:
    now = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
    assert seconds_of(format_datetime(now + timedelta(seconds=9), usegmt=True), now) == 9.0
    assert seconds_of(format_datetime(now - timedelta(days=1), usegmt=True), now) == 0.0
    assert seconds_of(format_datetime(now + timedelta(days=1), usegmt=True), now) == MOST_SECONDS


# -- JSON, tools, streams -------------------------------------------------------------------------------------------


def test_an_answer_fits_the_schema_that_was_asked_for(model: DemoServer) -> None:
    got = ask("Count 7 sheep.", schema=SCHEMA)
    assert got.parsed == {"title": "Count 7 sheep.", "count": 7}
    assert not got.is_repaired
    form = model.seen[0].body["response_format"]
    assert form["json_schema"]["schema"] == SCHEMA
    assert form["json_schema"]["strict"] is True


def test_json_is_dug_out_of_fences(model: DemoServer) -> None:
    got = ask("[[fenced-json]] Count 7 sheep.", schema=SCHEMA)
    assert got.parsed["count"] == 7
    assert got.is_repaired


def test_a_refusal_to_answer_in_json_is_asked_about_once(model: DemoServer) -> None:
    model.next("no-json-answer")
    assert ask("Count 7 sheep.", schema=SCHEMA, attempts=2).parsed["count"] >= 1
    again = model.seen[1].body["messages"]
    assert again[-2] == {"role": "assistant", "content": "I would rather not."}
    assert "it holds no JSON" in again[-1]["content"]
    model.next("no-json-answer", times=2)
    error = failure("Count 7 sheep.", schema=SCHEMA, attempts=5)
    assert (error.name, error.retryable) == ("LLMResponseError", False)


@pytest.mark.parametrize("status", ["400", "422", "500"])
def test_a_server_without_schemas_is_told_in_words_and_remembered(model: DemoServer, status: str) -> None:
    model.next("no-schema", status, times=3)
    assert ask("Count 7 sheep.", schema=SCHEMA).parsed["count"] == 7
    assert traits_of("reasoning").takes_schema is False
    assert ask("Count 8 sheep.", schema=SCHEMA).parsed["count"] == 8
    assert [("response_format" in seen.body) for seen in model.seen] == [True, False, False]


def test_a_refusal_for_another_reason_teaches_nothing_about_schemas(model: DemoServer) -> None:
    assert failure("[[400]]", schema=SCHEMA).name == "LLMHTTPError"
    assert traits_of("reasoning").takes_schema is None


def test_tools_come_back_as_data(model: DemoServer) -> None:
    weather = {"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}
    got = ask("What is the weather of 3 towns?", tools=[weather])
    assert [(call.name, call.arguments["count"]) for call in got.tool_calls] == [("weather", 3)]
    assert got.finish_reason == "tool_calls"
    heard: list[str] = []
    streamed = ask("What is the weather of 3 towns?", tools=[weather], on_text=heard.append)
    assert streamed.tool_calls == got.tool_calls


def test_a_streamed_answer_is_heard_as_it_is_written(model: DemoServer) -> None:
    heard: list[str] = []
    got = ask("one two three", on_text=heard.append)
    assert "".join(heard) == got.text
    assert len(heard) > 5
    assert not got.usage.is_estimated
    assert got.finish_reason == "stop"


def test_a_stream_that_breaks_off_is_no_answer(model: DemoServer) -> None:
    error = failure("[[half-stream]]", on_text=lambda _: None)
    assert (error.name, error.message) == ("LLMResponseError", "the model's answer was broken off")


@pytest.mark.parametrize("stream", [True, False])
def test_what_no_database_can_hold_is_replaced(model: DemoServer, stream: bool) -> None:
    arguments = json.dumps('{"a": NaN, "b": 1e999, "c": "\\u0000\\ud800"}')
    call = f'{{"id": "1", "function": {{"name": "f\\u0000", "arguments": {arguments}}}}}'
    message = f'{{"content": "a\\u0000\\ud800b", "tool_calls": [{call}]}}'
    model.next("raw", f'{{"choices": [{{"message": {message}, "finish_reason": "stop"}}], "usage": {{"x": NaN}}}}')
    got = ask("hello", on_text=(lambda _: None) if stream else None)
    assert got.text == "a\ufffd?b"
    assert (got.tool_calls[0].name, got.tool_calls[0].arguments) == (
        "f\ufffd",
        {"a": "NaN", "b": "1e999", "c": "\ufffd?"},
    )
    assert Exchange.objects.get().status == "success"
    model.say('{"title": "\\u0000", "count": 1}')
    assert ask("hello", schema=SCHEMA).parsed == {"title": "\ufffd", "count": 1}


# -- on an event loop -----------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_many_calls_wait_on_one_loop_within_the_models_limit(
    quickly_emptied: None, model: DemoServer, settings: Settings
) -> None:
    settings.POIMEN_LLM_CONCURRENCY = {"": 5}

    async def many() -> list[llm.Completion]:
        asked = [{"role": "user", "content": "[[slow 0.05]]"}]
        return await asyncio.gather(*(llm.complete(ChatRequest("reasoning", asked)) for _ in range(20)))

    assert len(asyncio.run(many())) == 20
    assert 2 <= model.most_at_once <= 5
    assert Exchange.objects.filter(status="success").count() == 20


@pytest.mark.django_db(transaction=True)
def test_a_cancelled_call_ends_its_record_and_its_place(quickly_emptied: None, model: DemoServer) -> None:
    async def give_up() -> None:
        asked = [{"role": "user", "content": "[[slow 5]]"}]
        call = asyncio.ensure_future(llm.complete(ChatRequest("reasoning", asked)))
        await asyncio.to_thread(eventually, lambda: model.seen, "the call has begun")
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    asyncio.run(give_up())
    assert Exchange.objects.get().status == "cancelled"


def test_what_died_with_its_process_gives_its_place_back(model: DemoServer, settings: Settings) -> None:
    settings.POIMEN_LLM_CONCURRENCY = {"": 1}
    now = datetime.now(UTC)
    lost = Exchange(alias="reasoning", model="reasoning", request_hash="", started_at=now)
    lost.expires_at = now + timedelta(hours=1)
    lost.save()
    error = failure("hello", timeout=0.4)
    assert (error.name, error.retryable) == ("LLMTimeout", True)
    assert "no place for another call" in error.message
    assert not model.seen
    lost.expires_at = now - timedelta(seconds=1)
    lost.save()
    assert ask("hello").text


def test_calls_of_a_minute_are_counted_over_all_processes(model: DemoServer, settings: Settings) -> None:
    settings.POIMEN_LLM_REQUESTS_PER_MINUTE = {"": 2, "ornith:13b": 0}
    ask("one")
    ask("two")
    assert failure("three", timeout=0.3).name == "LLMTimeout"
    assert ask("three", model="ornith:13b").text
    Exchange.objects.update(started_at=datetime.now(UTC) - timedelta(seconds=59.9))
    assert ask("three", timeout=5.0).text


# -- the same answer twice ------------------------------------------------------------------------------------------


def test_an_answer_that_was_given_is_used_when_its_state_runs_again(model: DemoServer) -> None:
    once = CallContext(idempotency_key="e:b:Ask:1", may_reuse=True)
    first = ask("hello", context=once)
    again = ask("hello", context=once)
    assert (again.text, again.usage, again.exchange) == (first.text, first.usage, first.exchange)
    assert again.is_reused
    assert not first.is_reused
    assert len(model.seen) == 1
    ask("another question", context=once)
    ask("hello", context=CallContext(idempotency_key="e:b:Ask:2", may_reuse=True))
    ask("hello", context=CallContext(idempotency_key="e:b:Ask:1"))
    assert len(model.seen) == 4


def test_what_was_masked_is_not_used_again(model: DemoServer) -> None:
    once = CallContext(idempotency_key="e:b:Ask:1", may_reuse=True)
    first = ask("the password: hunter2-is-long", context=once)
    assert "hunter2" in first.text
    row = Exchange.objects.get()
    assert "hunter2" not in str(row.answer) + str(row.request)
    assert "hunter2" in ask("the password: hunter2-is-long", context=once).text
    assert len(model.seen) == 2


@pytest.mark.django_db(transaction=True)
def test_nobody_keeps_a_database_connection_while_a_model_thinks(
    model: DemoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[bool] = []

    async def watched(posting: Any) -> Any:
        held.append(connection.connection is not None)
        return await exchange(posting)

    exchange = wire.exchange
    monkeypatch.setattr(wire, "exchange", watched)
    assert not Exchange.objects.exists()
    ask("hello")
    assert held == [False]
    assert Exchange.objects.get().status == "success"
