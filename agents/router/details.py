"""The values a sentence gives: repositories, branches, severities, formats, recipients, places, limits, names.

Owns where each value is read from. Refuses to make one up: what is not said is left out, and asked for elsewhere.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from agents.router import phrases
from agents.router.clock_words import NUMBER, number
from agents.router.sentence import Sentence

Parameters = dict[str, Any]

_SEVERITY = r"(?:critical|high|medium|low)"
_SEVERITIES = (
    re.compile(
        rf"\b({_SEVERITY})(?:[\s-]+(?:severity|risk|priority|level))?\s+(?:\w+\s+)?(?:and|or)\s+(?:above|higher|worse|up|more|greater)\b"
    ),
    re.compile(rf"\bseverity(?:\s+(?:of|is|level|at\s+least|=|:|from|above|threshold))*\s*[=:]?\s*({_SEVERITY})\b"),
    re.compile(rf"\b({_SEVERITY})[\s-]+(?:severity|risk|priority|level)\b"),
    re.compile(
        rf"\b({_SEVERITY})\s+(?:\w+\s+){{0,2}}?(?:issues?|findings?|vulnerabilit\w+|problems?|ones?|bugs?|flaws?|security|cves?|only|alerts?|holes)\b"
    ),
    re.compile(rf"\b(?:only|at\s+least|minimum|min\.?|down\s+to|above|from|just)\s+(?:the\s+)?({_SEVERITY})\b"),
    re.compile(rf"\b(?:ab|mindestens|nur)\s+({_SEVERITY}|hoch|mittel|niedrig|kritisch\w*)\b"),
    re.compile(r"\b(?:schweregrad|gravité|severidad|gravedad)\s+(?:de\s+|alta\s+)?(\w+)\b"),
)
_SEVERITY_WORDS = {
    "hoch": "high", "mittel": "medium", "niedrig": "low", "kritisch": "critical", "élevée": "high", "alta": "high",
    "media": "medium", "baja": "low", "critique": "critical", "crítica": "critical", "critica": "critical",
}  # fmt: skip
_FORMAT = re.compile(r"\b(html|markdown|json|md|pdf|docx?|word|excel|xlsx?|csv|xml|yaml)\b")
_FORMATS = {"md": "markdown"}
_LANGUAGES = re.compile(
    r"\b(python|golang|go|javascript|typescript|java|rust|ruby|php|swift|c\+\+|cpp)\b(?=\s+(?:code|files?|sources?|part|only|modules?|project))"
)
_ANALYSIS_DEPTH = (
    (re.compile(r"\b(?:deep|thorough|in-depth|strict|exhaustive|detailed|full)(?:ly)?\s+(?:code\s+)?(?:analys|review|quality)|analy[sz]e\s+(?:\S+\s+){0,4}?(?:deeply|thoroughly|in\s+depth|in\s+detail)"), 5),
    (re.compile(r"\b(?:shallow|quick|superficial|light|brief|rough)\s+(?:code\s+)?(?:analys|review|quality|check\s+of)|analy[sz]e\s+(?:\S+\s+){0,4}?(?:quickly|superficially|roughly)"), 1),
)  # fmt: skip
_DEPTH = re.compile(r"\b(?:analysis\s+)?depth\s*(?:of|=|:)?\s*(\d)\b")
_CLONE_DEPTH = re.compile(
    rf"\b(?:last|latest|newest)\s+({NUMBER})\s+commits?\b|\bclone\s+depth\s*(?:of|=|:)?\s*(\d+)\b"
)
_SHALLOW = re.compile(r"\bshallow(?:ly)?\s+clon|\b(?:only|just)\s+the\s+(?:last|latest)\s+commit\b|\bdepth\s+1\s+clone")
_CHECKS = (
    ("lint", re.compile(r"\blint\w*\b|\bstyle\s+check")),
    ("test", re.compile(r"\btest\w*\b|\bpruebas\b")),
    ("build", re.compile(r"\bbuild\w*\b|\bcompil\w+\b|\bbaue?t?\b")),
)
_NO_CHECK = re.compile(
    r"\b(?:skip\w*|no|not|without|don'?t\s+\w+|except)\s+(?:the\s+|any\s+|running\s+)*(?:\w+\s+)?(?:tests?|lint\w*|build\w*)\b"
)
_ALL_CHECKS = re.compile(
    r"\b(?:deploy\w*|readiness|ready\s+(?:to|for)|pre-?(?:deploy\w*)?[\s-]?checks?|all\s+(?:the\s+)?checks)\b"
)
_APPROVALS = re.compile(
    rf"\b({NUMBER}|both|a\s+couple\s+of)\s+(?:\w+\s+){{0,2}}?(?:approv\w+|people|persons?|reviewers?|leads?|managers?|sign-?offs?|colleagues|humans|confirmations|engineers|maintainers|genehmigung\w*|personen)\b"
    rf"|\bapprov\w+\s+(?:by|from|of)\s+(?:at\s+least\s+)?({NUMBER}|both)\b"
)
_FOUR_EYES = re.compile(r"\bfour[\s-]eyes\b")
_WITHIN = re.compile(
    rf"\b(?:within|in\s+under|wait\w*\s+(?:at\s+most|up\s+to|no\s+more\s+than|max\w*)|expires?\s+(?:after|in)|give\s+(?:them|him|her|people|us|me)|time\s+out\s+after|for\s+up\s+to|at\s+most)\s+"
    rf"({NUMBER}|an?|half\s+an?)\s+(minutes?|mins?|hours?|hrs?)\b"
)
_TIMEOUT = re.compile(
    rf"\b(?:time\s?out\s*(?:of|after|is|=|:|at)?|(?:must|should|may|can)\s+(?:not\s+)?(?:take|run)\s+(?:longer\s+than|at\s+most|no\s+more\s+than|more\s+than)|"
    rf"(?:no\s+longer|not\s+longer|no\s+more)\s+than|limit(?:ed)?\s+(?:\w+\s+){{0,2}}to|finish(?:ed)?\s+within|abort\s+after|kill\s+(?:it\s+)?after|stop\s+after|"
    rf"give\s+up\s+after|at\s+most|within|maximum\s+of|max\.?)\s+({NUMBER}|an?|half\s+an?)\s*(s|seconds?|secs?|m|minutes?|mins?|h|hours?|hrs?)\b"
)
_RETRIES = re.compile(
    rf"\b(?:retry|try|attempt)\w*\s+(?:it\s+|each\s+step\s+|every\s+step\s+|failures?\s+|again\s+)?(?:up\s+to\s+|at\s+most\s+)?({NUMBER}|once|twice)(?:\s+times?|\s+more\s+times?)?\b"
    rf"|\b({NUMBER})\s+(?:retries|attempts|tries)\b"
)
_NAME = re.compile(
    r"\b(?:call(?:ed)?\s+(?:it|this|the\s+workflow|the\s+job|that)|name(?:d)?\s+(?:it|this|the\s+workflow|the\s+job)|"
    r"(?:workflow|job|pipeline)\s+(?:called|named|with\s+the\s+name)|nenn\w*\s+(?:es|ihn|den\s+workflow))\s*:?\s*(?:as\s+)?(§q\d+|[A-Za-z0-9][\w-]*)"
)
_TITLE = re.compile(r"\b(?:titled|with\s+the\s+title|entitled|title)\s*:?\s*(§q\d+)")
_MESSAGE = re.compile(
    r"(?:\b(?:saying|say|says|with|the\s+(?:message|text)|message|text|that|with\s+the\s+(?:words|message|text))\s*:?\s*|[:]\s*)(§q\d+)"
)
_NOT_BY = re.compile(
    r"\b(?:no|not|without|rather\s+than|instead\s+of|never)\s+(?:by\s+|via\s+|on\s+|an?\s+|any\s+)*(?:e-?mails?|mails?|slack|webhook)\b"
)
_QUERY = re.compile(
    r"\b(?:lessons?(?:\s+learn\w+)?|memor(?:y|ies)|recall|knowledge\s+base|experiences?|knowledge|learn(?:ed|t)|know)\s+(?:anything\s+|everything\s+)?(?:about|on|of|for|from|regarding|with|concerning)\s+"
    r"([^.,;§\n]{3,120}?)(?=\s+(?:and|then|before|after|to|in\s+order|(?:in|from)\s+(?:\w+\s+)?memory)\b|[.,;§\n]|$)"
    r"|\b(?:recall|remember)\s+(?:what\s+)?([^.,;§\n]{3,120}?)(?=\s+(?:and|then|before)\b|[.,;§\n]|$)"
)
_MODEL = re.compile(r"\b(reasoning|ornith:\d+b|qwen[\w.]*:\d+b|gpt-[\w.]+|claude-[\w.-]+|llama[\w.:-]*\d\w*)\b")
_TEMPERATURE = re.compile(r"\btemperature\s*(?:of|=|:|at)?\s*([01](?:\.\d+)?|2(?:\.0)?)\b")
_ROLE = re.compile(
    r"\b(?:role|identity|service\s+account|as|impersonat\w+)\s+(?:called\s+|named\s+)?(§q\d+|(?!an?\b|the\b|role\b|soon\b|it\b|html\b|json\b|markdown\b|well\b)[a-z][\w:@/-]*)"
)
_SCOPE = re.compile(
    r"\bscopes?\s*(?:of|=|:)?\s*(§q\d+|[a-z][\w.]*:[\w.*]+(?:(?:\s*,\s*|\s+and\s+|\s+)[a-z][\w.]*:[\w.*]+)*)"
)
_METHOD = re.compile(r"\b(GET|POST|PUT|DELETE|PATCH|HEAD)\b")
_VERB_METHOD = re.compile(r"\b(post|send|submit|push|put|delete)\b")
_STATUS = re.compile(
    r"\b(?:expect\w*|status|answers?|returns?|responds?(?:\s+with)?)\s+(?:a\s+|an?\s+)?(?:status\s+|http\s+)?([1-5]\d\d)\b"
)


@dataclass(slots=True)
class Details:
    """``values`` by input name, or ``Activity.input`` where only one activity's input is meant; the rest is notes."""

    values: Parameters = field(default_factory=dict)
    name: str = ""
    timeout: str = ""
    attempts: int | None = None
    warnings: list[str] = field(default_factory=list)


def read_details(sentence: Sentence, wanted: Collection[str]) -> Details:
    """Return the values that ``sentence`` gives for the activities it wants."""
    details = Details()
    text = sentence.text
    lower = text.lower()
    quotes = set(sentence.values.get("q", ()))
    _read_name(sentence, details, quotes)
    _read_repositories(sentence, wanted, details)
    if phrases.SCAN in wanted:
        _read_severity(lower, details)
    if phrases.ANALYZE in wanted:
        _read_analysis(lower, details)
    if phrases.REPORT in wanted:
        _read_report(sentence, lower, details, quotes)
    if phrases.CHECK in wanted:
        _read_checks(lower, details)
    if phrases.APPROVE in wanted:
        lower = _read_approval(lower, details)
    if phrases.ARCHIVE in wanted:
        _read_destination(sentence, details)
    if phrases.ASSUME in wanted:
        _read_role(sentence, details)
    if phrases.HTTP in wanted:
        _read_request(sentence, details)
    if phrases.NOTIFY in wanted:
        _read_notification(sentence, lower, wanted, details, quotes)
    if phrases.MEMORY in wanted and (query := _QUERY.search(lower)):
        topic = sentence.shown(next(g for g in query.groups() if g)).strip()
        details.values["query"] = re.sub(r"^(?:the\s+)?lessons?\s+(?:on|about|of|for|from)\s+", "", topic)
    if phrases.LLM in wanted or phrases.BATCH in wanted:
        _read_prompts(sentence, lower, wanted, details, quotes)
    if limit := _TIMEOUT.search(lower):
        details.timeout = f"{_amount(limit.group(1), limit.group(2))}"
    if retries := _RETRIES.search(lower):
        said = next(g for g in retries.groups() if g)
        count = {"once": 1, "twice": 2}.get(said) or number(said)
        details.attempts = min(max(count, 1), 10)
    return details


def _read_name(sentence: Sentence, details: Details, quotes: set[str]) -> None:
    if named := re.search(_NAME.pattern, sentence.text, re.IGNORECASE):
        details.name = sentence.shown(named.group(1))
        quotes.discard(details.name)


def _read_repositories(sentence: Sentence, wanted: Collection[str], details: Details) -> None:
    repositories = sentence.all("r")
    if not repositories and phrases.HTTP not in wanted:
        repositories = [a for a in sentence.all("u") if not _is_for_webhook(sentence, a)]
    if not repositories:
        paths = sentence.all("p")
        if phrases.ARCHIVE in wanted and paths and not sentence.all("s"):
            place = _destination_path(sentence)
            paths = [path for path in paths if path != place]
        repositories = paths
    if repositories:
        details.values["repo"] = repositories[0] if len(repositories) == 1 else repositories
    if branches := sentence.all("b"):
        details.values["branch"] = branches[0]
        if len(branches) > 1:
            details.warnings.append(f"Several branches are named; {branches[0]} is taken.")
    lower = sentence.text.lower()
    if depth := _CLONE_DEPTH.search(lower):
        details.values[f"{phrases.CLONE}.depth"] = number(next(g for g in depth.groups() if g))
    elif _SHALLOW.search(lower):
        details.values[f"{phrases.CLONE}.depth"] = 1


def _is_for_webhook(sentence: Sentence, address: str) -> bool:
    place = sentence.values["u"].index(address)
    before = sentence.text[: sentence.text.find(f"§u{place}")][-60:].lower()
    return bool(re.search(r"\b(?:webhook|hook|slack|to|notify|tell|post|send)\b[^.;]*$", before))


def _read_severity(lower: str, details: Details) -> None:
    for pattern in _SEVERITIES:
        if found := pattern.search(lower):
            word = found.group(1)
            severity = _SEVERITY_WORDS.get(word) or next(
                (v for k, v in _SEVERITY_WORDS.items() if word.startswith(k)), word
            )
            if re.fullmatch(_SEVERITY, severity):
                details.values["severity"] = severity
                return


def _read_analysis(lower: str, details: Details) -> None:
    if found := _LANGUAGES.search(lower):
        details.values["language"] = {"golang": "go", "c++": "cpp"}.get(found.group(1), found.group(1))
    for pattern, depth in _ANALYSIS_DEPTH:
        if pattern.search(lower):
            details.values[f"{phrases.ANALYZE}.depth"] = depth
            return
    if said := _DEPTH.search(lower):
        details.values[f"{phrases.ANALYZE}.depth"] = min(max(int(said.group(1)), 1), 5)


def _read_report(sentence: Sentence, lower: str, details: Details, quotes: set[str]) -> None:
    for found in _FORMAT.finditer(lower):
        if re.search(r"\b(?:no|not|without|instead\s+of)\s+(?:an?\s+)?$", lower[: found.start()]):
            continue
        said = _FORMATS.get(found.group(1), found.group(1))
        if said in ("html", "markdown", "json"):
            details.values["format"] = said
        elif found.group(1) != "word" and "format" not in details.values:
            details.warnings.append(f"Reports are Markdown, HTML or JSON; there is no {said}, so it is Markdown.")
    if titled := _TITLE.search(sentence.text):
        details.values["title"] = sentence.shown(titled.group(1))
        quotes.discard(details.values["title"])


def _read_checks(lower: str, details: Details) -> None:
    lower = _NO_CHECK.sub(" ", lower)
    named = [name for name, pattern in _CHECKS if pattern.search(lower)]
    if len(named) == 1 and not _ALL_CHECKS.search(lower):
        details.values["checkType"] = named[0]


def _read_approval(lower: str, details: Details) -> str:
    """Read how many and how long; returns the text without the latter, which is no limit of the workflow."""
    if _FOUR_EYES.search(lower):
        details.values["requiredApprovals"] = 2
    if found := _APPROVALS.search(lower):
        said = next(g for g in found.groups() if g)
        count = 2 if said.startswith(("both", "a couple")) else number(said)
        if 1 <= count <= 20:
            details.values["requiredApprovals"] = count
        else:
            details.warnings.append(f"{count} approvals are not possible: 1 to 20 are. One is taken.")
    if within := _WITHIN.search(lower):
        amount, unit = within.groups()
        minutes = 0.5 if amount.startswith("half") else 1 if amount in ("a", "an") else number(amount)
        minutes = minutes * 60 if unit.startswith("h") else minutes
        details.values["timeoutMinutes"] = int(minutes) if minutes == int(minutes) else minutes
        return lower[: within.start()] + " " + lower[within.end() :]
    return lower


def _destination_path(sentence: Sentence) -> str | None:
    found = re.search(
        r"\b(?:to|in|into|under|at|nach|dans|en)\s+(?:the\s+)?(?:folder\s+|directory\s+)?§p(\d+)", sentence.text
    )
    last = None
    for found in re.finditer(
        r"\b(?:to|in|into|under|nach|dans|en)\s+(?:the\s+)?(?:folder\s+|directory\s+)?§p(\d+)", sentence.text
    ):
        last = sentence.values["p"][int(found.group(1))]
    return last


def _read_destination(sentence: Sentence, details: Details) -> None:
    stores = sentence.all("s")
    place = stores[0] if stores else _destination_path(sentence)
    if place:
        details.values["destination"] = place
    if len(stores) > 1:
        details.warnings.append(f"Several places to archive to are named; {stores[0]} is taken.")


def _read_role(sentence: Sentence, details: Details) -> None:
    if role := re.search(_ROLE.pattern, sentence.text, re.IGNORECASE):
        details.values["identity"] = sentence.shown(role.group(1))
    if scope := re.search(_SCOPE.pattern, sentence.text, re.IGNORECASE):
        details.values["scope"] = " ".join(re.split(r"\s*,\s*|\s+and\s+|\s+", sentence.shown(scope.group(1))))


def _read_request(sentence: Sentence, details: Details) -> None:
    addresses = sentence.all("u")
    if addresses:
        details.values[f"{phrases.HTTP}.url"] = addresses[0] if len(addresses) == 1 else addresses
    if method := _METHOD.search(sentence.text):
        details.values["method"] = method.group(1)
    elif verb := _VERB_METHOD.search(sentence.text.lower()):
        details.values["method"] = {"put": "PUT", "delete": "DELETE"}.get(verb.group(1), "POST")
    if status := _STATUS.search(sentence.text.lower()):
        details.values["expectStatus"] = int(status.group(1))


def _read_notification(
    sentence: Sentence, lower: str, wanted: Collection[str], details: Details, quotes: set[str]
) -> None:
    lower = _NOT_BY.sub(" ", lower)
    channels: list[str] = []
    if re.search(r"\bslack\b|§c\d+", lower):
        channels.append("slack")
    recipients = sentence.all("e")
    if recipients or re.search(r"\b(?:e-?mail|mail|mails|correo|courriel)\b", lower):
        channels.append("email")
    hooks = [a for a in sentence.all("u") if phrases.HTTP not in details.values and _is_for_webhook(sentence, a)]
    if re.search(r"\bwebhook\b", lower):
        channels.append("webhook")
        if hooks and f"{phrases.HTTP}.url" not in details.values:
            details.values[f"{phrases.NOTIFY}.url"] = hooks[0]
    if channels:
        details.values["channel"] = channels[0] if len(channels) == 1 else channels
    if recipients:
        details.values["to"] = recipients[0] if len(recipients) == 1 else recipients
    if said := _MESSAGE.search(sentence.text):
        text = sentence.shown(said.group(1))
        if text in quotes:
            details.values["message"] = text
            quotes.discard(text)
    elif len(quotes) == 1 and not {phrases.LLM, phrases.BATCH} & set(wanted):
        details.values["message"] = quotes.pop()
    if others := re.findall(r"\b(teams|discord|telegram|sms|whatsapp|pagerduty)\b", lower):
        details.warnings.append(
            f"{others[0].capitalize()} is reached by an apprise address in the channel; slack, email and webhook go by name."
        )
    if sentence.all("c"):
        details.warnings.append(
            f"Slack messages go to the channel that the webhook in the settings belongs to; {sentence.all('c')[0]} cannot be chosen."
        )


def _read_prompts(sentence: Sentence, lower: str, wanted: Collection[str], details: Details, quotes: set[str]) -> None:
    if model := _MODEL.search(lower):
        details.values["model"] = model.group(1)
    if temperature := _TEMPERATURE.search(lower):
        details.values["temperature"] = float(temperature.group(1))
    left = [text for text in sentence.values.get("q", ()) if text in quotes]
    if phrases.BATCH in wanted:
        if left:
            details.values["prompts"] = left
    elif left:
        details.values["user_prompt"] = left[0]
    elif asked := re.search(
        r"\b(?:ask|let|have)\s+(?:an?\s+|the\s+)?(?:[\w.:-]+\s+)?(?:llm|ai|model|gpt\S*|qwen\S*|ornith\S*)\s+(?:to\s+|whether\s+|if\s+|for\s+)?([^.;\n]{4,300})",
        sentence.text,
        re.IGNORECASE,
    ):
        details.values["user_prompt"] = sentence.shown(asked.group(1)).strip()
    elif task := re.search(
        r"\b((?:explain|translate|classify|rephrase|paraphrase|draft|brainstorm|suggest|summari[sz]e)\s+[^.;\n]{4,300}?)(?=\s+(?:with|using|by)\s|\s+and\s+(?:then\s+)?(?:send|post|notify|archive|tell|e-?mail)|[.;\n]|$)",
        sentence.text,
        re.IGNORECASE,
    ):
        details.values["user_prompt"] = sentence.shown(task.group(1)).strip()


def _amount(said: str, unit: str) -> str:
    letter = unit[0]
    if said.startswith("half"):
        return {"h": "30m", "m": "30s"}.get(letter, "1s")
    count = 1 if said in ("a", "an") else number(said)
    return f"{count}{letter}"
