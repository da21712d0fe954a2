"""``POST /workflows/suggest-connections``: which connections a canvas could have (contract-canvas 7)."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agents.llm import CallContext
from canvas.api.answers import CanvasObject, ConnectionWarning
from canvas.api.bodies import object_of
from canvas.api.refusals import answered, refused_field
from canvas.changes import read_changes
from poimen_site.reasoning.suggesting import CanvasRefused, suggest_connections
from workflows.access import access_of, role_required
from workflows.api.answers import text
from workflows.api.documentation import documented
from workflows.models import Role

Shape = serializers.Serializer[Any]


class SuggestionBody(Shape):
    """The canvas as it is drawn now."""

    nodes = serializers.ListField(child=CanvasObject())
    edges = serializers.ListField(child=CanvasObject(), required=False)
    preserve_existing = serializers.BooleanField(
        required=False, default=True, help_text="false: propose the whole wiring anew, and say which edges would go"
    )


class SuggestedEdge(Shape):
    """A connection with its wording; drawn as an edge whose ``data`` holds what begins with ``relation_``."""

    id = text()
    target = text(help_text="Id of a node, as source")
    relation_type = text()
    relation_label = text()
    relation_wording = serializers.DictField(child=serializers.JSONField(), help_text="With confidence, from 0 to 1")

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Add ``source``, which serializers have a meaning of their own for."""
        return {"source": text(), **super().get_fields()}


class RejectedEdge(Shape):
    """A proposal that no canvas can have."""

    target = text()
    reason = text()

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Add ``source``, which serializers have a meaning of their own for."""
        return {"source": text(), **super().get_fields()}


class SuggestionAnswer(Shape):
    """What could be connected; nothing of it is saved."""

    suggested_edges = SuggestedEdge(many=True)
    removed_edges = serializers.ListField(child=CanvasObject(), help_text="Edges of the canvas that would go")
    rejected_edges = RejectedEdge(many=True)
    reasoning = text()
    confidence = serializers.FloatField()
    incompatible_edges = ConnectionWarning(many=True)
    disconnected_nodes = serializers.ListField(child=serializers.CharField())
    user_alerts = serializers.ListField(child=serializers.CharField())
    method = serializers.ChoiceField(choices=["model", "schema-matching"])


class SuggestConnections(APIView):
    """``POST /workflows/suggest-connections``."""

    permission_classes = (role_required(Role.EDITOR),)

    @documented("suggestConnections", {200: SuggestionAnswer}, body=SuggestionBody, tag="workflows")
    def post(self, request: Request) -> Response:
        """Take ``{nodes, edges, preserve_existing}``; answer connections to accept or not. Nothing is saved.

        A model proposes where one is configured (``method: model``), and is recorded and paid for like every call; else
        fields are matched by name and type (``method: schema-matching``).
        """
        fields = object_of(request)
        with answered():
            wanted = read_changes({key: fields.get(key) for key in ("nodes", "edges")})
        preserve = fields.get("preserve_existing")
        if preserve is not None and not isinstance(preserve, bool):
            raise refused_field("preserve_existing", "expected true or false")
        try:
            outcome = suggest_connections(
                wanted.nodes or [],
                wanted.edges or [],
                preserve=preserve is not False,
                context=CallContext(customer=str(access_of(request).customer.pk)),
            )
        except CanvasRefused as refused:
            raise refused_field(refused.field, str(refused)) from None
        return Response(outcome.as_json())
