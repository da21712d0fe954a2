"""Which activities a sentence asks for, which it rules out, and in which order it wants them.

Owns negation and order; refuses activities that are not registered, and says so.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from agents.router import phrases
from agents.router.sentence import Sentence
from workflows.activities.registry import Activity

_NEGATION = re.compile(
    r"\b(?:no(?!\s+(?:later|more|matter|longer|less|sooner|idea|problem|need\s+to\s+ask))|not(?!\s+(?:only|just|later|more|less))|"
    r"nobody|without|(?:don'?t|do\s+not|doesn'?t|never)(?!\s+(?:forget|hesitate|stop|abort|give\s+up|fail|retry|let|want\s+to\s+miss|lose))|skip\w*|"
    r"omit\w*|leave\s+out|exclud\w+|except(?:\s+for)?|rather\s+than|instead\s+of|neither|nor|forget\s+(?:about\s+)?the|"
    r"ohne|kein(?:e|en|er)?|nicht|sans|pas\s+de|pas\s+d'|sin)\b",
    re.IGNORECASE,
)
_VERBS = (
    r"scan|analy[sz]e|check|report|notify|tell|send|e-?mail|mail|post|archive|upload|store|save|clone|run|test|build|lint|ask|"
    r"get|wait|generate|create|write|make|call|fetch|let|inform|alert|approve|review|put|keep|deploy|slack|message|do|use|stop"
)
_NEGATION_ENDS = re.compile(
    rf"[.;:!?\n]|\bbut\b|\bthen\b|\bjust\b|\bonly\b|\binstead\b(?!\s+of)|,\s*(?!or\b|nor\b|(?:no|without)\b)|\band\s+(?:then\s+)?(?:{_VERBS})\b|"
    r"\b(?:aber|sondern|dann|mais|puis|pero|luego)\b|\b(?:und|et|y)\s+(?=schick|sende|benach|envoie|envía|notif)|\bbefore\b|\bafter\b",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"\b(?:if|when|unless|once|whether|as\s+long\s+as|in\s+case|make\s+sure|ensure|verify|check|confirm|assert|that\s+there)\b[^,.;!?]*$",
    re.IGNORECASE,
)
_ORDER_WORDS = re.compile(
    r"\b(?:and\s+)?(?:then|after\s+that|afterwards|next|finally|lastly|subsequently|danach|dann|anschließend|puis|ensuite|luego|después)\b"
    r"|\b(?:first|second|third)\s*[,:]|(?:^|\s)\d[.)]\s",
    re.IGNORECASE,
)
_BEFORE = re.compile(r"\b(?:before|prior\s+to|bevor|avant(?:\s+de)?|antes\s+de)\b", re.IGNORECASE)
_AFTER = re.compile(
    r"\b(?:after|once|when|as\s+soon\s+as|if|upon|following|nachdem|wenn|sobald|après|quand|cuando|si)\b", re.IGNORECASE
)
_CLAUSE_END = re.compile(r"[.;!?\n]|,")


@dataclass(frozen=True, slots=True)
class Mention:
    """An activity named in the text, by the words from ``start`` to ``end``."""

    activity: str
    start: int
    end: int
    is_negated: bool = False


@dataclass(slots=True)
class Choice:
    """What was found: the mentions of registered activities, and the names of those that are not there."""

    mentions: list[Mention] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)

    @property
    def wanted(self) -> list[str]:
        """The activities asked for, each once, as first mentioned."""
        return list(dict.fromkeys(m.activity for m in self.mentions if not m.is_negated))

    @property
    def excluded(self) -> set[str]:
        """The activities ruled out."""
        return {m.activity for m in self.mentions if m.is_negated}

    def first(self, activity: str) -> int:
        """Where the activity is first asked for; the end of the text if it is not."""
        return min((m.start for m in self.mentions if m.activity == activity and not m.is_negated), default=10**6)


def choose(sentence: Sentence, activities: Mapping[str, Activity]) -> Choice:
    """Return what ``sentence`` asks of ``activities`` (by name); internal ones are never chosen."""
    choice = Choice()
    text = sentence.text
    rest = text
    found: list[Mention] = []
    public = {name: a for name, a in activities.items() if not a.internal}
    others = {name: a for name, a in public.items() if name not in phrases.known_names()}
    tried: list[tuple[str | None, re.Pattern[str]]] = []
    for name, other in sorted(others.items()):
        pattern = phrases.keyword_pattern(name, tuple(other.keywords))
        if pattern is not None and other.category != "testing":
            tried.append((name, pattern))
    for meant, expression in [*tried, *phrases.patterns()]:
        for match in list(expression.finditer(rest)):
            # The marks of values stay: what an address is for, later patterns may want to know.
            rest = rest[: match.start()] + _blank_words(match.group()) + rest[match.end() :]
            if meant is not None:
                found.append(Mention(meant, match.start(), match.end(), _is_negated(text, match.start(), match.end())))
    for mention in sorted(found, key=lambda m: m.start):
        if mention.activity in public:
            choice.mentions.append(mention)
        elif not mention.is_negated and mention.activity not in choice.absent:
            choice.absent.append(mention.activity)
    if any(m.activity == phrases.BATCH and not m.is_negated for m in choice.mentions):
        # "Ask the model these prompts" is one thing, although it names the model as one question does.
        choice.mentions = [m for m in choice.mentions if m.activity != phrases.LLM]
    return choice


def _blank_words(text: str) -> str:
    """Spaces for everything but the marks."""
    parts = re.split(r"(§[a-z]\d+)", text)
    return "".join(part if place % 2 else " " * len(part) for place, part in enumerate(parts))


def _is_negated(text: str, start: int, end: int) -> bool:
    if re.search(r"\b(?:no|not)\b", text[start:end], re.IGNORECASE):
        return True  # "send no mail"
    for negation in _NEGATION.finditer(text, 0, start):
        if _NEGATION_ENDS.search(text, negation.end(), start):
            continue
        if _CONDITION.search(text[max(0, negation.start() - 80) : negation.start()]):
            continue
        return True
    return False


def order_constraints(sentence: Sentence, choice: Choice) -> set[tuple[str, str]]:
    """Return pairs (earlier, later) of activities that the words of the sentence put in that order."""
    text = sentence.text
    wanted = [m for m in choice.mentions if not m.is_negated and not _is_there(m, text)]
    pairs: set[tuple[str, str]] = set()
    for word in _ORDER_WORDS.finditer(text):
        sides = [m for m in wanted if m.start < word.start()], [m for m in wanted if m.start >= word.start()]
        pairs |= _all_pairs(*sides)
    for word in _BEFORE.finditer(text):
        pairs |= _around(text, word, wanted, is_before=True)
    for word in _AFTER.finditer(text):
        pairs |= _around(text, word, wanted, is_before=False)
    return {(a, b) for a, b in pairs if a != b and (b, a) not in pairs}


def _is_there(mention: Mention, text: str) -> bool:
    """Whether the mention is of a report that is there by then: "archive the report"."""
    return mention.activity == phrases.REPORT and bool(
        re.search(r"\b(?:the|its|that|this)\s+(?:\w+\s+)?$", text[: mention.start], re.IGNORECASE)
    )


def _around(text: str, word: re.Match[str], wanted: list[Mention], *, is_before: bool) -> set[tuple[str, str]]:
    """``X before Y`` and ``before Y, X``; ``X after Y`` and ``after Y, X``, within one sentence."""
    start = max((m.end() for m in re.finditer(r"[.;!?\n]", text[: word.start()])), default=0)
    stop = next((m.start() for m in re.finditer(r"[.;!?\n]", text[word.end() :])), len(text) - word.end()) + word.end()
    comma = text.find(",", word.end(), stop)
    near = [m for m in wanted if word.end() <= m.start < (comma if comma >= 0 else stop)]
    ahead = [m for m in wanted if start <= m.start < word.start()]
    behind = [m for m in wanted if comma >= 0 and comma <= m.start < stop]
    # Only the clause right before the word belongs to it.
    cut = (
        max((m.end() for m in re.finditer(r",|\band\b|\bund\b|\bet\b", text[start : word.start()])), default=0) + start
    )
    others = ([m for m in ahead if m.end > cut] or ahead[-1:]) if ahead else behind
    return _all_pairs(others, near) if is_before else _all_pairs(near, others)


def _all_pairs(earlier: Iterable[Mention], later: Iterable[Mention]) -> set[tuple[str, str]]:
    last = {mention.activity for mention in later}
    return {(first, second) for first in {mention.activity for mention in earlier} for second in last}
