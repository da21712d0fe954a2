"""What a sentence says of failures and findings: the mode of error handling, and under which condition a step runs.

Owns the conditions that steps can have. Refuses conditions on what the workflow does not find out.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal

from agents.router import phrases
from agents.router.choice import Mention

ErrorHandling = Literal["retry", "fail-fast", "continue"]

_CONTINUE = re.compile(
    r"\b(?:keep|carry)\s+(?:on\s+)?going\b|\bcarry\s+on\b|\b(?:continue|go\s+on|proceed|keep\s+running|keep\s+(?:on\s+)?working)\b(?=[^.;]{0,40}\b(?:error|fail|problem|break|anyway|regardless|wrong|even|despite|step)|\s*(?:[.,;]|$))|"
    r"\b(?:ignore|ignoring|tolerate|swallow|despite|regardless\s+of|irrespective\s+of)\s+(?:any\s+|all\s+|the\s+)?(?:errors?|failures?|failing|failed|problems?)\b|"
    r"\b(?:don'?t|do\s+not|never|not)\s+(?:stop|abort|fail|give\s+up|cancel|halt)\b(?:[^.;]{0,30}\b(?:error|fail|problem|step|wrong))?|"
    r"\beven\s+(?:if|when|though)\s+(?:\w+\s+){0,4}(?:fails?|breaks?|goes\s+wrong|errors?)\b|\bno\s+matter\s+what\b|\bbest[\s-]effort\b|"
    r"\b(?:weitermachen|mach\s+weiter|fehler\s+ignorieren|trotz\s+fehler\w*|ignorer\s+les\s+erreurs|continuer?\s+malgré|continúa|sigue\s+aunque)\b",
    re.IGNORECASE,
)
_FAIL_FAST = re.compile(
    r"\b(?:stop|abort|quit|halt|bail(?:\s+out)?|cancel|give\s+up|break\s+off|end|fail)\w*\s+(?:\w+\s+){0,3}?(?:at|on|after|with|upon|as\s+soon\s+as|immediately|when|if)\s+(?:(?:the|a|an|any|there\s+is)\s+)?(?:\w+\s+){0,3}?(?:error|failure|problem|fails?|breaks?|goes\s+wrong)\w*|"
    r"\bfail[\s-]fast\b|\b(?:don'?t|do\s+not|never|no|without)\s+(?:any\s+)?(?:retry|retries|retrying|second\s+tr(?:y|ies))\b|\bat\s+the\s+first\s+(?:error|failure|problem)\b|"
    r"\b(?:beim\s+ersten\s+fehler|sofort\s+abbrechen|arrête\w*\s+à\s+la\s+première\s+erreur|détente\s+al\s+primer\s+error|al\s+primer\s+error)\b",
    re.IGNORECASE,
)
_FAILS = r"(?:fails?|failed|failing|failures?|errors?|breaks?|broke|broken|crash\w*|goes\s+wrong|went\s+wrong|schief\w*|fehl\w*|échou\w*|échec|falla\w*|erreur)"
_ON_FAILURE = re.compile(
    rf"\b(?:if|when|whenever|once|in\s+case|should|on|upon|only\s+on|for|about|wenn|falls|bei|si|en\s+cas\s+d['e]|cuando)\s+(?:(?!test|build|lint|check|approv)\w+\s+){{0,4}}?{_FAILS}\b",
    re.IGNORECASE,
)
_EITHER_WAY = re.compile(
    r"\b(?:either\s+way|in\s+any\s+case|in\s+both\s+cases|whether\s+(?:it|or\s+not)|success\s+(?:or|and)\s+failure|pass(?:es|ed)?\s+or\s+fail\w*|succeed\w*\s+or\s+fail\w*|worked\s+or\s+(?:not|failed)|how\s+it\s+went)\b",
    re.IGNORECASE,
)
_IF = r"(?:if|when|whenever|in\s+case|only\s+(?:if|when)|as\s+soon\s+as|should|wenn|falls|si|quand|cuando)"
_THINGS = r"(?:vulnerabilit\w+|findings?|issues?|problems?|secrets?|leaks?|passwords?|something|anything|holes?|flaws?|schwachstellen|vulnérabilités|vulnerabilidades)"
# What may stand between "if" and how bad it is: "if it is at least high", "if the worst finding is rated critical".
_RATED = (
    r"(?:(?:it|it's|that|this|they|the|any|some|one|there|result|severity|level|worst|highest|finding|findings|issue|issues|vulnerabilit\w+|"
    r"of|is|are|was|has|have|a|an|at|least|rated|ranked|schweregrad|es|ist|mindestens)\s+){0,6}?"
)
_BAD = r"(?P<value>critical|high|medium|kritisch|hoch|mittel)"
_GOES_ON = r"(?:and|or|but|then|tell|notify|inform|alert|e?-?mail|send|post|write|archive|get|ask|call|in|to|on|via|by|und|dann|schick\w*|sende\w*|informier\w*)"
# Condition in the text, the activity whose output it reads, and JSONata over ``{state}``.
_CONDITIONS: tuple[tuple[re.Pattern[str], str, str], ...] = (
    (re.compile(rf"\b{_IF}\s+[^.;,]{{0,40}}?\brisk(?:\s+level)?\s+(?:is\s+|gets\s+|becomes\s+)?(?:at\s+least\s+)?(?P<value>critical|high|medium)", re.IGNORECASE), phrases.SCAN, "{state}.output.riskLevel in {levels}"),
    (re.compile(rf"\b{_IF}\s+[^.;,]{{0,40}}?\bscore\s+(?:\w+\s+){{0,2}}?(?:below|under|less\s+than|drops\s+below|<)\s*(?P<value>\d{{1,3}})\b", re.IGNORECASE), phrases.SCAN, "{state}.output.securityScore < {value}"),
    (re.compile(rf"\b{_IF}\s+[^.;,]{{0,40}}?\bquality\s+(?:\w+\s+){{0,2}}?(?:below|under|less\s+than|drops\s+below|worse\s+than|<)\s*(?P<value>\d+(?:\.\d+)?\s*%?)", re.IGNORECASE), phrases.ANALYZE, "{state}.output.quality < {value}"),
    (re.compile(rf"\b{_IF}\s+[^.;,]{{0,40}}?\b(?:tests?|build|lint\w*|checks?|it|they|everything|that)\s+(?:do\s+not\s+pass|does\s+not\s+pass|don'?t\s+pass|doesn'?t\s+(?:pass|build)|(?:is|are)\s+(?:red|broken)|fails?)\b", re.IGNORECASE), phrases.CHECK, "{state}.output.passed = false"),
    (re.compile(rf"\b{_IF}\s+[^.;,]{{0,40}}?\b(?:tests?|build|lint\w*|checks?|it|they|everything|that)\s+(?:all\s+)?(?:pass\w*|succeed\w*|(?:is|are)\s+green|builds)\b", re.IGNORECASE), phrases.CHECK, "{state}.output.passed"),
    (re.compile(rf"\b(?:{_IF}|only\s+(?:for|on|at|from)|nur\s+(?:wenn|bei|ab))\s+{_RATED}{_BAD}\b(?:[\s-]+severity\b)?(?:\s+(?:or|and)\s+(?:above|higher|worse|up|more)\b)?(?=\s*(?:[.,;:!?)]|$)|\s+{_GOES_ON}\b)", re.IGNORECASE), phrases.SCAN, "{state}.output.vulnerabilities[0].severity in {levels}"),
    (re.compile(rf"\b{_IF}\s+(?:there\s+(?:is|are)|it\s+finds?|you\s+find|we\s+find|the\s+scan\s+(?:finds?|reports?|shows?)|any(?:thing)?)?\s*(?:\w+\s+){{0,3}}?{_THINGS}\b(?!\s+(?:(?:is|are)\s+(?:none|missing|wrong)|fails?|breaks?|goes|crash\w*))", re.IGNORECASE), phrases.SCAN, "{state}.output.totalFindings > 0"),
)  # fmt: skip
_LEFT = re.compile(
    r"(?<!check )(?<!see )(?<!know )(?<!verify )(?<!ask )(?<!tell me )(?<!as )\b(?:only\s+if|if|unless|provided\s+that|as\s+long\s+as)\s+"
    r"(?!possible\b|needed\b|necessary\b|you\b|there\s+is\s+nothing)[^.,;!?\n]{3,80}",
    re.IGNORECASE,
)
_NOT_DONE = re.compile(
    r"\b(?:scan|check|analy[sz]e|test|clone|build|lint|report|notify|archive|call|ask|run|do)\w*\s+(?:it\s+|that\s+|(?:the|its)\s+\w+\s+|everything\s+|§\w+\s+)?"
    r"(?:again|once\s+more|a\s+second\s+time)\b(?!\s+(?:and\s+again|every|each|daily|hourly|weekly|monthly|at|on|if|when))|"
    r"\bwait\s+(?:for\s+)?(?:\d+|an?|half\s+an?|a\s+few|some)\s+(?:seconds?|minutes?|mins?|hours?|days?)\b|"
    r"\bin\s+parallel\b|\bat\s+the\s+same\s+time\b|\bsimultaneously\b|\bside\s+by\s+side\b",
    re.IGNORECASE,
)
_LEVELS = {"medium": ["medium", "high", "critical"], "high": ["high", "critical"], "critical": ["critical"]}
_IN_ENGLISH = {"mittel": "medium", "hoch": "high", "kritisch": "critical"}


@dataclass(frozen=True, slots=True)
class Condition:
    """Steps of ``targets`` run only if ``expression`` holds, JSONata with ``{state}`` for what runs ``activity``."""

    activity: str
    expression: str
    words: str
    targets: frozenset[str] = frozenset({phrases.NOTIFY})

    def ordered(self, pairs: set[tuple[str, str]]) -> set[tuple[str, str]]:
        """Return ``pairs`` (earlier, later) so that what the condition reads runs before what depends on it."""
        needed = {(self.activity, target) for target in self.targets}
        return (pairs - {(later, earlier) for earlier, later in needed}) | needed


@dataclass(slots=True)
class Outcomes:
    """What is to happen on failures: ``notify`` is when a notification is sent."""

    error_handling: ErrorHandling = "retry"
    words: str = ""
    is_contradictory: bool = False
    notify: Literal["end", "failure", "both"] = "end"
    condition: Condition | None = None
    not_understood: list[str] = field(default_factory=list)


def read_outcomes(text: str, wanted: Collection[str], mentions: list[Mention]) -> Outcomes:
    """Return what ``text``, in which activities ``mentions`` stand, says of failures and conditions."""
    outcomes = Outcomes()
    goes_on, stops = _CONTINUE.search(text), _FAIL_FAST.search(text)
    if goes_on and stops and goes_on.start() <= stops.start() and stops.end() <= goes_on.end():
        stops = None  # "do not stop at the first error"
    if goes_on and stops:
        outcomes.is_contradictory = True
    elif goes_on or stops:
        outcomes.error_handling = "continue" if goes_on else "fail-fast"
        outcomes.words = (goes_on or stops).group().strip()  # type: ignore[union-attr]
    understood = None
    for pattern, activity, expression in _CONDITIONS:
        found = pattern.search(text)
        if found and activity in wanted and (targets := _targets(text, found, mentions, activity)):
            outcomes.condition = Condition(activity, _filled(expression, found), found.group().strip(), targets)
            understood = found
            break
    if understood is None and phrases.NOTIFY in wanted:
        failing = _ON_FAILURE.search(text)
        if _EITHER_WAY.search(text):
            outcomes.notify = "both"
        elif failing and not (goes_on and goes_on.start() <= failing.start() < goes_on.end()):
            outcomes.notify = "failure"
    outcomes.not_understood += _left_conditions(text, wanted, understood)
    outcomes.not_understood += [found.group().strip() for found in _NOT_DONE.finditer(text)]
    return outcomes


def _left_conditions(text: str, wanted: Collection[str], understood: re.Match[str] | None) -> list[str]:
    """The conditions in ``text`` that nothing here decides on: neither the one that is understood, nor any on failures.

    What follows an approval depends on it anyway.
    """
    left = [found for found in _LEFT.finditer(text) if not re.search(rf"\b{_FAILS}\b", found.group(), re.IGNORECASE)]
    if understood is not None:
        left = [found for found in left if found.end() <= understood.start() or understood.end() <= found.start()]
    said = [found.group().strip() for found in left]
    approved = phrases.APPROVE in wanted
    return [words for words in said if not (approved and re.search(r"approv|agree|confirm|sign|ok\b|yes", words))]


def _filled(expression: str, found: re.Match[str]) -> str:
    value = (found.groupdict().get("value") or "").lower()
    value = _IN_ENGLISH.get(value, value)
    levels = str(_LEVELS.get(value, [])).replace("'", '"')
    if value.endswith("%"):
        value = str(float(value.rstrip("% ")) / 100)
    elif "quality" in expression and value and float(value) > 1:
        value = str(float(value) / 100)
    return expression.replace("{levels}", levels).replace("{value}", value)


def _targets(text: str, condition: re.Match[str], mentions: list[Mention], activity: str) -> frozenset[str]:
    """Return the activities that a condition on ``activity`` is about.

    "If the tests pass, X and Y" is about X and Y, "X if the tests pass, and Y" about X; within one sentence.
    """
    start = max((m.end() for m in re.finditer(r"[.;!?\n]", text[: condition.start()])), default=0)
    stop = next((m.start() for m in re.finditer(r"[.;!?\n]", text[condition.end() :])), None)
    end = len(text) if stop is None else condition.end() + stop
    near = [
        m
        for m in mentions
        if not m.is_negated and start <= m.start < end and m.activity not in (activity, phrases.CLONE)
    ]
    before = [m for m in near if m.start < condition.start()]
    after = [m for m in near if m.start >= condition.end()]
    leads = re.search(r"(?:^|[,:]|\b(?:and|then|but|und|et|y))\s*(?:then\s*)?$", text[start : condition.start()])
    if after and (leads or not before):
        return frozenset(m.activity for m in after)
    return frozenset({before[-1].activity}) if before else frozenset()
