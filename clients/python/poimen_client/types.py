"""The shapes of the server's answers. Made by generate_types.py from its OpenAPI document: do not edit."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict


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
    Where to start again; left out: from the beginning.
    """

    fromState: NotRequired[str]


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
