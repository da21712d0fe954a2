"""What the demo model says: echoes, first sentences, values that fit a schema, calls of tools. Rules, no model.

The same question gets the same answer. Values are taken from the question where it has some that fit.
"""

import contextlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.demo_llm import connecting

MOST_DEPTH = 12
MOST_ECHO = 600
_COMPLAINT = re.compile(r"Th(?:at|is) cannot be used: ")
_TOLD = re.compile(r"^- (\w+): (.+?)(?: Inputs:.*)?$", re.MULTILINE)
_SCHEMA_IN_WORDS = "JSON Schema:\n"
_ADDRESS = re.compile(r"\w+://\S+|\S+@\S+")
_URL = re.compile(r"(?:https?|ssh|git)://[^\s\"'<>)\]]+")
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_DAILY = re.compile(r"\b(?:daily|every day|nightly|every night)\b", re.IGNORECASE)
_DIRECTIVE = re.compile(r"\[\[(?P<kind>[a-z0-9-]+)(?:\s+(?P<value>[\w.:/-]+))?\]\]")
_UNTOLD = frozenset(
    {
        "activity", "the", "a", "an", "and", "of", "to", "code", "status", "results", "state", "with", "what", "that",
        "from", "into", "once", "they", "them", "this", "when", "then", "have", "every", "more", "than", "another",
        "help", "time", "check", "checks", "project", "projects",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reply:
    """What is said, and which tools are to be called: ``(name, arguments)``."""

    text: str
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    finish_reason: str = "stop"


@dataclass(frozen=True, slots=True)
class _Question:
    """What is asked, and what is told of the options that there are, by name."""

    text: str
    told: Mapping[str, str]

    @property
    def words(self) -> str:
        """The question without addresses: "https" asks for no HTTP."""
        return _ADDRESS.sub(" ", self.text)


def directives_in(body: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the misbehaviour that the last message of the user asks for, as ``[[slow 2]]``."""
    return [(found["kind"], found["value"] or "") for found in _DIRECTIVE.finditer(asked_in(body))]


def asked_in(body: Mapping[str, Any]) -> str:
    """Return the last message of the user; of one with marks, what stands between the first BEGIN and END."""
    said = _said_by_the_user(body)
    return _marked(said[-1]) if said else ""


def _marked(text: str) -> str:
    found = re.search(r"BEGIN\n(.*?)\nEND(?:\n|$)", text, re.DOTALL)
    return found.group(1) if found else text


def _said_by_the_user(body: Mapping[str, Any]) -> list[str]:
    messages = body.get("messages")
    return [
        str(message.get("content") or "")
        for message in (messages if isinstance(messages, list) else [])
        if isinstance(message, dict) and message.get("role") == "user"
    ]


def _question_in(body: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """Return what is asked, past all messages that only find fault with an answer; and what it tells of its options."""
    said = _said_by_the_user(body)
    questions = [text for text in said if not _COMPLAINT.match(text)] or said
    if not questions:
        return "", {}
    return _marked(questions[-1]), dict(_TOLD.findall(questions[-1]))


def reply_to(body: Mapping[str, Any]) -> Reply:
    """Return the answer to the body of a chat request."""
    messages = [m for m in body.get("messages", []) if isinstance(m, dict)]
    asked = asked_in(body)
    last = messages[-1] if messages else {}
    if last.get("role") == "tool":
        return _cut(Reply(f"The tool answered: {str(last.get('content'))[:MOST_ECHO]}"), body)
    tools = [tool["function"] for tool in body.get("tools") or [] if isinstance(tool.get("function"), dict)]
    if tools and body.get("tool_choice") != "none":
        chosen = max(tools, key=lambda tool: _likeness(str(tool.get("name")), asked))
        arguments = value_for(chosen.get("parameters") or {"type": "object"}, asked)
        return Reply("", ((str(chosen.get("name")), arguments),), "tool_calls")
    wanted = _schema_of(body)
    if connecting.is_wanted(wanted):
        said = [text for text in _said_by_the_user(body) if not _COMPLAINT.match(text)]
        return _cut(Reply(json.dumps(connecting.connections_in("\n".join(said)))), body)
    if wanted is not None:
        question, told = _question_in(body)
        return _cut(Reply(json.dumps(value_for(wanted, question, told))), body)
    if re.search(r"\bsummar(?:y|ise|ize)", asked, re.IGNORECASE):
        rest = re.sub(r"^[^:\n]*\bsummar\w+[^:\n]*:?", "", asked, count=1, flags=re.IGNORECASE).strip()
        sentences = [found.strip() for found in _SENTENCE.findall(rest or asked) if found.strip()]
        return _cut(Reply("In short: " + " ".join(sentences[:2])), body)
    return _cut(Reply(f"This is the demo model, which understands nothing. You wrote: {asked[:MOST_ECHO]}"), body)


def value_for(schema: Any, asked: str, told: Mapping[str, str] | None = None) -> Any:
    """Return a value that fits the JSON Schema, made of words of ``asked`` where they fit.

    ``told`` is what the question says of options, by name: its words count where an option's name has none.
    """
    return _value(schema, _Question(asked, told or {}), schema, "", 0)


def tokens_of(text: str) -> int:
    """Return how many tokens a text counts as: four characters each."""
    return -(-len(text) // 4)


def _schema_of(body: Mapping[str, Any]) -> Any:
    form = body.get("response_format")
    if not isinstance(form, dict):
        return _schema_in_words(body)
    if form.get("type") == "json_schema":
        return (form.get("json_schema") or {}).get("schema") or {}
    return {"type": "object"} if form.get("type") == "json_object" else None


def _schema_in_words(body: Mapping[str, Any]) -> Any:
    """The schema that a message holds: clients write it there once a server has refused ``response_format``."""
    for message in body.get("messages", []):
        _, mark, rest = (
            str(message.get("content")).partition(_SCHEMA_IN_WORDS) if isinstance(message, dict) else ("",) * 3
        )
        if mark:
            with contextlib.suppress(ValueError, RecursionError):
                return json.JSONDecoder().raw_decode(rest)[0]
    return None


def _cut(reply: Reply, body: Mapping[str, Any]) -> Reply:
    most = body.get("max_tokens")
    if isinstance(most, int) and tokens_of(reply.text) > most:
        return Reply(reply.text[: most * 4], finish_reason="length")
    return reply


def _value(schema: Any, asked: _Question, root: Any, name: str, depth: int) -> Any:
    if not isinstance(schema, Mapping) or depth > MOST_DEPTH:
        return None
    if "$ref" in schema:
        return _value(_resolved(schema["$ref"], root), asked, root, name, depth + 1)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return max(schema["enum"], key=lambda option: _likeness(str(option), asked.words))
    for choice in ("anyOf", "oneOf", "allOf"):
        if schema.get(choice):
            return _value(schema[choice][0], asked, root, name, depth + 1)
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = kind[0] if kind else None
    if kind is None:
        kind = "object" if "properties" in schema else "string"
    match kind:
        case "object":
            properties = schema.get("properties") or {}
            wanted = set(schema.get("required") or ()) | {key for key in properties if depth < 2}
            return {k: _value(v, asked, root, k, depth + 1) for k, v in properties.items() if k in wanted}
        case "array":
            return _array(schema, asked, root, name, depth)
        case "integer" | "number":
            found = re.search(r"\b\d{1,6}\b", asked.text)
            least, most = schema.get("minimum", 0), schema.get("maximum", 1_000_000)
            number = schema.get("default", int(found[0]) if found else 1)
            return min(max(number, least), most)
        case "boolean":
            return bool(schema.get("default", "cron" in name.lower() and _DAILY.search(asked.text)))
        case "null":
            return None
    return _string(schema, asked, name)


def _array(schema: Mapping[str, Any], asked: _Question, root: Any, name: str, depth: int) -> list[Any]:
    items = schema.get("items") or {}
    if isinstance(items, Mapping) and "$ref" in items:
        items = _resolved(items["$ref"], root)
    options = items.get("enum") if isinstance(items, Mapping) else None
    least = schema.get("minItems", 1)
    if options:
        return (_fitting(options, asked) or _nothing(options, asked, least))[: schema.get("maxItems", 100)]
    return [_value(items, asked, root, name, depth + 1) for _ in range(min(least, 20))]


def _string(schema: Mapping[str, Any], asked: _Question, name: str) -> str:
    if "default" in schema:
        return str(schema["default"])
    words, url = name.lower(), _URL.search(asked.text)
    if any(part in words for part in ("url", "repo", "link")):
        text = url[0].rstrip(".,;") if url else ""
    elif "cron" in words and "zone" not in words:
        text = "0 2 * * *" if _DAILY.search(asked.text) else ""
    elif "zone" in words:
        text = "UTC"
    elif words.endswith("name"):
        text = "-".join(re.findall(r"[a-z0-9]+", asked.words.lower())[:4]) or "demo"
    else:
        text = next((found.strip() for found in _SENTENCE.findall(asked.text) if found.strip()), "demo")
    text = text.ljust(schema.get("minLength", 0), "x")
    return text[: schema.get("maxLength", 500)]


def _fitting(options: Sequence[Any], asked: _Question) -> list[Any]:
    """The options with a word of their name in the question, or a word that of all options only they are told with."""
    told = {option: _words_of(asked.told.get(str(option), "")) for option in options}
    said = _words_of(asked.words)
    chosen = []
    for option in options:
        others = set().union(*(words for other, words in told.items() if other != option))
        own = {word for word in told[option] if not any(_are_alike(word, other) for other in others)}
        if _likeness(str(option), asked.words) > 0 or any(_are_alike(a, b) for a in own for b in said):
            chosen.append(option)
    if chosen or not asked.told:
        return chosen
    scores = {option: sum(any(_are_alike(a, b) for b in said) for a in words) for option, words in told.items()}
    best = max(options, key=lambda option: (scores[option], -len(told[option])))
    return [best] if scores[best] else [option for option in options if _likeness(str(option), asked.text) > 0]


def _nothing(options: Sequence[Any], asked: _Question, least: int) -> list[Any]:
    """The first options, as many as there must be; none where they are told of, and none of that was asked for."""
    return [] if asked.told else list(options[:least])


def _words_of(text: str) -> set[str]:
    return {word for word in re.findall(r"[a-z]{4,}", text.lower()) if word not in _UNTOLD}


def _are_alike(one: str, other: str) -> bool:
    """Whether two words of at least four letters may be forms of one: "tests" and "testing"."""
    short, long = sorted((one, other), key=len)
    stem = short.removesuffix("s")
    return len(stem) >= 4 and long.startswith(stem) and len(long) - len(stem) <= 4


def _resolved(reference: Any, root: Any) -> Any:
    place = root
    for part in str(reference).removeprefix("#/").split("/"):
        place = place.get(part, {}) if isinstance(place, Mapping) else {}
    return place


def _likeness(option: str, asked: str) -> int:
    """How many words of ``option`` the question has, as they are or as a beginning."""
    words = [word.lower() for word in _WORDS.findall(option)]
    said: Sequence[str] = re.findall(r"[a-z0-9]+", asked.lower())
    return sum(any(s.startswith(word[:6]) for s in said) for word in words if word not in _UNTOLD and len(word) > 2)
