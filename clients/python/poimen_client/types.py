"""The shapes of the server's answers. Made by generate_types.py from its OpenAPI document: do not edit."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict


class ComingRun(TypedDict):
    """
    A run to come, in UTC and as clocks in the time zone show it.
    """

    at: str
    local: str


class ErrorAnswer(TypedDict):
    """
    What every refusal looks like.
    """

    error: str
    details: NotRequired[Any]


class ExecutionLog(TypedDict):
    """
    A line as an execution shows it.
    """

    timestamp: str
    nodeId: str
    level: Literal["debug", "info", "warn", "error"]
    message: str
    event: NotRequired[str]


class ExecutionOutputs(TypedDict):
    """
    What came of an execution; empty before its end.
    """

    status: NotRequired[Literal["COMPLETED", "FAILED", "CANCELED", "TIMED_OUT"]]
    stepResults: NotRequired[dict[str, Any]]
    output: NotRequired[Any | None]
    error: NotRequired[str]


class LastRun(TypedDict):
    """
    What became of the last instant.
    """

    dueAt: str
    outcome: Literal["started", "queued", "skipped", "failed"]
    executionId: str | None
    executionStatus: (
        Literal[
            "pending",
            "running",
            "waiting",
            "paused",
            "success",
            "failed",
            "cancelled",
            "timed_out",
        ]
        | None
    )


class LogLine(TypedDict):
    """
    A line with its place.
    """

    timestamp: str
    nodeId: str
    level: Literal["debug", "info", "warn", "error"]
    message: str
    event: NotRequired[str]
    cursor: str
    branch: NotRequired[str]
    fields: NotRequired[Any]


class LogPage(TypedDict):
    """
    Lines in an order that can be followed; send ``next`` as ``after``.
    """

    logs: list[LogLine]
    next: str | None
    more: bool


class Reason(TypedDict):
    """
    The body of requests that may say why.
    """

    reason: NotRequired[str]


class RerunBody(TypedDict):
    """
    Where to start again, one of the states that GET lists; left out: from the beginning.
    """

    fromState: NotRequired[str]


class RouteBody(TypedDict):
    """
    What should happen, in a sentence.
    """

    message: str
    dryRun: NotRequired[bool]
    context: NotRequired[Any | None]


class RouteCanvas(TypedDict):
    """
    The drawing of the spec.
    """

    nodes: list[dict[str, Any]]
    edges: list[dict[str, Any]]
    leftOut: list[str]


class RouteNote(TypedDict):
    """
    Why something is as it is.
    """

    subject: str
    text: str


class RouteQuestion(TypedDict):
    """
    What has to be known first.
    """

    parameter: str
    text: str
    options: NotRequired[list[str]]


class ScheduleAnswer(TypedDict):
    """
    A schedule; ``spec`` is null where it starts a workflow.
    """

    id: str
    name: str
    description: str
    status: Literal["active", "paused", "ended"]
    version: int
    workflowId: str | None
    workflowVersion: int | None
    inputs: dict[str, Any]
    priority: int
    schedule: str
    timezone: str
    reading: str
    overlapPolicy: Literal["skip", "queue", "cancel-other", "allow"]
    catchUp: str | None
    jitter: str | None
    maxRuns: int | None
    startAt: str | None
    endAt: str | None
    runs: int
    nextRunAt: str | None
    lastRun: LastRun | None
    createdAt: str
    createdBy: str
    updatedAt: str
    pausedAt: NotRequired[str]
    pausedBy: NotRequired[str]
    pauseReason: NotRequired[str]
    spec: dict[str, Any] | None
    nextRuns: list[ComingRun]


class ScheduleInList(TypedDict):
    """
    A schedule without its spec.
    """

    id: str
    name: str
    description: str
    status: Literal["active", "paused", "ended"]
    version: int
    workflowId: str | None
    workflowVersion: int | None
    inputs: dict[str, Any]
    priority: int
    schedule: str
    timezone: str
    reading: str
    overlapPolicy: Literal["skip", "queue", "cancel-other", "allow"]
    catchUp: str | None
    jitter: str | None
    maxRuns: int | None
    startAt: str | None
    endAt: str | None
    runs: int
    nextRunAt: str | None
    lastRun: LastRun | None
    createdAt: str
    createdBy: str
    updatedAt: str
    pausedAt: NotRequired[str]
    pausedBy: NotRequired[str]
    pauseReason: NotRequired[str]


class SchedulePart(TypedDict):
    """
    What ``PATCH`` changes; what is left out stays. Moments are RFC 3339, durations like 1h30m.
    """

    name: NotRequired[str]
    description: NotRequired[str]
    workflowId: NotRequired[str | None]
    workflowVersion: NotRequired[int | None]
    spec: NotRequired[dict[str, Any] | None]
    inputs: NotRequired[dict[str, Any] | None]
    priority: NotRequired[int]
    schedule: NotRequired[str]
    timezone: NotRequired[str]
    enabled: NotRequired[bool]
    overlapPolicy: NotRequired[Literal["skip", "queue", "cancel-other", "allow"]]
    catchUp: NotRequired[Any | None]
    jitter: NotRequired[str | None]
    maxRuns: NotRequired[int | None]
    startAt: NotRequired[str | None]
    endAt: NotRequired[str | None]


class SignIn(TypedDict):
    """
    ``{username, password, customer?}`` to ``{access, refresh}``; ``customer`` is a slug or an id.
    """

    customer: NotRequired[str]
    username: str
    password: str


class SignalBody(TypedDict):
    """
    A signal; sent twice with one ``dedupeKey`` it arrives once.
    """

    name: str
    payload: NotRequired[Any | None]
    dedupeKey: NotRequired[str]


class SignalTaken(TypedDict):
    """
    A signal that was kept for the execution.
    """

    id: str
    name: str
    new: bool


class SpecStart(TypedDict):
    """
    A spec to run.
    """

    spec: dict[str, Any]
    inputs: NotRequired[dict[str, Any] | None]
    priority: NotRequired[int]


class StartBody(TypedDict):
    """
    How to start.
    """

    inputs: NotRequired[dict[str, Any] | None]
    priority: NotRequired[int | None]


class TokenPair(TypedDict):
    """
    What signing in answers.
    """

    access: str
    refresh: str


class VoteAnswer(TypedDict):
    """
    A vote.
    """

    user: str
    approve: bool
    reason: str
    votedAt: str


class WorkflowInList(TypedDict):
    """
    A workflow with its newest canvas.
    """

    id: str
    name: str
    description: str
    status: Literal["draft", "active", "archived"]
    version: int
    nodes: list[dict[str, Any]]
    edges: list[dict[str, Any]]
    createdAt: str
    updatedAt: str
    createdBy: str


class WorkflowPage(TypedDict):
    """
    A page of workflows.
    """

    workflows: list[WorkflowInList]
    total: int
    page: int
    limit: int


class ExecutionAnswer(TypedDict):
    """
    An execution.
    """

    id: str
    workflowId: str | None
    name: str
    version: int | None
    status: Literal[
        "pending",
        "running",
        "waiting",
        "paused",
        "success",
        "failed",
        "cancelled",
        "timed_out",
    ]
    priority: int
    createdAt: str
    createdBy: str
    startedAt: str
    completedAt: NotRequired[str]
    currentStates: list[str]
    inputs: dict[str, Any]
    logs: list[ExecutionLog]
    parentId: NotRequired[str]
    scheduleId: NotRequired[str]
    continuedFrom: NotRequired[str]
    continuedAs: NotRequired[str]
    rerunOf: NotRequired[str]
    outputs: ExecutionOutputs
    errors: NotRequired[list[str]]


class ExecutionInList(TypedDict):
    """
    An execution without its outputs.
    """

    id: str
    workflowId: str | None
    name: str
    version: int | None
    status: Literal[
        "pending",
        "running",
        "waiting",
        "paused",
        "success",
        "failed",
        "cancelled",
        "timed_out",
    ]
    priority: int
    createdAt: str
    createdBy: str
    startedAt: str
    completedAt: NotRequired[str]
    currentStates: list[str]
    inputs: dict[str, Any]
    logs: list[ExecutionLog]
    parentId: NotRequired[str]
    scheduleId: NotRequired[str]
    continuedFrom: NotRequired[str]
    continuedAs: NotRequired[str]
    rerunOf: NotRequired[str]
    errors: NotRequired[list[str]]


class GateAnswer(TypedDict):
    """
    An approval gate.
    """

    id: str
    executionId: str
    state: str
    subject: str
    description: str
    status: Literal["pending", "approved", "rejected", "expired", "cancelled"]
    requiredApprovals: int
    approvals: int
    votes: list[VoteAnswer]
    createdAt: str
    expiresAt: str
    expiresIn: NotRequired[str]
    decidedAt: NotRequired[str]
    reason: NotRequired[str]


class RouteAnswer(TypedDict):
    """
    One of ``spec`` and ``cronSpec``, or neither where there are ``questions``.
    """

    isCron: bool
    spec: NotRequired[dict[str, Any]]
    cronSpec: NotRequired[dict[str, Any]]
    canvas: NotRequired[RouteCanvas]
    explanation: list[RouteNote]
    questions: list[RouteQuestion]
    warnings: list[str]
    reason: NotRequired[str]
    workflowId: NotRequired[str]
    source: Literal["llm", "fallback"]
