"""What a call of a language model is made of, and what comes back. Plain data; knows neither HTTP nor the database."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

JsonObject = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CallContext:
    """For whom a call is made; ids are UUID text. All of it is recorded, and budgets go by it.

    ``idempotency_key`` names the one answer that is wanted. With ``may_reuse`` a call that has the key and the request
    of one that was answered before, as after a worker's death, gets that answer instead of another one.
    """

    customer: str | None = None
    execution: str | None = None
    branch: str | None = None
    state: str = ""
    visit: int | None = None
    attempt: int | None = None
    idempotency_key: str = ""
    may_reuse: bool = False
    purpose: str = ""
    prompt_version: str | None = None  # the id of the edited prompt; built-in ones are told by ``prompt_name``
    prompt_name: str = ""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One question to a model.

    ``messages`` are ``{role, content}`` as the API has them; ``system`` goes before them, also when empty. ``schema``
    is the JSON Schema that the answer must fit; then ``Completion.parsed`` holds it. ``tools`` are those of the API.
    ``on_text`` is called with each piece of the answer as it is written, on the loop: it must not block.
    ``timeout`` is in seconds for one HTTP exchange; without, what was learned for the model counts.
    ``auth_token`` is sent instead of the operator's key.
    """

    model: str
    messages: Sequence[JsonObject]
    system: str = ""
    temperature: float | None = None
    max_tokens: int | None = None
    schema: JsonObject | None = None
    tools: Sequence[JsonObject] = ()
    tool_choice: Any = None
    reasoning_effort: str | None = None
    on_text: Callable[[str], None] | None = None
    on_warning: Callable[[str], None] | None = None
    timeout: float | None = None
    attempts: int = 3
    auth_token: str = field(default="", repr=False)
    context: CallContext = CallContext()


@dataclass(frozen=True, slots=True)
class ToolCall:
    """What the model wants to be done: data to be checked, never to be run as it is."""

    id: str
    name: str
    arguments: Any  # parsed; the text itself where that is no JSON


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens; ``is_estimated`` where the endpoint did not count (characters / 4)."""

    prompt: int
    completion: int
    cached: int = 0
    is_estimated: bool = False

    @property
    def total(self) -> int:
        """Both together."""
        return self.prompt + self.completion


@dataclass(frozen=True, slots=True)
class Answer:
    """What one exchange brought."""

    text: str
    tool_calls: tuple[ToolCall, ...]
    finish_reason: str
    usage: Usage | None
    model: str


@dataclass(frozen=True, slots=True)
class Completion:
    """The answer to a :class:`ChatRequest`. ``parsed`` is what the schema asked for, else None.

    ``exchange`` is the id of the record. ``cost`` is None where the model has no price. ``is_repaired``: the JSON had
    to be dug out of fences, prose or a broken end. ``is_reused``: nothing was sent, the answer had been given before.
    """

    text: str
    parsed: Any
    tool_calls: tuple[ToolCall, ...]
    finish_reason: str
    usage: Usage
    model: str
    exchange: str
    cost: Decimal | None = None
    currency: str = ""
    is_repaired: bool = False
    is_reused: bool = False
