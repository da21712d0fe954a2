"""The shapes of answers about what is drawn, for the OpenAPI document; and of the bodies that are read by hand.

Refuses nothing: a test compares every documented shape with real answers.
"""

from typing import Any

from rest_framework import serializers

from workflows.api.answers import moment, text
from workflows.models import WorkflowStatus

Shape = serializers.Serializer[Any]


class CanvasObject(serializers.DictField):
    """A node or an edge (canvas reference)."""

    child = serializers.JSONField(allow_null=True)


class CanvasFix(Shape):
    """What mends a problem without further thought."""

    changes = serializers.ListField(
        child=CanvasObject(), help_text="A JSON Patch (RFC 6902) on {nodes, edges} as they were sent"
    )

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Add ``label``, which serializers have a meaning of their own for."""
        return {"label": text(help_text="What it does, for a button"), **super().get_fields()}


class CanvasProblem(Shape):
    """One thing that is wrong with a canvas."""

    code = text()
    message = text()
    nodeId = text(required=False)  # noqa: N815
    edgeId = text(required=False)  # noqa: N815
    nodeIds = serializers.ListField(child=text(), required=False)  # noqa: N815
    suggestion = text(required=False)
    parameter = text(required=False)
    fix = CanvasFix(required=False, help_text="What mends it, where a canvas is judged without saving it")


class CanvasReport(Shape):
    """What is right or wrong with a canvas."""

    valid = serializers.BooleanField()
    warnings = CanvasProblem(many=True)

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Add ``errors``, which serializers have a meaning of their own for."""
        return {**super().get_fields(), "errors": CanvasProblem(many=True)}


class ConnectionWarning(Shape):
    """Why a connection does not carry what its target needs."""

    target = text(help_text="Id of a node, as source")
    reason = text()
    source_needs = text(help_text="The outputs there are, or what is missing of them")
    target_needs = text(help_text="The inputs there are; a * marks what is required")
    suggestion = text()
    input = text(required=False, help_text="The field it is about")
    connection_type = text(required=False, help_text="requires-transformer, where the types are at odds")

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Add ``source``, which serializers have a meaning of their own for."""
        return {"source": text(), **super().get_fields()}


class CanvasCompatibility(Shape):
    """Which connections carry what their targets need."""

    incompatibilities = ConnectionWarning(many=True)
    disconnected_nodes = serializers.ListField(child=serializers.CharField(), help_text="Activities in no connection")
    warnings = serializers.ListField(child=serializers.CharField())

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Add ``is_valid``, which serializers have a meaning of their own for."""
        return {"is_valid": serializers.BooleanField(), **super().get_fields()}


class CanvasJudgement(CanvasReport):
    """The report, and the spec that the canvas compiles to."""

    spec = serializers.JSONField(allow_null=True)


class WorkflowInList(Shape):
    """A workflow with its newest canvas."""

    id = serializers.UUIDField()
    name = text()
    description = text()
    status = serializers.ChoiceField(choices=WorkflowStatus.choices)
    version = serializers.IntegerField()
    nodes = serializers.ListField(child=CanvasObject())
    edges = serializers.ListField(child=CanvasObject())
    createdAt = moment()  # noqa: N815
    updatedAt = moment()  # noqa: N815
    createdBy = text()  # noqa: N815


class WorkflowAnswer(WorkflowInList):
    """A workflow with what is right or wrong with it."""

    validation = CanvasReport()


class WorkflowPage(Shape):
    """A page of workflows."""

    workflows = WorkflowInList(many=True)
    total = serializers.IntegerField()
    page = serializers.IntegerField()
    limit = serializers.IntegerField()


class VersionChange(Shape):
    """One node or edge that a save changed, or what it changed about the workflow itself."""

    what = serializers.ChoiceField(choices=["workflow", "node", "edge"])
    how = serializers.ChoiceField(choices=["added", "removed", "changed", "moved"])
    id = text()
    name = text()

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Add ``fields``, which serializers have a meaning of their own for."""
        return {**super().get_fields(), "fields": serializers.ListField(child=text())}


class VersionChanges(Shape):
    """What is different from the version before; ``items`` names 50 at most."""

    total = serializers.IntegerField()
    items = VersionChange(many=True)


class DraftReceipt(Shape):
    """Where a draft stands."""

    workflowId = serializers.UUIDField()  # noqa: N815
    revision = serializers.UUIDField()
    baseVersion = serializers.IntegerField()  # noqa: N815
    updatedAt = moment()  # noqa: N815


class DraftAnswer(DraftReceipt):
    """A draft."""

    name = text()
    description = text()
    status = serializers.ChoiceField(choices=WorkflowStatus.choices)
    nodes = serializers.ListField(child=CanvasObject())
    edges = serializers.ListField(child=CanvasObject())


class VersionInList(Shape):
    """One save of a workflow."""

    workflowId = serializers.UUIDField()  # noqa: N815
    version = serializers.IntegerField()
    name = text()
    checksum = text()
    description = text(allow_null=True)
    status = text()
    reason = text()
    changes = VersionChanges(allow_null=True)
    runnable = serializers.BooleanField()
    createdAt = moment()  # noqa: N815
    createdBy = text()  # noqa: N815
    validation = CanvasReport()


class VersionAnswer(VersionInList):
    """One save with its canvas."""

    nodes = serializers.ListField(child=CanvasObject())
    edges = serializers.ListField(child=CanvasObject())
    spec = serializers.JSONField(allow_null=True)


class RelationVersion(Shape):
    """One change of what an edge means."""

    version = serializers.IntegerField()
    workflow_version = serializers.IntegerField()
    relation_type = text()
    relation_label = text()
    relation_wording = serializers.JSONField(allow_null=True)
    change_reason = text()
    created_at = moment()
    created_by = text()


class RelationHistory(Shape):
    """Every change of what an edge means, oldest first."""

    workflow_id = text()
    edge_id = text()
    versions = RelationVersion(many=True)
    total_count = serializers.IntegerField()


class WorkflowBody(Shape):
    """What a save may say; null and what is left out keep what is stored."""

    name = text(required=False, allow_null=True, max_length=128)
    description = text(required=False, allow_null=True, max_length=10_000)
    status = serializers.ChoiceField(choices=WorkflowStatus.choices, required=False, allow_null=True)
    nodes = serializers.ListField(child=CanvasObject(), required=False, allow_null=True)
    edges = serializers.ListField(child=CanvasObject(), required=False, allow_null=True)
    changeReason = text(required=False, allow_null=True, max_length=4_000)  # noqa: N815


class NewWorkflow(WorkflowBody):
    """A workflow to create."""

    name = text(max_length=128)


class WorkflowChange(WorkflowBody):
    """A change to a workflow."""

    version = serializers.IntegerField(
        required=False, allow_null=True, help_text="The version the change was made on; another one is refused with 409"
    )


class DraftBody(Shape):
    """A draft to keep; what it leaves out is as in the workflow."""

    baseVersion = serializers.IntegerField(min_value=1, help_text="The version it was made on")  # noqa: N815
    name = text(required=False, allow_null=True, max_length=128)
    description = text(required=False, allow_null=True, max_length=10_000)
    status = serializers.ChoiceField(choices=WorkflowStatus.choices, required=False, allow_null=True)
    nodes = serializers.ListField(child=CanvasObject(), required=False, allow_null=True)
    edges = serializers.ListField(child=CanvasObject(), required=False, allow_null=True)


class CanvasBody(Shape):
    """A canvas to judge."""

    nodes = serializers.ListField(child=CanvasObject(), required=False)
    edges = serializers.ListField(child=CanvasObject(), required=False)
    name = text(required=False, allow_null=True, max_length=128)
    status = serializers.ChoiceField(choices=WorkflowStatus.choices, required=False, allow_null=True)


class SpecToDraw(Shape):
    """A spec to draw."""

    spec = serializers.DictField()


class CanvasDrawing(Shape):
    """The drawing of a spec, and in sentences what is in the spec and not in the drawing."""

    nodes = serializers.ListField(child=CanvasObject())
    edges = serializers.ListField(child=CanvasObject())
    leftOut = serializers.ListField(child=serializers.CharField())  # noqa: N815


class ConnectionsBody(Shape):
    """A canvas whose connections are to be judged."""

    nodes = serializers.ListField(child=CanvasObject(), required=False)
    edges = serializers.ListField(child=CanvasObject(), required=False)


class StartBody(Shape):
    """How to start."""

    inputs = serializers.DictField(child=serializers.JSONField(allow_null=True), required=False, allow_null=True)
    priority = serializers.IntegerField(required=False, allow_null=True, min_value=-1000, max_value=1000)


class GatewayAnswer(Shape):
    """What an action answers; each fills its share (reference of the gateway)."""

    workflow_id = text(required=False)
    run_id = serializers.UUIDField(required=False)
    namespace = text(required=False)
    task_queue = text(required=False)
    workflow_type = text(required=False)
    status = text(required=False)
    start_time = moment(required=False)
    close_time = moment(required=False, allow_null=True)
    executions = serializers.ListField(
        child=serializers.DictField(child=serializers.JSONField(allow_null=True)), required=False
    )
    events = serializers.ListField(
        child=serializers.DictField(child=serializers.JSONField(allow_null=True)), required=False
    )
    next_page_token = text(required=False, allow_null=True)
    query_type = text(required=False)
    result = serializers.JSONField(required=False, allow_null=True)
