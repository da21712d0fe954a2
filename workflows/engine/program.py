"""A spec made ready to run: every state with its templates compiled, its successor known, its policy decided.

Knows nothing of the database. Programs are shared by all branches of a process and never change.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from workflows.activities.registry import Activity, registry
from workflows.errors import PermanentError
from workflows.spec import schema
from workflows.spec.durations import parse_duration
from workflows.spec.flow import next_map
from workflows.spec.references import Template, compile_template
from workflows.spec.retry import RetryPolicy, policy_for

ROOT = ""
ITEM = "*"


@dataclass(frozen=True, slots=True)
class Order:
    """Which branches of a Parallel wait for which, both ways, by index."""

    depends_on: tuple[frozenset[int], ...]
    dependents: tuple[frozenset[int], ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One state, compiled. ``body`` is the list of states it belongs to; ``order`` is that of a Parallel's branches.

    ``name`` is the state's, and the node's id; ``resource`` the activity of a Task, else empty; ``is_pure`` says that
    the state needs no commit of its own.
    """

    state: schema.AnyState
    body: str
    next: str | None
    policy: RetryPolicy
    timeout: timedelta | None
    templates: dict[str, Template] = field(default_factory=dict)
    order: Order | None = None
    name: str = field(init=False)
    resource: str = field(init=False)
    is_pure: bool = field(init=False)

    def __post_init__(self) -> None:
        # Worked out once: every transition asks.
        set_field = object.__setattr__
        set_field(self, "name", self.state.name)
        set_field(self, "resource", _resource(self.state))
        set_field(self, "is_pure", isinstance(self.state, schema.PassState | schema.ChoiceState | schema.SucceedState))

    @property
    def activity(self) -> Activity:
        """The Task's activity; raises ``UnknownActivity`` if this process does not have it."""
        return registry.get(self.resource)


@dataclass(frozen=True, slots=True)
class Body:
    """A list of states that one branch walks: the root, a branch of a Parallel, or the items' states of a Map."""

    key: str
    start: str
    when: Template | None
    needs: frozenset[str]


@dataclass(frozen=True)
class Program:
    """A compiled spec: bodies by key (``''``, ``Fan/left``, ``Each/*``) and steps by state name."""

    spec: schema.WorkflowSpec
    checksum: str
    bodies: dict[str, Body]
    steps: dict[str, Step]
    referenced: frozenset[str]

    def body_of(self, state: str) -> str:
        """The key of the body that ``state`` belongs to."""
        return self.steps[state].body


def _resource(state: schema.AnyState) -> str:
    """The activity's name also where the state says ``plugin://``, if there is such a plugin."""
    if not isinstance(state, schema.TaskState):
        return ""
    known = registry.all().get(state.resource)
    return known.name if known is not None else state.resource


def compile_program(document: Any, checksum: str) -> Program:
    """Compile a stored spec. Raises :class:`PermanentError` if it is none (it was written by another version)."""
    try:
        spec = schema.WorkflowSpec.model_validate(document)
    except ValueError as error:
        raise PermanentError(f"the stored spec cannot be read: {error}", name="InvalidSpec") from None
    steps: dict[str, Step] = {}
    bodies: dict[str, Body] = {}
    for key, owner, states in walk_bodies(spec):
        following = next_map(states)
        for state in states:
            steps[state.name] = _step(state, key, following[state.name], spec.error_handling)
        when = owner.when if isinstance(owner, schema.ParallelBranch) else None
        bodies[key] = Body(
            key=key,
            start=(owner.start_at or states[0].name),
            when=compile_template(when) if when is not None else None,
            needs=frozenset(),
        )
    names = frozenset(steps)
    needs = {key: set(body.when.roots) if body.when else set() for key, body in bodies.items()}
    for step in steps.values():
        needs[step.body].update(*(template.roots for template in step.templates.values()))
    for key, body in list(bodies.items()):
        bodies[key] = Body(body.key, body.start, body.when, frozenset(needs[key] & names))
    referenced = frozenset().union(*(body.needs for body in bodies.values()))
    return Program(spec, checksum, bodies, steps, referenced)


Owner = schema.WorkflowSpec | schema.ParallelBranch | schema.MapState


def walk_bodies(
    spec: schema.WorkflowSpec,
) -> Iterator[tuple[str, Owner, list[schema.AnyState]]]:
    """Yield ``(key, owner, states)`` for every list of states in the spec, outer before inner."""
    yield ROOT, spec, spec.states
    yield from _inner(ROOT, spec.states)


def _inner(prefix: str, states: Iterable[schema.AnyState]) -> Iterator[tuple[str, Owner, list[schema.AnyState]]]:
    for state in states:
        if isinstance(state, schema.ParallelState):
            for index, branch in enumerate(state.branches):
                key = join_body(prefix, state.name, branch_name(branch, index))
                yield key, branch, branch.states
                yield from _inner(key, branch.states)
        elif isinstance(state, schema.MapState):
            key = join_body(prefix, state.name, ITEM)
            yield key, state, state.states
            yield from _inner(key, state.states)


def branch_name(branch: schema.ParallelBranch, index: int) -> str:
    """A Parallel branch's name; without one it is its place, from 0."""
    return branch.name or str(index)


def join_body(prefix: str, state: str, branch: str) -> str:
    """The key of the body inside ``state`` that lies in the body ``prefix``."""
    return f"{prefix}/{state}/{branch}" if prefix else f"{state}/{branch}"


_NO_RETRY = RetryPolicy()


def _step(state: schema.AnyState, body: str, following: str | None, mode: schema.ErrorHandling) -> Step:
    templates: dict[str, Template] = {}

    def add(key: str, value: Any) -> None:
        if value is not None:
            templates[key] = compile_template(value)

    defaults, timeout = _NO_RETRY, None
    match state:
        case schema.TaskState():
            add("parameters", state.parameters)
            add("cache.bypass", state.cache.bypass if state.cache else None)
            known = registry.all().get(state.resource)
            if known is not None:
                timeout = known.timeout
                defaults = RetryPolicy(max_attempts=known.max_attempts, backoff_coefficient=known.backoff)
        case schema.PassState():
            add("result", state.result)
            add("parameters", state.parameters)
        case schema.FailState():
            add("cause", state.cause)
        case schema.SucceedState():
            add("output", state.output)
            add("input", state.continue_as_new.input if state.continue_as_new else None)
        case schema.WaitState():
            add("duration", state.duration)
            add("until", state.until)
        case schema.ChoiceState():
            for index, rule in enumerate(state.choices):
                add(f"when.{index}", rule.when)
                add(f"assign.{index}", rule.assign or None)
            add("assign", state.assign or None)
        case schema.MapState():
            add("items", state.items)
        case schema.WorkflowState():
            add("workflow", state.workflow)
            add("input", state.input)
        case schema.WaitForSignalState():
            add("signal", state.signal)
        case _:
            pass
    if isinstance(state, schema.FlowingState):
        add("assign", state.assign or None)
        add("output", state.output)
    policy = defaults
    if isinstance(state, schema.FailingState):
        policy = policy_for(state.retry, defaults, mode)
        timeout = parse_duration(state.timeout) if state.timeout else timeout
    order = _order(state) if isinstance(state, schema.ParallelState) else None
    return Step(state, body, following, policy, timeout, templates, order)


def _order(state: schema.ParallelState) -> Order:
    places = {branch_name(branch, index): index for index, branch in enumerate(state.branches)}
    depends_on = tuple(frozenset(places[name] for name in branch.depends_on) for branch in state.branches)
    dependents: list[set[int]] = [set() for _ in state.branches]
    for index, needed in enumerate(depends_on):
        for other in needed:
            dependents[other].add(index)
    return Order(depends_on, tuple(map(frozenset, dependents)))
