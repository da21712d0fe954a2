"""What the demo model says: echoes, first sentences, values that fit a schema, calls of tools. Rules, no model.

The same question gets the same answer. Values are taken from the question where it has some that fit.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MOST_DEPTH = 12
MOST_ECHO = 600
_URL = re.compile(r"(?:https?|ssh|git)://[^\s\"'<>)\]]+")
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_DIRECTIVE = re.compile(r"\[\[(?P<kind>[a-z0-9-]+)(?:\s+(?P<value>[\w.:/-]+))?\]\]")
_UNTOLD = frozenset({"activity", "the", "a", "an", "and", "of", "to", "code", "status", "results", "state"})


@dataclass(frozen=True, slots=True)
class Reply:
    """What is said, and which tools are to be called: ``(name, arguments)``."""

    text: str
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    finish_reason: str = "stop"


def directives_in(body: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the misbehaviour that the last message of the user asks for, as ``[[slow 2]]``."""
    return [(found["kind"], found["value"] or "") for found in _DIRECTIVE.finditer(asked_in(body))]


def asked_in(body: Mapping[str, Any]) -> str:
    """Return the last message of the user; of one with marks, what stands between the first BEGIN and END."""
    messages = body.get("messages")
    texts = [
        str(message.get("content") or "")
        for message in (messages if isinstance(messages, list) else [])
        if isinstance(message, dict) and message.get("role") == "user"
    ]
    last = texts[-1] if texts else ""
    marked = re.search(r"BEGIN\n(.*?)\nEND(?:\n|$)", last, re.DOTALL)
    return marked.group(1) if marked else last


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
    if wanted is not None:
        return _cut(Reply(json.dumps(value_for(wanted, asked))), body)
    if re.search(r"\bsummar(?:y|ise|ize)", asked, re.IGNORECASE):
        rest = re.sub(r"^[^:\n]*\bsummar\w+[^:\n]*:?", "", asked, count=1, flags=re.IGNORECASE).strip()
        sentences = [found.strip() for found in _SENTENCE.findall(rest or asked) if found.strip()]
        return _cut(Reply("In short: " + " ".join(sentences[:2])), body)
    return _cut(Reply(f"This is the demo model, which understands nothing. You wrote: {asked[:MOST_ECHO]}"), body)


def value_for(schema: Any, asked: str) -> Any:
    """Return a value that fits the JSON Schema, made of words of ``asked`` where they fit."""
    return _value(schema, asked, schema, "", 0)


def tokens_of(text: str) -> int:
    """Return how many tokens a text counts as: four characters each."""
    return -(-len(text) // 4)


def _schema_of(body: Mapping[str, Any]) -> Any:
    form = body.get("response_format")
    if not isinstance(form, dict):
        return None
    if form.get("type") == "json_schema":
        return (form.get("json_schema") or {}).get("schema") or {}
    return {"type": "object"} if form.get("type") == "json_object" else None


def _cut(reply: Reply, body: Mapping[str, Any]) -> Reply:
    most = body.get("max_tokens")
    if isinstance(most, int) and tokens_of(reply.text) > most:
        return Reply(reply.text[: most * 4], finish_reason="length")
    return reply


def _value(schema: Any, asked: str, root: Any, name: str, depth: int) -> Any:
    if not isinstance(schema, Mapping) or depth > MOST_DEPTH:
        return None
    if "$ref" in schema:
        return _value(_resolved(schema["$ref"], root), asked, root, name, depth + 1)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return max(schema["enum"], key=lambda option: _likeness(str(option), asked))
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
            found = re.search(r"\b\d{1,6}\b", asked)
            least, most = schema.get("minimum", 0), schema.get("maximum", 1_000_000)
            number = schema.get("default", int(found[0]) if found else 1)
            return min(max(number, least), most)
        case "boolean":
            return bool(schema.get("default", False))
        case "null":
            return None
    return _string(schema, asked, name)


def _array(schema: Mapping[str, Any], asked: str, root: Any, name: str, depth: int) -> list[Any]:
    items = schema.get("items") or {}
    if isinstance(items, Mapping) and "$ref" in items:
        items = _resolved(items["$ref"], root)
    options = items.get("enum") if isinstance(items, Mapping) else None
    least = schema.get("minItems", 1)
    if options:
        fitting = [option for option in options if _likeness(str(option), asked) > 0]
        return (fitting or list(options[:least]))[: schema.get("maxItems", 100)]
    return [_value(items, asked, root, name, depth + 1) for _ in range(min(least, 20))]


def _string(schema: Mapping[str, Any], asked: str, name: str) -> str:
    if "default" in schema:
        return str(schema["default"])
    words, url = name.lower(), _URL.search(asked)
    if any(part in words for part in ("url", "repo", "link")):
        text = url[0].rstrip(".,;") if url else ""
    elif "cron" in words and "zone" not in words:
        text = "0 2 * * *" if re.search(r"\b(daily|every day|nightly)\b", asked, re.IGNORECASE) else ""
    elif "zone" in words:
        text = "UTC"
    elif words.endswith("name"):
        text = "-".join(re.findall(r"[a-z0-9]+", asked.lower())[:4]) or "demo"
    else:
        text = next((found.strip() for found in _SENTENCE.findall(asked) if found.strip()), "demo")
    text = text.ljust(schema.get("minLength", 0), "x")
    return text[: schema.get("maxLength", 500)]


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
