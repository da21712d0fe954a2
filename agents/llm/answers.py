"""What an endpoint sent, read: a whole answer, or the pieces of a stream put together to one.

Refuses answers without end, and what is none. Knows no HTTP. Source: contract-router-and-llm 2.
"""

import json
import re
from collections.abc import Callable
from typing import Any

from agents.llm import storable
from agents.llm.errors import LLMResponseError
from agents.llm.messages import Answer, ToolCall, Usage
from workflows.address_passwords import MASK
from workflows.secret_texts import masked

MOST_TEXT = 1_000_000  # characters of what the model wrote
MOST_TOOL_CALLS = 128
MOST_TOLD = 300  # characters of what a server said of an error
_TAG = re.compile(r"<(?:style|script)\b.*?</(?:style|script)>|<[^<>]{0,2000}>", re.DOTALL | re.IGNORECASE)


def whole(value: Any, token: str) -> Answer:
    """Return the answer that a JSON document holds; ``token`` is not repeated where its error is told.

    Raises :class:`LLMResponseError`.
    """
    if isinstance(value, dict) and isinstance(value.get("error"), dict | str):
        said = reason(value, token)
        raise LLMResponseError(f"the language model's server reported an error instead of an answer{said}")
    choices = value.get("choices") if isinstance(value, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(first, dict):
        raise LLMResponseError("the answer has no choices")
    message = first.get("message")
    message = message if isinstance(message, dict) else {}
    text = _text(message.get("content"))
    if len(text) > MOST_TEXT:
        raise without_end(len(text))
    calls = message.get("tool_calls")
    return Answer(
        text=text,
        tool_calls=tuple(_tool_calls(calls if isinstance(calls, list) else [])),
        finish_reason=_word(first.get("finish_reason")),
        usage=_usage(value.get("usage")),
        model=_word(value.get("model"), 200),
    )


def reason(value: Any, token: str) -> str:
    """Return ``": "`` and what a server said of an error, of JSON or a text: masked, on one line, cut; or nothing."""
    error = value.get("error", value) if isinstance(value, dict) else value
    if isinstance(error, dict):
        error = next((error[key] for key in ("message", "detail", "details", "error") if error.get(key)), error)
    text = error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)
    text = text.replace(token, MASK) if token else text
    text = " ".join(_TAG.sub(" ", storable.clean(masked(text[:20_000]))).split())
    text = "".join(c if c.isprintable() else " " for c in text).strip()
    if not text:
        return ""
    return f": {text}" if len(text) <= MOST_TOLD else f": {text[:MOST_TOLD].rstrip()}..."


def _text(content: Any) -> str:
    """What a message says: a text, or parts of which some are text."""
    if isinstance(content, list):
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _tool_calls(calls: list[Any]) -> list[ToolCall]:
    found = []
    for call in calls[:MOST_TOOL_CALLS]:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict):
            continue
        given = function.get("arguments")
        try:
            arguments = storable.loads(given) if isinstance(given, str) else given
        except ValueError:
            arguments = given
        found.append(ToolCall(_word(call.get("id"), 200), _word(function.get("name"), 200), arguments))
    return found


def _usage(value: Any) -> Usage | None:
    if not isinstance(value, dict):
        return None
    details = value.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    prompt, completion = _count(value.get("prompt_tokens")), _count(value.get("completion_tokens"))
    if prompt is None or completion is None:
        return None
    return Usage(prompt, completion, min(_count(cached) or 0, prompt))


def _count(value: Any) -> int | None:
    """A number of tokens; None for what cannot be one."""
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 100_000_000
    return value if is_count else None


def _word(value: Any, most: int = 64) -> str:
    return value[:most] if isinstance(value, str) else ""


# -- streams --------------------------------------------------------------------------------------------------------


class Stream:
    """Server-sent events, put together to one answer of at most ``most_text`` characters, thoughts among them."""

    def __init__(self, on_text: Callable[[str], None] | None, *, most_text: int, token: str) -> None:
        self._on_text = on_text
        self._most_text = min(most_text, MOST_TEXT)
        self._token = token
        self._text: list[str] = []
        self.length = 0
        self._calls: dict[int, dict[str, str]] = {}
        self._finish_reason = self._model = ""
        self._usage: Usage | None = None
        self._is_done = False

    def take(self, line: str) -> bool:
        """Take one line; True once the end has been told. Raises :class:`LLMResponseError` for too much of it."""
        if not line.startswith("data:"):
            return False
        data = line[5:].strip()
        if data == "[DONE]":
            self._is_done = True
            return True
        try:
            event = storable.loads(data)
        except ValueError:
            raise LLMResponseError("the language model's server streamed something that is no JSON") from None
        if not isinstance(event, dict):
            return False
        if event.get("error"):
            said = reason(event, self._token)
            raise LLMResponseError(f"the language model's server reported an error in the middle of its answer{said}")
        self._model = _word(event.get("model"), 200) or self._model
        self._usage = _usage(event.get("usage")) or self._usage
        choices = event.get("choices")
        first = choices[0] if isinstance(choices, list) and choices else None
        if isinstance(first, dict):
            self._finish_reason = _word(first.get("finish_reason")) or self._finish_reason
            delta = first.get("delta")
            if isinstance(delta, dict):
                self._add(delta)
        return False

    def _add(self, delta: dict[str, Any]) -> None:
        text = _text(delta.get("content"))
        thought = delta.get("reasoning_content") or delta.get("reasoning")
        self.length += len(text) + (len(thought) if isinstance(thought, str) else 0)
        if self.length > self._most_text:
            raise without_end(self.length)
        if text:
            self._text.append(text)
            if self._on_text is not None:
                self._on_text(text)
        calls = delta.get("tool_calls")
        for call in calls if isinstance(calls, list) else []:
            index = _count(call.get("index")) if isinstance(call, dict) else None
            if index is None or index >= MOST_TOOL_CALLS:
                continue
            kept = self._calls.setdefault(index, {"id": "", "name": "", "arguments": ""})
            function = call.get("function")
            function = function if isinstance(function, dict) else {}
            kept["id"] = _word(call.get("id"), 200) or kept["id"]
            kept["name"] = _word(function.get("name"), 200) or kept["name"]
            arguments = _word(function.get("arguments"), MOST_TEXT)
            kept["arguments"] += arguments
            self.length += len(arguments)

    def answer(self) -> Answer:
        """The whole; raises :class:`LLMResponseError` if the stream ended before its end."""
        if not self._is_done and not self._finish_reason:
            raise LLMResponseError("the model's answer was broken off")
        return self.so_far()

    def so_far(self) -> Answer:
        """What has come until now."""
        calls = [
            {"id": call["id"], "function": {"name": call["name"], "arguments": call["arguments"]}}
            for _, call in sorted(self._calls.items())
        ]
        text = "".join(self._text)
        return Answer(text, tuple(_tool_calls(calls)), self._finish_reason, self._usage, self._model)


def without_end(length: int) -> LLMResponseError:
    """Return the error for a model that goes on and on, after ``length`` characters."""
    return LLMResponseError(
        f"the model does not come to an end: it was cut off after {length:,} characters; set max_tokens if a longer "
        "answer is meant, else ask for less or take another model",
        may_mend=False,
    )
