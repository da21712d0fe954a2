"""``route``: a sentence becomes a spec to look at, by a model where there is one, else by its words alone.

Owns the choice between the two ways and the answer's form (contract-router 1.5). Nothing is run or stored here.
"""

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from agents import llm
from agents.prompts.sandbox import PromptError
from agents.router.asking import Asked, ask_model, texts_in
from agents.router.building import Built, build
from agents.router.intent import Note, Question
from agents.router.offline import understand
from agents.router.sentence import Sentence, read_sentence
from workflows import secret_texts
from workflows.activities.registry import Activity, registry
from workflows.models import Customer

log = logging.getLogger(__name__)

MAX_MESSAGE = 4_000
_REFERENCE = re.compile(r"\$\{.*\}|\{%.*%\}", re.DOTALL)
Context = str | Mapping[str, Any] | None


class MessageRefused(ValueError):
    """The message, or its context (``field``), is nothing that can be read; the text is a sentence."""

    field = "message"


class ContextRefused(MessageRefused):
    """A value of the context is of no use; the text begins with its name."""

    field = "context"


@dataclass(frozen=True, slots=True)
class Route:
    """The answer: one of ``spec`` and ``cron_spec``, or neither where there are ``questions``.

    ``activities`` are those understood, in their order, also where no spec came of them.
    """

    spec: dict[str, Any] | None
    cron_spec: dict[str, Any] | None
    name: str
    explanation: list[Note] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    source: Literal["llm", "fallback"] = "fallback"
    reason: str = ""
    activities: tuple[str, ...] = ()

    @property
    def is_cron(self) -> bool:
        """Whether it is to run again and again."""
        return self.cron_spec is not None

    @property
    def document(self) -> dict[str, Any] | None:
        """The spec, of whichever kind."""
        return self.cron_spec if self.cron_spec is not None else self.spec

    def as_json(self) -> dict[str, Any]:
        """``{isCron, spec? | cronSpec?, explanation, questions, warnings, source, reason?}`` (contract-router 1.5)."""
        body: dict[str, Any] = {"isCron": self.is_cron}
        if self.document is not None:
            body["cronSpec" if self.is_cron else "spec"] = self.document
        body |= {
            "explanation": [note.as_json() for note in self.explanation],
            "questions": [question.as_json() for question in self.questions],
            "warnings": list(self.warnings),
            "source": self.source,
        }
        return body | ({"reason": self.reason} if self.reason else {})


def route(
    message: str,
    *,
    context: Context = None,
    customer: Customer | str | None = None,
    memory: Mapping[str, Any] | None = None,
    auth_token: str = "",
    offline: bool = False,
    activities: Mapping[str, Activity] | None = None,
) -> Route:
    """Return what ``message`` asks for as a spec, or questions; asks a model unless ``offline`` or none is configured.

    ``context`` is more text about it, or values by name, such as ``{"repo": "https://..."}``: the answers to questions.
    Of those, ``schedule`` ("every hour", a cron text) counts instead of what the message says of time, and ``message``
    is read after it.
    ``customer`` (or its id) pays for the call, ``memory`` is what RetrieveMemoryActivity gave. ``activities`` are those
    to choose from, all that are registered if left out. Raises :class:`MessageRefused`, and
    :class:`ContextRefused` for values of the context that are references, or no text where text is read.
    """
    text = message.strip()
    if not text:
        raise MessageRefused("say what should happen")
    if len(text) > MAX_MESSAGE:
        raise MessageRefused(f"a message has at most {MAX_MESSAGE:,} characters, and this one has {len(text):,}")
    known = registry.offered() if activities is None else activities
    values, more = _read_context(context)
    said = str(values.pop("schedule", ""))[:MAX_MESSAGE]
    sentence = read_sentence(f"{text}\n{more}" if more else text)
    words = understand(sentence, known, values, said or _without_values(sentence))
    reason = _why_not_asked(sentence, f"{text}\n{_shown(context)}", offline=offline)
    if not reason:
        asked = Asked(str(getattr(customer, "pk", customer)) if customer else None, auth_token)
        try:
            intent = ask_model(sentence, _shown(context), memory or {}, known, words, asked)
            return _answer(build(intent, known), "llm", "")
        except llm.LLMError as error:
            reason = f"The model gave no answer that can be used: {error.message}"
            log.warning("the router falls back: %s", error.message)
        except PromptError as error:
            reason = f"The prompt for the model cannot be used: {error.message}"
            log.error("the router falls back until the prompt is mended in the admin: %s", error.message)
    return _answer(build(words, known), "fallback", reason)


def _why_not_asked(sentence: Sentence, shown: str, *, offline: bool) -> str:
    """Return why no model is asked, "" if one should be; ``shown`` is what it would see."""
    if offline:
        return "No model was to be asked."
    if not llm.is_configured():
        return "No model is configured (LOCAL_LLM_BASE_URL)."
    if sentence.has_password:
        return "The message holds a password, which is shown to no model."
    if secret_texts.masked_forms(shown) != shown:
        return "The message or its context holds a password or token, which is shown to no model."
    return "" if re.search(r"\w", sentence.text) else "Nothing of the message is a request."


def _shown(context: Context) -> str:
    if isinstance(context, Mapping):
        return "\n".join(f"{key}: {value}" for key, value in context.items())[:MAX_MESSAGE]
    return (context or "")[:MAX_MESSAGE]


def _answer(built: Built, source: Literal["llm", "fallback"], reason: str) -> Route:
    return Route(
        built.spec,
        built.cron_spec,
        built.name,
        built.explanation,
        built.questions,
        built.warnings,
        source,
        reason,
        activities=built.activities,
    )


def _read_context(context: Context) -> tuple[dict[str, Any], str]:
    """Return the values of a context, and its text; raises :class:`ContextRefused`."""
    if context is None or isinstance(context, str):
        return {}, (context or "").strip()[:MAX_MESSAGE]
    values = {str(key): value for key, value in context.items() if value not in (None, "")}
    for key, value in values.items():
        if key in ("schedule", "message") and not isinstance(value, str):
            expected = 'how often, as text such as "every hour" or a cron text' if key == "schedule" else "text"
            raise ContextRefused(f"{key}: expected {expected}")
        if reference := next((text for text in texts_in(value) if _REFERENCE.fullmatch(text.strip())), None):
            raise ContextRefused(f"{key[:64]}: expected the value itself, and {reference.strip()[:100]} refers to one")
    return values, str(values.pop("message", ""))[:MAX_MESSAGE]


def _without_values(sentence: Sentence) -> str:
    """The words of a sentence, for reading a schedule: five fields of a cron text in quotes are part of it."""

    def kept(mark: re.Match[str]) -> str:
        value = sentence.values[mark.group(1)][int(mark.group(2))]
        return value if mark.group(1) == "q" and re.fullmatch(r"(?:[\w*/,#-]+\s+){4}[\w*/,#-]+", value) else " "

    return re.sub(r"§([a-z])(\d+)", kept, sentence.text)
