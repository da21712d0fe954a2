"""The parameters of states: what the sentence gave goes to the spec's input, the rest refers to what ran before.

Owns which output feeds which input (contract-router 1.6.4). Refuses values that an activity does not take.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jsonschema import Draft202012Validator
from pydantic import ValidationError

from agents.router import phrases
from agents.router.intent import Intent, Question
from agents.router.steps import Step
from workflows.activities.registry import Activity
from workflows.activities.shapes import told

# Inputs by the output that feeds them: an activity and its field, or the whole of it.
_FED_BY: dict[str, tuple[str, str]] = {
    "path": (phrases.CLONE, ".path"),
    "analysisresult": (phrases.ANALYZE, ""),
    "securityresult": (phrases.SCAN, ""),
    "reportpath": (phrases.REPORT, ".reportPath"),
    "authtoken": (phrases.ASSUME, ".token"),
}
_ALWAYS_FED = frozenset({"path", "analysisresult", "securityresult", "reportpath"})
_QUESTIONS = {
    "repo": "Which repository is it? Give its address, such as https://host/owner/name.git.",
    "channel": "How should it tell people: by slack, email or webhook?",
    "to": "To which e-mail address?",
    "destination": "Where should it be kept: an s3:// or gs:// address, or a path?",
    "url": "Which address should be called?",
    "identity": "As which identity should it act?",
    "scope": "For which scope, such as llm:read?",
    "query": "What should be looked up in memory?",
    "userprompt": "What exactly should the model be asked?",
    "prompts": 'Which prompts? Put each in quotes: "..." "...".',
    "model": "Which model should be asked?",
}
MOST_REPORT = 15_000  # characters of a report in a mail; a message has at most 20,000
_OPTIONS = {"channel": ("slack", "email", "webhook")}


@dataclass(slots=True)
class Inputs:
    """The input of the spec, filled as states are given their parameters."""

    values: dict[str, Any] = field(default_factory=dict)
    questions: list[Question] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def reference(self, name: str, value: Any, state: str) -> str:
        """Keep ``value`` under ``name``, or a name with the state's in front if that has another, and refer to it."""
        if self.values.get(name, value) != value:
            name = state[0].lower() + state[1:] + name[0].upper() + name[1:]
        self.values[name] = value
        return f"${{workflow.input.{name}}}"


def squashed(name: str) -> str:
    """Return the letters of a name: ``user_prompt`` and ``userPrompt`` are the same."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def parameters_of(step: Step, earlier: Sequence[Step], intent: Intent, inputs: Inputs) -> dict[str, Any]:
    """Return the parameters of the state that ``step`` becomes; what is missing becomes a question."""
    schema = step.activity.input_schema
    properties: Mapping[str, Any] = schema.get("properties", {})
    required = set(schema.get("required", ()))
    parameters: dict[str, Any] = {}
    for name in properties:
        key = squashed(name)
        fed = _feeding(key, earlier, step) if key in _FED_BY else None
        value = _given(step, name, intent)
        if fed is not None and (value is None or key in _ALWAYS_FED):
            parameters[name] = fed
        elif value is not None and _is_taken(step.activity, name, value, inputs):
            parameters[name] = inputs.reference(name, value, step.state)
        elif name in required:
            same = _same_output(name, earlier, step)
            if same is not None:
                parameters[name] = same
    _compose(step, earlier, intent, inputs, parameters)
    for name in properties:
        if name in required and name not in parameters:
            _ask(step, name, properties[name], inputs)
    return parameters


def _ask(step: Step, name: str, schema: Mapping[str, Any], inputs: Inputs) -> None:
    key = squashed(name)
    if key == "path":
        name, key = "repo", "repo"
    text = _QUESTIONS.get(key) or f"{step.state} needs {name}: {schema.get('description', 'what should it be?')}"
    question = Question(name, text, _OPTIONS.get(key, tuple(map(str, schema.get("enum", ())))))
    if question not in inputs.questions:
        inputs.questions.append(question)


def _given(step: Step, name: str, intent: Intent) -> Any:
    key = squashed(name)
    short = squashed(step.activity.name.removesuffix("Activity"))
    found = None
    for said, value in intent.parameters.items():
        owner, _, field_name = said.rpartition(".")
        if squashed(field_name) != key:
            continue
        if owner and squashed(owner.removesuffix("Activity")) in (short, squashed(step.state)):
            found = value
            break
        if not owner and found is None and not _belongs_elsewhere(step, key):
            found = value
    if key == "to" and isinstance(found, str):
        return [found]
    if isinstance(found, list) and key in ("repo", "channel", "url"):
        place = step.group if key == "repo" else step.number - 1
        return found[place] if place < len(found) else None
    return found


def _belongs_elsewhere(step: Step, key: str) -> bool:
    """Whether a plain name means another activity's input: ``depth`` is how deep to look, ``url`` what to call."""
    return (key == "depth" and step.activity.name == phrases.CLONE) or (
        key == "url" and step.activity.name == phrases.NOTIFY
    )


def _is_taken(activity: Activity, name: str, value: Any, inputs: Inputs) -> bool:
    schema = activity.input_schema
    checked = {**schema["properties"][name], "$defs": schema.get("$defs", {})}
    problem = next(iter(Draft202012Validator(checked).iter_errors(value)), None)
    if problem is None:
        try:
            activity.input_model.__pydantic_validator__.validate_assignment(
                activity.input_model.model_construct(), _field_name(activity, name), value
            )
        except ValidationError as error:
            reason = told(error, name).partition(": ")[2]
            inputs.warnings.append(f"{name} of {activity.name} cannot be what was said ({reason}); it is left out.")
            return False
        return True
    inputs.warnings.append(
        f"{name} of {activity.name} cannot be what was said ({problem.message[:120]}); it is left out."
    )
    return False


def _field_name(activity: Activity, alias: str) -> str:
    for name, info in activity.input_model.model_fields.items():
        if alias in (name, info.alias, info.serialization_alias):
            return name
    return alias


def _feeding(key: str, earlier: Sequence[Step], step: Step) -> str | None:
    activity, path = _FED_BY[key]
    source = _nearest(activity, earlier, step)
    return None if source is None else f"${{{source.state}.output{path}}}"


def _nearest(activity: str, earlier: Sequence[Step], step: Step) -> Step | None:
    found = [s for s in earlier if s.activity.name == activity]
    same = [s for s in found if s.group == step.group]
    return (same or found or [None])[-1]  # type: ignore[list-item]


def _same_output(name: str, earlier: Sequence[Step], step: Step) -> str | None:
    wanted = step.activity.input_schema["properties"][name].get("type")
    for source in reversed(earlier):
        output = source.activity.output_schema.get("properties", {}).get(name)
        if output is not None and (wanted is None or output.get("type") in (wanted, None)):
            return f"${{{source.state}.output.{name}}}"
    return None


def _compose(step: Step, earlier: Sequence[Step], intent: Intent, inputs: Inputs, parameters: dict[str, Any]) -> None:
    """Add what is made up of what is known: a notification's text, what an approval is about, what a model is shown."""
    if step.activity.name == phrases.APPROVE:
        parameters.setdefault("workflowId", "${workflow.name}")
    elif step.activity.name == phrases.NOTIFY:
        _compose_notification(step, earlier, intent, inputs, parameters)
    elif step.activity.name == phrases.LLM:
        prompt = next((n for n in parameters if squashed(n) == "userprompt"), None)
        material = _material(earlier, step)
        if prompt is not None and material:
            parameters[prompt] = f"{parameters[prompt]}\n\n{material}"


def _compose_notification(
    step: Step, earlier: Sequence[Step], intent: Intent, inputs: Inputs, parameters: dict[str, Any]
) -> None:
    channel = _given(step, "channel", intent)
    if channel != "email":
        parameters.pop("to", None)
        if channel is not None:
            _forget(inputs, "to", intent, step)
    elif "to" not in parameters and "to" in step.activity.input_schema["properties"]:
        _ask(step, "to", step.activity.input_schema["properties"]["to"], inputs)
    if channel not in ("webhook", "slack"):
        parameters.pop("url", None)
    parameters.setdefault("status", "warning" if _is_conditional(intent) else "success")
    if "message" not in parameters:
        told = _outcome(earlier)
        report = _nearest(phrases.REPORT, earlier, step) if channel == "email" else None
        parameters["message"] = f"${{workflow.name}}: {told or 'done'}"
        if report is not None:  # mail has room for it
            text = f"$substring({report.state}.output.report, 0, {MOST_REPORT})"
            parameters["message"] = f'{{% workflow.name & "\n\n" & {text} %}}'


def _is_conditional(intent: Intent) -> bool:
    """Whether messages are about something found, or about failures that the run goes on in spite of."""
    if intent.condition is not None and phrases.NOTIFY in intent.condition.targets:
        return not intent.condition.expression.endswith(".passed")
    return intent.notify == "failure"


def _forget(inputs: Inputs, name: str, intent: Intent, step: Step) -> None:
    """Take back an input that only this state would have read."""
    channels = intent.parameters.get("channel")
    if not (isinstance(channels, list) and "email" in channels):
        inputs.values.pop(name, None)


def _outcome(earlier: Sequence[Step]) -> str:
    """What a message can say of the states before, with a word for what has not run."""
    texts = {
        phrases.SCAN: "risk ${{{}.output.riskLevel:-unknown}}, ${{{}.output.totalFindings:-no}} findings",
        phrases.ANALYZE: "quality ${{{}.output.quality:-unknown}}",
        phrases.CHECK: "checks passed: ${{{}.output.passed:-unknown}}",
        phrases.ARCHIVE: "archived at ${{{}.output.archiveUrl:-nowhere}}",
        phrases.APPROVE: "approved: ${{{}.output.approved:-no}}",
        phrases.HTTP: "the address answered ${{{}.output.status:-nothing}}",
        phrases.LLM: "${{{}.output.response:-no answer}}",
    }
    said = [texts[s.activity.name].replace("{{}", "{" + s.state).replace("{{", "{").replace("}}", "}")
            for s in earlier if s.activity.name in texts]  # fmt: skip
    return ", ".join(said)


def _material(earlier: Sequence[Step], step: Step) -> str:
    """What a model is shown: the report if there is one, else what was found or fetched."""
    report = _nearest(phrases.REPORT, earlier, step)
    if report is not None:
        return f"${{{report.state}.output.report}}"
    shown = {
        phrases.HTTP: "body",
        phrases.SCAN: "vulnerabilities",
        phrases.ANALYZE: "issues",
        phrases.CHECK: "failures",
        phrases.MEMORY: "lessons",
    }
    return "\n\n".join(f"${{{s.state}.output.{shown[s.activity.name]}}}" for s in earlier if s.activity.name in shown)
