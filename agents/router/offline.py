"""Understands a sentence without a model: words choose activities, marks give values (contract-router 1.6.7).

Owns what a sentence means taken at its word, with a reason for each choice. Asks where the words leave it open.
"""

import re
from collections.abc import Mapping
from typing import Any

from agents.router import phrases
from agents.router.choice import Choice, choose, order_constraints
from agents.router.details import Details, read_details
from agents.router.failure_words import Outcomes, read_outcomes
from agents.router.intent import Intent, Note, Question
from agents.router.recurrence import Schedule, read_schedule
from agents.router.sentence import Sentence
from agents.router.steps import short_name
from workflows.activities.registry import Activity

_DEPLOYS = re.compile(r"\bdeploy(?:s|ed|ing)?\s+(?:it|the|to|this|our|my|§)", re.IGNORECASE)
# A repository is to be checked, and nothing says for what.
_CHECKS_CODE = re.compile(
    r"\b(?:check\w*|(?:über)?prüf\w*|vérifi\w+|comprueba\w*|verifica\w*)\b[^.;!?]{0,60}?§[rp]\d", re.IGNORECASE
)
DEFAULT_MODEL = "reasoning"
# Values that only some activities take, by their kind in the sentence, with what these do.
_TAKEN_BY = {
    "e": ({phrases.NOTIFY, phrases.ASSUME}, "sends a message"),
    "c": ({phrases.NOTIFY}, "sends a message"),
    "s": ({phrases.ARCHIVE}, "archives"),
    "u": ({phrases.HTTP, phrases.NOTIFY, phrases.LLM, phrases.BATCH}, "calls an address"),
}
ABSENT = {
    "DeploymentPreCheckActivity": "checks before a deployment",
    "NotifyStatusActivity": "notifications",
    "ArchiveResultsActivity": "archives",
    "AssumeRoleActivity": "assuming a role",
    "RetrieveMemoryActivity": "memory",
    "LLMInferenceActivity": "asking a model",
    "LLMBatchInferenceActivity": "asking a model many things",
}


def understand(
    sentence: Sentence, activities: Mapping[str, Activity], context: Mapping[str, Any], schedule_text: str
) -> Intent:
    """Return what ``sentence`` wants; ``context`` are values given beside it, by name, which win.

    ``schedule_text`` is the sentence without addresses and quoted text.
    """
    choice = choose(sentence, activities)
    intent = Intent(activities=list(choice.wanted), excluded=choice.excluded - set(choice.wanted))
    _add_implied(sentence, intent, activities)
    details = read_details(sentence, _with_report(intent.activities))
    outcomes = read_outcomes(sentence.text, intent.activities, choice.mentions)
    intent.parameters, intent.given = details.values | dict(context), tuple(context)
    _choose_model(intent)
    intent.order = order_constraints(sentence, choice)
    if outcomes.condition is not None:
        intent.order = outcomes.condition.ordered(intent.order)
    intent.reasons = _reasons(sentence, choice)
    _take_details(intent, details, outcomes)
    _take_schedule(intent, read_schedule(schedule_text))
    _ask_back(sentence, choice, intent)
    return intent


def _with_report(activities: list[str]) -> list[str]:
    return [*activities, phrases.REPORT] if phrases.ARCHIVE in activities else activities


def _add_implied(sentence: Sentence, intent: Intent, activities: Mapping[str, Activity]) -> None:
    """An address says what to do with it, if nothing else does."""
    if phrases.HTTP in intent.activities and not sentence.all("u"):
        # Words like "fetch" and "get" with a repository behind them are about that.
        intent.activities = [name for name in intent.activities if name != phrases.HTTP or not sentence.all("r")]


def _reasons(sentence: Sentence, choice: Choice) -> dict[str, str]:
    reasons: dict[str, str] = {}
    for mention in choice.mentions:
        if not mention.is_negated:
            words = sentence.shown(sentence.text[mention.start : mention.end])
            reasons.setdefault(mention.activity, re.sub(r"(?:\s+(?:the|a|an|to|and))+$", "", words))
    return reasons


def _take_details(intent: Intent, details: Details, outcomes: Outcomes) -> None:
    intent.workflow_name, intent.timeout, intent.attempts = details.name, details.timeout, details.attempts
    intent.warnings += details.warnings
    intent.error_handling, intent.notify, intent.condition = (
        outcomes.error_handling,
        outcomes.notify,
        outcomes.condition,
    )
    if outcomes.words:
        meant = {"continue": "failures are recorded and the rest goes on", "fail-fast": "the first failure ends it"}
        intent.notes.append(Note("errors", f'Because of "{outcomes.words}", {meant[outcomes.error_handling]}.'))
    if outcomes.condition is not None:
        for name in sorted(outcomes.condition.targets):
            intent.notes.append(Note(short_name(name), f'It runs only in one case: "{outcomes.condition.words}".'))
    elif outcomes.notify == "failure":
        intent.notes.append(Note("Notify", "The message is sent only when a step fails."))
    intent.warnings += [
        f'"{words}" is not part of it: add that on the canvas.' for words in dict.fromkeys(outcomes.not_understood)
    ]
    if outcomes.is_contradictory:
        intent.questions.append(
            Question(
                "message",
                "Should it go on after an error, or stop at the first?",
                ("keep going", "stop at the first error"),
            )
        )


def _choose_model(intent: Intent) -> None:
    if {phrases.LLM, phrases.BATCH} & set(intent.activities) and "model" not in intent.parameters:
        intent.parameters["model"] = DEFAULT_MODEL
        intent.notes.append(Note("model", f"No model is said, so it is {DEFAULT_MODEL}."))


def _take_schedule(intent: Intent, schedule: Schedule | None) -> None:
    if schedule is None:
        return
    if schedule.problem:
        intent.questions.append(Question("schedule", schedule.problem, schedule.options))
        return
    intent.is_cron, intent.cron_schedule, intent.cron_timezone = True, schedule.cron, schedule.timezone
    intent.notes += [Note("schedule", text) for text in schedule.assumptions]


def _ask_back(sentence: Sentence, choice: Choice, intent: Intent) -> None:
    for name in choice.absent:
        what = ABSENT.get(name, "that")
        intent.warnings.append(f"{name} is not installed here, so {what} cannot be part of it.")
    for part in sentence.set_aside:
        shown = part if len(part) <= 120 else part[:117] + "..."
        intent.warnings.append(f'This part is not taken as a request: "{shown}".')
    _tell_unused(sentence, choice, intent)
    # Of several checks, one may be wanted and another not.
    contradictory = sorted((set(choice.wanted) & choice.excluded) - {phrases.CHECK})
    for name in contradictory:
        intent.questions.append(
            Question("message", f"The sentence both asks for {short_name(name)} and rules it out. Which is meant?")
        )
    if sentence.has_password:
        intent.questions.append(
            Question("repo", "An address holds a password. Keep that as a secret and write its handle, secret:<id>.")
        )
    if _DEPLOYS.search(sentence.text) and phrases.CHECK in choice.wanted:
        intent.warnings.append("Nothing here deploys: DeploymentPreCheckActivity says whether it could be.")
    if not intent.activities and _CHECKS_CODE.search(sentence.text):
        text = "What should be checked there: its security, the quality of its code, or whether its tests pass?"
        intent.questions.append(Question("message", text, ("security", "code quality", "run the tests")))
    elif not intent.activities:
        intent.questions.append(Question("message", _nothing_understood(choice)))


def _tell_unused(sentence: Sentence, choice: Choice, intent: Intent) -> None:
    """An address that was given and leads to nothing may be a request that was not understood: say so."""
    for kind, (takers, what) in _TAKEN_BY.items():
        if takers & ({*intent.activities, *choice.absent} | choice.excluded):
            continue
        for value in sentence.all(kind):
            intent.warnings.append(f'"{value[:120]}" is not used: nothing that was understood {what}.')


def _nothing_understood(choice: Choice) -> str:
    if choice.absent:
        return "What is left cannot be done here. What else should be done?"
    if choice.excluded:
        return "Everything that is named is ruled out. What should be done?"
    return (
        "What should be done? For example: clone, analyse or scan a repository, write a report, notify people, ask for "
        "an approval, archive results, ask a model, call an address - and how often."
    )
