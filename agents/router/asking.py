"""Understands a sentence with a model: its answer is held against the sentence and the rules before it counts.

Owns the prompt's values, the schema of the answer and the corrective question. Refuses addresses that nobody gave,
schedules that are none, and activities that there are not (contract-router 1.3, 1.4, 1.6).
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from agents import llm
from agents.llm import CallContext, ChatRequest
from agents.prompts import rendering
from agents.router import phrases
from agents.router.inputs import squashed
from agents.router.intent import Intent, Note, Question
from agents.router.sentence import Sentence
from workflows.activities.registry import Activity
from workflows.schedules.cron import CronError, check_runs, parse_cron
from workflows.schedules.zones import UnknownZone
from workflows.spec.durations import format_duration

MODEL: Final = "reasoning"
PURPOSE: Final = "router"
SECONDS: Final = 45.0
MOST_ACTIVITIES: Final = 30
_MARK = re.compile(r"^[ \t]*(?:END|BEGIN|[^\n]{0,200}, BEGIN|Activities:)[ \t]*$", re.MULTILINE | re.IGNORECASE)
_ADDRESS = re.compile(r"\w+://|^[\w.-]+@[\w.-]+:|@[\w-]+\.|^/|^~|\.\./", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Asked:
    """For whom a model is asked: the customer's id, and a token instead of the operator's key."""

    customer: str | None = None
    auth_token: str = ""


def schema_of(activities: Mapping[str, Activity]) -> dict[str, Any]:
    """Return the JSON Schema of the answer (contract-router 1.4) for these activities."""
    return {
        "type": "object",
        "properties": {
            "activities": {
                "type": "array",
                "minItems": 1,
                "maxItems": MOST_ACTIVITIES,
                "items": {"type": "string", "enum": sorted(activities)},
            },
            "parameters": {"type": "object", "additionalProperties": True},
            "isCron": {"type": "boolean"},
            "cronSchedule": {"type": "string", "maxLength": 128},
            "cronTimezone": {"type": "string", "maxLength": 64},
            "workflowName": {"type": "string", "maxLength": 128},
            "errorHandling": {"type": "string", "enum": ["retry", "fail-fast", "continue"]},
        },
        "required": ["activities", "parameters", "isCron", "cronSchedule", "workflowName"],
        "additionalProperties": False,
    }


def ask_model(
    sentence: Sentence,
    context: str,
    memory: Mapping[str, Any],
    activities: Mapping[str, Activity],
    words: Intent,
    asked: Asked,
) -> Intent:
    """Return what a model makes of ``sentence``; ``words`` is what its words alone say, which the model cannot undo.

    At most two corrective questions are asked: one by the client for what does not fit the schema, one here. Raises
    ``agents.llm.LLMError`` if there is no usable answer, and ``PromptError`` if the prompt cannot be rendered.
    """
    public = {name: activity for name, activity in activities.items() if not activity.internal}
    system = rendering.render("router/system.j2")
    request = rendering.render(
        "router/request.j2",
        message=sentence.shown(sentence.text),
        context=_without_marks(context) or None,
        skills=_listed(memory, "skills", ("name", "description", "why")),
        lessons=_listed(memory, "lessons", ("level", "text")),
        activities=[_described(activity) for activity in public.values()],
    )
    messages = [{"role": "user", "content": request.text}]
    question = ChatRequest(
        model=MODEL,
        messages=messages,
        system=system.text,
        temperature=0.0,
        schema=schema_of(public),
        timeout=SECONDS,
        attempts=2,
        auth_token=asked.auth_token,
        context=CallContext(
            customer=asked.customer, purpose=PURPOSE, prompt_name=request.name, prompt_version=request.version
        ),
    )
    answer = llm.complete_now(question).parsed
    problems = _problems(answer, public)
    if problems:
        said = json.dumps(answer, ensure_ascii=False)
        again = "This cannot be used: " + "; ".join(problems) + ". Answer again with the same fields."
        more = [*messages, {"role": "assistant", "content": said}, {"role": "user", "content": again}]
        answer = llm.complete_now(replace(question, messages=more, attempts=1)).parsed
    return _checked(answer, sentence, context, public, words)


def _without_marks(text: str) -> str:
    """Return ``text`` with lines that look like the marks around it set off: nothing in it may end it."""
    return _MARK.sub(r"> \g<0>", text)


def _listed(memory: Mapping[str, Any], key: str, fields: tuple[str, ...]) -> list[dict[str, str]]:
    """Return what was remembered, with a line for every field the prompt reads; anything else is left out."""
    found = memory.get(key)
    items = [item for item in found if isinstance(item, Mapping)] if isinstance(found, list) else []
    return [{name: " ".join(str(item.get(name) or "")[:2_000].split()) for name in fields} for item in items[:20]]


def _described(activity: Activity) -> dict[str, Any]:
    inputs = ", ".join(activity.input_schema.get("properties", {}))
    return {
        "name": activity.name,
        "description": f"{activity.description} Inputs: {inputs}" if inputs else activity.description,
        "category": activity.category,
        "timeout": format_duration(activity.timeout),
        "flaky": activity.is_flaky,
    }


def _problems(answer: Mapping[str, Any], activities: Mapping[str, Activity]) -> list[str]:
    unknown = [name for name in answer["activities"] if name not in activities]
    problems = [f"there is no activity {name}" for name in unknown]
    if answer["isCron"] and (fault := _fault_of(answer["cronSchedule"], answer.get("cronTimezone") or "UTC")):
        problems.append(f"cronSchedule: {fault}")
    return problems


def _fault_of(schedule: str, zone: str) -> str:
    """Return what is wrong with a schedule, "" if nothing is."""
    try:
        check_runs(parse_cron(schedule), zone, after=datetime.now(UTC))
    except (CronError, UnknownZone) as error:
        return str(error)
    return ""


def _checked(
    answer: Mapping[str, Any], sentence: Sentence, context: str, activities: Mapping[str, Activity], words: Intent
) -> Intent:
    """Return the answer as an intent, without what the sentence does not bear out."""
    known = [name for name in dict.fromkeys(answer["activities"]) if name in activities]
    intent = Intent(activities=[name for name in known if name not in words.excluded], excluded=set(words.excluded))
    intent.warnings += [
        f"There is no activity {n}; it is left out." for n in answer["activities"] if n not in activities
    ]
    intent.warnings += [f"{n} is ruled out by the sentence; it is left out." for n in known if n in words.excluded]
    if words.notify == "failure" and phrases.NOTIFY in words.activities and phrases.NOTIFY not in intent.activities:
        intent.activities.append(phrases.NOTIFY)  # read word for word: whoever wants to hear of a failure does
    intent.order = set(zip(intent.activities, intent.activities[1:], strict=False))
    intent.parameters = _parameters(answer["parameters"], sentence, context, intent) | words.parameters
    intent.workflow_name = words.workflow_name or answer["workflowName"]
    said = any(note.subject == "errors" for note in words.notes)
    intent.error_handling = words.error_handling if said else answer.get("errorHandling", "retry")
    intent.timeout, intent.attempts = words.timeout, words.attempts
    intent.notify, intent.condition = words.notify, words.condition
    if words.condition is not None:
        intent.order = words.condition.ordered(intent.order)
    intent.reasons = {name: words.reasons.get(name, "the model's choice") for name in intent.activities}
    intent.notes += [note for note in words.notes if note.subject != "model"]
    if {phrases.LLM, phrases.BATCH} & set(intent.activities):
        intent.parameters.setdefault("model", MODEL)
    intent.warnings += [warning for warning in words.warnings if warning not in intent.warnings]
    _take_schedule(answer, intent, words)
    asks_nothing = bool(intent.activities)
    intent.questions += [
        q for q in words.questions if q.parameter != "message" or not asks_nothing or _is_contradiction(q)
    ]
    return intent


def _is_contradiction(question: Question) -> bool:
    return bool(question.options) or "rules it out" in question.text


def _take_schedule(answer: Mapping[str, Any], intent: Intent, words: Intent) -> None:
    if words.is_cron:  # read word for word: a model may be off by an hour
        intent.is_cron, intent.cron_schedule, intent.cron_timezone = True, words.cron_schedule, words.cron_timezone
        return
    if any(question.parameter == "schedule" for question in words.questions):
        return
    schedule, zone = answer["cronSchedule"].strip(), answer.get("cronTimezone") or "UTC"
    if not answer["isCron"]:
        if schedule:
            intent.warnings.append(f'The model gave the schedule "{schedule}" for something that does not repeat.')
        return
    if fault := _fault_of(schedule, zone):
        intent.questions.append(Question("schedule", f"How often should it run? The model's schedule is none: {fault}"))
        return
    intent.is_cron, intent.cron_schedule, intent.cron_timezone = True, schedule, zone
    intent.notes.append(Note("schedule", "The schedule is the model's reading of the sentence."))


def _parameters(given: Mapping[str, Any], sentence: Sentence, context: str, intent: Intent) -> dict[str, Any]:
    """Return the values that may count: addresses and paths only as they stand in the message or its context."""
    source = f"{sentence.shown(sentence.text)}\n{context}"
    values: dict[str, Any] = {}
    for name, value in given.items():
        if value in (None, "", [], {}) or squashed(name.rpartition(".")[2]) == "path":
            continue
        foreign = [text for text in texts_in(value) if _ADDRESS.search(text) and not _stands_in(text, source)]
        if foreign:
            intent.warnings.append(f"{name} is left out: nobody gave {foreign[0][:100]}.")
        elif "${" in json.dumps(value) or "{%" in json.dumps(value):
            intent.warnings.append(f"{name} is left out: values are no references.")
        else:
            values[name] = value
    return values


def _stands_in(text: str, source: str) -> bool:
    addresses = re.findall(r"[\w+.-]+://[^\s\"'<>]+|[\w.+-]+@[\w.-]+(?::[\w./~-]+)?|/[^\s\"'<>]+", text) or [text]
    return all(
        re.search(rf"(?<![\w/@.-]){re.escape(a.rstrip('/.,;'))}(?![\w@-]|/\w|\.\w)", source) is not None
        for a in addresses
    )


def texts_in(value: Any) -> list[str]:
    """Return every text in ``value``, at any depth; keys are none."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for part in value.values() for text in texts_in(part)]
    return [text for part in value for text in texts_in(part)] if isinstance(value, list) else []
