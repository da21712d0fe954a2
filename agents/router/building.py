"""From an intent to a WorkflowSpec or CronWorkflowSpec that validates (contract-router 1.6).

Owns how states lead to each other. What is missing for a spec becomes questions, and then there is no spec.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agents.router import phrases
from agents.router.inputs import Inputs, parameters_of, squashed
from agents.router.intent import Intent, Note, Question
from agents.router.steps import Plan, Step, plan_steps, short_name
from workflows.activities.registry import Activity
from workflows.spec.report import SpecReport
from workflows.spec.validator import validate_spec

_WORDS = {
    phrases.SCAN: "security-scan",
    phrases.ANALYZE: "analysis",
    phrases.CHECK: "pre-check",
    phrases.REPORT: "report",
    phrases.ARCHIVE: "archive",
    phrases.NOTIFY: "notify",
    phrases.APPROVE: "approval",
    phrases.ASSUME: "assume-role",
    phrases.MEMORY: "recall",
    phrases.LLM: "ask-model",
    phrases.BATCH: "ask-model",
    phrases.HTTP: "request",
    phrases.CLONE: "clone",
}
# What a workflow is called after, if it does any of it.
_MAIN = (phrases.SCAN, phrases.ANALYZE, phrases.CHECK, phrases.LLM, phrases.BATCH, phrases.HTTP)
DECLINED, DONE, FAILED = "NotApproved", "Done", "Failed"


@dataclass(slots=True)
class Built:
    """``spec`` or ``cron_spec``, or neither where there are ``questions``."""

    spec: dict[str, Any] | None = None
    cron_spec: dict[str, Any] | None = None
    name: str = ""
    activities: tuple[str, ...] = ()
    explanation: list[Note] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    report: SpecReport | None = None


def build(intent: Intent, activities: Mapping[str, Activity]) -> Built:
    """Return the spec of ``intent``, with reasons; never raises for what an intent says."""
    plan = plan_steps(intent, activities)
    inputs = Inputs()
    states = _states(plan, intent, inputs)
    plan.warnings += _unused(intent, plan)
    name = _name(intent, plan)
    document: dict[str, Any] = {"name": name}
    if inputs.values:
        document["input"] = dict(inputs.values)
    if intent.error_handling != "retry":
        document["errorHandling"] = intent.error_handling
    if intent.timeout:
        document["timeout"] = intent.timeout
    document["states"] = states
    built = Built(
        name=name,
        activities=tuple(dict.fromkeys(step.activity.name for step in plan.steps)),
        explanation=_in_order([*plan.notes, *intent.notes], plan),
        questions=_once([*intent.questions, *plan.questions, *inputs.questions]),
        warnings=list(dict.fromkeys([*intent.warnings, *plan.warnings, *inputs.warnings])),
    )
    if not states and not built.questions:
        built.questions.append(Question("message", "What should be done?"))
    if not states or built.questions:
        return built
    built.report = validate_spec(document, activities=activities)
    if not built.report.valid:
        problems = "; ".join(str(problem) for problem in built.report.errors[:3])
        built.questions.append(
            Question("message", f"This makes no valid workflow: {problems}. How else can it be said?")
        )
    elif intent.is_cron:
        head = {"name": name, "schedule": intent.cron_schedule, "timezone": intent.cron_timezone}
        built.cron_spec = head | {key: value for key, value in document.items() if key != "name"}
    else:
        built.spec = document
    return built


def _unused(intent: Intent, plan: Plan) -> list[str]:
    """Return a warning for each value that was given by a name that no step has for an input."""
    taken = {squashed(name) for step in plan.steps for name in step.activity.input_schema.get("properties", {})}
    unused = [name for name in intent.given if squashed(name.rpartition(".")[2]) not in taken]
    return [f'"{name[:64]}" of the context is not used: no step has such an input.' for name in unused]


def _in_order(notes: list[Note], plan: Plan) -> list[Note]:
    """Notes about states in the order in which these run, then the others."""
    place = {step.state: index for index, step in enumerate(plan.steps)}
    return sorted(notes, key=lambda note: place.get(note.subject, len(place)))


def _once(questions: list[Question]) -> list[Question]:
    return list({(question.parameter, question.text): question for question in questions}.values())


def _states(plan: Plan, intent: Intent, inputs: Inputs) -> list[dict[str, Any]]:
    """Return the states, each leading to the next; decisions follow approvals and precede what has a condition."""
    steps = plan.steps
    bodies = [_task(step, steps[:place], intent, inputs) for place, step in enumerate(steps)]
    tells_only_failures = intent.notify == "failure" and not intent.condition
    on_failure: list[tuple[Step, dict[str, Any]]] = []
    if intent.notify != "end" and intent.error_handling != "continue":
        on_failure = [(s, b) for s, b in zip(steps, bodies, strict=True) if s.activity.name == phrases.NOTIFY]
        if tells_only_failures:
            kept = [(s, b) for s, b in zip(steps, bodies, strict=True) if s.activity.name != phrases.NOTIFY]
            steps, bodies = [s for s, _ in kept], [b for _, b in kept]
    conditions = {step.state: condition for step in steps if (condition := _condition(step, steps, intent))}
    if intent.condition is not None and not conditions:
        plan.warnings.append(f'"{intent.condition.words}" is not part of it: add that on the canvas.')
    states: list[dict[str, Any]] = []
    is_done_needed = is_declined_needed = False
    for place, (step, body) in enumerate(zip(steps, bodies, strict=True)):
        following = _entry(steps[place + 1], conditions) if place + 1 < len(steps) else None
        if step.state in conditions:
            is_done_needed = is_done_needed or following is None
            states.append(_choice(f"{step.state}If", conditions[step.state], step.state, following or DONE))
        if step.activity.name == phrases.APPROVE and following is not None:
            is_declined_needed = True
            states.append(body | {"next": f"{step.state}d"})
            approved = f"{{% {step.state}.output.approved %}}"
            states.append(_choice(f"{step.state}d", approved, following, DECLINED))
        else:
            states.append(body | ({"next": following} if following else {"end": True}))
    if is_done_needed:
        states.append({"name": DONE, "type": "Succeed"})
    if is_declined_needed:
        states.append({"name": DECLINED, "type": "Succeed", "output": {"approved": False}})
        plan.notes.append(Note("Approve", "What comes after an approval runs only if it was given."))
    _add_failure_path(states, on_failure, intent)
    return states


def _task(step: Step, earlier: list[Step], intent: Intent, inputs: Inputs) -> dict[str, Any]:
    parameters = parameters_of(step, earlier, intent, inputs)
    task: dict[str, Any] = {"name": step.state, "type": "Task", "resource": step.activity.name}
    if parameters:
        task["parameters"] = parameters
    if intent.attempts and step.activity.name != phrases.APPROVE:
        task["retry"] = {"maxAttempts": intent.attempts}
    return task


def _entry(step: Step, conditions: Mapping[str, str]) -> str:
    return f"{step.state}If" if step.state in conditions else step.state


def _choice(name: str, when: str, then: str, otherwise: str) -> dict[str, Any]:
    return {"name": name, "type": "Choice", "choices": [{"when": when, "next": then}], "default": otherwise}


def _condition(step: Step, steps: list[Step], intent: Intent) -> str:
    """Return the expression under which a step runs, "" for always."""
    name = step.activity.name
    before = steps[: steps.index(step)]
    if intent.condition is not None and name in intent.condition.targets:
        found = [s.state for s in before if s.activity.name == intent.condition.activity]
        terms = [intent.condition.expression.replace("{state}", state) for state in found]
        return "{% " + " or ".join(terms) + " %}" if terms else ""
    if name == phrases.NOTIFY and intent.notify == "failure" and intent.error_handling == "continue":
        failed = [f"$exists({s.state}.error)" for s in before if s.activity.name != phrases.NOTIFY]
        return "{% " + " or ".join(failed) + " %}" if failed else ""
    return ""


def _add_failure_path(
    states: list[dict[str, Any]], notifications: list[tuple[Step, dict[str, Any]]], intent: Intent
) -> None:
    """Let every failure lead to a message about it, and then fail the execution all the same."""
    if not notifications:
        return
    names = [f"{step.state}Failure" for step, _ in notifications]
    for state in states:
        if state["type"] == "Task" and state["resource"] != phrases.NOTIFY:
            state["catch"] = [{"errors": ["*"], "next": names[0], "resultPath": "failure"}]
    failing = [state for state in states if "catch" in state]
    if not failing:
        return
    for place, (_, body) in enumerate(notifications):
        parameters = body["parameters"] | {"status": "failure"}
        if "workflow.input.message" not in str(parameters.get("message")):
            parameters["message"] = "${workflow.name} failed at ${vars.failure.state}: ${vars.failure.message}"
        following = names[place + 1] if place + 1 < len(names) else FAILED
        states.append(body | {"name": names[place], "parameters": parameters, "next": following})
    states.append({"name": FAILED, "type": "Fail", "error": "StepFailed", "cause": "${vars.failure.message}"})


def _name(intent: Intent, plan: Plan) -> str:
    """Return the name said, or one made of what is done and to what: kebab-case, 60 characters at most."""
    if intent.workflow_name and (said := kebab(intent.workflow_name)):
        return said
    names = [step.activity.name for step in plan.steps if step.number == 1]
    main = [name for name in _MAIN if name in names][:2] or [n for n in names if n != phrases.CLONE][:2] or names[:1]
    if main == [phrases.SCAN] and phrases.REPORT in names:
        main.append(phrases.REPORT)
    repo = intent.parameters.get("repo")
    subject = (
        re.sub(r"(?:\.git)?/*$", "", repo).replace("\\", "/").rpartition("/")[2].rpartition(":")[2]
        if isinstance(repo, str)
        else ""
    )
    words = [_WORDS.get(name, short_name(name)) for name in main]
    return kebab("-".join([*words, subject])) or "workflow"


def kebab(text: str) -> str:
    """Return ``text`` in small letters, digits and single hyphens, 60 characters at most."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", text)
    return re.sub(r"[^a-z0-9]+", "-", spaced.lower()).strip("-")[:60].strip("-")
