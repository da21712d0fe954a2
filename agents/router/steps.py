"""Which states a workflow has, in which order (contract-router 1.6.2 and 1.6.3).

Owns the rules that hold whoever chose the activities: what an activity builds on comes before it, everything once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from agents.router import phrases
from agents.router.intent import Intent, Note, Question
from workflows.activities.registry import Activity

MOST_REPOSITORIES = 5
SHORT_NAMES = {
    phrases.CLONE: "Clone",
    phrases.ANALYZE: "Analyze",
    phrases.SCAN: "SecurityScan",
    phrases.REPORT: "Report",
    phrases.NOTIFY: "Notify",
    phrases.ARCHIVE: "Archive",
    phrases.CHECK: "PreCheck",
    phrases.APPROVE: "Approve",
}
# Where a step stands if the sentence leaves it open.
_RANKS = {
    "authentication": 0,
    "memory": 1,
    "repository": 2,
    "integration": 3,
    "analysis": 3,
    "security": 3,
    "deployment": 3,
    "reporting": 5,
    "llm": 6,
    "approval": 7,
    "storage": 7,
    "notification": 7,
}
_DEFAULT_RANK = 4
# What can be sent, judged or kept has to be there first.
_USES = ((phrases.REPORT, phrases.ARCHIVE), (phrases.ASSUME, phrases.LLM), (phrases.ASSUME, phrases.BATCH))


@dataclass(frozen=True, slots=True)
class Step:
    """One state to be: its name, its activity, and ``number``, from 1, where an activity has several."""

    state: str
    activity: Activity
    number: int = 1
    group: int = 0


@dataclass(slots=True)
class Plan:
    """The steps in their order, and what was said about them."""

    steps: list[Step] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def plan_steps(intent: Intent, activities: Mapping[str, Activity]) -> Plan:
    """Return the steps of ``intent``: unknown activities dropped with a warning, missing ones added with a note."""
    plan = Plan()
    wanted = []
    for name in dict.fromkeys(intent.activities):
        if name in activities and not activities[name].internal:
            wanted.append(name)
        else:
            plan.warnings.append(f"There is no activity {name}; it is left out.")
    chosen = _with_dependencies(wanted, intent, activities, plan)
    ordered = _ordered(chosen, intent, activities)
    for name in wanted:
        if name in intent.reasons:
            plan.notes.append(Note(short_name(name), f'{name}, because of "{intent.reasons[name]}".'))
    repositories = intent.parameters.get("repo")
    count = len(repositories) if isinstance(repositories, list) else 1
    if count > MOST_REPOSITORIES:
        plan.questions.append(
            Question(
                "repo", f"{count} repositories are named; {MOST_REPOSITORIES} are the most for one workflow. Which?"
            )
        )
        count = 1
    plan.steps = _numbered(ordered, count, intent, activities)
    return plan


def short_name(activity: str) -> str:
    """Return what the state that runs ``activity`` is called."""
    return SHORT_NAMES.get(activity, activity.removesuffix("Activity") or activity)


def _with_dependencies(wanted: list[str], intent: Intent, activities: Mapping[str, Activity], plan: Plan) -> list[str]:
    """Add what is built on: a clone always, of the others all if none is there (a report of a scan alone is fine)."""
    chosen = list(wanted)
    waiting = list(wanted)
    while waiting:
        name = waiting.pop(0)
        needed = [n for n in activities[name].dependencies if n in activities]
        always = [n for n in needed if n == phrases.CLONE]
        others = [n for n in needed if n != phrases.CLONE]
        missing = [n for n in always if n not in chosen]
        if others and not any(n in chosen for n in others):
            allowed = [n for n in others if n not in intent.excluded]
            missing += allowed
            if not allowed:
                plan.questions.append(
                    Question(
                        "message", f"{name} has nothing to work on without {' and '.join(others)}. Which should it use?"
                    )
                )
        if name == phrases.ARCHIVE and phrases.REPORT in activities and phrases.REPORT not in chosen:
            if _has_something_to_report(chosen):
                missing.append(phrases.REPORT)
            else:
                text = (
                    "What is archived is a report of a code analysis or a security scan. Which of them should be done?"
                )
                plan.questions.append(Question("message", text, ("analyse the code", "scan for vulnerabilities")))
        for other in missing:
            if other in intent.excluded:
                plan.questions.append(
                    Question(
                        "message", f"{name} needs {other}, which is ruled out. Should it run, or {name} be left out?"
                    )
                )
                continue
            chosen.append(other)
            waiting.append(other)
            plan.notes.append(Note(short_name(other), f"{other}, because {name} needs what it gives."))
    return chosen


def _has_something_to_report(chosen: list[str]) -> bool:
    """Whether a report is what there is to keep: not where only a check, a model or a request gives results."""
    if phrases.ANALYZE in chosen or phrases.SCAN in chosen:
        return True
    return not any(name in chosen for name in (phrases.CHECK, phrases.LLM, phrases.BATCH, phrases.HTTP))


def _ordered(chosen: list[str], intent: Intent, activities: Mapping[str, Activity]) -> list[str]:
    """Sort by what builds on what, then by what the sentence says, then by what usually comes first."""
    import networkx as nx  # takes as long as half the start of a process, and is for sentences alone

    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(chosen)
    for name in chosen:
        graph.add_edges_from((other, name) for other in activities[name].dependencies if other in chosen)
    graph.add_edges_from(pair for pair in _USES if pair[0] in chosen and pair[1] in chosen)
    for pair in sorted(intent.order):
        if pair[0] in chosen and pair[1] in chosen and not nx.has_path(graph, pair[1], pair[0]):
            graph.add_edge(*pair)
    place = {name: index for index, name in enumerate(chosen)}

    def key(name: str) -> tuple[int, int]:
        return _RANKS.get(activities[name].category, _DEFAULT_RANK), place[name]

    return list(nx.lexicographical_topological_sort(graph, key=key))


def _numbered(ordered: list[str], repositories: int, intent: Intent, activities: Mapping[str, Activity]) -> list[Step]:
    """Repeat what works on a repository for each of them, and what sends something for each channel or address."""
    per_repository = {name for name in ordered if _needs_clone(name, activities)}
    steps: list[Step] = []

    def add(name: str, number: int, group: int) -> None:
        suffix = "" if number == 1 else str(number)
        steps.append(Step(f"{short_name(name)}{suffix}", activities[name], number, group))

    rest = [name for name in ordered if name not in per_repository]
    first = next((i for i, name in enumerate(ordered) if name in per_repository), len(ordered))
    before = [name for name in rest if ordered.index(name) < first]
    for name in before:
        for number in range(1, _copies(name, intent) + 1):
            add(name, number, 0)
    if repositories == 1:
        for name in ordered[first:]:
            for number in range(1, _copies(name, intent) + 1):
                add(name, number, 0)
        return steps
    for group in range(repositories):
        for name in ordered:
            if name in per_repository:
                add(name, group + 1, group)
    for name in rest:
        if name not in before:
            for number in range(1, _copies(name, intent) + 1):
                add(name, number, repositories - 1)
    return steps


def _needs_clone(name: str, activities: Mapping[str, Activity]) -> bool:
    if name in (phrases.CLONE, phrases.ARCHIVE):
        return True
    return any(_needs_clone(other, activities) for other in activities[name].dependencies if other in activities)


def _copies(name: str, intent: Intent) -> int:
    if name == phrases.NOTIFY:
        channels = intent.parameters.get("channel")
        return len(channels) if isinstance(channels, list) else 1
    if name == phrases.HTTP:
        addresses = intent.parameters.get(f"{phrases.HTTP}.url", intent.parameters.get("url"))
        return len(addresses) if isinstance(addresses, list) else 1
    return 1
