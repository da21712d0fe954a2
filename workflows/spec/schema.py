"""The shapes of a WorkflowSpec as pydantic models (contract-workflow-spec 1, design section 4).

Keys are camelCase in JSON and snake_case here. What needs more than one field at once is the validator's business.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from workflows.spec import limits

Name = Annotated[str, Field(min_length=1, max_length=limits.MAX_NAME_LENGTH)]
StateName = Annotated[str, Field(min_length=1, max_length=limits.MAX_NAME_LENGTH, pattern=r"^[A-Za-z0-9_-]+$")]
Duration = Annotated[
    str,
    Field(
        description="Go-style duration: 30s, 5m, 1h30m, 500ms",
        max_length=64,
        json_schema_extra={"pattern": r"^([0-9]+([.][0-9]+)?(ms|us|µs|d|h|m|s))+$"},
    ),
]
ErrorHandling = Literal["retry", "fail-fast", "continue"]


class Shape(BaseModel):
    """Base of every part of a spec: camelCase keys, unknown keys refused, values kept as written."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True)


class Retry(Shape):
    """Retry policy; what is left out comes from the activity's own defaults. ``maxAttempts`` counts the first try."""

    max_attempts: int | None = Field(default=None, ge=1, le=limits.MAX_ATTEMPTS)
    initial_interval: Duration | None = None
    backoff_coefficient: float | None = Field(default=None, ge=1, le=100)
    max_interval: Duration | None = None
    jitter: float | None = Field(default=None, ge=0, le=1, description="Random share of each wait, 0 to 1")
    non_retryable_errors: list[str] = Field(default_factory=list)


class Catch(Shape):
    """Where to go when the state has failed for good with one of ``errors`` (``*`` is any)."""

    errors: list[str] = Field(default_factory=lambda: ["*"], min_length=1)
    next: StateName
    result_path: str | None = Field(
        default=None, description="Also keep the error object under this key of the branch variables"
    )


class State(Shape):
    """What every state has."""

    name: StateName
    comment: str | None = None


class FlowingState(State):
    """A state that goes on: to ``next``, or it ends the branch (``end``), or array order decides."""

    next: StateName | None = None
    end: bool | None = None
    assign: dict[str, Any] = Field(default_factory=dict, description="Branch variables, read as ${vars.name}")
    output: Any = Field(default=None, description="Replaces the state's output; may read ${result}")


class FailingState(FlowingState):
    """A state that can fail and be tried again or caught."""

    retry: Retry | None = None
    catch: list[Catch] = Field(default_factory=list)
    timeout: Duration | None = None


class Caching(Shape):
    """Keep the result, and take one that is no older than ``ttl`` instead of running the activity."""

    ttl: Duration = "24h"
    bypass: bool | str = Field(default=False, description="True, or a reference to what is: run it in any case")


class TaskState(FailingState):
    """Runs an activity."""

    type: Literal["Task"]
    resource: Name
    parameters: dict[str, Any] = Field(default_factory=dict)
    heartbeat: Duration | None = Field(default=None, description="Longest silence allowed of the activity")
    cache: Caching | None = Field(default=None, description="Left out, the activity runs every time")


class PassState(FlowingState):
    """Makes its output from ``result``, else ``parameters``, else the previous output."""

    type: Literal["Pass"]
    result: Any = None
    parameters: dict[str, Any] | None = None


class FailState(State):
    """Ends the branch as failed."""

    type: Literal["Fail"]
    error: str | None = Field(default=None, pattern=r"^[^${}%]*$", description="A name to catch it by; no reference")
    cause: str | None = None


class ContinueAsNew(Shape):
    """Start a fresh execution of the same spec with ``input``; this one ends as success."""

    input: dict[str, Any] = Field(default_factory=dict)


class SucceedState(State):
    """Ends the branch as succeeded."""

    type: Literal["Succeed"]
    output: Any = None
    continue_as_new: ContinueAsNew | None = None


class WaitState(FlowingState):
    """Holds the branch for ``duration`` or ``until`` a moment (RFC 3339); either may be a reference."""

    type: Literal["Wait"]
    duration: str | None = None
    until: str | None = None


class ChoiceRule(Shape):
    """Taken when the condition ``when`` is true."""

    when: str
    next: StateName
    assign: dict[str, Any] = Field(default_factory=dict)


class ChoiceState(State):
    """Goes where the first true rule says, else to ``default``; without either the state fails with NoChoice."""

    type: Literal["Choice"]
    choices: list[ChoiceRule] = Field(min_length=1)
    default: StateName | None = None
    assign: dict[str, Any] = Field(default_factory=dict)


class ParallelBranch(Shape):
    """States that run beside the other branches, once all in ``dependsOn`` are done and if ``when`` holds."""

    name: StateName | None = None
    depends_on: list[StateName] = Field(default_factory=list)
    when: str | None = None
    start_at: StateName | None = None
    states: list["AnyState"] = Field(min_length=1)


class ParallelState(FailingState):
    """Runs its branches side by side and goes on when all are done."""

    type: Literal["Parallel"]
    branches: list[ParallelBranch] = Field(min_length=1)
    max_concurrency: int | None = Field(default=None, ge=1, le=1000)


class MapState(FailingState):
    """Runs its states once per item of ``items`` (an array, reference or expression); output: the items' outputs."""

    type: Literal["Map"]
    items: Any
    states: list["AnyState"] = Field(min_length=1)
    start_at: StateName | None = None
    max_concurrency: int | None = Field(default=None, ge=1, le=1000)
    tolerated_failures: int | str | None = Field(default=None, description="A number of items, or a share like 10%")


class WorkflowState(FailingState):
    """Runs another workflow (by name or id), or an inline spec, as a child execution and waits for its end."""

    type: Literal["Workflow"]
    workflow: str | None = None
    spec: "WorkflowSpec | None" = None
    input: dict[str, Any] = Field(default_factory=dict)


class WaitForSignalState(FailingState):
    """Holds the branch until a signal of that name arrives; output: its payload. Past ``timeout``: error Timeout."""

    type: Literal["WaitForSignal"]
    signal: str = Field(min_length=1, max_length=limits.MAX_NAME_LENGTH)


AnyState = Annotated[
    TaskState
    | PassState
    | FailState
    | SucceedState
    | WaitState
    | ChoiceState
    | ParallelState
    | MapState
    | WorkflowState
    | WaitForSignalState,
    Field(discriminator="type"),
]

STATE_TYPES = (
    "Task", "Pass", "Fail", "Succeed", "Wait", "Choice", "Parallel", "Map", "Workflow", "WaitForSignal",
)  # fmt: skip


class History(Shape):
    """Past ``limit`` state runs the execution goes on as a new one that carries variables and needed outputs."""

    limit: int = Field(ge=10, le=limits.MAX_TRANSITIONS)


class WorkflowSpec(Shape):
    """A whole workflow. Without ``startAt`` the first state of the array starts."""

    name: Name
    description: str | None = None
    version: str | int | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)
    input: dict[str, Any] | None = Field(default=None, description="Default inputs; those given at start win")
    start_at: StateName | None = None
    timeout: Duration | None = None
    error_handling: ErrorHandling = "retry"
    max_transitions: int = Field(default=limits.DEFAULT_TRANSITIONS, ge=1, le=limits.MAX_TRANSITIONS)
    continue_as_new: History | None = None
    states: list[AnyState] = Field(min_length=1)


for _shape in (ParallelBranch, ParallelState, MapState, WorkflowState, WorkflowSpec):
    _shape.model_rebuild()
