"""The shapes of answers about what runs, for the OpenAPI document; the endpoints build them by hand, for speed.

Refuses nothing: a test compares every documented shape with real answers.
"""

from typing import Any

from rest_framework import serializers

from workflows.activities.context import LEVELS
from workflows.models import ExecutionStatus, Role, RunStatus, Scope
from workflows.models.approval import GateStatus

Shape = serializers.Serializer[Any]


def text(**options: Any) -> serializers.CharField:
    """Text, perhaps empty."""
    return serializers.CharField(allow_blank=True, **options)


def moment(**options: Any) -> serializers.DateTimeField:
    """RFC 3339 in UTC, to the second."""
    return serializers.DateTimeField(**options)


class ExecutionLog(Shape):
    """A line as an execution shows it."""

    timestamp = moment()
    nodeId = text()  # noqa: N815
    level = serializers.ChoiceField(choices=LEVELS)
    message = text()
    event = text(required=False)


class ExecutionInList(Shape):
    """An execution without its outputs."""

    id = serializers.UUIDField()
    workflowId = serializers.UUIDField(allow_null=True)  # noqa: N815
    name = text()
    version = serializers.IntegerField(allow_null=True)
    status = serializers.ChoiceField(choices=ExecutionStatus.choices)
    priority = serializers.IntegerField()
    createdAt = moment()  # noqa: N815
    createdBy = text()  # noqa: N815
    startedAt = moment()  # noqa: N815
    completedAt = moment(required=False)  # noqa: N815
    currentStates = serializers.ListField(child=text())  # noqa: N815
    inputs = serializers.DictField(child=serializers.JSONField(allow_null=True))
    logs = ExecutionLog(many=True)
    parentId = serializers.UUIDField(required=False)  # noqa: N815
    scheduleId = serializers.UUIDField(required=False)  # noqa: N815
    continuedFrom = serializers.UUIDField(required=False)  # noqa: N815
    continuedAs = serializers.UUIDField(required=False)  # noqa: N815
    rerunOf = serializers.UUIDField(required=False)  # noqa: N815

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Add ``errors``, which serializers have a meaning of their own for."""
        return {**super().get_fields(), "errors": serializers.ListField(child=text(), required=False)}


class ExecutionOutputs(Shape):
    """What came of an execution; empty before its end."""

    status = serializers.ChoiceField(choices=["COMPLETED", "FAILED", "CANCELED", "TIMED_OUT"], required=False)
    stepResults = serializers.DictField(  # noqa: N815
        child=serializers.JSONField(allow_null=True), required=False
    )
    output = serializers.JSONField(required=False, allow_null=True)
    error = text(required=False)


class ExecutionAnswer(ExecutionInList):
    """An execution."""

    outputs = ExecutionOutputs()


class LogLine(ExecutionLog):
    """A line with its place."""

    cursor = text()
    branch = serializers.UUIDField(required=False)
    fields_ = serializers.JSONField(required=False)

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Call ``fields_`` as the answer does."""
        found = super().get_fields()
        return {("fields" if name == "fields_" else name): field for name, field in found.items()}


class LogPage(Shape):
    """Lines in an order that can be followed; send ``next`` as ``after``."""

    logs = LogLine(many=True)
    next = text(allow_null=True)
    more = serializers.BooleanField()


class BranchPlace(Shape):
    """Where in the workflow."""

    id = serializers.UUIDField()
    name = text()
    path = text()
    index = serializers.IntegerField(required=False)


class ArtifactAnswer(Shape):
    """A file that an execution keeps."""

    name = text()
    bytes = serializers.IntegerField()
    contentType = text()  # noqa: N815
    modifiedAt = moment()  # noqa: N815
    href = text()


class StateVisit(Shape):
    """What ended attempts and running ones have in common."""

    state = text()
    activity = text(allow_null=True)
    branch = BranchPlace()
    visit = serializers.IntegerField()
    attempt = serializers.IntegerField()


class EndedState(StateVisit):
    """An ended attempt of a state."""

    id = serializers.IntegerField()
    type = text()
    status = serializers.ChoiceField(choices=RunStatus.choices)
    input = serializers.JSONField(allow_null=True)
    output = serializers.JSONField(allow_null=True)
    error = serializers.JSONField(required=False)
    startedAt = moment()  # noqa: N815
    startedMs = serializers.IntegerField()  # noqa: N815
    endedAt = moment()  # noqa: N815
    durationMs = serializers.IntegerField()  # noqa: N815
    worker = text()
    reused = serializers.BooleanField()
    next = text(required=False)


class RunningState(StateVisit):
    """Where a branch stands."""

    status = text()
    since = moment(allow_null=True)
    sinceMs = serializers.IntegerField(allow_null=True)  # noqa: N815
    worker = text(required=False)
    waitingFor = text(required=False)  # noqa: N815
    signal = text(required=False)
    wakeAt = moment(required=False)  # noqa: N815


class StatesPage(Shape):
    """Ended attempts, oldest first, and what runs; send ``next`` as ``after``."""

    states = EndedState(many=True)
    running = RunningState(many=True)
    next = serializers.IntegerField(allow_null=True)


class RerunChoices(Shape):
    """The states that an execution can be run again from, in the order of its spec; none before its end."""

    states = serializers.ListField(child=text())


class SignalTaken(Shape):
    """A signal that was kept for the execution."""

    id = serializers.UUIDField()
    name = text()
    new = serializers.BooleanField()


class VoteAnswer(Shape):
    """A vote."""

    user = text()
    approve = serializers.BooleanField()
    reason = text()
    votedAt = moment()  # noqa: N815


class GateAnswer(Shape):
    """An approval gate."""

    id = serializers.UUIDField()
    executionId = serializers.UUIDField()  # noqa: N815
    state = text()
    subject = text()
    description = text()
    status = serializers.ChoiceField(choices=GateStatus.choices)
    requiredApprovals = serializers.IntegerField()  # noqa: N815
    approvals = serializers.IntegerField()
    votes = VoteAnswer(many=True)
    createdAt = moment()  # noqa: N815
    expiresAt = moment()  # noqa: N815
    expiresIn = text(required=False)  # noqa: N815
    decidedAt = moment(required=False)  # noqa: N815
    reason = text(required=False)


class GateStatistics(Shape):
    """How many gates stand where."""

    total = serializers.IntegerField()
    pending = serializers.IntegerField()
    approved = serializers.IntegerField()
    rejected = serializers.IntegerField()
    expired = serializers.IntegerField()
    cancelled = serializers.IntegerField()
    averageWaitSeconds = serializers.FloatField(allow_null=True)  # noqa: N815


class ApiKeyAnswer(Shape):
    """An API key, without what would open anything."""

    id = serializers.UUIDField()
    name = text()
    prefix = text()
    user = text(allow_null=True)
    role = serializers.ChoiceField(choices=Role.choices)
    scopes = serializers.ListField(child=serializers.ChoiceField(choices=Scope.choices))
    status = serializers.ChoiceField(choices=["active", "revoked", "expired"])
    createdAt = moment()  # noqa: N815
    createdBy = text()  # noqa: N815
    expiresAt = moment(allow_null=True)  # noqa: N815
    lastUsedAt = moment(allow_null=True)  # noqa: N815
    revokedAt = moment(allow_null=True)  # noqa: N815


class NewApiKey(ApiKeyAnswer):
    """A key that was just made; ``key`` is shown this once."""

    key = text()


class SpecProblem(Shape):
    """One thing that is wrong with a spec."""

    path = text()
    code = text()
    message = text()
    severity = serializers.ChoiceField(choices=["error", "warning"])
    suggestion = text(required=False)


class ScheduleReading(Shape):
    """When a CronWorkflowSpec runs."""

    reading = text()
    nextRuns = serializers.ListField(child=moment())  # noqa: N815


class SpecJudgement(Shape):
    """What is right or wrong with a spec; ``schedule`` of a CronWorkflowSpec that is valid."""

    valid = serializers.BooleanField()
    schedule = ScheduleReading(required=False)
    warnings = serializers.ListField(child=text())
    problems = SpecProblem(many=True)

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Add ``errors``, which serializers have a meaning of their own for."""
        return {**super().get_fields(), "errors": serializers.ListField(child=text())}


class AuditTarget(Shape):
    """What was acted on."""

    kind = text()
    id = text()


class AuditEntry(Shape):
    """A record of the trail."""

    seq = serializers.IntegerField()
    at = moment()
    actor = text()
    actorKind = text()  # noqa: N815
    action = text()
    target = AuditTarget()
    executionId = serializers.UUIDField(allow_null=True)  # noqa: N815
    workflowId = serializers.UUIDField(allow_null=True)  # noqa: N815
    details = serializers.JSONField(allow_null=True)
    requestId = text()  # noqa: N815
    previousHash = text()  # noqa: N815
    hash = text()


class AuditPage(Shape):
    """Records, the newest first; send ``next`` as ``after``."""

    records = AuditEntry(many=True)
    next = serializers.IntegerField(allow_null=True)


class KnowledgeBase(Shape):
    """What a Task can do."""

    version = text()
    activities = serializers.ListField(child=serializers.DictField(child=serializers.JSONField(allow_null=True)))
    metadata = serializers.DictField(child=serializers.JSONField(allow_null=True))
